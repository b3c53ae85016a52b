package io.holdfast.kvcached;

/**
 * One change of a limit.
 *
 * @param from the limit that stands; any other is somebody else's
 * @param to the limit that is to stand
 * @param marginBytes what a smaller limit has to leave above what the engine has mapped
 * @param reason why, for people
 */
public record Move(long from, long to, long marginBytes, String reason) {
    boolean shrinks() {
        return to < from;
    }
}
