package io.holdfast.core.effect;

import java.time.Duration;
import java.util.Optional;

/**
 * Settings for measuring what holds do to time to first token, and for releasing them to do so.
 *
 * @param window how long holds are on or off at a time; absent: as long as residence and traffic make it, which may
 *     change
 * @param offShare which part of the windows is off once holds are proven to help; 0 for none
 * @param leastGain holds that surely shorten time to first token by less than this part of it are released
 */
public record EffectSettings(Optional<Duration> window, double offShare, double leastGain) {
    /** Unless somebody decides otherwise. */
    public static final EffectSettings DEFAULTS = new EffectSettings(Optional.empty(), 0.05, 0.03);

    /** Largest share of the windows that may be off. */
    public static final double MOST_OFF = 0.5;

    /** Largest gain that can be required of holds. */
    public static final double MOST_GAIN = 0.5;

    public EffectSettings {
        if (window.filter(length -> !length.isPositive()).isPresent()) {
            throw new IllegalArgumentException("window must be longer than zero, it is " + window.orElseThrow() + ".");
        }
        if (!(offShare >= 0 && offShare <= MOST_OFF)) {
            throw new IllegalArgumentException("offShare must be from 0 to " + MOST_OFF + ", it is " + offShare + ".");
        }
        if (!(leastGain >= 0 && leastGain <= MOST_GAIN)) {
            throw new IllegalArgumentException(
                    "leastGain must be from 0 to " + MOST_GAIN + ", it is " + leastGain + ".");
        }
    }

    /** Returns these settings with windows of another length. */
    public EffectSettings withWindow(Duration length) {
        return new EffectSettings(Optional.of(length), offShare, leastGain);
    }
}
