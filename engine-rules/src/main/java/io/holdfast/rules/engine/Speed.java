package io.holdfast.rules.engine;

/**
 * Speed of the emulated GPU.
 *
 * @param prefillMicrosPerToken for each token of a prompt that the cache does not have
 * @param firstTokenMicros of a pass that prefills, whatever the prompts
 * @param decodeMicros of a pass that decodes, whatever the number of running requests
 * @param scale how many times faster than told all of it goes
 */
public record Speed(double prefillMicrosPerToken, double firstTokenMicros, double decodeMicros, double scale) {
    public Speed {
        if (!(prefillMicrosPerToken >= 0 && firstTokenMicros >= 0 && decodeMicros >= 0)) {
            throw new IllegalArgumentException("The times of prefill, first token and decode must not be negative.");
        }
        if (!(scale > 0)) {
            throw new IllegalArgumentException("The scale of time must be above 0, not " + scale + ".");
        }
    }

    /** Time that a pass takes by itself, in emulated nanoseconds. */
    double nanos(Pass pass) {
        double nanos = 0;
        if (pass.prefills() > 0) {
            nanos += 1e3 * (firstTokenMicros + prefillMicrosPerToken * pass.prefillTokens());
        }
        if (pass.decodes() > 0) {
            nanos += 1e3 * decodeMicros;
        }
        return nanos;
    }
}
