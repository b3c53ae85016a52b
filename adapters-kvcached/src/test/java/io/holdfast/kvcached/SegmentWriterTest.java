package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.kvcached.SegmentReading.Segment;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Real files, the bytes that kvcached's own code leaves in them, and others at the same file. */
final class SegmentWriterTest {
    private static final String IN_USE = "000000000a00000000000048000000000000801600000000";
    private static final long FORTY_GIB = 42949672960L;

    @TempDir
    private Path directory = Path.of("");

    private final List<Long> pauses = new ArrayList<>();
    private final SegmentWriter writer = new SegmentWriter(pauses::add);

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "8 GiB, 000000000a00000000000048000000000000801600000000, 42949672960, 8589934592,"
                + " 000000000200000000000048000000000000801600000000",
        "1.5 GiB, 000000000a00000000000048000000000000801600000000, 42949672960, 1610612736,"
                + " 000000600000000000000048000000000000801600000000",
        "fresh, 000000000a00000000000000000000000000000000000000, 42949672960, 1610612736,"
                + " 000000600000000000000000000000000000000000000000",
        "from below use, 000000400000000000000048000000000000801600000000, 1073741824, 42949672960,"
                + " 000000000a00000000000048000000000000801600000000",
        "from an odd one, a08601000000000000000048000000000000801600000000, 100000, 1610612736,"
                + " 000000600000000000000048000000000000801600000000",
        "restored, 000000600000000000000001000000000000000500000000, 1610612736, 1610612744,"
                + " 080000600000000000000001000000000000000500000000",
        "byte order, 010000000000000018171615141312112827262524232221, 1, 72623859790382856,"
                + " 080706050403020118171615141312112827262524232221",
        "largest, 000000000a00000000000000000000000000000000000000, 42949672960, 9223372036854775807,"
                + " ffffffffffffff7f00000000000000000000000000000000"
    })
    void limit_isWrittenAndNothingElse(String name, String before, long from, long to, String after)
            throws IOException {
        Path file = segment(before);
        WriteResult result = writer.write(file, new Move(from, to, 0, "test"));
        assertThat(result).isInstanceOfSatisfying(WriteResult.Applied.class, applied -> {
            assertThat(applied.rewrites()).isZero();
            assertThat(applied.after().limitBytes()).isEqualTo(to);
            assertThat(applied.locked().limitBytes()).isEqualTo(from);
        });
        assertThat(hex(file)).isEqualTo(after);
        assertThat(pauses).containsExactly(5_000_000L, 150_000_000L);
    }

    @ParameterizedTest
    @CsvSource({
        "ffffffffffffffff00000048000000000000801600000000, -1",
        "000000000000000000000048000000000000801600000000, 0",
        "fffffffffffffffffefffffffffffffffdffffffffffffff, -1",
        "000000000200000000000048000000000000801600000000, 8589934592"
    })
    void limitOfSomebodyElse_stands(String found, long limit) throws IOException {
        Path file = segment(found);
        assertThat(writer.write(file, new Move(FORTY_GIB, 1L << 33 | 1, 0, "test")))
                .isEqualTo(new WriteResult.Foreign(limit));
        assertThat(hex(file)).isEqualTo(found);
    }

    @Test
    void memoryThatTheEngineTookMeanwhile_isNotCutInto() throws IOException {
        Path file = segment(IN_USE);
        long mapped = 1207959552 + 377487360;
        long page = 144 << 20;
        assertThat(writer.write(file, new Move(FORTY_GIB, mapped + page - 1, page, "test")))
                .isEqualTo(new WriteResult.Refused("The engine has mapped 1,512 MiB by now, and a limit of 1,656.0 MiB"
                        + " would leave less than 144 MiB above it."));
        assertThat(hex(file)).isEqualTo(IN_USE);
        assertThat(writer.write(file, new Move(FORTY_GIB, mapped + page, page, "test")))
                .isInstanceOf(WriteResult.Applied.class);
    }

    @Test
    void absentSegment_isNotCreated() {
        Path file = directory.resolve("kvc");
        assertThat(writer.write(file, new Move(1, 2, 0, "test")))
                .isEqualTo(new WriteResult.Refused("There is no segment " + file + "."));
        assertThat(file).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8, 23, 25, 4096})
    void fileOfAnotherSize_isLeftAsItIs(int size) throws IOException {
        Path file = Files.write(directory.resolve("kvc"), new byte[size]);
        assertThat(writer.write(file, new Move(0, 2, 0, "test")))
                .isEqualTo(new WriteResult.Refused(
                        "The file " + file + " has " + size + " bytes; a kvcached segment has 24."));
        assertThat(Files.readAllBytes(file)).isEqualTo(new byte[size]);
    }

    @Test
    void lockThatIsNotGivenBack_isBusy_andNotWaitedFor() throws IOException {
        Path file = segment(IN_USE);
        Posix posix = new Posix();
        int other = posix.open(file);
        assertThat(posix.tryLock(other)).isTrue();
        assertThat(writer.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isEqualTo(new WriteResult.Busy("Others had the lock of " + file + " at all of 200 tries."));
        assertThat(hex(file)).isEqualTo(IN_USE);
        assertThat(pauses).hasSize(200).allMatch(nanos -> nanos <= 1_000_000);
        posix.close(other);
        assertThat(writer.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isInstanceOf(WriteResult.Applied.class);
    }

    @Test
    void oldLimitThatComesBack_isWrittenOver_threeTimesAtMost() throws IOException {
        Path file = segment(IN_USE);
        int[] left = {2};
        SegmentWriter disturbed = new SegmentWriter(nanos -> {
            if (nanos == 5_000_000 && left[0]-- > 0) {
                overwrite(file, IN_USE);
            }
        });
        assertThat(disturbed.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isInstanceOfSatisfying(
                        WriteResult.Applied.class,
                        applied -> assertThat(applied.rewrites()).isEqualTo(2));
        left[0] = 1_000;
        overwrite(file, IN_USE);
        assertThat(disturbed.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isEqualTo(new WriteResult.Unproven("The limit of " + file
                        + " went back to 42949672960 bytes 4 times after it was written: something writes it without"
                        + " the lock."));
        assertThat(left[0]).isEqualTo(996);
    }

    @Test
    void limitThatSomebodyWritesMeanwhile_stands() throws IOException {
        Path file = segment(IN_USE);
        SegmentWriter disturbed = new SegmentWriter(nanos -> {
            if (nanos == 150_000_000) {
                overwrite(file, "000000600000000000000048000000000000801600000000");
            }
        });
        assertThat(disturbed.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isEqualTo(new WriteResult.Foreign(1610612736));
    }

    @Test
    void fileThatIsReplaced_isNotWrittenAnyMore() throws IOException {
        Path file = segment(IN_USE);
        SegmentWriter disturbed = new SegmentWriter(nanos -> {
            if (nanos == 5_000_000) {
                remove(file);
            }
        });
        assertThat(disturbed.write(file, new Move(FORTY_GIB, 1L << 33, 0, "test")))
                .isEqualTo(new WriteResult.Unproven(
                        "There is no segment " + file + ": no kvcached engine of that name is running on this host."));
        assertThat(file).doesNotExist();
    }

    /** As kvcached publishes: lock, read all, change two numbers, write all, unlock. */
    @Test
    void engineAtFullSpeed_losesNothing_andNorDoWe() throws Exception {
        Path file = segment("000000000a00000000000000000000000000000000000000");
        int rounds = System.getProperty("holdfast.scale", "slice").equals("deep") ? 10_000 : 1_000;
        AtomicBoolean ends = new AtomicBoolean();
        CompletableFuture<Integer> lost = CompletableFuture.supplyAsync(() -> publish(file, ends));
        SegmentWriter quick = new SegmentWriter(nanos -> LockSupport.parkNanos(nanos / 100));
        int applied = 0;
        int busy = 0;
        long limit = FORTY_GIB;
        for (int round = 0; round < rounds; round++) {
            long next = FORTY_GIB + 1 + round;
            switch (quick.write(file, new Move(limit, next, 0, "test"))) {
                case WriteResult.Applied seen -> {
                    applied++;
                    assertThat(seen.rewrites()).isZero();
                    assertThat(seen.locked().limitBytes()).isEqualTo(limit);
                    assertThat(seen.locked().preallocatedBytes())
                            .isEqualTo(2 * seen.locked().usedBytes());
                    assertThat(seen.after().limitBytes()).isEqualTo(next);
                    limit = next;
                }
                case WriteResult.Busy lock -> busy++;
                case WriteResult other -> assertThat(other).as("round " + round).isNull();
            }
        }
        ends.set(true);
        assertThat(lost.get()).isZero();
        assertThat(applied + busy).isEqualTo(rounds);
        assertThat(applied).isGreaterThan(rounds / 2);
        assertThat(((Segment) SegmentReader.read(file)).limitBytes()).isEqualTo(limit);
    }

    /** Answers how often what was published was not there any more. */
    private static int publish(Path file, AtomicBoolean ends) {
        Posix posix = new Posix();
        MemorySegment numbers = Arena.ofAuto().allocate(24, 8);
        int lost = 0;
        try {
            for (long round = 1; !ends.get(); round++) {
                int opened = posix.open(file);
                while (!posix.tryLock(opened)) {
                    Thread.onSpinWait();
                }
                boolean whole = posix.read(opened, numbers);
                long used = numbers.get(ValueLayout.JAVA_LONG, 8);
                long reserved = numbers.get(ValueLayout.JAVA_LONG, 16);
                lost += whole && used == round - 1 && reserved == 2 * (round - 1) ? 0 : 1;
                numbers.set(ValueLayout.JAVA_LONG, 8, round);
                numbers.set(ValueLayout.JAVA_LONG, 16, 2 * round);
                posix.write(opened, numbers);
                posix.close(opened);
                Thread.onSpinWait();
            }
        } catch (IOException e) {
            return -1;
        }
        return lost;
    }

    private Path segment(String hex) throws IOException {
        return Files.write(directory.resolve("kvc"), HexFormat.of().parseHex(hex));
    }

    private static void overwrite(Path file, String hex) {
        try {
            Files.write(file, HexFormat.of().parseHex(hex));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void remove(Path file) {
        try {
            Files.delete(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String hex(Path file) throws IOException {
        return HexFormat.of().formatHex(Files.readAllBytes(file));
    }
}
