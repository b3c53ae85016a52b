package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One engine's limit as it was at the last look.
 *
 * @param state what can be said of the limit that stands
 * @param sentence why it is in that state, or what it waits for
 * @param segment the numbers; absent where there are none
 * @param startupBytes what the engine started with, as far as that was seen
 * @param bundleBytes in what steps limits are written
 * @param lowestBytes the least that may be requested now
 * @param targetBytes where the limit is moving to, on request or by pressure
 * @param moves how often we moved it
 * @param rollbacks how often a smaller limit was taken back since the engine suffered
 * @param busy how often others had the lock at every try
 * @param foreign how often somebody else moved it
 */
public record LimitView(
        State state,
        String sentence,
        Optional<Segment> segment,
        OptionalLong startupBytes,
        OptionalLong bundleBytes,
        OptionalLong lowestBytes,
        OptionalLong targetBytes,
        long moves,
        long rollbacks,
        long busy,
        long foreign) {
    /** State of a limit. */
    public enum State {
        /** There is no segment to read. */
        UNKNOWN,
        /** It is read, and not moved for a reason that lies in the engine or its host. */
        OBSERVE_ONLY,
        /** Somebody else moved it, and it is left alone until <em>resume</em>. */
        STOPPED,
        /** It is written, and the engine has not allocated since. */
        REQUESTED,
        /** The engine follows it. */
        IN_FORCE
    }

    /** Before the first look. */
    public static LimitView unseen() {
        OptionalLong none = OptionalLong.empty();
        return new LimitView(
                State.UNKNOWN, "It was not looked at yet.", Optional.empty(), none, none, none, none, 0, 0, 0, 0);
    }

    /** Share of the limit that is mapped, in percent, as kvtop has it; NaN where there is no segment. */
    public double percent() {
        return segment.map(seen -> 100.0 * seen.mappedBytes() / seen.limitBytes())
                .orElse(Double.NaN);
    }
}
