package io.holdfast.emulator;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the engine told about one request. */
final class Heard implements TokenListener {
    final List<Integer> tokens = new ArrayList<>();
    int cachedTokens = -1;
    boolean done;
    Optional<String> failure = Optional.empty();

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
