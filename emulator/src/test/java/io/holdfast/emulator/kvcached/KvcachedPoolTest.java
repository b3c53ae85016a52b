package io.holdfast.emulator.kvcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a limit does inside an engine, as measured on kvcached's own allocator: 96 pages of 16 MiB, 8 blocks in each. */
final class KvcachedPoolTest {
    private static final long MIB = 1 << 20;
    private static final long STARTUP = 1536 * MIB;

    @TempDir
    private Path directory = Path.of("");

    private final VirtualClock clock = new VirtualClock();
    private KvSegment segment;
    private KvcachedPool pool;

    @BeforeEach
    void start() {
        start(settings());
    }

    @AfterEach
    void close() {
        pool.close();
    }

    @Test
    void start_takesTheNullPageAndReservesFive() throws IOException {
        assertThat(HexFormat.of().formatHex(Files.readAllBytes(segment.file())))
                .isEqualTo("000000600000000000000001000000000000000500000000");
        assertThat(pool.allowedBlocks()).isEqualTo(767);
    }

    @Test
    void limit_doesNothingToAnIdleEngine_andIsThereAtItsNextAllocation() throws IOException {
        setLimit(80 * MIB);
        later(2_300);
        assertThat(numbers()).containsExactly(80 * MIB, 16 * MIB, 80 * MIB);
        assertThat(pool.allocate(1)).isPresent();
        assertThat(numbers()).containsExactly(80 * MIB, 16 * MIB, 0);
        assertThat(pool.available()).isEqualTo(5 * 8 - 2);
    }

    @Test
    void limit_isNotSeenBeforeTheNextLook() throws IOException {
        assertThat(pool.allowedBlocks()).isEqualTo(767);
        setLimit(160 * MIB);
        later(99);
        assertThat(pool.allowedBlocks()).isEqualTo(767);
        later(1);
        assertThat(pool.allowedBlocks()).isEqualTo(79);
    }

    @Test
    void limitWithoutPreallocation_isNeverLookedAt() throws IOException {
        start(settings().withPreallocates(false));
        assertThat(numbers()).containsExactly(STARTUP, 16 * MIB, 0);
        setLimit(160 * MIB);
        for (int i = 0; i < 30; i++) {
            later(100);
            assertThat(pool.allocate(1)).isPresent();
        }
        assertThat(pool.available()).isEqualTo(768 - 31);
    }

    @Test
    void limitBelowUse_givesBlocksOfPagesInUseOnly_andTakesNothingAway() throws IOException {
        pool.used(75);
        assertThat(numbers()).containsExactly(STARTUP, 160 * MIB, 80 * MIB);
        setLimit(64 * MIB);
        later(100);
        assertThat(pool.allowedBlocks()).isEqualTo(79);
        assertThat(pool.allocate(3 * 8)).isEmpty();
        assertThat(numbers())
                .as("the reserve is above the limit as well")
                .containsExactly(64 * MIB, 160 * MIB, 80 * MIB);
        pool.used(31);
        assertThat(pool.allowedBlocks()).as("in force once what is in use fits").isEqualTo(31);
        assertThat(numbers()).containsExactly(64 * MIB, 64 * MIB, 0);
    }

    @Test
    void limitBelowScatteredBlocks_isNeverInForce() throws IOException {
        int[] all = pool.allocate(20 * 8 - 1).orElseThrow();
        int[] blocks = IntStream.of(all).filter(block -> block % 8 != 7).toArray();
        pool.free(blocks);
        int[] scattered = IntStream.of(all).filter(block -> block % 8 == 7).toArray();
        assertThat(scattered).hasSize(20);
        setLimit(160 * MIB);
        for (int i = 0; i < 5; i++) {
            later(100);
            int[] one = pool.allocate(1).orElseThrow();
            assertThat(pool.available()).as("shrinking: pages in use only").isEqualTo(20 * 8 - 22);
            pool.free(one);
            assertThat(pool.available())
                    .as("no longer shrinking, and not smaller either")
                    .isEqualTo(96 * 8 - 21);
        }
    }

    @Test
    void raise_withinTheStart_isFreeUntilUsed() throws IOException {
        limited(240 * MIB);
        assertThat(pool.allowedBlocks()).isEqualTo(119);
        limited(480 * MIB);
        assertThat(pool.allowedBlocks()).isEqualTo(239);
        assertThat(numbers()).containsExactly(480 * MIB, 16 * MIB, 80 * MIB);
    }

    @Test
    void returnToExactlyTheStart_hasNoEffect_aFewBytesMoreHave() throws IOException {
        limited(240 * MIB);
        limited(STARTUP);
        assertThat(pool.allowedBlocks()).isEqualTo(119);
        limited(STARTUP + 8);
        assertThat(pool.allowedBlocks()).isEqualTo(767);
        assertThat(HexFormat.of().formatHex(Files.readAllBytes(segment.file())))
                .isEqualTo("080000600000000000000001000000000000000500000000");
    }

    @Test
    void noLimit_aNegativeOneAndOneOfAFewBytes_areOverlooked() throws IOException {
        limited(240 * MIB);
        for (long limit : new long[] {0, -1, -STARTUP, 7}) {
            limited(limit);
            assertThat(pool.allowedBlocks()).isEqualTo(119);
        }
    }

    @Test
    void moreThanTheStart_isTakenAtItsWord_andKillsVllmWithItsFirstBlock() throws IOException {
        limited(2 * STARTUP);
        assertThat(pool.allowedBlocks()).isEqualTo(2 * 768 - 1);
        pool.used(767);
        assertThatThrownBy(() -> pool.used(768)).isInstanceOf(EngineDeath.class).hasMessageContaining("IndexError");
    }

    @Test
    void endlessLimit_killsTheEngine() throws IOException {
        setLimit(Long.MAX_VALUE);
        later(100);
        assertThatThrownBy(pool::allowedBlocks).isInstanceOf(EngineDeath.class);
    }

    @Test
    void reserve_keepsTenFreedPages() throws IOException {
        pool.used(30 * 8 - 1);
        assertThat(numbers()).containsExactly(STARTUP, 480 * MIB, 80 * MIB);
        pool.used(0);
        assertThat(numbers()).containsExactly(STARTUP, 16 * MIB, 160 * MIB);
    }

    @Test
    void deletedSegment_comesBackWithoutALimit_andTheOldOneStays() throws IOException {
        limited(240 * MIB);
        Files.delete(segment.file());
        later(100);
        assertThat(pool.allocate(8)).isPresent();
        assertThat(numbers()).containsExactly(0, 32 * MIB, 64 * MIB + 16 * MIB);
        assertThat(pool.available()).isEqualTo(15 * 8 - 9);
    }

    @Test
    void clearing_freesAllPagesAndEndsAShrink() throws IOException {
        pool.used(30 * 8 - 1);
        limited(64 * MIB);
        pool.cleared();
        assertThat(numbers()).containsExactly(64 * MIB, 16 * MIB, 80 * MIB);
        assertThat(pool.allowedBlocks()).isEqualTo(31);
    }

    @Test
    void nextLife_knowsNothingOfTheLimit() throws IOException {
        limited(240 * MIB);
        start(settings());
        assertThat(numbers()).containsExactly(STARTUP, 16 * MIB, 80 * MIB);
        later(200);
        assertThat(pool.allowedBlocks()).isEqualTo(767);
    }

    @Test
    void cachedBlocks_areCappedByTokens() {
        assertThat(pool.cachedBlocks()).isEqualTo(1000);
        start(settings().withMaxCachedTokens(-1));
        assertThat(pool.cachedBlocks()).isEqualTo(Integer.MAX_VALUE);
        start(settings().withMaxCachedTokens(0));
        assertThat(pool.cachedBlocks()).isZero();
        start(settings().withMaxCachedTokens(5));
        assertThat(pool.cachedBlocks()).isEqualTo(1);
    }

    @Test
    void engineThatCounts_livesWithinMovingLimits() throws IOException {
        NaiveCache cache = new NaiveCache(pool, 767);
        for (int i = 0; i < 50; i++) {
            assertThat(cache.request(16)).isTrue();
        }
        assertThat(cache.blocks()).as("finished requests stay cached and used").isEqualTo(767);
        assertThat(numbers()).containsExactly(STARTUP, STARTUP, 0);
        setLimit(240 * MIB);
        later(2_300);
        assertThat(numbers()).as("nothing happens while it is idle").containsExactly(240 * MIB, STARTUP, 0);
        while (cache.request(16) && pool.allowedBlocks() > 119) {
            later(1);
        }
        assertThat(cache.blocks()).isBetween(119 - 16, 119);
        assertThat(numbers()[1] + numbers()[2]).isLessThanOrEqualTo(240 * MIB);
        assertThat(cache.request(120)).as("larger than the limit").isFalse();
    }

    /** The naive engine: requests one after another, whose blocks stay cached until room is wanted, oldest first. */
    private static final class NaiveCache {
        private final ElasticPool pool;
        private final int capacity;
        private int cached;

        NaiveCache(ElasticPool pool, int capacity) {
            this.pool = pool;
            this.capacity = capacity;
        }

        boolean request(int blocks) {
            while (cached + blocks > Math.min(capacity, pool.allowedBlocks())) {
                if (cached == 0) {
                    return false;
                }
                cached--;
                pool.used(cached);
            }
            cached = Math.min(cached + blocks, pool.cachedBlocks());
            pool.used(cached);
            return true;
        }

        int blocks() {
            return cached;
        }
    }

    private void start(KvcachedSettings settings) {
        segment = KvSegment.create(settings);
        pool = KvcachedPool.start(settings, clock, segment);
    }

    /** Sets a limit and lets the engine ask for blocks. */
    private void limited(long bytes) throws IOException {
        setLimit(bytes);
        later(100);
        pool.allowedBlocks();
    }

    private void setLimit(long bytes) throws IOException {
        long[] numbers = numbers();
        Files.write(
                segment.file(),
                ByteBuffer.allocate(24)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(bytes)
                        .putLong(numbers[1])
                        .putLong(numbers[2])
                        .array());
    }

    private long[] numbers() throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(segment.file())).order(ByteOrder.LITTLE_ENDIAN);
        return new long[] {bytes.getLong(), bytes.getLong(), bytes.getLong()};
    }

    private void later(long millis) {
        clock.await(clock.nanos() + millis * 1_000_000);
    }

    private KvcachedSettings settings() {
        return KvcachedSettings.of(EngineTag.VLLM, 768, 16)
                .withDirectory(directory)
                .withIpcName("kvc_test");
    }
}
