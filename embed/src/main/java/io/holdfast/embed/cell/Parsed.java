package io.holdfast.embed.cell;

/** What bytes of a store turned out to be. */
public sealed interface Parsed<T> {
    /** A value within its bounds. */
    record Read<T>(T value) implements Parsed<T> {}

    /** No value, and why. */
    record Refused<T>(Refusal why) implements Parsed<T> {}
}
