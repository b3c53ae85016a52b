package io.holdfast.loadtest.arm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.VirtualTime;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.vllm.NixlLeaseBackend;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Times and ends of pins, at an engine whose answers are told and in time that is told. */
final class BackendHoldTest {
    private static final Duration SLOT = Duration.ofSeconds(1);
    private static final Duration LASTS = Duration.ofSeconds(30);
    private static final LoadRequest PREFIX = new LoadRequest(Role.TOUCH, 0, new int[32], 1);
    private static final ArmSwitch.Prefixes PREFIXES = new ArmSwitch.Prefixes(PREFIX, PREFIX);

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine stub = StubEngine.start(vertx, 64);
    private final VirtualTime time = new VirtualTime(1, 0);
    private final HttpEngine engine =
            new HttpEngine(vertx, new ExistingServer(stub.uri()), HttpSettings.defaults(), time);

    @AfterEach
    void stop() {
        engine.close();
        stub.close();
        vertx.close().await();
    }

    /** Answers pins as it is told, each after a time, and unpins all but some. */
    private final class Told implements Backend {
        private final BackendTraits traits;
        private final Duration takes;
        private final Queue<Kind> pins = new ArrayDeque<>();
        private final Set<String> stuck = new HashSet<>();
        private final List<String> unpinned = new ArrayList<>();

        Told(BackendTraits traits, Duration takes) {
            this.traits = traits;
            this.takes = takes;
        }

        @Override
        public String name() {
            return "told";
        }

        @Override
        public BackendTraits traits() {
            return traits;
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return CompletableFuture.completedFuture(new Capabilities(true, "told"));
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.attempt());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            time.sleep(takes.toNanos());
            Kind kind = pins.isEmpty() ? Kind.ACCEPTED : pins.remove();
            return CompletableFuture.completedFuture(new Outcome(kind, kind.name()));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            String handle = handles.getFirst();
            if (stuck.contains(handle)) {
                return CompletableFuture.completedFuture(new Outcome(Kind.DEFERRED, "no answer for " + handle));
            }
            unpinned.add(handle);
            return CompletableFuture.completedFuture(new Outcome(Kind.ACCEPTED, "done"));
        }
    }

    private ArmSwitch arm(Told told) {
        ArmSwitch arm = Arms.way(engine, time, (http, timer) -> told);
        arm.prepare();
        return arm;
    }

    /** The engine may count from the start of a request, and what it computes first takes its time. */
    @Test
    void pinThatMayHaveRunOutInTheLeg_isLost() {
        try (ArmSwitch arm = arm(new Told(NixlLeaseBackend.traits(LASTS), Duration.ofSeconds(25)))) {
            HoldReceipt step = arm.on(PREFIXES, SLOT);
            assertThat(step.kind()).isEqualTo(HoldReceipt.Kind.HELD);
            time.sleep(Duration.ofSeconds(4).toNanos());
            assertThat(arm.release(step).kind()).isEqualTo(ReleaseReceipt.Kind.RELEASED);
            assertThat(time.nanos())
                    .as("waited out from the end of the pin")
                    .isEqualTo(Duration.ofSeconds(25).plus(LASTS).plusSeconds(1).toNanos());

            step = arm.on(PREFIXES, SLOT);
            time.sleep(Duration.ofSeconds(6).toNanos());
            assertThat(arm.release(step).kind()).isEqualTo(ReleaseReceipt.Kind.LOST);
        }
    }

    @Test
    void pinThatIsNotUnpinned_keepsNoOther_andIsTheProblemOfTheNextLeg() {
        Told told = new Told(BackendTraits.soft(), Duration.ZERO);
        try (ArmSwitch arm = arm(told)) {
            told.pins.add(Kind.DEFERRED);
            HoldReceipt step = arm.on(PREFIXES, SLOT);
            assertThat(step.id()).as("both tries may be pinned").hasSize(3);
            String first = step.id().substring(0, 1);
            String second = step.id().substring(2);
            told.stuck.add(first);
            assertThat(arm.release(step)).isEqualTo(ReleaseReceipt.unanswered("no answer for " + first));
            assertThat(told.unpinned).contains(second);

            assertThat(arm.on(PREFIXES, SLOT).reason()).isEqualTo("no answer for " + first);
            assertThat(arm.off(PREFIXES, SLOT)).isEqualTo(HoldReceipt.skipped("no answer for " + first));
            told.stuck.clear();
            assertThat(arm.on(PREFIXES, SLOT).kind()).isEqualTo(HoldReceipt.Kind.HELD);
            assertThat(told.unpinned).contains(first);
        }
    }
}
