package io.holdfast.loadtest.measure;

import io.holdfast.loadtest.journal.RequestRecord;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.DoubleStream;

/** A time, in milliseconds, of which a single request has one or more values. */
public enum Quantity {
    /** Time from the last byte sent to the first output. */
    TTFT("ttft"),
    /** Time to the first output from when the request's turn came. */
    TTFT_SCHEDULED("ttft_scheduled"),
    /** Time to the first output that is not reasoning. */
    TTFO("ttfo"),
    /** Gap before each token after the first chunk: the gap of its chunk shared among the chunk's tokens. */
    ITL("itl"),
    /** Time between chunks, however many tokens they have. */
    ICL("icl"),
    /** Mean time of a request for each token after the first. */
    TPOT("tpot"),
    /** Time from the last byte sent to the last token; the end of the stream comes after it. */
    E2E("e2e"),
    /** Time to the last token from when the request's turn came. */
    E2E_SCHEDULED("e2e_scheduled"),
    /** Time to the first chunk of any kind, which in a chat may tell the role alone; only of tools that stamp it. */
    FIRST_CHUNK("first_chunk"),
    /** Time from the last byte sent to the end of the stream; only of tools that stamp it. */
    STREAM("stream"),
    /** Time from a request's turn to its sending. */
    SCHEDULE_LAG("schedule_lag");

    private final String word;

    Quantity(String word) {
        this.word = word;
    }

    /** Returns the word that metrics' names begin with. */
    public String word() {
        return word;
    }

    /** The values of one request; none of one that was not answered well. */
    DoubleStream of(RequestRecord request) {
        return switch (this) {
            case TTFT -> request.ttftMillis().stream();
            case TTFT_SCHEDULED -> request.ttftFromScheduleMillis().stream();
            case TTFO -> request.ttfoMillis().stream();
            case ITL -> Arrays.stream(request.itlMillis());
            case ICL -> request.isOk() ? Arrays.stream(request.tokens().gapsMillis()) : DoubleStream.empty();
            case TPOT -> request.tpotMillis().stream();
            case E2E -> request.endToEndMillis().stream();
            case E2E_SCHEDULED -> request.endToEndFromScheduleMillis().stream();
            case FIRST_CHUNK, STREAM -> DoubleStream.empty();
            case SCHEDULE_LAG ->
                request.isOk() ? DoubleStream.of((request.sent() - request.scheduled()) / 1e6) : DoubleStream.empty();
        };
    }

    static Optional<Quantity> named(String word) {
        return Arrays.stream(values()).filter(each -> each.word.equals(word)).findFirst();
    }
}
