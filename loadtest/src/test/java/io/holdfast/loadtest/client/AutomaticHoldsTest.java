package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch.Prefixes;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A sidecar that decides by itself, with what its API says of the state that it is in. */
final class AutomaticHoldsTest {
    private static final String ENGINE = "/api/v1/engines/demo";
    private static final Duration SLOT = Duration.ofMillis(40);
    private static final LoadRequest PREFIX = new LoadRequest(Role.TOUCH, 0, new int[] {1}, 1);
    private static final Prefixes PREFIXES = new Prefixes(PREFIX, PREFIX);

    private final List<String> calls = new CopyOnWriteArrayList<>();
    private volatile boolean paused;
    private volatile boolean decides = true;
    private volatile boolean chooses = true;
    private volatile String requested = "";
    private volatile String prefixes = "{\"why\":\"no room for it\"}";
    private volatile String plan = "";
    private final HttpServer server = start();
    private final AutomaticHolds arm = new AutomaticHolds(
            URI.create("http://127.0.0.1:" + server.getAddress().getPort()), "demo", RunClock.system());

    @AfterEach
    void stop() {
        arm.close();
        server.stop(0);
    }

    @Test
    void pinnedLeg_endsThePauseAndBaselineStaysPaused() {
        arm.prepare();
        assertThat(paused).isTrue();
        HoldReceipt on = arm.on(PREFIXES, SLOT);
        assertThat(paused).isFalse();
        assertThat(on.isInFull()).isTrue();
        assertThat(on.reason()).isEqualTo("it decided to hold 1 prefix");
        assertThat(arm.release(on)).isEqualTo(ReleaseReceipt.released("it released 1 prefix and is paused"));
        assertThat(paused).isTrue();
        HoldReceipt off = arm.off(PREFIXES, SLOT);
        assertThat(paused).isTrue();
        assertThat(arm.release(off).kind()).isEqualTo(ReleaseReceipt.Kind.SHAM);
        assertThat(calls).doesNotContain("POST " + ENGINE + "/holds");
    }

    @Test
    void sidecarThatHoldsNothing_saysWhy() {
        chooses = false;
        arm.prepare();
        HoldReceipt on = arm.on(PREFIXES, SLOT);
        assertThat(on.reason()).isEqualTo("it held nothing yet: no room for it");
        ReleaseReceipt release = arm.release(on);
        assertThat(release).isEqualTo(ReleaseReceipt.nothingHeld("no room for it"));
        assertThat(release.whyNothing()).contains("nothing was held: no room for it");
        assertThat(paused).isTrue();
    }

    @Test
    void sidecarThatSharesNoPrefix_saysWhatItsEngineNeeds() {
        chooses = false;
        prefixes = "";
        arm.prepare();
        HoldReceipt on = arm.on(PREFIXES, SLOT);
        assertThat(arm.release(on).reason())
                .isEqualTo("nothing was held: traffic that loses a prefix it shares; no request has yet");
    }

    @Test
    void sidecarThatPlannedNoHold_saysWhyItsPlanDidNot() {
        chooses = false;
        prefixes = "";
        plan = "{\"action\":\"keep\",\"reason\":\"another\"},{\"action\":\"wait\",\"reason\":\"no room now.\"}";
        arm.prepare();
        HoldReceipt on = arm.on(PREFIXES, SLOT);
        assertThat(arm.release(on).reason()).isEqualTo("nothing was held: no room now");
    }

    @Test
    void end_leavesTheSidecarAsItWas() {
        arm.prepare();
        arm.close();
        assertThat(paused).isFalse();
    }

    @Test
    void sidecarThatDoesNotDecide_isRefused() {
        decides = false;
        assertThatThrownBy(arm::prepare)
                .isInstanceOf(LoadTestException.class)
                .hasMessageEndingWith("does not hold automatically; write automaticHolds: true in its configuration.");
        assertThat(paused).isFalse();
    }

    @Test
    void holdsOfOthers_areNotLetGo() {
        requested = "{\"state\":\"held\",\"origin\":\"requested\"}";
        assertThatThrownBy(arm::prepare)
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("holds 1 requested prefixes");
        assertThat(paused).isFalse();
    }

    private String view() {
        String holds = !requested.isEmpty()
                ? requested
                : paused || !chooses ? "" : "{\"state\":\"held\",\"origin\":\"automatic\"}";
        return "{\"paused\":" + paused + ",\"automaticHolds\":" + decides + ",\"holds\":[" + holds
                + "],\"plan\":{\"lines\":[" + plan + "]}}";
    }

    private HttpServer start() {
        try {
            HttpServer started = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            started.createContext("/", exchange -> {
                String call = exchange.getRequestMethod() + " "
                        + exchange.getRequestURI().getPath();
                calls.add(call);
                String answer = switch (call) {
                    case "GET " + ENGINE -> view();
                    case "GET " + ENGINE + "/prefixes" -> "{\"prefixes\":[" + prefixes + "]}";
                    case "GET /api/v1/overview" ->
                        "{\"engines\":[{\"id\":\"demo\",\"needs\":\"traffic that loses a prefix it shares; no request"
                                + " has yet\"}]}";
                    case "POST " + ENGINE + "/resume" -> {
                        paused = false;
                        yield "{}";
                    }
                    case "DELETE " + ENGINE + "/holds" -> {
                        paused = true;
                        yield "{}";
                    }
                    default -> "";
                };
                byte[] body = answer.getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(answer.isEmpty() ? 404 : 200, Math.max(1, body.length));
                exchange.getResponseBody().write(body.length == 0 ? new byte[1] : body);
                exchange.close();
            });
            started.start();
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
