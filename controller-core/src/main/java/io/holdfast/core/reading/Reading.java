package io.holdfast.core.reading;

import java.util.OptionalDouble;

/** A number from the engine with its source and time; absent is unknown, never 0. */
public sealed interface Reading {
    /**
     * A number that the engine gave.
     *
     * @param source where it was read, in words for people ({@code /metrics sglang:num_running_reqs})
     * @param atNanos when, on the clock that drives the controller
     */
    record Known(double value, String source, long atNanos) implements Reading {}

    /** No number, and why not. */
    record Unknown(String why) implements Reading {}

    static Reading known(double value, String source, long atNanos) {
        return new Known(value, source, atNanos);
    }

    static Reading unknown(String why) {
        return new Unknown(why);
    }

    default OptionalDouble number() {
        return this instanceof Known known ? OptionalDouble.of(known.value) : OptionalDouble.empty();
    }
}
