package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.HoldOrigin;
import io.holdfast.core.LedgerEntry;
import io.holdfast.core.LedgerEntry.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FileLedgerStoreTest {
    private static final List<Step> STEPS = List.of(Step.values());
    private static final LedgerEntry PINNING =
            new LedgerEntry(Step.PINNING, 7, HoldOrigin.REQUESTED, Long.MIN_VALUE, 32);
    private static final LedgerEntry PINNED = new LedgerEntry(Step.PINNED, 7, HoldOrigin.REQUESTED, Long.MIN_VALUE, 32);
    private static final LedgerEntry OTHER = new LedgerEntry(Step.PINNING, 8, HoldOrigin.AUTOMATIC, Long.MAX_VALUE, 1);

    @TempDir
    Path directory;

    @Test
    void newLedger_isEmptyAndMakesItsDirectories() throws IOException {
        Path deep = directory.resolve("a/b/c");

        try (FileLedgerStore store = FileLedgerStore.open(deep, "demo")) {
            assertThat(store.read()).isEmpty();
        }
        assertThat(deep.resolve("demo.ledger")).exists();
    }

    @Test
    void entries_surviveReopening() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
            store.append(PINNED);
        }

        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(PINNING, PINNED);
            store.append(OTHER);
            assertThat(store.read()).containsExactly(PINNING, PINNED, OTHER);
        }
    }

    @Test
    void append_isInTheFileBeforeItReturns() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);

            assertThat(Files.readString(file())).isEqualTo("""
                {"step":"PINNING","holdId":7,"origin":"REQUESTED","lastBlock":-9223372036854775808,"blocks":32}
                """);
        }
    }

    @Test
    void replaceWith_forgetsThePastAndGoesOn() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
            store.replaceWith(List.of(OTHER));
            store.append(PINNED);

            assertThat(store.read()).containsExactly(OTHER, PINNED);
        }
        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(OTHER, PINNED);
            store.replaceWith(List.of());
            assertThat(store.read()).isEmpty();
        }
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).containsExactlyInAnyOrder(file(), directory.resolve("demo.lock"));
        }
    }

    @Test
    void leftoverOfACrashedReplacement_isOverwritten() throws IOException {
        Files.writeString(directory.resolve("demo.ledger.next"), "half a li");

        try (FileLedgerStore store = open()) {
            store.append(PINNING);
            store.replaceWith(List.of(OTHER));
            assertThat(store.read()).containsExactly(OTHER);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "{\"step\":\"PINNED\",\"holdId\":7", "\0\0\0\0", "\u00ff"})
    void tornLastLine_isCutOff(String torn) throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
        }
        Files.writeString(file(), torn, StandardOpenOption.APPEND);

        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(PINNING);
            store.append(PINNED);
            assertThat(store.read()).containsExactly(PINNING, PINNED);
        }
    }

    @Test
    void tornAnywhere_theWholeEntriesBeforeAreKept() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
            store.append(PINNED);
            store.append(OTHER);
        }
        byte[] whole = Files.readAllBytes(file());
        List<LedgerEntry> all = List.of(PINNING, PINNED, OTHER);
        for (int length = 0; length <= whole.length; length++) {
            Files.write(file(), Arrays.copyOf(whole, length));
            try (FileLedgerStore store = open()) {
                List<LedgerEntry> read = store.read();
                int ended = 0;
                for (int i = 0; i < length; i++) {
                    ended += whole[i] == '\n' ? 1 : 0;
                }
                assertThat(read).hasSizeBetween(ended, ended + 1).isEqualTo(all.subList(0, read.size()));
                store.append(OTHER);
                List<LedgerEntry> expected = new ArrayList<>(read);
                expected.add(OTHER);
                assertThat(store.read()).isEqualTo(expected);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "garbage",
                "",
                "[]",
                "null",
                "{}",
                "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1}",
                "{\"step\":\"SOLD\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"holdId\":\"7\",\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"holdId\":null,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2,\"x\":1}",
                "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}{}"
            })
    void corruptLineInTheMiddle_isNeverSkipped(String line) throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
        }
        Files.writeString(file(), line + "\n", StandardOpenOption.APPEND);

        try (FileLedgerStore store = open()) {
            assertThatThrownBy(store::read)
                    .isInstanceOf(IOException.class)
                    .hasMessage("Line 2 of the ledger " + file()
                            + " cannot be read, and a pin may hide behind it; flush the engine's cache or restart the"
                            + " engine, then delete the file.");
        }
    }

    @Test
    void secondOwner_isTurnedAwayUntilTheFirstCloses() throws IOException {
        try (FileLedgerStore first = open()) {
            first.append(PINNING);
            assertThatThrownBy(this::open)
                    .isInstanceOf(IOException.class)
                    .hasMessage("The ledger " + file()
                            + " is in use by another sidecar; stop that one or name another stateDirectory.");
            FileLedgerStore.open(directory, "other").close();
        }
        try (FileLedgerStore second = open()) {
            assertThat(second.read()).containsExactly(PINNING);
        }
    }

    @Test
    void stateDirectoryThatIsAFile_isOneSentence() throws IOException {
        Path plain = Files.writeString(directory.resolve("plain"), "");

        assertThatThrownBy(() -> FileLedgerStore.open(plain, "demo"))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("The state directory " + plain + " cannot be made")
                .hasMessageEndingWith("; name another one or mend its permissions.");
    }

    @Test
    void inherited_countsWhatTheLastRunMayHaveLeftPinned() throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
            store.append(PINNED);
            store.append(OTHER);
            assertThat(store.inherited()).isZero();
        }
        try (FileLedgerStore store = open()) {
            store.read();
            assertThat(store.inherited()).isEqualTo(2);
            store.append(new LedgerEntry(Step.RELEASED, 7, HoldOrigin.REQUESTED, Long.MIN_VALUE, 32));
            assertThat(store.inherited()).isEqualTo(1);
            store.append(new LedgerEntry(Step.PINNING, 9, HoldOrigin.REQUESTED, 5, 1));
            assertThat(store.inherited()).isEqualTo(1);
            store.replaceWith(List.of(OTHER));
            assertThat(store.inherited()).isEqualTo(1);
            store.replaceWith(List.of());
            assertThat(store.inherited()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void seededRun_readsWhatAListWouldHold(long seed) throws IOException {
        Random random = new Random(seed);
        List<LedgerEntry> oracle = new ArrayList<>();
        FileLedgerStore store = open();
        try {
            for (int step = 0; step < 200; step++) {
                switch (random.nextInt(10)) {
                    case 0 -> {
                        store.close();
                        store = open();
                    }
                    case 1 -> {
                        oracle.subList(0, random.nextInt(oracle.size() + 1)).clear();
                        store.replaceWith(oracle);
                    }
                    default -> {
                        LedgerEntry entry = new LedgerEntry(
                                STEPS.get(random.nextInt(3)),
                                random.nextInt(20),
                                random.nextBoolean() ? HoldOrigin.REQUESTED : HoldOrigin.AUTOMATIC,
                                random.nextLong(),
                                random.nextInt(100));
                        oracle.add(entry);
                        store.append(entry);
                    }
                }
                assertThat(store.read()).isEqualTo(oracle);
            }
        } finally {
            store.close();
        }
    }

    private FileLedgerStore open() throws IOException {
        return FileLedgerStore.open(directory, "demo");
    }

    private Path file() {
        return directory.resolve("demo.ledger");
    }
}
