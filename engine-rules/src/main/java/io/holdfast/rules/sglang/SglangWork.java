package io.holdfast.rules.sglang;

/**
 * Work that a scheduler has done since its start.
 *
 * @param computedTokens of prompts, computed by prefills
 * @param foundTokens of prompts, found by prefills in any tier
 * @param foundOnHost how many of them were brought back from the host
 * @param decodedTokens said in decode steps, so without the first of each answer
 * @param prefillBusyMicros time in which it prefilled
 * @param decodes sums over decode steps that followed another one
 * @param retracted requests that were sent back to the queue
 * @param retractedPromptTokens tokens of their prompts
 * @param retractedAnswerTokens tokens that they had said
 * @param recentlyRetracted requests sent back since a batch was last logged
 * @param genThroughput tokens a second between the last two logged decode steps
 */
public record SglangWork(
        long computedTokens,
        long foundTokens,
        long foundOnHost,
        long decodedTokens,
        long prefillBusyMicros,
        DecodeMoments decodes,
        long retracted,
        long retractedPromptTokens,
        long retractedAnswerTokens,
        int recentlyRetracted,
        double genThroughput) {

    /**
     * Sums from which the time of a decode step can be fitted to its requests.
     *
     * @param steps how many
     * @param requests in them
     * @param micros from their predecessors' begin to theirs
     * @param requestsSquared sum of the squares
     * @param requestMicros sum of the products
     * @param tokens said in them
     */
    public record DecodeMoments(
            double steps, double requests, double micros, double requestsSquared, double requestMicros, double tokens) {
        static final DecodeMoments NONE = new DecodeMoments(0, 0, 0, 0, 0, 0);

        DecodeMoments step(int running, long stepMicros) {
            return new DecodeMoments(
                    steps + 1,
                    requests + running,
                    micros + stepMicros,
                    requestsSquared + (double) running * running,
                    requestMicros + (double) running * stepMicros,
                    tokens + running);
        }
    }
}
