package io.holdfast.emulator.api;

import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * Looks for what ends an answer while its tokens are said. The engine's thread asks; what was found may be read by
 * whoever was told of the last token.
 */
final class StopSearch implements IntPredicate {
    /**
     * Match that ended the answer.
     *
     * @param matched the text, or the token, as the client gave it
     * @param end how much of the text is left
     */
    record Stop(Object matched, int end) {}

    private final GenerationRequest.Stops stops;
    private final Tokenizer tokenizer;
    private final StringBuilder text = new StringBuilder();
    private int said;
    private Optional<Stop> found = Optional.empty();

    StopSearch(GenerationRequest.Stops stops, Tokenizer tokenizer) {
        this.stops = stops;
        this.tokenizer = tokenizer;
    }

    @Override
    public boolean test(int token) {
        int before = text.length();
        text.append(tokenizer.text(token));
        said++;
        if (said > stops.from() && found.isEmpty()) {
            found = look(token, before);
        }
        return found.isPresent();
    }

    Optional<Stop> found() {
        return found;
    }

    private Optional<Stop> look(int token, int before) {
        if (stops.tokens().contains(token)) {
            return Optional.of(new Stop(token, stops.kept() ? text.length() : before));
        }
        for (String stop : stops.texts()) {
            int at = text.indexOf(stop, Math.max(0, before - stop.length() + 1));
            if (at >= 0) {
                return Optional.of(new Stop(stop, stops.kept() ? at + stop.length() : at));
            }
        }
        return Optional.empty();
    }
}
