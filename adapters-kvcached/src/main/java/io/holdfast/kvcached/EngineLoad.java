package io.holdfast.kvcached;

import java.util.OptionalDouble;

/**
 * Load that an engine reports, as far as moving its limit needs it.
 *
 * @param answers whether the engine answered when it was asked last
 * @param runningRequests requests in its running batch
 * @param waitingRequests requests in its queue
 * @param ttftSumSeconds sum over all requests of the time to first token, ever growing
 * @param ttftCount how many requests that sum covers
 * @param preemptions how often a running request was taken back for want of memory, ever growing
 * @param capacityTokens tokens that its cache has room for under the limit that it started with
 * @param largestRequestTokens the most that one request may need
 * @param caches how many caches, of as many processes, the engine has
 */
public record EngineLoad(
        boolean answers,
        OptionalDouble runningRequests,
        OptionalDouble waitingRequests,
        OptionalDouble ttftSumSeconds,
        OptionalDouble ttftCount,
        OptionalDouble preemptions,
        OptionalDouble capacityTokens,
        OptionalDouble largestRequestTokens,
        int caches) {
    /** Load of an engine that did not answer yet. */
    public static EngineLoad unknown() {
        OptionalDouble none = OptionalDouble.empty();
        return new EngineLoad(false, none, none, none, none, none, none, none, 1);
    }

    boolean rests() {
        return answers && runningRequests.orElse(1) == 0 && waitingRequests.orElse(1) == 0;
    }
}
