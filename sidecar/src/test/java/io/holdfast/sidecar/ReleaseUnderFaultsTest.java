package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is pinned goes, whatever the engine answers to its release and whatever is in the ledger. */
class ReleaseUnderFaultsTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;
    private static final String PIN = "POST /hicache/pin_blocks ";
    private static final String UNPIN = "/hicache/unpin_blocks";
    private static final String CLOSE = "/close_session";
    private static final String SICK = "{\"error\":\"the scheduler is sick\"}";

    @TempDir
    Path state;

    private final List<EngineRelay> relays = new ArrayList<>();

    @AfterEach
    void close() {
        relays.forEach(EngineRelay::close);
    }

    private PinnedEngine behindARelay() throws IOException {
        return behindARelay(TestBed.fast().withVariant(Variant.PIN_GPU));
    }

    private PinnedEngine behindARelay(EmulatorSettings settings) throws IOException {
        return new PinnedEngine(state, settings, there -> {
            relays.add(new EngineRelay(there));
            return relays.getLast().uri();
        });
    }

    /** Found at a start with another backend, behind half a line, at an engine that refuses for a while. */
    @Test
    void foundSession_behindHalfALine_isClosedAgainAndAgain_untilTheEngineIsWell() throws IOException {
        try (PinnedEngine bed = behindARelay(TestBed.fast().withSglang(each -> each.withSessions(true)))) {
            bed.leaveAPin("backend: session_hold");
            Files.writeString(bed.ledgerFile(), "{\"step\":\"PINN", StandardOpenOption.APPEND);
            AtomicInteger refused = new AtomicInteger();
            relays.getLast().answers(CLOSE, exchange -> {
                refused.incrementAndGet();
                EngineRelay.reply(exchange, 500, SICK);
            });
            FastClock clock = new FastClock(20);

            try (Sidecar next = bed.sidecar(
                            "backend: keep_warm",
                            Seams.none().withClock(clock::nanos).withPace(clock.pace()));
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see("it was refused twice", refused::get, times -> times >= 2);
                Eventually.see(
                        "it is said",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("1 pins may still be there: a call about them had no clear answer"));
                relays.getLast().handsOn(CLOSE);
                Eventually.see(
                        "it is closed", () -> client.http.get("/readyz").text(), text -> !text.contains("1 pins"));
            }
            assertThat(bed.outstanding()).isEmpty();
        }
    }

    /** Whose pin a second unpin would take is not known, so there is none, and it is said. */
    @Test
    void foundPin_whoseUnpinIsAnswered500_isAskedForOnceAndOwnedUpTo() throws IOException {
        try (PinnedEngine bed = behindARelay()) {
            bed.leaveAPin();
            relays.getLast().answers(UNPIN, exchange -> EngineRelay.reply(exchange, 500, SICK));
            FastClock clock = new FastClock(20);

            try (Sidecar next =
                            bed.sidecar("", Seams.none().withClock(clock::nanos).withPace(clock.pace()));
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see(
                        "it is said",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("1 pins may still be there: a call about them had no clear answer"));
                relays.getLast().handsOn(UNPIN);
                long now = clock.nanos();
                Eventually.see("two minutes pass", clock::nanos, then -> then - now > 120_000_000_000L);
            }
            assertThat(relays.getLast().calls().stream().filter(call -> call.startsWith("POST " + UNPIN)))
                    .hasSize(1);
            assertThat(bed.outstanding()).hasSize(1);
        }
    }

    /** The answer of the pin comes long after its lease has ended. */
    @Test
    void pinThatIsAnsweredAfterItsLease_isUnpinnedAtOnce() throws IOException {
        try (PinnedEngine bed = behindARelay();
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            bed.emulator.faults().begin(new HttpFault.PinLate(Duration.ofMillis(1_500)));

            Http.Answer asked = client.hold(PREFIX, 1);
            if (asked.status() == 201) {
                client.holdIn(asked.json().getString("id"), "released");
            } else {
                assertThat(asked.text()).contains("so the hold is withdrawn");
            }
            Eventually.see("the pin was asked for", () -> pins(relays.getLast().calls()), pins -> pins > 0);
            bed.usedBecomes(0);
            List<String> calls = relays.getLast().calls();
            assertThat(calls.stream().filter(call -> call.startsWith("POST " + UNPIN)))
                    .as("as many unpins as pins")
                    .hasSize((int) pins(calls));
        }
    }

    private static long pins(List<String> calls) {
        return calls.stream()
                .filter(call -> call.startsWith(PIN) && !call.endsWith("[]}"))
                .count();
    }

    /** The engine counts pins for everybody, so a second unpin could take somebody else's. */
    @Test
    void pinThatTheEngineTookOff_isAskedForOnceAtMost() throws IOException {
        try (PinnedEngine bed = behindARelay();
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            bed.emulator.faults().begin(new CacheFault.AutoUnpin(1));
            bed.engine.generate(EngineClient.prompt(7, 64));
            bed.usedBecomes(0);
            bed.emulator.faults().end(new CacheFault.AutoUnpin(1).kind());
            client.release(id);
            client.holdIn(id, "released");

            assertThat(bed.engine.usedTokens()).isZero();
            long asked = relays.getLast().calls().stream()
                    .filter(call -> call.startsWith("POST " + UNPIN))
                    .count();
            assertThat(asked).as("unpins of one pin").isLessThanOrEqualTo(1);
            assertThat(client.holds()).noneMatch(hold -> "held".equals(hold.getString("state")));
        }
    }
}
