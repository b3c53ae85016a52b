package io.holdfast.rules.testing;

import io.holdfast.rules.engine.TokenListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the engine told about one request. */
public class Heard implements TokenListener {
    /** What {@link #cachedTokens} is of a request that never said a token. */
    public static final int NOTHING = -1;

    public final List<Integer> tokens = new ArrayList<>();
    public int cachedTokens = NOTHING;
    public boolean done;
    public Optional<String> failure = Optional.empty();

    @Override
    public void token(int token, int count, int cached, boolean last) {
        tokens.add(token);
        cachedTokens = cached;
        done = last;
    }

    @Override
    public void failed(String message) {
        failure = Optional.of(message);
    }
}
