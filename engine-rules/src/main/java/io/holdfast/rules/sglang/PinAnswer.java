package io.holdfast.rules.sglang;

/**
 * Answer of an engine to a pin or an unpin.
 *
 * @param accepted false where the route answers 400
 * @param count of blocks
 * @param message the engine's own words
 */
public record PinAnswer(boolean accepted, int count, String message) {
    static PinAnswer refused(String message) {
        return new PinAnswer(false, 0, message);
    }
}
