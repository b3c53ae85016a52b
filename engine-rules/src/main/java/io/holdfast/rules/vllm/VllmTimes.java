package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.Histogram;
import io.holdfast.rules.engine.RequestTally;
import java.util.List;

/**
 * Times that requests took, in vLLM's buckets; all but the time between tokens are of requests that said all.
 *
 * @param betweenTokens from one token to the next
 * @param perToken the mean time between the tokens of a request, 0 of one with a single token
 * @param wholeRequest from arrival to the last token
 * @param queue from arrival to the first admission
 * @param inference from the first admission to the last token
 * @param prefill from the first admission to the first token
 * @param decode from the first token to the last
 */
public record VllmTimes(
        Histogram betweenTokens,
        Histogram perToken,
        Histogram wholeRequest,
        Histogram queue,
        Histogram inference,
        Histogram prefill,
        Histogram decode) {
    private static final Histogram TO_FIRST_TOKEN = Histogram.empty(List.of(
            0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
            80.0, 160.0, 640.0, 2560.0));
    private static final Histogram OF_TOKEN = Histogram.empty(List.of(
            0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0));
    private static final Histogram OF_REQUEST = Histogram.empty(List.of(
            0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
            960.0, 1920.0, 7680.0));

    static final VllmTimes NONE =
            new VllmTimes(OF_TOKEN, OF_TOKEN, OF_REQUEST, OF_REQUEST, OF_REQUEST, OF_REQUEST, OF_REQUEST);

    static final RequestTally NO_REQUESTS = new RequestTally(0, 0, 0, TO_FIRST_TOKEN);

    VllmTimes token(double seconds) {
        return new VllmTimes(betweenTokens.observe(seconds), perToken, wholeRequest, queue, inference, prefill, decode);
    }

    /** Counts a request by the nanoseconds of its marks. */
    VllmTimes answered(long arrival, long admission, long first, long last, int tokens) {
        return new VllmTimes(
                betweenTokens,
                perToken.observe(tokens > 1 ? seconds(first, last) / (tokens - 1) : 0),
                wholeRequest.observe(seconds(arrival, last)),
                queue.observe(seconds(arrival, admission)),
                inference.observe(seconds(admission, last)),
                prefill.observe(seconds(admission, first)),
                decode.observe(seconds(first, last)));
    }

    static double seconds(long from, long to) {
        return (to - from) / 1e9;
    }
}
