package io.holdfast.loadtest.arm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real commands, run by a real shell. */
final class ArmCommandTest {
    private static final Duration SLOT = Duration.ofSeconds(1);
    private static final Duration LIMIT = Duration.ofMinutes(1);
    private static final LoadRequest PREFIX = new LoadRequest(Role.TOUCH, 0, new int[] {5, 6, 7}, 1);
    private static final ArmSwitch.Prefixes PREFIXES = new ArmSwitch.Prefixes(PREFIX, PREFIX);

    @TempDir
    private Path folder = Path.of("");

    @Test
    void legs_runOnAndOffInTheirOrder() throws IOException {
        String note = "echo $HOLDFAST_ARM $(cat $HOLDFAST_PREFIX) >> '" + log() + "'; echo first; echo said";
        try (ArmSwitch arm = new ArmCommand(note, note, false, LIMIT)) {
            assertThat(arm.claimsHold()).isFalse();
            arm.prepare();
            HoldReceipt pinned = arm.on(PREFIXES, SLOT);
            assertThat(pinned).isEqualTo(HoldReceipt.switched("said"));
            assertThat(arm.release(pinned)).isEqualTo(ReleaseReceipt.released("said"));
            HoldReceipt baseline = arm.off(PREFIXES, SLOT);
            assertThat(baseline).isEqualTo(HoldReceipt.sham("said"));
            assertThat(arm.release(baseline)).isEqualTo(ReleaseReceipt.sham("said"));
        }
        assertThat(log()).hasContent("off []\non [5, 6, 7]\noff []\noff [5, 6, 7]\noff []\n");
    }

    @Test
    void armThatClaimsAHold_holdsByItsWord() {
        try (ArmSwitch arm = new ArmCommand("echo pinned", "true", true, LIMIT)) {
            assertThat(arm.claimsHold()).isTrue();
            assertThat(arm.on(PREFIXES, SLOT)).matches(HoldReceipt::isInFull);
        }
    }

    @Test
    void commandThatFails_endsTheRunAndIsSwitchedOff() throws IOException {
        ArmSwitch arm = new ArmCommand("echo no luck >&2; exit 3", "echo off >> '" + log() + "'", false, LIMIT);
        assertThatThrownBy(() -> arm.on(PREFIXES, SLOT))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The arm's command for on ended with exit code 3 (no luck); mend it and run again.");
        arm.close();
        assertThat(log()).hasContent("off\n");
    }

    @Test
    void commandThatDoesNotEnd_isEnded() {
        try (ArmSwitch arm = new ArmCommand("echo still here; sleep 600", "true", false, Duration.ofSeconds(2))) {
            assertThatThrownBy(() -> arm.on(PREFIXES, SLOT))
                    .hasMessage("The arm's command for on was not over after 2 s (still here); mend it and run again.");
        }
    }

    @Test
    void closing_withoutAnythingOn_runsNothing() {
        new ArmCommand("true", "echo off >> '" + log() + "'", false, LIMIT).close();
        assertThat(Files.exists(log())).isFalse();
    }

    private Path log() {
        return folder.resolve("log");
    }
}
