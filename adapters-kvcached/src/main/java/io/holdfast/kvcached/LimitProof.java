package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;
import java.util.Optional;

/**
 * Proof that the engine follows the limit that stands.
 *
 * <p>It notices a limit within 100 ms and applies it when it allocates next. So it follows when it said something new
 * of its use after that time, and has mapped no more than the limit.
 */
final class LimitProof {
    private static final long NOT_SEEN = -2;
    private static final long SEEN_ONCE = -1;

    /**
     * Segment at the time when the limit was seen to stay, the time of its last write by then, and the most that may be
     * in force.
     */
    private record Pending(Segment at, long writtenNanos, long mostBytes) {}

    private Optional<Pending> pending = Optional.empty();

    /** A limit was written here, and seen to stay for long enough. */
    void written(Segment after, long lastWrittenNanos, long mostBytes) {
        pending = Optional.of(new Pending(after, lastWrittenNanos, mostBytes));
    }

    /** A limit was found; since when it stands is not known. */
    void found(Segment seen, long mostBytes) {
        pending = Optional.of(new Pending(seen, NOT_SEEN, mostBytes));
    }

    /** The engine started with the limit that stands. */
    void given() {
        pending = Optional.empty();
    }

    void look(Segment seen, long lastWrittenNanos) {
        pending = pending.flatMap(waiting -> after(waiting, seen, lastWrittenNanos));
    }

    private static Optional<Pending> after(Pending waiting, Segment seen, long lastWrittenNanos) {
        if (waiting.writtenNanos < 0) {
            long since = waiting.writtenNanos == NOT_SEEN ? SEEN_ONCE : Math.max(0, lastWrittenNanos);
            return Optional.of(new Pending(seen, since, waiting.mostBytes));
        }
        boolean alive = lastWrittenNanos > waiting.writtenNanos
                || seen.usedBytes() != waiting.at.usedBytes()
                || seen.preallocatedBytes() != waiting.at.preallocatedBytes();
        return alive && seen.mappedBytes() <= seen.limitBytes() ? Optional.empty() : Optional.of(waiting);
    }

    boolean isOpen() {
        return pending.isPresent();
    }

    /** The largest limit that the engine may follow now. */
    long mostBytes(long standing) {
        return pending.map(waiting -> Math.max(waiting.mostBytes, standing)).orElse(standing);
    }
}
