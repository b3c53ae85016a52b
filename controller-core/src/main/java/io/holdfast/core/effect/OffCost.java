package io.holdfast.core.effect;

import io.holdfast.core.cost.PrefillCost;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/** Cost of the windows without holds that were there to measure. */
final class OffCost {
    /*
     * Prompt tokens that an off-window had to compute beyond the part that on-windows compute, times what a token
     * costs. The counted part of a window stands for all of it; while what a token costs is not known, tokens are kept
     * for when it is.
     */
    private static final double MEMORY = 0.2;

    private long nanos;
    private double tokens;
    private OptionalDouble computedWhenOn = OptionalDouble.empty();
    private Optional<Duration> prefill = Optional.empty();
    private boolean told;

    /** A window is over; where it was {@code released} for another reason than measuring, it cost nothing here. */
    void ended(
            boolean on,
            boolean released,
            long length,
            long skipped,
            Optional<Window.Measured> measured,
            PrefillCost cost) {
        OptionalDouble computed = measured.map(Window.Measured::computed).orElse(OptionalDouble.empty());
        if (on) {
            computed.ifPresent(part -> computedWhenOn = OptionalDouble.of(
                    computedWhenOn.isEmpty()
                            ? part
                            : computedWhenOn.getAsDouble() + MEMORY * (part - computedWhenOn.getAsDouble())));
        } else if (!released) {
            nanos += length;
            if (computed.isPresent() && computedWhenOn.isPresent() && length > skipped) {
                Window.Measured off = measured.orElseThrow();
                double prompts = off.promptTokens().orElse(0) * off.requests() * length / (length - skipped);
                tokens += Math.max(0, computed.getAsDouble() - computedWhenOn.getAsDouble()) * prompts;
                told = true;
            }
        }
        OptionalDouble seconds = cost.seconds(tokens);
        if (told && seconds.isPresent()) {
            prefill = Optional.of(Duration.ofNanos(Math.round(seconds.getAsDouble() * 1e9)));
        }
    }

    Duration time() {
        return Duration.ofNanos(nanos);
    }

    Optional<Duration> prefill() {
        return prefill;
    }
}
