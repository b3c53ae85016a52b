package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.embed.ledger.FileLedgerStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What reaches the disk, in which order, and what a disk that fails leaves behind. */
class LedgerDiskTest {
    private static final LedgerLine ONE = entry(1);
    private static final LedgerLine TWO = entry(2);

    @TempDir
    Path directory;

    private final WatchedDisk disk = new WatchedDisk();

    private static LedgerLine entry(long holdId) {
        return new Entry(Step.PINNED, holdId, HoldOrigin.REQUESTED, "pin_blocks", "5", 5, 1, "");
    }

    @Test
    void append_isForcedBeforeItReturns() throws IOException {
        try (FileLedgerStore store = open()) {
            disk.calls().clear();

            store.append(ONE);

            assertThat(disk.calls()).containsExactly("write demo.ledger", "force demo.ledger");
        }
    }

    @Test
    void replaceWith_forcesTheNewFileAndThenTheRename() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
            disk.calls().clear();
            List<String> seenWhenForced = new ArrayList<>();
            disk.trouble(call -> {
                if (call.startsWith("force ")) {
                    seenWhenForced.add(call + (Files.readString(file()).contains("\"holdId\":2") ? " new" : " old"));
                }
            });

            store.replaceWith(List.of(TWO));

            assertThat(seenWhenForced)
                    .containsExactly("force demo.ledger.next old", "force " + directory.getFileName() + " new");
            assertThat(store.read()).containsExactly(TWO);
        }
    }

    @Test
    void failedWrite_leavesNoHalfLineBehind() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
            byte[] before = Files.readAllBytes(file());
            disk.trouble(WatchedDisk.failing(call -> call.startsWith("write ")));

            assertThatThrownBy(() -> store.append(TWO))
                    .isInstanceOf(IOException.class)
                    .hasMessage("The ledger " + file()
                            + " could not be written (No space left on device); free space on its disk or mend it.");

            assertThat(Files.readAllBytes(file())).isEqualTo(before);
        }
    }

    @Test
    void failedForce_takesTheLineBackDurably() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
            disk.calls().clear();
            boolean[] failed = new boolean[1];
            disk.trouble(call -> {
                if (call.startsWith("force ") && !failed[0]) {
                    failed[0] = true;
                    throw new IOException("Input/output error");
                }
            });

            assertThatThrownBy(() -> store.append(TWO)).hasMessageContaining("Input/output error");

            assertThat(disk.calls()).containsExactly("write demo.ledger", "truncate demo.ledger", "force demo.ledger");
            assertThat(store.read()).containsExactly(ONE);
        }
    }

    @Test
    void halfLineThatCouldNotBeTakenBack_isCutOffByTheNext() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
            disk.trouble(WatchedDisk.failing(call -> call.startsWith("write ") || call.startsWith("truncate ")));
            LedgerLine longer =
                    new Entry(Step.KEPT, 3, HoldOrigin.REQUESTED, "pin_blocks", "5", 5, 1, "x".repeat(1000));
            assertThatThrownBy(() -> store.append(longer)).isInstanceOf(IOException.class);
            disk.trouble(call -> {});

            store.append(TWO);

            assertThat(store.read()).containsExactly(ONE, TWO);
        }
        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(ONE, TWO);
        }
    }

    @Test
    void wholeLineThatCouldNotBeTakenBack_isCutOffByTheNext() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
            disk.trouble(WatchedDisk.failing(call -> call.startsWith("force ") || call.startsWith("truncate ")));
            LedgerLine longer =
                    new Entry(Step.KEPT, 3, HoldOrigin.REQUESTED, "pin_blocks", "5", 5, 1, "x".repeat(1000));
            assertThatThrownBy(() -> store.append(longer)).isInstanceOf(IOException.class);
            disk.trouble(call -> {});

            store.append(TWO);

            assertThat(store.read()).containsExactly(ONE, TWO);
        }
    }

    @Test
    void fullDisk_isReadAndSaysWhyNothingIsWritten() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
        }
        disk.trouble(WatchedDisk.failing(call -> call.startsWith("write ") || call.startsWith("create ")));

        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(ONE);
            assertThatThrownBy(() -> store.append(TWO)).hasMessageContaining("free space on its disk");
            assertThatThrownBy(() -> store.replaceWith(List.of())).hasMessageContaining("free space on its disk");
            assertThat(store.read()).containsExactly(ONE);
        }
        assertThat(directory.resolve("demo.ledger.next")).doesNotExist();
    }

    @Test
    void readOnlyDirectory_isReadAndWrittenOnceItIsMended() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(ONE);
        }
        WatchedDisk readOnly = WatchedDisk.readOnly();

        try (FileLedgerStore store = FileLedgerStore.open(directory, "demo", readOnly)) {
            assertThat(store.read()).containsExactly(ONE);
            assertThat(store.unwritable())
                    .hasValueSatisfying(
                            why -> assertThat(why).contains(file().toString()).contains("mend its permissions"));
            assertThatThrownBy(() -> store.append(TWO)).hasMessageContaining("Read-only file system");

            readOnly.trouble(call -> {});
            store.append(TWO);

            assertThat(store.unwritable()).isEmpty();
            assertThat(store.read()).containsExactly(ONE, TWO);
        }
    }

    @Test
    void readOnlyDirectoryWithoutALedger_isOneSentence() {
        assertThatThrownBy(() -> FileLedgerStore.open(directory, "demo", WatchedDisk.readOnly()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("Read-only file system")
                .hasMessageEndingWith("mend its permissions.");
    }

    @Test
    void readOnlyLedgerThatSomebodyWrites_isInUse() throws IOException {
        try (FileLedgerStore writer = open()) {
            writer.append(ONE);
            assertThatThrownBy(() -> FileLedgerStore.open(directory, "demo", WatchedDisk.readOnly()))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("is in use by another sidecar or router");
        }
    }

    private FileLedgerStore open() throws IOException {
        return FileLedgerStore.open(directory, "demo", disk);
    }

    private Path file() {
        return directory.resolve("demo.ledger");
    }
}
