package io.holdfast.rules.kvcached;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;

/*
 * An engine's memory under kvcached: a pool of pages, and the segment through which others see it and limit it.
 *
 * How a limit arrives
 * -------------------
 * A real engine has a thread that looks at the segment every 100 ms and notes the limit; only an allocation puts it
 * into force. Here the engine's own thread looks, at the first allocation in each interval of 100 ms since the start.
 * From outside the two are alike: an allocation knows the limits that are 100 ms old or older, and nothing happens
 * without one.
 *
 * A limit is compared with the size at the start, not with the size in force. So going back to exactly the start is no
 * limit at all, and a pool that was made smaller stays so; a few bytes more bring it back. A limit that leaves nothing
 * for a layer (0, or less) is passed over. More than the start is taken at its word: the engine gets blocks that its
 * own tables do not have, and vLLM dies of the first one.
 *
 * Who allocates
 * -------------
 * An engine that counts its blocks uses the pool as an ElasticPool; of what it gives back, the newest blocks go first,
 * so its pages are as full as they can be. One that names its blocks sees them scattered, as in a real engine.
 */
public final class KvcachedPool implements ElasticPool, AutoCloseable {
    /** Pages that are mapped in advance, and freed pages that stay mapped: kvcached's defaults. */
    private static final int MIN_RESERVED = 5;

    private static final int MAX_RESERVED = 10;

    private static final long LOOK_NANOS = 100_000_000;

    private final KvcachedSettings settings;
    private final EngineClock clock;
    private final PoolSegment segment;
    private final PagePool pool;
    private final int startBlocks;
    private final long startNanos;

    private int[] counted = new int[64];
    private int countedBlocks;
    private long lastLook = -1;
    private OptionalLong wantedPages = OptionalLong.empty();
    private int publishedUsed = -1;
    private int publishedReserved = -1;

    private KvcachedPool(KvcachedSettings settings, EngineClock clock, PoolSegment segment) {
        this.settings = settings;
        this.clock = clock;
        this.segment = segment;
        int perPage = settings.geometry().perPage();
        int pages =
                Math.toIntExact(settings.perLayerBytes() / settings.geometry().pageBytes());
        this.startBlocks = pages * perPage;
        this.pool = settings.preallocates()
                ? new PagePool(pages, perPage, MIN_RESERVED, MAX_RESERVED)
                : new PagePool(pages, perPage, 0, MAX_RESERVED);
        this.startNanos = clock.nanos();
    }

    /**
     * Takes the null block.
     *
     * @param segment new, with the whole pool as its limit; the pool closes it
     */
    public static KvcachedPool start(KvcachedSettings settings, EngineClock clock, PoolSegment segment) {
        KvcachedPool started = new KvcachedPool(settings, clock, segment);
        started.takeNullBlock();
        return started;
    }

    @Override
    public int allowedBlocks() {
        applyLimit();
        publish();
        return countedBlocks + pool.available();
    }

    @Override
    public void used(int blocks) {
        if (blocks > countedBlocks) {
            // The limit that the engine requested counts, even if another was set since.
            int[] more = pool.allocate(blocks - countedBlocks)
                    .orElseThrow(() -> new EngineDeath("AssertionError: kvcached has no more blocks than "
                            + countedBlocks + ", and the engine took " + blocks));
            checkTable(more);
            if (counted.length < blocks) {
                counted = Arrays.copyOf(counted, Math.max(blocks, counted.length << 1));
            }
            System.arraycopy(more, 0, counted, countedBlocks, more.length);
        } else if (blocks < countedBlocks) {
            pool.free(Arrays.copyOfRange(counted, blocks, countedBlocks));
        }
        countedBlocks = blocks;
        publish();
    }

    @Override
    public void cleared() {
        countedBlocks = 0;
        pool.clear();
        takeNullBlock();
    }

    @Override
    public int cachedBlocks() {
        return settings.cachedBlocks();
    }

    /** Takes so many blocks, or none when there are fewer; a limit that was noted counts from here on. */
    public Optional<int[]> allocate(int blocks) {
        applyLimit();
        Optional<int[]> taken = pool.allocate(blocks);
        publish();
        taken.ifPresent(this::checkTable);
        return taken;
    }

    public void free(int[] blocks) {
        pool.free(blocks);
        publish();
    }

    /** Number of blocks that an allocation would get under the limit in force. */
    public int available() {
        return pool.available();
    }

    /** Removes the segment. An engine that is killed does not get here. */
    @Override
    public void close() {
        segment.close();
    }

    private void checkTable(int[] taken) {
        if (settings.engine() == EngineTag.VLLM && Arrays.stream(taken).anyMatch(block -> block >= startBlocks)) {
            throw new EngineDeath("IndexError: list index out of range");
        }
    }

    private void takeNullBlock() {
        pool.allocate(1);
        publish();
    }

    private void applyLimit() {
        if (!settings.preallocates()) {
            return;
        }
        long look = (clock.nanos() - startNanos) / LOOK_NANOS;
        if (look != lastLook) {
            lastLook = look;
            wantedPages = wantedPages();
        }
        wantedPages.ifPresent(pool::limit);
    }

    /** Pages that the segment requests, if it requests any. */
    private OptionalLong wantedPages() {
        OptionalLong limit = segment.limit();
        if (limit.isEmpty()) {
            return OptionalLong.empty();
        }
        long perLayer = limit.getAsLong() / settings.geometry().slices();
        return perLayer <= 0 || perLayer == settings.perLayerBytes()
                ? OptionalLong.empty()
                : OptionalLong.of(perLayer / settings.geometry().pageBytes());
    }

    private void publish() {
        int used = pool.pagesInUse();
        int reserved = pool.pagesReserved();
        if (used != publishedUsed || reserved != publishedReserved) {
            segment.publish(used * settings.bundleBytes(), reserved * settings.bundleBytes());
            publishedUsed = used;
            publishedReserved = reserved;
        }
    }
}
