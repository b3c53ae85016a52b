package io.holdfast.loadtest.client;

import io.holdfast.loadtest.client.CompletionRoute.StreamEvent;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.LoadRequest;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** One request under way: collects the stamps and what the stream says. Confined to one event loop. */
final class Exchange implements SseScanner.Sink {
    private static final int MOST_OF_AN_ERROR = 300;

    private final int number;
    private final LoadRequest request;
    private final CompletionRoute route;
    private final LongSupplier nanos;
    private final SseScanner scanner = new SseScanner(this);
    private final StringBuilder errorBody = new StringBuilder();
    private final long scheduled;
    private long sent;
    private OptionalLong firstByte = OptionalLong.empty();
    private OptionalLong firstToken = OptionalLong.empty();
    private OptionalLong lastToken = OptionalLong.empty();
    private OptionalInt promptTokens = OptionalInt.empty();
    private OptionalInt completionTokens = OptionalInt.empty();
    private OptionalInt cachedTokens = OptionalInt.empty();
    private int httpStatus = 200;
    private boolean visible;
    private boolean ended;
    private long arrival;
    private Optional<String> fault = Optional.empty();

    Exchange(int number, LoadRequest request, CompletionRoute route, LongSupplier nanos) {
        this.number = number;
        this.request = request;
        this.route = route;
        this.nanos = nanos;
        this.scheduled = nanos.getAsLong();
        this.sent = scheduled;
    }

    /** The request is being, or has been, handed to the socket; an answer that came first fixes the stamp. */
    void sending() {
        if (firstByte.isEmpty()) {
            sent = nanos.getAsLong();
        }
    }

    void head(int status) {
        httpStatus = status;
    }

    void body(Buffer buffer) {
        arrival = nanos.getAsLong();
        if (firstByte.isEmpty()) {
            firstByte = OptionalLong.of(arrival);
        }
        byte[] bytes = buffer.getBytes();
        if (httpStatus != 200) {
            errorBody.append(new String(bytes, StandardCharsets.UTF_8));
        } else if (fault.isEmpty()) {
            scan(() -> scanner.feed(bytes));
        }
    }

    @Override
    public void data(byte[] bytes, int length) {
        if (fault.isPresent()) {
            return;
        }
        try {
            take(route.read(bytes, length));
        } catch (IOException e) {
            fault = Optional.of(firstLine(String.valueOf(e.getMessage())));
        }
    }

    @Override
    public void done() {
        ended = true;
    }

    private void take(StreamEvent event) {
        if (event.content()) {
            firstToken = firstToken.isPresent() ? firstToken : OptionalLong.of(arrival);
            lastToken = OptionalLong.of(arrival);
        }
        visible |= event.visible();
        ended |= event.finished();
        promptTokens = event.promptTokens().isPresent() ? event.promptTokens() : promptTokens;
        completionTokens = event.completionTokens().isPresent() ? event.completionTokens() : completionTokens;
        cachedTokens = event.cachedTokens().isPresent() ? event.cachedTokens() : cachedTokens;
    }

    private void scan(Runnable reading) {
        try {
            reading.run();
        } catch (IllegalStateException e) {
            fault = Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** The stream is over and nothing went wrong on the wire. */
    RequestRecord whole() {
        if (httpStatus != 200) {
            String text = firstLine(errorBody.toString());
            return record(
                    RequestStatus.HTTP_ERROR,
                    "the engine answered " + httpStatus + (text.isEmpty() ? "" : ": " + text));
        }
        scan(scanner::end);
        if (fault.isPresent()) {
            return record(RequestStatus.BROKEN_STREAM, fault.get());
        }
        if (!ended) {
            return record(RequestStatus.BROKEN_STREAM, "the stream ended without saying that it was over");
        }
        boolean hasTokens = completionTokens.isPresent() ? completionTokens.getAsInt() > 0 : visible;
        if (!hasTokens || firstToken.isEmpty()) {
            return record(RequestStatus.EMPTY, "the engine generated nothing");
        }
        return record(RequestStatus.OK, "");
    }

    RequestRecord broken(Throwable cause) {
        String text = firstLine(cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage());
        return record(RequestStatus.BROKEN_STREAM, text);
    }

    RequestRecord timedOut(long millis) {
        return record(RequestStatus.TIMED_OUT, "the stream was not over after " + millis + " ms");
    }

    private RequestRecord record(RequestStatus status, String problem) {
        return new RequestRecord(
                number,
                request.role(),
                request.cycle(),
                status,
                scheduled,
                sent,
                firstByte,
                firstToken,
                lastToken,
                nanos.getAsLong(),
                promptTokens,
                completionTokens,
                cachedTokens,
                problem);
    }

    private static String firstLine(String text) {
        String line = text.strip().lines().findFirst().orElse("");
        return line.length() > MOST_OF_AN_ERROR ? line.substring(0, MOST_OF_AN_ERROR) + "..." : line;
    }
}
