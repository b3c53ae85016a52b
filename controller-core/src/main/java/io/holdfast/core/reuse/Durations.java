package io.holdfast.core.reuse;

import java.time.Duration;
import java.util.Optional;

/**
 * Durations that were measured again and again, and what they come to.
 *
 * @param count how many were measured
 * @param tenth a tenth of the last ones were at most this; absent where there are none
 * @param median half of the last ones were at most this; absent where there are none
 * @param ninetieth nine tenths of the last ones were at most this; absent where there are none
 */
public record Durations(long count, Optional<Duration> tenth, Optional<Duration> median, Optional<Duration> ninetieth) {
    public static final Durations NONE = new Durations(0, Optional.empty(), Optional.empty(), Optional.empty());
}
