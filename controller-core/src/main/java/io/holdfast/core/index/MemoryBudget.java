package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Bytes that one engine's memory of what is not in its cache may take: removed blocks, histories of the rank, tokens.
 * Blocks that mirror the cache are not counted. Confined to the thread that applies the events.
 *
 * <p>Each part takes bytes before it grows. Where there are none left, removed blocks are forgotten first, the oldest
 * half of them: they only tell that a block returned. If that is not enough, the part that asked forgets something of
 * its own instead of growing.
 */
public final class MemoryBudget {
    /** Enough for caches of up to 131,072 blocks to remember all that they would without a bound. */
    public static final int DEFAULT_MEBIBYTES = 64;

    /**
     * State of a budget.
     *
     * @param bytes how many are taken now
     * @param most how many may be
     * @param shortages how often there were too few, so that something was forgotten
     */
    public record Used(long bytes, long most, long shortages) {}

    /** Something that is forgotten first. */
    interface LeastUseful {
        /** Bytes that it can give in all. */
        long spare();

        /** Forgets the older half of itself. */
        void forgetHalf();
    }

    private final long most;
    private final List<LeastUseful> leastUseful = new ArrayList<>();

    private long bytes;
    private long shortages;

    /** Creates a budget of so many bytes. */
    public MemoryBudget(long most) {
        this.most = most;
    }

    /** Returns a budget that refuses nothing. */
    public static MemoryBudget unbounded() {
        return new MemoryBudget(Long.MAX_VALUE);
    }

    /** Takes bytes for something more useful than removed blocks; returns false where there are none left. */
    public boolean take(long more) {
        if (takeForGhosts(more)) {
            return true;
        }
        // Nothing is forgotten for what does not fit all the same.
        if (bytes - leastUseful.stream().mapToLong(LeastUseful::spare).sum() + more > most) {
            return false;
        }
        while (bytes + more > most) {
            leastUseful.stream()
                    .max(Comparator.comparingLong(LeastUseful::spare))
                    .orElseThrow()
                    .forgetHalf();
        }
        bytes += more;
        return true;
    }

    /** Takes bytes for removed blocks, which nothing else is forgotten for. */
    boolean takeForGhosts(long more) {
        boolean fits = bytes + more <= most;
        bytes += fits ? more : 0;
        shortages += fits ? 0 : 1;
        return fits;
    }

    /** Takes bytes that have to be taken, be there any left or not. */
    public void takeAnyhow(long more) {
        if (!take(more)) {
            bytes += more;
        }
    }

    /** Gives bytes back. */
    public void give(long fewer) {
        bytes -= fewer;
    }

    /** Returns what is used now. */
    public Used used() {
        return new Used(bytes, most, shortages);
    }

    /** Registers what is to forget half of itself where another part needs the bytes, the largest first. */
    void forgetsFirst(LeastUseful part) {
        leastUseful.add(part);
    }
}
