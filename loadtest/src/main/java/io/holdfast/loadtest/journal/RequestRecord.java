package io.holdfast.loadtest.journal;

import io.holdfast.loadtest.workload.Role;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What became of one request. All stamps are nanoseconds since its leg began.
 *
 * @param number its place in the leg's list of requests, from 0
 * @param cycle from 1; 0 for what comes before the first flood
 * @param scheduled when its turn came; waiting for a connection counts from here
 * @param sent when its last byte was handed to the socket
 * @param firstByte when the first byte of the answer's body arrived
 * @param firstToken when the first event with output arrived
 * @param lastToken when the last event with output arrived
 * @param done when it was over, however it ended
 * @param promptTokens as the engine counts them
 * @param completionTokens as the engine counts them
 * @param cachedTokens as the engine counts them; absent means that it did not say, which is not 0
 * @param problem one clause for anything but OK, otherwise empty
 */
public record RequestRecord(
        int number,
        Role role,
        int cycle,
        RequestStatus status,
        long scheduled,
        long sent,
        OptionalLong firstByte,
        OptionalLong firstToken,
        OptionalLong lastToken,
        long done,
        OptionalInt promptTokens,
        OptionalInt completionTokens,
        OptionalInt cachedTokens,
        String problem) {

    public boolean isOk() {
        return status == RequestStatus.OK;
    }

    /** Time to the first token in milliseconds, from the last byte sent; only an OK request has one. */
    public OptionalDouble ttftMillis() {
        return isOk() && firstToken.isPresent()
                ? OptionalDouble.of((firstToken.getAsLong() - sent) / 1e6)
                : OptionalDouble.empty();
    }

    /** The same with all stamps counted from {@code origin}. */
    public RequestRecord since(long origin) {
        return new RequestRecord(
                number,
                role,
                cycle,
                status,
                scheduled - origin,
                sent - origin,
                since(firstByte, origin),
                since(firstToken, origin),
                since(lastToken, origin),
                done - origin,
                promptTokens,
                completionTokens,
                cachedTokens,
                problem);
    }

    private static OptionalLong since(OptionalLong stamp, long origin) {
        return stamp.isPresent() ? OptionalLong.of(stamp.getAsLong() - origin) : stamp;
    }
}
