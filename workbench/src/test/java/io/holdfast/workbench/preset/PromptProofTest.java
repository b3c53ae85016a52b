package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.VirtualEngine;
import io.holdfast.loadtest.run.VirtualRules;
import io.holdfast.loadtest.run.VirtualTime;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.loadtest.workload.OtherPrefixes;
import io.holdfast.loadtest.workload.PinSharedPrompt;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The proof that warm-ups, hold and load are about one prefix. */
final class PromptProofTest {
    private static final PinSharedPrompt.Sizes SIZES = new PinSharedPrompt.Sizes(8, 64, 32, 2);
    private static final PinPoc.Step STEP = PinPoc.steps(1).get(2);

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    @Test
    void onePrefix_isNotInvalid() {
        assertThat(run(PinPoc.workload(STEP, 42, SIZES), Arms::pinRoute)
                        .verdict()
                        .finding())
                .isNotEqualTo(Finding.INVALID);
    }

    @Test
    void oneByteInTheLoadsPrompt_isAPromptMismatch() {
        Workload workload = OtherPrefixes.oneByte(PinPoc.workload(STEP, 42, SIZES), Workload.LEGS_OF_A_LIFE);
        assertThat(OtherPrefixes.ofFirst(workload)).isPresent();
        Result result = run(workload, Arms::pinRoute);
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason())
                .contains("prompt_mismatch: a request of the load begins with another prefix");
    }

    @Test
    void holdThatTheLoadDoesNotFind_isAPinNotHit() {
        Result result = run(PinPoc.workload(STEP, 42, SIZES), ElsewhereHeld::new);
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason())
                .contains("pin_not_hit: the first request after the hold found 0 tokens in the cache")
                .contains("what is held is not what the load asks for");
    }

    private Result run(Workload workload, Function<EngineUnderTest, ArmSwitch> arm) {
        VirtualTime time = new VirtualTime(1, 20);
        SglangSettings engine =
                SglangSettings.defaults().withSizes(22_016, 16, 2_048).withVariant(SglangSettings.Variant.PIN_GPU);
        Path journal = folder.resolve("journal");
        try (VirtualEngine tested = new VirtualEngine(
                        VirtualRules.sglang(engine), new Speed(40, 10_000, 1_000, 1), List.of(), time);
                ArmSwitch arms = arm.apply(tested)) {
            LoadTestRun.run(
                    new RunEnvironment(tested, arms, time),
                    workload,
                    PinPoc.settings(STEP, 42, true, 0),
                    journal,
                    Progress.silent());
        }
        return Analysis.of(Journal.read(journal));
    }

    /** Says that it holds 64 tokens, and the cache is empty after it: whatever is held, the load does not ask for it. */
    private static final class ElsewhereHeld implements ArmSwitch {
        private final EngineUnderTest engine;

        ElsewhereHeld(EngineUnderTest engine) {
            this.engine = engine;
        }

        @Override
        public String name() {
            return "another prompt";
        }

        @Override
        public boolean claimsHold() {
            return true;
        }

        @Override
        public void prepare() {}

        @Override
        public HoldReceipt on(Prefixes prefixes, Duration within) {
            assertThat(engine.flush()).isEmpty();
            return HoldReceipt.held("x", 4, 4, 64, "held");
        }

        @Override
        public HoldReceipt off(Prefixes prefixes, Duration within) {
            return HoldReceipt.sham("sham");
        }

        @Override
        public ReleaseReceipt release(HoldReceipt step) {
            return step.kind() == HoldReceipt.Kind.SHAM
                    ? ReleaseReceipt.sham("sham")
                    : ReleaseReceipt.released("released");
        }

        @Override
        public void close() {}
    }
}
