package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.testing.StubHolder;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class LegProtocolTest {
    private static final Workload WORKLOAD = IdlePrefixFlood.workload(1, new FloodShape(64, 8, 3, 40, 2, 2, 1, 3));
    private static final LoadTestPlan SETTINGS = LoadTestPlan.defaults().toBuilder()
            .concurrency(2)
            .holdSlot(Duration.ofMillis(50))
            .build();

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);
    private final StubHolder holder = new StubHolder(engine);
    private final RunClock clock = new SteadyClock();
    private final HttpEngine tested = new HttpEngine(
            vertx,
            new ExistingServer(engine.uri()),
            HttpSettings.defaults().withFlushTimeout(Duration.ofMillis(300)),
            clock);
    private final List<String> watched = new ArrayList<>();

    @AfterEach
    void stop() throws Exception {
        tested.close();
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void bothArms_takeTheSameStepsInTheSameOrder() {
        LegRecord baseline = run(PairOrder.BP, 1);
        LegRecord pinned = run(PairOrder.BP, 2);
        assertThat(steps(baseline))
                .containsExactly(
                        "FLUSH 0",
                        "CONNECT 0",
                        "PRIME 0",
                        "HOLD 0",
                        "FLOOD 1",
                        "PROBE 1",
                        "FLOOD 2",
                        "PROBE 2",
                        "RELEASE 0");
        assertThat(steps(pinned)).isEqualTo(steps(baseline));
        assertThat(watched).hasSize(18).startsWith("BASELINE FLUSH").endsWith("PINNED RELEASE");
    }

    @Test
    void stepStamps_followEachOther() {
        LegRecord leg = run(PairOrder.BP, 2);
        long before = 0;
        for (Step step : leg.steps()) {
            assertThat(step.began()).isGreaterThanOrEqualTo(before);
            assertThat(step.ended()).isGreaterThanOrEqualTo(step.began());
            before = step.ended();
        }
    }

    @Test
    void armsAtTheSamePosition_sendTheSameBodies() {
        LegRecord baseline = run(PairOrder.AA, 2);
        List<String> sent = bodiesSince(0);
        int mark = engine.bodies.size();
        LegRecord pinned = run(PairOrder.BP, 2);
        assertThat(pinned.bodies()).isEqualTo(baseline.bodies());
        assertThat(bodiesSince(mark)).containsExactlyInAnyOrderElementsOf(sent);
        assertThat(run(PairOrder.AA, 1).bodies()).isNotEqualTo(baseline.bodies());
    }

    @Test
    void baselineLeg_asksForTheShamOfEachCall() {
        LegRecord leg = run(PairOrder.AA, 1);
        assertThat(holder.calls).containsExactly("follow", "off", "sham release");
        assertThat(leg.hold().kind()).isEqualTo(HoldReceipt.Kind.SHAM);
        assertThat(leg.release().kind()).isEqualTo(ReleaseReceipt.Kind.SHAM);
    }

    @Test
    void pinnedLeg_holdsThePrefixAndReleasesThatHold() {
        LegRecord leg = run(PairOrder.PB, 1);
        assertThat(holder.calls).containsExactly("follow", "on 64", "release 1");
        assertThat(leg.hold().isInFull()).isTrue();
        assertThat(leg.release().kind()).isEqualTo(ReleaseReceipt.Kind.RELEASED);
    }

    @Test
    void load_beginsAfterTheSlotInBothArms() {
        for (int position = 1; position <= 2; position++) {
            LegRecord leg = run(PairOrder.BP, position);
            long slotEnd = leg.steps().get(3).began() + SETTINGS.holdSlot().toNanos();
            assertThat(leg.requests().stream().filter(request -> request.role() == Role.FLOOD))
                    .allSatisfy(request -> assertThat(request.scheduled()).isGreaterThanOrEqualTo(slotEnd));
        }
    }

    @Test
    void requests_areThoseOfTheWorkloadInOrder() {
        LegRecord leg = run(PairOrder.AA, 1);
        assertThat(leg.requests())
                .extracting(request -> request.number() + " " + request.role() + " " + request.cycle())
                .containsExactly(
                        "0 PRIME 0",
                        "1 FLOOD 1",
                        "2 FLOOD 1",
                        "3 FLOOD 1",
                        "4 PROBE 1",
                        "5 PROBE 1",
                        "6 FLOOD 2",
                        "7 FLOOD 2",
                        "8 FLOOD 2",
                        "9 PROBE 2",
                        "10 PROBE 2");
        assertThat(leg.requests()).allMatch(RequestRecord::isOk);
        assertThat(leg.workloadId()).isEqualTo(WORKLOAD.id());
    }

    @Test
    void cachedTokens_showWhatTheArmsDid() {
        assertThat(cached(run(PairOrder.AA, 1))).containsExactly(0, 64, 0, 64);
        assertThat(cached(run(PairOrder.PB, 1))).containsExactly(64, 64, 64, 64);
    }

    @Test
    void busyEngine_isAskedToFlushAgain() {
        engine.flushRefusals.set(3);
        assertThat(run(PairOrder.AA, 1).problem()).isEmpty();
        assertThat(engine.paths.stream().filter("POST /flush_cache"::equals)).hasSize(4);
    }

    @Test
    void engineThatNeverFlushes_endsTheLegBeforeAnyLoad() {
        engine.flushRefusals.set(Integer.MAX_VALUE);
        LegRecord leg = run(PairOrder.PB, 1);
        assertThat(leg.problem())
                .hasValueSatisfying(problem ->
                        assertThat(problem).isEqualTo("the engine did not flush its cache (400 pending requests)"));
        assertThat(engine.bodies).isEmpty();
        assertThat(holder.calls).containsExactly("follow");
    }

    @Test
    void prefixThatCannotBeSent_endsTheLegBeforeTheHoldStep() {
        engine.answers = body -> StubEngine.status(500, "no");
        LegRecord leg = run(PairOrder.PB, 1);
        assertThat(leg.problem().orElseThrow())
                .contains("the prefix could not be sent")
                .contains("500");
        assertThat(leg.hold().kind()).isEqualTo(HoldReceipt.Kind.SKIPPED);
        assertThat(holder.calls).containsExactly("follow");
    }

    @Test
    void failingRequests_areRecordedAndTheLegGoesOn() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body -> turn.getAndIncrement() == 2
                ? StubEngine.status(503, "busy")
                : StubEngine.stream(3, 1, OptionalInt.of(0));
        LegRecord leg = run(PairOrder.AA, 1);
        assertThat(leg.problem()).isEmpty();
        assertThat(leg.requests()).filteredOn(request -> !request.isOk()).hasSize(1);
    }

    @Test
    void releaseThatFailsToo_doesNotHideWhyTheLegFailed() {
        StubHolder broken = new StubHolder(engine) {
            @Override
            public ReleaseReceipt release(HoldReceipt hold) {
                super.release(hold);
                throw new LoadTestException("no release");
            }
        };
        LegProtocol protocol = protocol(broken, (life, at, arm, kind, cycle) -> {
            if (kind == Step.Kind.PROBE) {
                throw new LoadTestException("no probe");
            }
        });
        assertThatThrownBy(() -> protocol.run(1, PairOrder.PB, 1))
                .hasMessage("no probe")
                .satisfies(thrown -> assertThat(thrown.getSuppressed())
                        .singleElement()
                        .extracting(Throwable::getMessage)
                        .isEqualTo("no release"));
        assertThat(broken.calls).containsExactly("follow", "on 64", "release 1");
    }

    private LegRecord run(PairOrder order, int position) {
        return protocol(holder, (life, at, arm, kind, cycle) -> watched.add(arm + " " + kind))
                .run(1, order, position);
    }

    private LegProtocol protocol(ArmSwitch with, LegProtocol.Watcher watcher) {
        return new LegProtocol(new RunEnvironment(tested, with, clock), WORKLOAD, SETTINGS, watcher);
    }

    private List<String> bodiesSince(int mark) {
        return engine.bodies.stream().skip(mark).map(Object::toString).toList();
    }

    private static List<String> steps(LegRecord leg) {
        return leg.steps().stream()
                .map(step -> step.kind() + " " + step.cycle())
                .toList();
    }

    private static List<Integer> cached(LegRecord leg) {
        return leg.probes().stream()
                .map(probe -> probe.cachedTokens().orElseThrow())
                .toList();
    }
}
