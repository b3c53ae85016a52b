package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class SidecarHolderTest {
    private static final Duration SLOT = Duration.ofSeconds(5);

    private final List<String> calls = new CopyOnWriteArrayList<>();
    private final List<String> bodies = new CopyOnWriteArrayList<>();
    private final AtomicInteger incarnation = new AtomicInteger(1);
    private volatile boolean certain = true;
    private volatile Supplier<String> posted = () -> hold("held", 4, 4, "fits the budget");
    private volatile Supplier<String> got = () -> hold("held", 4, 4, "fits the budget");
    private volatile int postStatus = 201;
    private HttpServer server = start();
    private final SidecarHolder holder = holder("demo");

    @BeforeEach
    void begin() {
        calls.clear();
    }

    @AfterEach
    void stop() {
        holder.close();
        server.stop(0);
    }

    @Test
    void knownEngine_passesTheCheck() {
        holder.prepare();
        assertThat(calls).containsExactly("GET /api/v1/engines/demo");
        assertThat(holder.name()).contains("demo");
    }

    @Test
    void unknownEngine_isOneSentence() {
        try (SidecarHolder other = holder("nobody")) {
            assertThatThrownBy(other::prepare)
                    .isInstanceOf(LoadTestException.class)
                    .hasMessageContaining("has no engine called nobody");
        }
    }

    @Test
    void noSidecar_isOneSentence() {
        server.stop(0);
        assertThatThrownBy(() -> holder.prepare())
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("does not answer");
        server = start();
    }

    @Test
    void flush_isFollowedWhenTheIncarnationMoved() {
        FlushReceipt followed = holder.follow(() -> {
            incarnation.incrementAndGet();
            return Optional.empty();
        });
        assertThat(followed).isEqualTo(new FlushReceipt("2", 1, Optional.empty()));
    }

    @Test
    void flushThatWasNotSeen_isRepeated() {
        AtomicInteger flushes = new AtomicInteger();
        FlushReceipt followed = holder.follow(() -> {
            if (flushes.incrementAndGet() == 2) {
                incarnation.incrementAndGet();
            }
            return Optional.empty();
        });
        assertThat(followed.flushes()).isEqualTo(2);
        assertThat(followed.problem()).isEmpty();
    }

    @Test
    void uncertainView_isNotYetFollowed() {
        certain = false;
        FlushReceipt followed = holder.follow(() -> {
            incarnation.incrementAndGet();
            return Optional.empty();
        });
        assertThat(followed.problem().orElseThrow())
                .contains("did not see the flush of engine demo")
                .contains("waiting for a clear");
        assertThat(followed.flushes()).isEqualTo(12);
    }

    @Test
    void flushThatFailed_isItsProblem() {
        assertThat(holder.follow(() -> Optional.of("the engine is busy")).problem())
                .hasValue("the engine is busy");
    }

    @Test
    void hold_sendsTokensAndLease() {
        assertThat(holder.on(prefix(5, 6, 7), SLOT)).isEqualTo(HoldReceipt.held("7", 4, 4, 64, "fits the budget"));
        assertThat(bodies).containsExactly("{\"tokens\":[5,6,7],\"leaseSeconds\":60}");
    }

    @Test
    void holdThatWaits_isAskedForUntilItIsHeld() {
        AtomicInteger asked = new AtomicInteger();
        posted = () -> hold("requested", 4, 0, "not yet stored");
        got = () -> asked.incrementAndGet() < 3
                ? hold("requested", 4, 0, "not yet stored")
                : hold("held", 4, 4, "stored now");
        assertThat(holder.on(prefix(5), SLOT)).isEqualTo(HoldReceipt.held("7", 4, 4, 64, "stored now"));
    }

    @Test
    void holdThatNeverComes_isGivenUpAtTheEndOfTheSlot() {
        posted = () -> hold("requested", 4, 0, "not in the cache");
        got = posted;
        HoldReceipt receipt = holder.on(prefix(5), Duration.ofMillis(50));
        assertThat(receipt).isEqualTo(HoldReceipt.notHeld("7", 4, "requested: not in the cache"));
    }

    @Test
    void clippedHold_isNotInFull() {
        posted = () -> hold("held", 4, 3, "clipped: send the prefix alone once");
        HoldReceipt receipt = holder.on(prefix(5), SLOT);
        assertThat(receipt.isInFull()).isFalse();
        assertThat(receipt.reason()).contains("clipped");
    }

    @Test
    void refusedHold_tellsTheSidecarsReason() {
        posted = () -> hold("released", 4, 0, "the budget is 0 blocks");
        assertThat(holder.on(prefix(5), SLOT))
                .isEqualTo(HoldReceipt.notHeld("7", 4, "released: the budget is 0 blocks"));
    }

    @Test
    void errorAnswer_tellsItsSentence() {
        postStatus = 409;
        posted = () -> "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,\"detail\":\"The engine cannot"
                + " pin.\"}";
        assertThat(holder.on(prefix(5), SLOT)).isEqualTo(HoldReceipt.notHeld("", 0, "The engine cannot pin."));
    }

    @Test
    void release_deletesAHoldThatStood() {
        assertThat(holder.release(HoldReceipt.held("7", 4, 4, 64, "")).kind()).isEqualTo(ReleaseReceipt.Kind.RELEASED);
        assertThat(calls).containsExactly("GET /api/v1/engines/demo/holds/7", "DELETE /api/v1/engines/demo/holds/7");
    }

    @Test
    void release_ofALostHold_saysSo() {
        got = () -> hold("lost", 4, 0, "the engine restarted");
        assertThat(holder.release(HoldReceipt.held("7", 4, 4, 64, "")))
                .isEqualTo(ReleaseReceipt.broken("the engine restarted"));
        assertThat(calls).contains("DELETE /api/v1/engines/demo/holds/7");
    }

    @Test
    void release_ofNothing_asksNobody() {
        assertThat(holder.release(HoldReceipt.notHeld("", 0, "")).kind()).isEqualTo(ReleaseReceipt.Kind.SKIPPED);
        assertThat(calls).isEmpty();
    }

    @Test
    void holdThatFailsAfterItWasCreated_isDeleted() {
        posted = () -> hold("requested", 4, 0, "not yet stored");
        got = () -> {
            throw new IllegalStateException("the sidecar breaks the connection");
        };
        assertThatThrownBy(() -> holder.on(prefix(5), SLOT)).isInstanceOf(LoadTestException.class);
        assertThat(calls.getLast()).isEqualTo("DELETE /api/v1/engines/demo/holds/7");
        calls.clear();
        holder.close();
        assertThat(calls).isEmpty();
    }

    @Test
    void close_deletesAHoldThatNobodyReleased() {
        holder.on(prefix(5), SLOT);
        calls.clear();
        // An aborted run ends on an interrupted thread.
        Thread.currentThread().interrupt();
        holder.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(calls).containsExactly("DELETE /api/v1/engines/demo/holds/7");
    }

    @Test
    void close_leavesAReleasedHoldAlone() {
        holder.release(holder.on(prefix(5), SLOT));
        calls.clear();
        holder.close();
        assertThat(calls).isEmpty();
    }

    @Test
    void shams_askTheSidecarAndChangeNothing() {
        assertThat(holder.off(prefix(5), SLOT)).isEqualTo(HoldReceipt.sham("incarnation 1"));
        assertThat(holder.release(HoldReceipt.sham(""))).isEqualTo(ReleaseReceipt.sham("incarnation 1"));
        assertThat(calls).containsExactly("GET /api/v1/engines/demo", "GET /api/v1/engines/demo");
    }

    private SidecarHolder holder(String engine) {
        URI sidecar = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
        return new SidecarHolder(
                sidecar,
                engine,
                Duration.ofMinutes(1),
                Duration.ofMillis(900),
                Duration.ofSeconds(2),
                RunClock.system());
    }

    private HttpServer start() {
        try {
            HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            http.createContext("/", this::answer);
            http.start();
            return http;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        calls.add(exchange.getRequestMethod() + " " + path);
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        if (!path.startsWith("/api/v1/engines/demo")) {
            reply(exchange, 404, "{\"error\":\"There is no such engine.\"}");
        } else if (exchange.getRequestMethod().equals("POST")) {
            bodies.add(body);
            reply(exchange, postStatus, posted.get());
        } else if (path.contains("/holds/")) {
            reply(
                    exchange,
                    200,
                    exchange.getRequestMethod().equals("GET") ? got.get() : hold("released", 4, 0, "asked"));
        } else {
            reply(
                    exchange,
                    200,
                    "{\"id\":\"demo\",\"incarnation\":%d,\"certain\":%s,\"certainty\":\"waiting for a clear\"}"
                            .formatted(incarnation.get(), certain));
        }
    }

    private static void reply(HttpExchange exchange, int status, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static String hold(String state, int wanted, int held, String reason) {
        return ("{\"id\":\"7\",\"engine\":\"demo\",\"origin\":\"requested\",\"state\":\"%s\",\"wantedBlocks\":%d,"
                        + "\"heldBlocks\":%d,\"heldTokens\":%d,\"leaseSeconds\":59.9,\"reason\":\"%s\"}")
                .formatted(state, wanted, held, held * 16, reason);
    }

    private static ArmSwitch.Prefixes prefix(int... tokens) {
        LoadRequest touch = new LoadRequest(Role.TOUCH, 0, tokens, 1);
        return new ArmSwitch.Prefixes(touch, touch);
    }
}
