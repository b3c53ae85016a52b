package io.holdfast.core.pin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.ControllerHarness;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.LedgerLine.Step;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What the ledger keeps, forgets and catches up on. */
final class LedgerTest {
    private final ControllerHarness.Disk disk = new ControllerHarness.Disk();

    @Test
    void ledger_growing_isShortened() throws IOException {
        Ledger ledger = new Ledger(disk);
        ledger.append(line(Step.PINNED, 1, 77));
        for (long id = 2; id < 30_000; id++) {
            ledger.append(line(Step.PINNED, id, 2));
            ledger.append(line(Step.RELEASED, id, 2));
            assertThat(disk.lines).hasSizeLessThan(10_010);
        }
        assertThat(disk.outstanding()).extracting(LedgerLine.Entry::lastBlock).containsExactly(77L);
        assertThat(new Ledger(disk).largestId()).isEqualTo(29_999);
    }

    @Test
    void ledger_onlyRead_staysAsItIs() throws IOException {
        disk.append(line(Step.PINNED, 1, 77));
        disk.append(line(Step.RELEASED, 1, 77));
        List<LedgerLine> before = disk.read();
        assertThat(new Ledger(disk).outstanding()).isEmpty();
        assertThat(disk.read()).isEqualTo(before);
    }

    @Test
    void ledger_shortened_keepsWhoseItIsAndThatItIsPaused() throws IOException {
        EngineIdentity here = new EngineIdentity("http://here:1", "http://127.0.0.1:1", Optional.of("m"));
        Ledger ledger = new Ledger(disk);
        ledger.append(new LedgerLine.Header(LedgerLine.Header.VERSION, here));
        ledger.append(new LedgerLine.Pause(true, "at night"));
        new Ledger(disk).append(line(Step.PINNED, 1, 77));
        new Ledger(disk).append(line(Step.RELEASED, 1, 77));
        assertThat(disk.lines).hasSize(3);
        assertThat(new Ledger(disk).engine()).contains(here);
        assertThat(new Ledger(disk).paused()).contains("at night");
        assertThat(new Ledger(disk).largestId()).isEqualTo(1);
    }

    @Test
    void recordedOnAFullDisk_isWrittenBeforeTheNextLine() throws IOException {
        Ledger ledger = new Ledger(disk);
        ledger.append(line(Step.PINNED, 1, 77));
        disk.log.clear();
        disk.broken = true;
        ledger.record(line(Step.UNSURE, 1, 77));
        ledger.record(line(Step.RELEASED, 2, 78));
        assertThat(ledger.outstanding()).extracting(LedgerLine.Entry::step).containsExactly(Step.UNSURE);
        assertThatThrownBy(() -> ledger.append(line(Step.PINNING, 3, 79))).hasMessage("disk full");
        assertThat(ledger.behind()).isTrue();
        disk.broken = false;
        ledger.append(line(Step.PINNING, 4, 80));
        assertThat(disk.log)
                .containsExactly("write UNSURE 77 for 1", "write RELEASED 78 for 2", "write PINNING 80 for 4");
        assertThat(ledger.behind()).isFalse();
    }

    @Test
    void recordedTwiceOnAFullDisk_isWrittenOnceAsItIsNow() throws IOException {
        Ledger ledger = new Ledger(disk);
        disk.broken = true;
        ledger.record(line(Step.UNSURE, 1, 77));
        ledger.record(line(Step.RELEASED, 1, 77));
        ledger.retry();
        disk.broken = false;
        ledger.retry();
        ledger.retry();
        assertThat(disk.log).containsExactly("write RELEASED 77 for 1");
    }

    @Test
    void recordedOnAFullDisk_isWrittenInTheOrderOfTheNews() throws IOException {
        Ledger ledger = new Ledger(disk);
        disk.broken = true;
        ledger.record(line(Step.UNSURE, 1, 77));
        ledger.record(line(Step.UNSURE, 2, 78));
        ledger.record(line(Step.RELEASED, 1, 77));
        disk.broken = false;
        ledger.retry();
        assertThat(disk.log).containsExactly("write UNSURE 78 for 2", "write RELEASED 77 for 1");
    }

    /** Each time all of it is written anew. */
    @Test
    void ledger_isShortenedOnceInTenThousandLines() throws IOException {
        int[] times = {0};
        Ledger ledger = new Ledger(new LedgerStore() {
            @Override
            public List<LedgerLine> read() {
                return List.of(line(Step.RELEASED, 1, 77));
            }

            @Override
            public void append(LedgerLine line) {}

            @Override
            public void replaceWith(List<LedgerLine> lines) {
                times[0]++;
            }
        });
        for (long id = 2; id < 20_002; id++) {
            ledger.append(line(Step.RELEASED, id, 2));
        }
        assertThat(times[0]).as("with the first line, and once after that").isEqualTo(2);
    }

    /** What two backends call the same is two pins. */
    @Test
    void handle_isThatOfItsBackend() throws IOException {
        Ledger ledger = new Ledger(disk);
        ledger.append(new LedgerLine.Entry(Step.PINNED, 1, HoldOrigin.REQUESTED, "one", "h", 77, 1, ""));
        ledger.append(new LedgerLine.Entry(Step.PINNED, 1, HoldOrigin.REQUESTED, "other", "h", 77, 1, ""));
        ledger.append(new LedgerLine.Entry(Step.RELEASED, 1, HoldOrigin.REQUESTED, "one", "h", 77, 1, ""));
        assertThat(ledger.outstanding()).extracting(LedgerLine.Entry::backend).containsExactly("other");
    }

    private static LedgerLine line(Step step, long holdId, long block) {
        return new LedgerLine.Entry(step, holdId, HoldOrigin.REQUESTED, "test", Long.toString(block), block, 2, "");
    }
}
