package io.holdfast.loadtest.client;

import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.client.CompletionRoute.StreamEvent;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.workload.LoadRequest;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** One request under way: collects the stamps and what the stream says. Confined to one event loop. */
final class Exchange implements SseScanner.Sink {
    private static final int MOST_OF_AN_ERROR = 300;
    private static final int MOST_OF_AN_ERROR_BODY = 1 << 16;
    private static final int MOST_AT_FIRST = 1_024;
    /** A token may come in more chunks than one, as half a character does, and not in that many. */
    private static final int MOST_CHUNKS_OF_A_TOKEN = 16;

    private static final int DIGEST_BYTES = 8;

    private final int number;
    private final LoadRequest request;
    private final CompletionRoute route;
    private final boolean streams;
    private final LongSupplier nanos;
    private final SseScanner scanner = new SseScanner(this);
    private final StringBuilder errorBody = new StringBuilder();
    private final StringBuilder answer = new StringBuilder();
    /** An answer that is no stream. */
    private final ByteArrayOutputStream whole = new ByteArrayOutputStream();

    private final ArrayDeque<Part> unread = new ArrayDeque<>();
    private final long scheduled;
    private long sent;
    private OptionalLong firstByte = OptionalLong.empty();
    /** Time of the event that said why the answer ends. */
    private OptionalLong finished = OptionalLong.empty();

    private OptionalLong firstAnswer = OptionalLong.empty();
    private long[] stamps;
    private int[] tokens;
    private int chunks;
    private boolean countsAsItGoes;
    /** True if the last chunk of output had no text. */
    private boolean endsBare;

    private OptionalLong done = OptionalLong.empty();
    private OptionalInt promptTokens = OptionalInt.empty();
    private OptionalInt completionTokens = OptionalInt.empty();
    private OptionalInt cachedTokens = OptionalInt.empty();
    private int httpStatus = 200;
    private boolean visible;
    private boolean ended;
    private long arrival;
    private Optional<String> fault = Optional.empty();

    /** Creates an exchange whose answer comes token by token. */
    Exchange(int number, LoadRequest request, CompletionRoute route, LongSupplier nanos, long scheduled) {
        this(number, request, route, true, nanos, scheduled);
    }

    /**
     * @param streams whether the answer comes token by token
     * @param scheduled when its turn came, which may be a while ago
     */
    Exchange(
            int number,
            LoadRequest request,
            CompletionRoute route,
            boolean streams,
            LongSupplier nanos,
            long scheduled) {
        this.streams = streams;
        this.number = number;
        this.request = request;
        this.route = route;
        this.nanos = nanos;
        this.scheduled = scheduled;
        this.sent = nanos.getAsLong();
        this.stamps = new long[Math.clamp(request.maxTokens(), 1, MOST_AT_FIRST)];
        this.tokens = new int[stamps.length];
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

    /**
     * A part of the answer arrived. Only its stamp is taken: what is in it is read later, by {@link #read}, so that the
     * stamps of other answers that arrived with it need not wait for that.
     */
    void body(Buffer buffer) {
        long now = nanos.getAsLong();
        if (firstByte.isEmpty()) {
            firstByte = OptionalLong.of(now);
        }
        unread.add(new Part(now, buffer));
    }

    /** Reads what arrived so far. */
    void read() {
        for (Part part = unread.poll(); part != null; part = unread.poll()) {
            arrival = part.arrival();
            byte[] bytes = part.bytes().getBytes();
            if (httpStatus != 200) {
                if (errorBody.length() < MOST_OF_AN_ERROR_BODY) {
                    errorBody.append(new String(bytes, StandardCharsets.UTF_8));
                }
            } else if (!streams) {
                whole.writeBytes(bytes);
            } else if (fault.isEmpty()) {
                scan(() -> scanner.feed(bytes));
            }
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
        int brought = brought(event);
        if (brought > 0) {
            output(brought, event.text().isEmpty());
        }
        if (event.answer() && firstAnswer.isEmpty()) {
            firstAnswer = OptionalLong.of(arrival);
        }
        visible |= event.visible();
        route.add(answer, event);
        if (event.finished() && finished.isEmpty()) {
            finished = OptionalLong.of(arrival);
        }
        ended |= event.finished();
        promptTokens = event.promptTokens().isPresent() ? event.promptTokens() : promptTokens;
        completionTokens = event.completionTokens().isPresent() ? event.completionTokens() : completionTokens;
        cachedTokens = event.cachedTokens().isPresent() ? event.cachedTokens() : cachedTokens;
    }

    /**
     * Returns the number of tokens that an event brings. An engine that counts as it goes says so in the first event;
     * from any other engine, an event with output is one token until its usage says otherwise.
     */
    private int brought(StreamEvent event) {
        if (!event.content()) {
            return 0;
        }
        if (chunks == 0) {
            countsAsItGoes = event.completionTokens().isPresent();
            return Math.max(1, event.completionTokens().orElse(1));
        }
        return countsAsItGoes && event.completionTokens().isPresent()
                ? event.completionTokens().getAsInt() - completionTokens.orElse(0)
                : 1;
    }

    private void output(int count, boolean bare) {
        if (chunks >= MOST_AT_FIRST && chunks >= (long) MOST_CHUNKS_OF_A_TOKEN * request.maxTokens()) {
            fault = Optional.of("the stream goes on beyond the " + request.maxTokens() + " requested tokens");
            return;
        }
        if (chunks == stamps.length) {
            stamps = Arrays.copyOf(stamps, 2 * chunks);
            tokens = Arrays.copyOf(tokens, 2 * chunks);
        }
        stamps[chunks] = arrival;
        tokens[chunks] = count;
        endsBare = bare;
        chunks++;
    }

    private OptionalLong firstToken() {
        return chunks > 0 ? OptionalLong.of(stamps[0]) : OptionalLong.empty();
    }

    private OptionalLong lastToken() {
        return chunks > 0 ? OptionalLong.of(stamps[chunks - 1]) : OptionalLong.empty();
    }

    private void scan(Runnable reading) {
        try {
            reading.run();
        } catch (SseScanner.EndlessEventException e) {
            fault = Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** The last byte of the answer arrived. */
    void ended() {
        done = OptionalLong.of(nanos.getAsLong());
    }

    /** The stream is over and nothing went wrong on the wire. */
    RequestRecord whole() {
        read();
        if (httpStatus != 200) {
            String text = firstLine(errorBody.toString());
            return record(
                    RequestStatus.HTTP_ERROR,
                    "the engine answered " + httpStatus + (text.isEmpty() ? "" : ": " + text) + mend(text));
        }
        if (streams) {
            scan(scanner::end);
        } else {
            data(whole.toByteArray(), whole.size());
        }
        if (fault.isPresent()) {
            return record(RequestStatus.BROKEN_STREAM, fault.get());
        }
        if (!ended) {
            return record(RequestStatus.BROKEN_STREAM, "the stream ended without saying that it was over");
        }
        if (chunks == 0 && finished.isPresent() && completionTokens.orElse(0) > 0) {
            // A single token may be half a character: counted, and there with the end, but without any text.
            arrival = finished.getAsLong();
            output(completionTokens.getAsInt(), false);
        }
        if (endsBare
                && completionTokens.isPresent()
                && Arrays.stream(tokens, 0, chunks - 1).sum() == completionTokens.getAsInt()) {
            // The chunk with the reason for the end may bring a token without text; the count shows that it brought
            // none.
            chunks--;
        }
        boolean hasTokens = completionTokens.isPresent() ? completionTokens.getAsInt() > 0 : visible;
        if (!hasTokens || chunks == 0) {
            return record(RequestStatus.EMPTY, "the engine generated nothing");
        }
        if (stamps[0] <= sent) {
            return record(RequestStatus.IMPOSSIBLE, "its first token was there before it was sent");
        }
        if (completionTokens.orElse(0) > request.maxTokens()) {
            return record(
                    RequestStatus.IMPOSSIBLE,
                    "the engine counted " + completionTokens.getAsInt() + " tokens of an answer that may have "
                            + request.maxTokens());
        }
        if (promptTokens.isPresent() && cachedTokens.orElse(0) > promptTokens.getAsInt()) {
            return record(
                    RequestStatus.IMPOSSIBLE,
                    "the engine found " + cachedTokens.getAsInt() + " tokens cached of a prompt of "
                            + promptTokens.getAsInt());
        }
        return record(RequestStatus.OK, AnswerText.oddity(answer).orElse("")).withOutput(digest(answer.toString()));
    }

    /** Returns a mend that only the client knows: prompts are drawn from more ids than a small model has. */
    private String mend(String said) {
        return route.sendsTokenIds() && said.toLowerCase(Locale.ROOT).contains("vocab")
                ? "; prompts have token ids from 1,000 to 29,999, of which this model does not know all, so ask by"
                        + " text, with --route OPENAI_TEXT or --api completions"
                : "";
    }

    /** Enough of a digest to tell answers apart, and not one of them from it. */
    private static String digest(String text) {
        byte[] sha = Sha256.start().digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(sha, 0, DIGEST_BYTES);
    }

    RequestRecord broken(Throwable cause) {
        read();
        String text = firstLine(cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage());
        return record(RequestStatus.BROKEN_STREAM, text);
    }

    RequestRecord timedOut(long millis) {
        read();
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
                streams ? firstToken() : OptionalLong.empty(),
                lastToken(),
                done.orElseGet(nanos),
                promptTokens,
                completionTokens,
                cachedTokens,
                problem,
                route.sendsTokenIds() ? OptionalInt.of(request.length()) : OptionalInt.empty(),
                streams ? firstAnswer : OptionalLong.empty(),
                streams ? TokenStamps.of(stamps, tokens, chunks) : TokenStamps.none());
    }

    /** Returns the record of a request that was never sent, since no connection was left for it. */
    static RequestRecord notSent(int number, LoadRequest request, long scheduled, int lanes) {
        return new RequestRecord(
                number,
                request.role(),
                request.cycle(),
                RequestStatus.NOT_SENT,
                scheduled,
                scheduled,
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                scheduled,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                "all of " + lanes + " connections were in use when its turn came");
    }

    private record Part(long arrival, Buffer bytes) {}

    private static String firstLine(String text) {
        String line = text.strip().lines().findFirst().orElse("");
        return line.length() > MOST_OF_AN_ERROR ? line.substring(0, MOST_OF_AN_ERROR) + "..." : line;
    }
}
