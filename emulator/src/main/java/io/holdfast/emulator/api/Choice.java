package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.HoldReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One answer as far as it has come, and how much of it has been told. */
public final class Choice {
    /** Reason why an answer ended. */
    public sealed interface End {
        /** Returns the engines' word for it. */
        default String reason() {
            return switch (this) {
                case Length _ -> "length";
                case Stopped _ -> "stop";
                case Aborted _ -> "abort";
            };
        }

        /** Returns the text or the token that stopped it, where one did. */
        default Optional<Object> stoppedBy() {
            return this instanceof Stopped(Object what) ? Optional.of(what) : Optional.empty();
        }

        /** It said as many tokens as it may. */
        record Length() implements End {}

        record Stopped(Object matched) implements End {}

        record Aborted() implements End {}
    }

    /** Times of what happened to an answer, by the wall clock, in seconds. */
    public record Times(double received, double first, double last) {}

    /** A moment by both clocks. */
    public record Moment(double unixSeconds, long nanos) {
        private double after(long later) {
            return unixSeconds + (later - nanos) / 1e9;
        }
    }

    private final int index;
    private final String id;
    private final GenerationRequest.Prompt prompt;
    private final boolean prefillOnly;
    private final Tokenizer tokenizer;
    private final StringBuilder text = new StringBuilder();
    private final List<Integer> tokens = new ArrayList<>();
    private final Moment received;
    private long first;
    private long last;
    private int cached;
    private int cachedOnHost;
    private Optional<HoldReport> holds = Optional.empty();
    private Optional<End> end = Optional.empty();
    private int toldText;
    private int toldTokens;
    private int chunks;
    private boolean miscounted;

    public Choice(
            int index,
            String id,
            GenerationRequest.Prompt prompt,
            boolean prefillOnly,
            Tokenizer tokenizer,
            Moment received) {
        this.index = index;
        this.id = id;
        this.prompt = prompt;
        this.prefillOnly = prefillOnly;
        this.tokenizer = tokenizer;
        this.received = received;
        this.first = received.nanos();
        this.last = received.nanos();
    }

    public void add(int token, Generation request, long now) {
        if (tokens.isEmpty()) {
            first = now;
        }
        last = now;
        cached = request.cachedTokens();
        cachedOnHost = request.cachedOnHost();
        holds = request.report();
        if (!prefillOnly) {
            tokens.add(token);
            text.append(tokenizer.text(token));
        }
    }

    /** Ends as an answer of a single blank, for which no token was said. */
    public void blank() {
        text.append(' ');
        end = Optional.of(new End.Length());
    }

    /** From here on says of itself what cannot be. */
    public void miscount() {
        miscounted = true;
    }

    /** The answer is over, and its text with it. */
    public void end(Optional<StopSearch.Stop> stop) {
        stop.ifPresent(at -> text.setLength(Math.min(text.length(), Math.max(toldText, at.end()))));
        end = Optional.of(stop.<End>map(at -> new End.Stopped(at.matched())).orElseGet(End.Length::new));
    }

    public void abort() {
        end = Optional.of(new End.Aborted());
    }

    public int index() {
        return index;
    }

    public String id() {
        return id;
    }

    public GenerationRequest.Prompt prompt() {
        return prompt;
    }

    public int promptTokens() {
        return prompt.tokens().length;
    }

    public List<Integer> tokens() {
        return tokens;
    }

    /** Number of tokens that the answer claims to have. */
    public int said() {
        return tokens.size() + (miscounted ? 1 : 0);
    }

    public String text() {
        return text.toString();
    }

    public int cached() {
        return miscounted ? promptTokens() : cached;
    }

    public int cachedOnHost() {
        return cachedOnHost;
    }

    /** Report of the connector, once the answer has ended. */
    public Optional<HoldReport> holds() {
        return holds;
    }

    public Optional<End> end() {
        return end;
    }

    public boolean ended() {
        return end.isPresent();
    }

    public Times times() {
        return new Times(received.unixSeconds(), received.after(first), received.after(last));
    }

    public boolean hasNews() {
        return toldTokens < tokens.size() || (ended() && chunks == 0);
    }

    public int untold() {
        return tokens.size() - toldTokens;
    }

    /** Number of its chunks that have been told. */
    public int chunks() {
        return chunks;
    }

    /**
     * Returns what is new in the text, but for its last characters while the answer goes on: they may belong to a stop.
     */
    public String newText(int heldBack) {
        int until = ended() ? text.length() : Math.max(toldText, whole(text.length() - heldBack));
        return text.substring(toldText, until);
    }

    public List<Integer> newTokens() {
        return List.copyOf(tokens.subList(toldTokens, tokens.size()));
    }

    /** Everything that {@link #newText} and {@link #newTokens} gave has been told. */
    public void told(int heldBack) {
        toldText += newText(heldBack).length();
        toldTokens = tokens.size();
        chunks++;
    }

    /** Half a character is not told. */
    private int whole(int length) {
        return length > 0 && Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length;
    }
}
