package io.holdfast.embed.ledger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.core.pin.LedgerLine.Pause;
import io.holdfast.core.pin.LedgerLine.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FileLedgerStoreTest {
    private static final List<Step> STEPS = List.of(Step.values());
    private static final LedgerLine HEADER =
            new Header(2, new EngineIdentity("http://gpu-1:30000", "http://10.0.0.7:30000", Optional.of("qwen")));
    private static final LedgerLine PINNING = entry(Step.PINNING, 7, Long.MIN_VALUE, "");
    private static final LedgerLine PINNED = entry(Step.PINNED, 7, Long.MIN_VALUE, "");
    private static final LedgerLine OTHER = entry(Step.KEPT, 8, Long.MAX_VALUE, "a twin");
    private static final LedgerLine PAUSE = new Pause(true, "said so");

    private static LedgerLine entry(Step step, long holdId, long block, String note) {
        return new Entry(step, holdId, HoldOrigin.REQUESTED, "pin_blocks", Long.toString(block), block, 32, note);
    }

    @TempDir
    Path directory;

    @Test
    void newLedger_isEmptyAndMakesItsDirectories() throws IOException {
        Path deep = directory.resolve("a/b/c");

        try (FileLedgerStore store = FileLedgerStore.open(deep, "demo", LedgerFiles.SYSTEM)) {
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
            store.append(HEADER);
            store.append(PAUSE);
            store.append(PINNING);
            store.append(OTHER);

            assertThat(Files.readString(file()).lines())
                    .containsExactly(
                            "{\"ledger\":2,\"address\":\"http://gpu-1:30000\",\"resolved\":\"http://10.0.0.7:30000\","
                                    + "\"model\":\"qwen\"}",
                            "{\"paused\":true,\"reason\":\"said so\"}",
                            "{\"step\":\"PINNING\",\"holdId\":7,\"origin\":\"REQUESTED\",\"backend\":\"pin_blocks\","
                                    + "\"handle\":\"-9223372036854775808\",\"lastBlock\":-9223372036854775808,"
                                    + "\"blocks\":32,\"sinceMillis\":12}",
                            "{\"step\":\"KEPT\",\"holdId\":8,\"origin\":\"REQUESTED\",\"backend\":\"pin_blocks\","
                                    + "\"handle\":\"9223372036854775807\",\"lastBlock\":9223372036854775807,"
                                    + "\"blocks\":32,\"note\":\"a twin\",\"sinceMillis\":12}");
            assertThat(store.read()).containsExactly(HEADER, PAUSE, PINNING, OTHER);
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
        List<LedgerLine> all = List.of(PINNING, PINNED, OTHER);
        for (int length = 0; length <= whole.length; length++) {
            Files.write(file(), Arrays.copyOf(whole, length));
            try (FileLedgerStore store = open()) {
                List<LedgerLine> read = store.read();
                int ended = 0;
                for (int i = 0; i < length; i++) {
                    ended += whole[i] == '\n' ? 1 : 0;
                }
                assertThat(read).hasSizeBetween(ended, ended + 1).isEqualTo(all.subList(0, read.size()));
                store.append(OTHER);
                List<LedgerLine> expected = new ArrayList<>(read);
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
                "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"backend\":\"b\",\"lastBlock\":1,\"blocks\":2}",
                "{\"ledger\":0,\"address\":\"a\",\"resolved\":\"b\"}",
                "{\"ledger\":2,\"address\":\"a\"}",
                "{\"step\":\"PINNED\",\"holdId\":\"7\",\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"holdId\":null,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
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
                            + " is in use by another sidecar or router; stop that one or name another state"
                            + " directory.");
            FileLedgerStore.open(directory, "other", LedgerFiles.SYSTEM).close();
        }
        try (FileLedgerStore second = open()) {
            assertThat(second.read()).containsExactly(PINNING);
        }
    }

    @Test
    void stateDirectoryThatIsAFile_isOneSentence() throws IOException {
        Path plain = Files.writeString(directory.resolve("plain"), "");

        assertThatThrownBy(() -> FileLedgerStore.open(plain, "demo", LedgerFiles.SYSTEM))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("The state directory " + plain + " cannot be made")
                .hasMessageEndingWith("; name another one or mend its permissions.");
    }

    @Test
    void ledgerOfTheFirstVersion_isReadAsPinBlocks() throws IOException {
        Files.writeString(file(), """
            {"step":"PINNED","holdId":7,"origin":"AUTOMATIC","lastBlock":-5,"blocks":3}
            {"step":"RELEASED","holdId":6,"origin":"REQUESTED","lastBlock":9,"blocks":1}
            """);

        try (FileLedgerStore store = open()) {
            assertThat(store.read())
                    .containsExactly(
                            new Entry(Step.PINNED, 7, HoldOrigin.AUTOMATIC, "pin_blocks", "-5", -5, 3, ""),
                            new Entry(Step.RELEASED, 6, HoldOrigin.REQUESTED, "pin_blocks", "9", 9, 1, ""));
        }
    }

    @Test
    void fieldsThatAreNotKnown_arePassedOver() throws IOException {
        Files.writeString(file(), """
            {"ledger":2,"address":"a","resolved":"b","region":"eu"}
            {"step":"PINNED","holdId":7,"origin":"REQUESTED","backend":"b","handle":"h","lastBlock":1,"blocks":2,"x":[1]}
            {"paused":false,"reason":"","by":"ops"}
            """);

        try (FileLedgerStore store = open()) {
            assertThat(store.read())
                    .containsExactly(
                            new Header(2, new EngineIdentity("a", "b", Optional.empty())),
                            new Entry(Step.PINNED, 7, HoldOrigin.REQUESTED, "b", "h", 1, 2, ""),
                            new Pause(false, ""));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"ledger\":3,\"address\":\"a\",\"resolved\":\"b\"}",
                "{\"step\":\"LENT\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":1,\"blocks\":2}",
                "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"DREAMT\",\"lastBlock\":1,\"blocks\":2}",
                "{\"lock\":\"somebody\"}"
            })
    void lineOfANewerVersion_isOneSentence(String line) throws IOException {
        Files.writeString(file(), line + "\n");

        try (FileLedgerStore store = open()) {
            assertThatThrownBy(store::read)
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith("Line 1 of the ledger " + file() + " was written by a newer Holdfast (")
                    .hasMessageEndingWith(
                            "); start that version once so that it releases its pins, or flush the engine's"
                                    + " cache or restart the engine and then delete the file.");
            assertThat(Files.readString(file())).isEqualTo(line + "\n");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{\"step\":\"PINNED\",\"hol"})
    void reading_changesNoByteOfTheFile(String torn) throws IOException {
        try (FileLedgerStore store = open()) {
            store.append(PINNING);
        }
        Files.writeString(file(), torn, StandardOpenOption.APPEND);
        byte[] before = Files.readAllBytes(file());

        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(PINNING);
        }
        assertThat(Files.readAllBytes(file())).isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void seededRun_readsWhatAListWouldHold(long seed) throws IOException {
        Random random = new Random(seed);
        List<LedgerLine> oracle = new ArrayList<>();
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
                        LedgerLine entry = new Entry(
                                STEPS.get(random.nextInt(STEPS.size())),
                                random.nextInt(20),
                                random.nextBoolean() ? HoldOrigin.REQUESTED : HoldOrigin.AUTOMATIC,
                                "b" + random.nextInt(2),
                                "h" + random.nextInt(5),
                                random.nextLong(),
                                random.nextInt(100),
                                random.nextBoolean() ? "" : "why");
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

    @Test
    void timeOfAStep_isReadAgain_andOutlivesShortening() throws IOException {
        Instant first = Instant.ofEpochMilli(1_000);
        Instant[] now = {first};
        try (FileLedgerStore store = FileLedgerStore.open(directory, "demo", LedgerFiles.SYSTEM, () -> now[0])) {
            store.append(PINNING);
            now[0] = first.plusSeconds(5);
            store.append(PINNING);
            store.replaceWith(List.of(PINNING));
        }
        try (FileLedgerStore store = open()) {
            assertThat(store.read()).containsExactly(PINNING);
            assertThat(store.since((Entry) PINNING)).hasValue(first);
        }
    }

    private FileLedgerStore open() throws IOException {
        return FileLedgerStore.open(directory, "demo", LedgerFiles.SYSTEM, () -> Instant.ofEpochMilli(12));
    }

    private Path file() {
        return directory.resolve("demo.ledger");
    }
}
