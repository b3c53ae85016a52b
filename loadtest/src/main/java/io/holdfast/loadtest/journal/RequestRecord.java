package io.holdfast.loadtest.journal;

import io.holdfast.loadtest.workload.Role;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Outcome of one request. All stamps are nanoseconds since its leg began.
 *
 * <p>A latency has two origins, and both are kept. From {@code sent} it is the time that the server took. From {@code
 * scheduled} it is the time that a user waited who wanted an answer at that moment: with arrivals that do not wait for
 * answers, the time that a request spends waiting in the client belongs to it, and leaving it out makes an overloaded
 * server look well.
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
 * @param problem one clause for anything but OK; of an OK one what is odd about its text, if anything
 * @param sentTokens how long its prompt is, where it was sent as token ids
 * @param firstAnswer when the first event arrived with output other than reasoning
 * @param tokens when each event with output arrived
 * @param output a digest of what it was answered; absent where nobody took one
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
        String problem,
        OptionalInt sentTokens,
        OptionalLong firstAnswer,
        TokenStamps tokens,
        Optional<String> output) {

    /** Creates a record without a digest of the answer. */
    public RequestRecord(
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
            String problem,
            OptionalInt sentTokens,
            OptionalLong firstAnswer,
            TokenStamps tokens) {
        this(
                number,
                role,
                cycle,
                status,
                scheduled,
                sent,
                firstByte,
                firstToken,
                lastToken,
                done,
                promptTokens,
                completionTokens,
                cachedTokens,
                problem,
                sentTokens,
                firstAnswer,
                tokens,
                Optional.empty());
    }

    /** Creates a record of which only the beginning and the end of the output are known. */
    public RequestRecord(
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
        this(
                number,
                role,
                cycle,
                status,
                scheduled,
                sent,
                firstByte,
                firstToken,
                lastToken,
                done,
                promptTokens,
                completionTokens,
                cachedTokens,
                problem,
                OptionalInt.empty(),
                OptionalLong.empty(),
                TokenStamps.none());
    }

    public boolean isOk() {
        return status == RequestStatus.OK;
    }

    /**
     * Time to the first token in milliseconds, from the last byte sent. Only an OK request has one, and none has one
     * that is not above zero: no token comes before it is requested.
     */
    public OptionalDouble ttftMillis() {
        return between(sent, firstToken);
    }

    /** Returns the time to the first token from when the request's turn came. */
    public OptionalDouble ttftFromScheduleMillis() {
        return between(scheduled, firstToken);
    }

    /** Time to the first output that is not reasoning, in milliseconds from the last byte sent. */
    public OptionalDouble ttfoMillis() {
        return between(sent, firstAnswer);
    }

    /** Returns the time from the last byte sent to the last token, in milliseconds. */
    public OptionalDouble endToEndMillis() {
        return between(sent, lastToken);
    }

    /** Returns the time to the last token from when the request's turn came. */
    public OptionalDouble endToEndFromScheduleMillis() {
        return between(scheduled, lastToken);
    }

    /** Time for each token after the first, in milliseconds: (end to end - time to first token) / (tokens - 1). */
    public OptionalDouble tpotMillis() {
        return isOk() && firstToken.isPresent() && lastToken.isPresent() && completionTokens.orElse(0) > 1
                ? OptionalDouble.of(
                        (lastToken.getAsLong() - firstToken.getAsLong()) / 1e6 / (completionTokens.getAsInt() - 1))
                : OptionalDouble.empty();
    }

    /**
     * For each token after the first chunk the gap before its chunk, divided by the tokens of that chunk, in
     * milliseconds. Empty where the chunks do not add up to the tokens that the engine counted: then they are gaps
     * between chunks, which {@link TokenStamps#gapsMillis} has.
     */
    public double[] itlMillis() {
        boolean addsUp =
                completionTokens.isEmpty() || Arrays.stream(tokens.tokens()).sum() == completionTokens.getAsInt();
        return isOk() && addsUp ? tokens.perTokenMillis() : new double[0];
    }

    private OptionalDouble between(long from, OptionalLong to) {
        return isOk() && to.isPresent() && to.getAsLong() > from
                ? OptionalDouble.of((to.getAsLong() - from) / 1e6)
                : OptionalDouble.empty();
    }

    /** Returns the record with all stamps counted from {@code origin}. */
    public RequestRecord since(long origin) {
        return with(number, origin, cachedTokens, output);
    }

    public RequestRecord numbered(int place) {
        return with(place, 0, cachedTokens, output);
    }

    /** Returns the record with the digest of its answer. */
    public RequestRecord withOutput(String digest) {
        return with(number, 0, cachedTokens, Optional.of(digest));
    }

    /** Returns the record with another count of cached tokens. */
    public RequestRecord withCachedTokens(int count) {
        return with(number, 0, OptionalInt.of(count), output);
    }

    private RequestRecord with(int place, long origin, OptionalInt cached, Optional<String> digest) {
        return new RequestRecord(
                place,
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
                cached,
                problem,
                sentTokens,
                since(firstAnswer, origin),
                tokens,
                digest);
    }

    private static OptionalLong since(OptionalLong stamp, long origin) {
        return stamp.isPresent() ? OptionalLong.of(stamp.getAsLong() - origin) : stamp;
    }
}
