package io.holdfast.emulator;

/** What the engine counted about answered requests of one kind, streamed or whole. */
record RequestTally(long requests, long promptTokens, long answerTokens, Histogram ttft) {
    static final RequestTally NONE = new RequestTally(0, 0, 0, Histogram.EMPTY);

    RequestTally firstToken(double seconds) {
        return new RequestTally(requests, promptTokens, answerTokens, ttft.observe(seconds));
    }

    RequestTally answered(int prompt, int answer) {
        return new RequestTally(requests + 1, promptTokens + prompt, answerTokens + answer, ttft);
    }
}
