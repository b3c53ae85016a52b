package io.holdfast.rules.engine;

import java.util.Arrays;

/** The emulated model: no sense, but always the same nonsense. No token ends an answer. */
@FunctionalInterface
public interface Model {
    /** The next token of the request's answer. */
    int next(Generation request);

    /** A hash of seed, prompt and position, unless the request sets the token itself. */
    static Model seeded(long seed, int vocabulary) {
        return request -> {
            int position = request.answered();
            if (position < request.terms().forced().size()) {
                return request.terms().forced().get(position);
            }
            return (int) Long.remainderUnsigned(
                    mix(mix(seed ^ Arrays.hashCode(request.prompt())) + position), vocabulary);
        };
    }

    /** The SplitMix64 finaliser. */
    static long mix(long value) {
        long z = value + 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
