package io.holdfast.core.effect;

import io.holdfast.evidence.Interval;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Effect of holding on time to first token and on the prompt tokens that are computed, by windows with and without
 * holds, and what is done about it.
 *
 * @param windows of those that the estimate is made of
 * @param effectPercent change of TTFT when holding, negative is faster; absent until there is enough to say
 * @param interval95Percent its 95 % interval, in percent, for all looks of a span together
 * @param reason one sentence: why it is in this state, or what is missing
 * @param itlPercent change of the time between tokens when holding; absent until there is enough to say
 * @param guard what keeps holds on now though it is to be measured without them; absent while all is well
 * @param offTime how long holds were off to be compared with
 * @param offPrefill the prefill that this cost, as far as is known what prefill costs
 * @param nextTry how long holds stay released before it is tried again; absent while they are not
 * @param classes the effect on each class of requests, where a router reports first tokens by class
 * @param computed the effect on prompt tokens that are computed; absent where no source reports what is found in the cache
 * @param expected when an answer is to be expected at this traffic; absent once there is one
 */
public record TtftEffect(
        State state,
        int windows,
        OptionalDouble effectPercent,
        Optional<Interval> interval95Percent,
        String reason,
        OptionalDouble itlPercent,
        Optional<String> guard,
        Duration offTime,
        Optional<Duration> offPrefill,
        Optional<Duration> nextTry,
        List<OfClass> classes,
        Optional<Computed> computed,
        Optional<String> expected) {
    /** States of the evidence that the windows give so far. */
    public enum State {
        /** Nothing yet: it is measured with holds on and off in turn. */
        UNPROVEN,
        /** Holds help; they are seldom off. */
        PROVEN,
        /** Holds do not help enough; they are released for a while. */
        NO_BENEFIT,
        /** Holds do harm; they are released for a while. */
        HARMFUL
    }

    /**
     * The effect on one class of requests.
     *
     * @param name as it was reported
     */
    public record OfClass(
            String name, int windows, OptionalDouble effectPercent, Optional<Interval> interval95Percent) {}

    /**
     * The effect on the prompt tokens that requests compute, since they do not find them in the cache.
     *
     * @param ofUsers whether it is that on the requests that use held prefixes; otherwise on all together
     * @param sharePercent which part of all requests those are
     * @param effectPercent change when holding, negative is fewer; absent until there is enough to say
     * @param interval95Percent its 95 % interval, in percent, for all looks of a span together
     */
    public record Computed(
            boolean ofUsers,
            OptionalDouble sharePercent,
            int windows,
            OptionalDouble effectPercent,
            Optional<Interval> interval95Percent) {}

    public TtftEffect {
        classes = List.copyOf(classes);
    }

    /** Creates the effect where nothing is measured. */
    public static TtftEffect unproven(String reason) {
        return new TtftEffect(
                State.UNPROVEN,
                0,
                OptionalDouble.empty(),
                Optional.empty(),
                reason,
                OptionalDouble.empty(),
                Optional.empty(),
                Duration.ZERO,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty(),
                Optional.empty());
    }
}
