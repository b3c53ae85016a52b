package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.List;

/** An answer as far as it has come. */
final class Answer {
    final String id;
    final long created;
    final int promptTokens;
    private final List<Integer> tokens = new ArrayList<>();
    private int cachedTokens;
    private boolean done;

    Answer(String id, long created, int promptTokens) {
        this.id = id;
        this.created = created;
        this.promptTokens = promptTokens;
    }

    void add(int token, int cached, boolean last) {
        tokens.add(token);
        cachedTokens = cached;
        done = last;
    }

    List<Integer> tokens() {
        return tokens;
    }

    /** The text of the tokens from this position on. */
    String textFrom(int position) {
        return Tokenizer.text(tokens.subList(position, tokens.size()));
    }

    int cachedTokens() {
        return cachedTokens;
    }

    boolean done() {
        return done;
    }
}
