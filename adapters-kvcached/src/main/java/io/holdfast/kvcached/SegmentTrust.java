package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Trust that a segment is of one engine that follows its limit, from what was seen of it.
 *
 * <p>A page's size over all layers is in no segment. All numbers but the limit are multiples of it, so their greatest
 * common divisor is one as well, which serves as well: limits are then whole numbers of several pages.
 */
final class SegmentTrust {
    private static final long NOTICED_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final String name;
    private final OptionalLong written;
    private long divisor;
    private boolean mapsInAdvance;
    private Optional<Segment> before = Optional.empty();
    private long beforeNanos;
    private long limitSince;
    private Optional<String> ignored = Optional.empty();

    /** @param written what a page takes over all layers, by the operator's word */
    SegmentTrust(String name, OptionalLong written) {
        this.name = name;
        this.written = written;
    }

    void look(Segment seen, long now) {
        mapsInAdvance |= seen.preallocatedBytes() > 0;
        divisor = divisor(divisor(divisor, seen.usedBytes()), seen.preallocatedBytes());
        if (before.isEmpty() || before.get().limitBytes() != seen.limitBytes()) {
            limitSince = now;
        } else if (beforeNanos - limitSince >= NOTICED_AFTER_NANOS
                && seen.usedBytes() > seen.limitBytes()
                && seen.usedBytes() > before.get().usedBytes()) {
            ignored = Optional.of("The engine of " + name + " takes more memory than its limit allows, so it does not"
                    + " look at its limit: start it without KVCACHED_PAGE_PREALLOC_ENABLED=false.");
        }
        before = Optional.of(seen);
        beforeNanos = now;
    }

    /** The engine is another process now. */
    void begin() {
        mapsInAdvance = before.filter(seen -> seen.preallocatedBytes() > 0).isPresent();
        divisor = before.map(seen -> divisor(seen.usedBytes(), seen.preallocatedBytes()))
                .orElse(0L);
        ignored = Optional.empty();
    }

    /** Returns true if the engine was seen to take more than its limit allows. */
    boolean ignoresItsLimit() {
        return ignored.isPresent();
    }

    /** Forgets that the engine did not follow; answers whether that was so. */
    boolean resume() {
        boolean was = ignored.isPresent();
        ignored = Optional.empty();
        return was;
    }

    /** Bytes of a page over all layers, or of several of them; absent before the engine used memory. */
    OptionalLong bundle() {
        return written.isPresent() || divisor == 0 ? written : OptionalLong.of(divisor);
    }

    /** Reason why the limit must not be moved; absent where nothing speaks against it. */
    Optional<String> doubt(Segment seen, EngineLoad load, long startup) {
        if (ignored.isPresent()) {
            return ignored;
        }
        if (!load.answers()) {
            return Optional.of(
                    "The engine does not answer, so " + name + " may be left over from one that was killed.");
        }
        if (load.caches() > 1) {
            return Optional.of("The engine has " + load.caches() + " caches, and whether each has the limit of " + name
                    + " for itself cannot be told.");
        }
        if (seen.usedBytes() > startup) {
            return Optional.of("The segment " + name + " says that more is used than the engine started with, so"
                    + " several pools write into it: give each engine a KVCACHED_IPC_NAME of its own.");
        }
        if (bundle().isEmpty()) {
            return Optional.of("What a page takes is not known before the engine uses memory: write bundle.");
        }
        long bundle = bundle().getAsLong();
        if (seen.usedBytes() % bundle != 0 || seen.preallocatedBytes() % bundle != 0) {
            return Optional.of("What " + name + " says is no whole pages of " + ByteSize.text(bundle)
                    + ": mend bundle, or leave the key out and have it found out.");
        }
        return mapsInAdvance
                ? Optional.empty()
                : Optional.of("The engine maps no page in advance, and without that it never looks at its limit: start"
                        + " it without KVCACHED_PAGE_PREALLOC_ENABLED=false.");
    }

    private static long divisor(long a, long b) {
        return b == 0 ? a : divisor(b, a % b);
    }
}
