package io.holdfast.core.effect;

import io.holdfast.evidence.Interval;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * What holding does to time to first token, by alternating windows with automatic holds on and off; reported, not acted
 * upon.
 *
 * @param windows ready windows counted so far
 * @param effectPercent change of TTFT when holding, negative is faster; absent until there is enough to say
 * @param interval95Percent its 95 % interval, in percent
 * @param reason one sentence
 */
public record TtftEffect(
        State state, int windows, OptionalDouble effectPercent, Optional<Interval> interval95Percent, String reason) {
    /** What the windows show so far. */
    public enum State {
        UNPROVEN,
        PROVEN,
        NO_BENEFIT,
        HARMFUL
    }

    public static TtftEffect unproven(String reason) {
        return new TtftEffect(State.UNPROVEN, 0, OptionalDouble.empty(), Optional.empty(), reason);
    }
}
