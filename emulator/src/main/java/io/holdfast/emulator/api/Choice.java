package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Generation;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One answer as far as it has come, and how much of it has been told. */
final class Choice {
    /** Why an answer ended. */
    sealed interface End {
        /** It said as many tokens as it may. */
        record Length() implements End {}

        record Stopped(Object matched) implements End {}

        record Aborted() implements End {}
    }

    /** When things happened to an answer, by the wall clock, in seconds. */
    record Times(double received, double first, double last) {}

    /** A moment by both clocks. */
    record Moment(double unixSeconds, long nanos) {
        private double after(long later) {
            return unixSeconds + (later - nanos) / 1e9;
        }
    }

    private final int index;
    private final String id;
    private final Ask.Prompt prompt;
    private final boolean silent;
    private final Tokenizer tokenizer;
    private final StringBuilder text = new StringBuilder();
    private final List<Integer> tokens = new ArrayList<>();
    private final Moment received;
    private long first;
    private long last;
    private int cached;
    private int cachedOnHost;
    private Optional<End> end = Optional.empty();
    private int toldText;
    private int toldTokens;
    private int chunks;
    private boolean miscounted;

    Choice(int index, String id, Ask.Prompt prompt, boolean silent, Tokenizer tokenizer, Moment received) {
        this.index = index;
        this.id = id;
        this.prompt = prompt;
        this.silent = silent;
        this.tokenizer = tokenizer;
        this.received = received;
        this.first = received.nanos();
        this.last = received.nanos();
    }

    void add(int token, Generation request, long now) {
        if (tokens.isEmpty()) {
            first = now;
        }
        last = now;
        cached = request.cachedTokens();
        cachedOnHost = request.cachedOnHost();
        if (!silent) {
            tokens.add(token);
            text.append(tokenizer.text(token));
        }
    }

    /** Ends as an answer of a single blank, for which no token was said. */
    void blank() {
        text.append(' ');
        end = Optional.of(new End.Length());
    }

    /** From here on says of itself what cannot be. */
    void miscount() {
        miscounted = true;
    }

    /** The answer is over, and its text with it. */
    void end(Optional<StopSearch.Stop> stop) {
        stop.ifPresent(at -> text.setLength(Math.min(text.length(), Math.max(toldText, at.end()))));
        end = Optional.of(stop.<End>map(at -> new End.Stopped(at.matched())).orElseGet(End.Length::new));
    }

    void abort() {
        end = Optional.of(new End.Aborted());
    }

    int index() {
        return index;
    }

    String id() {
        return id;
    }

    Ask.Prompt prompt() {
        return prompt;
    }

    int promptTokens() {
        return prompt.tokens().length;
    }

    List<Integer> tokens() {
        return tokens;
    }

    /** How many tokens it says that it has. */
    int said() {
        return tokens.size() + (miscounted ? 1 : 0);
    }

    String text() {
        return text.toString();
    }

    int cached() {
        return miscounted ? promptTokens() : cached;
    }

    int cachedOnHost() {
        return cachedOnHost;
    }

    Optional<End> end() {
        return end;
    }

    boolean ended() {
        return end.isPresent();
    }

    Times times() {
        return new Times(received.unixSeconds(), received.after(first), received.after(last));
    }

    boolean hasNews() {
        return toldTokens < tokens.size() || (ended() && chunks == 0);
    }

    int untold() {
        return tokens.size() - toldTokens;
    }

    /** How many chunks of it have been told. */
    int chunks() {
        return chunks;
    }

    /** What is new in the text, but for its last characters while the answer goes on: they may belong to a stop. */
    String newText(int heldBack) {
        int until = ended() ? text.length() : Math.max(toldText, whole(text.length() - heldBack));
        return text.substring(toldText, until);
    }

    List<Integer> newTokens() {
        return List.copyOf(tokens.subList(toldTokens, tokens.size()));
    }

    /** Everything that {@link #newText} and {@link #newTokens} gave has been told. */
    void told(int heldBack) {
        toldText += newText(heldBack).length();
        toldTokens = tokens.size();
        chunks++;
    }

    /** Half a character is not told. */
    private int whole(int length) {
        return length > 0 && Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length;
    }
}
