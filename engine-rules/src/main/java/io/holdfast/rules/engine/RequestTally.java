package io.holdfast.rules.engine;

/** Counts of the answered requests. */
public record RequestTally(long requests, long promptTokens, long answerTokens, Histogram ttft) {
    public static final RequestTally NONE = new RequestTally(0, 0, 0, Histogram.EMPTY);

    public RequestTally firstToken(double seconds) {
        return new RequestTally(requests, promptTokens, answerTokens, ttft.observe(seconds));
    }

    public RequestTally answered(int prompt, int answer) {
        return new RequestTally(requests + 1, promptTokens + prompt, answerTokens + answer, ttft);
    }
}
