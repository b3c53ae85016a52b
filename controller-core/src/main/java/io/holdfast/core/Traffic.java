package io.holdfast.core;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.prefix.Demand;
import io.holdfast.core.prefix.Lengths;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.reuse.Durations;
import java.time.Duration;
import java.util.OptionalDouble;

/**
 * Measurements of an engine's traffic and cache since it is followed.
 *
 * @param span how much time the events cover by the engine's clock, that before we came included where they were had
 * @param counted how many requests the engine counted since its requests and events are compared
 * @param residence how long a block survived that nobody touched, by the blocks that the engine removed for want of
 *     room
 * @param reuse the times between two uses of a prefix, as far as events show uses
 * @param lateReuse part of the reuses that came later than blocks survive; absent while one of the two is not known
 * @param sharing requests that found a prefix they share, and that found it lost
 * @param prefill what computing prompts costs
 * @param demand what the prompts ask of the cache that were under way at the busiest moment of the last minute
 * @param lengths of the last prompts
 */
public record Traffic(
        Duration span,
        long counted,
        Durations residence,
        Durations reuse,
        OptionalDouble lateReuse,
        Sharing sharing,
        PrefillCost prefill,
        Demand demand,
        Lengths lengths) {
    /**
     * Median residence by median reuse: below about 1.5 holding can help, above 5 it cannot; absent where either is.
     */
    public OptionalDouble rho() {
        if (residence.median().isEmpty() || reuse.median().isEmpty()) {
            return OptionalDouble.empty();
        }
        long gap = reuse.median().get().toNanos();
        return gap > 0 ? OptionalDouble.of((double) residence.median().get().toNanos() / gap) : OptionalDouble.empty();
    }
}
