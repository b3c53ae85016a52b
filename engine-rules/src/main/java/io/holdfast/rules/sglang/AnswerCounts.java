package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestTally;

/** Counts of the requests that the engine answers. */
final class AnswerCounts {
    private static final double NANOS = 1e9;

    private final EngineClock clock;
    private RequestTally whole = RequestTally.NONE;
    private RequestTally streamed = RequestTally.NONE;
    private long cachedTokens;

    AnswerCounts(EngineClock clock) {
        this.clock = clock;
    }

    /** The request has said a token; counted if it is its first. */
    void said(Generation request) {
        if (request.answered() != 1) {
            return;
        }
        double seconds = (clock.nanos() - request.arrivalNanos()) / NANOS;
        if (request.streamed()) {
            streamed = streamed.firstToken(seconds);
        } else {
            whole = whole.firstToken(seconds);
        }
    }

    void answered(Generation request) {
        cachedTokens += request.cachedTokens();
        if (request.streamed()) {
            streamed = streamed.answered(request.prompt().length, request.answered());
        } else {
            whole = whole.answered(request.prompt().length, request.answered());
        }
    }

    RequestTally whole() {
        return whole;
    }

    RequestTally streamed() {
        return streamed;
    }

    /** That answered requests found. */
    long cachedTokens() {
        return cachedTokens;
    }
}
