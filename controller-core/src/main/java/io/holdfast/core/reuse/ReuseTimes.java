package io.holdfast.core.reuse;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Measures residence and reuse in one engine's cache.
 *
 * <p>It is told of each event before the {@link EngineBlocks} are, since it asks them what was there until now.
 */
public final class ReuseTimes {
    /*
     * Residence
     * ---------
     * How long a block survives that nobody touches is how old it is when the engine removes it for want of room: the
     * time since the last touch that the events show. What is cleared or pinned tells nothing. Of the blocks that are
     * removed together one in sixteen is looked at, the first among them, since they were stored and touched together.
     *
     * Reuse
     * -----
     * A request that begins below a block uses the path to it; the time since that block's last touch is a gap. Where
     * the first block that it stores had been lost, that one is what would have been used again. Whether a store begins
     * a request is known after it was applied, and whose request it is when the batch ends: so a gap is noted in
     * between.
     *
     * The past
     * --------
     * Touches are remembered by our clock. A batch that was missed and asked for, or was there before we were, happened
     * earlier than it came: it says nothing of times, and neither does a block that was last touched by it. Such a
     * batch is later than others by its stamp. When one comes that is much less late than all before, those were of the
     * past, and what they seemed to tell is forgotten.
     */
    private static final int LOOK_AT_ONE_OF = 16;
    private static final int MOST_PENDING = 4096;
    private static final long LATE_NANOS = 1_000_000_000;
    /** Whose clock was set back is not late for ever. */
    private static final long LATE_FOR_NANOS = 60_000_000_000L;

    private final EngineBlocks blocks;
    /** Ages of an earlier process: what is learned of the past here says nothing against them. */
    private RecentDurations earlierAges = new RecentDurations();

    private RecentDurations earlierGaps = new RecentDurations();
    private RecentDurations ages = new RecentDurations();
    private RecentDurations gaps = new RecentDurations();
    private final Deque<Long> pending = new ArrayDeque<>();
    private long nowNanos;
    private long gapNanos;

    private boolean anyBatch;
    private long batchNanos;
    private long firstStampMicros;
    private long lastStampMicros;
    private long leastDelayNanos;
    private long onTimeNanos;
    /** Time before which touches are earlier than is remembered. */
    private long pastUntilNanos = -1;

    private boolean late;

    public ReuseTimes(EngineBlocks blocks) {
        this.blocks = blocks;
    }

    /** The time that the next events happen at. */
    public void now(long nanos) {
        nowNanos = nanos;
    }

    /**
     * A batch comes.
     *
     * @param stampMicros when the engine made it, by its own clock
     * @return whether it shows that events of the past came, so that nothing can be compared across it
     */
    public boolean batch(long stampMicros) {
        long delay = nowNanos - 1000 * stampMicros;
        firstStampMicros = anyBatch ? Math.min(firstStampMicros, stampMicros) : stampMicros;
        lastStampMicros = anyBatch ? Math.max(lastStampMicros, stampMicros) : stampMicros;
        boolean pastSeen = false;
        boolean setBack = nowNanos - onTimeNanos > LATE_FOR_NANOS && delay > leastDelayNanos + LATE_NANOS;
        if (!anyBatch || setBack) {
            leastDelayNanos = delay;
        } else if (delay < leastDelayNanos - LATE_NANOS) {
            pastUntilNanos = batchNanos;
            ages = earlierAges.then(new RecentDurations());
            gaps = earlierGaps.then(new RecentDurations());
            pastSeen = true;
        }
        anyBatch = true;
        batchNanos = nowNanos;
        leastDelayNanos = Math.min(leastDelayNanos, delay);
        late = delay > leastDelayNanos + LATE_NANOS;
        if (late) {
            pastUntilNanos = nowNanos;
        } else {
            onTimeNanos = nowNanos;
        }
        return pastSeen || late;
    }

    /** These blocks are about to be removed. */
    public void removing(long[] hashes, int from, int to, Tier tier) {
        if (tier != Tier.GPU || late) {
            return;
        }
        for (int i = from; i < to; i += LOOK_AT_ONE_OF) {
            long touched = blocks.resident(hashes[i]) && !blocks.pinned(hashes[i]) ? blocks.lastTouch(hashes[i]) : 0;
            if (touched > 0 && touched > pastUntilNanos) {
                ages.add(Math.max(0, nowNanos - touched));
            }
        }
    }

    /** These blocks are about to be stored. */
    public void storing(StoredBlocks stores) {
        gapNanos = -1;
        if (stores.tier() != Tier.GPU || stores.count() == 0) {
            return;
        }
        long again = blocks.lastTouch(stores.hash(0));
        long touched = again > 0 || stores.rooted() ? again : blocks.lastTouch(stores.parent());
        gapNanos = touched > 0 && touched > pastUntilNanos && !late ? Math.max(0, nowNanos - touched) : -1;
    }

    /** Notes that what was stored last began a request. */
    public void began() {
        if (pending.size() < MOST_PENDING) {
            pending.add(gapNanos);
        }
    }

    /** A request that stored nothing is about to be noted as a use of the path down to this block at that time. */
    public void using(long lastBlock, long nanos) {
        long touched = blocks.lastTouch(lastBlock);
        if (touched > pastUntilNanos && touched > 0 && touched <= nanos) {
            gaps.add(nanos - touched);
        }
    }

    /** The oldest request that began and was not told of yet. */
    public void told(boolean own) {
        Long gap = pending.poll();
        if (gap != null && gap >= 0 && !own) {
            gaps.add(gap);
        }
    }

    /** Returns what outlives this process. */
    public LearnedTimes learned() {
        return new LearnedTimes(ages.count(), ages.last(), gaps.count(), gaps.last());
    }

    /** Takes up what an earlier process learned, as if it had been measured before all that was measured here. */
    public void restore(LearnedTimes learned) {
        earlierAges = RecentDurations.of(learned.residences(), learned.residence());
        earlierGaps = RecentDurations.of(learned.reuses(), learned.reuse());
        ages = earlierAges.then(ages);
        gaps = earlierGaps.then(gaps);
    }

    /** Another engine is followed from now on. */
    public void forget() {
        restore(new LearnedTimes(0, new long[0], 0, new long[0]));
        ages = new RecentDurations();
        gaps = new RecentDurations();
    }

    /** Returns how long blocks survived that nobody touched; nothing until some were removed. */
    public Durations residence() {
        return ages.seen();
    }

    /** The times between two uses of a prefix. */
    public Durations gaps() {
        return gaps.seen();
    }

    /** Part of the gaps that were longer than half of the blocks survived; absent while either is unknown. */
    public OptionalDouble laterThanResidence() {
        OptionalLong median =
                ages.seen().median().stream().mapToLong(Duration::toNanos).findFirst();
        return median.isPresent() ? gaps.longerThan(median.getAsLong()) : OptionalDouble.empty();
    }

    /** Returns how much time the events span, by the engine's clock. */
    public Duration span() {
        return Duration.of(lastStampMicros - firstStampMicros, ChronoUnit.MICROS);
    }
}
