package io.holdfast.core.plan;

import io.holdfast.core.cost.PrefillCost;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * Time that a request saves that finds a prefix, and whether that is worth a hold by a planner. A prefix whose saving
 * nobody measured is worth one.
 *
 * @param cost what computing prompts costs on this engine
 * @param least what a hold has to save each time
 */
public record Saving(PrefillCost cost, Duration least) {
    /**
     * Factor by which less is enough for a hold that exists, or measurements that waver would take it and give it back.
     */
    private static final double STAYS = 1.5;

    private static final double MILLIS = 1e3;

    /** Returns true if it is too little even by the most that the measurements allow. */
    boolean isTooLittle(long tokens, boolean held) {
        double floor = least.toNanos() / 1e9 / (held ? STAYS : 1);
        return tokens > 0
                && cost instanceof PrefillCost.Known known
                && (known.secondsPerToken() + 2 * known.perTokenError()) * tokens < floor;
    }

    String tooLittle(long tokens) {
        return "holding its " + tokens + " tokens saves a request about " + millis(tokens) + " ms, and at least "
                + least.toMillis() + " ms are worth an automatic hold";
    }

    /** Returns the saving in words, ready to follow another sentence; empty where nothing was measured. */
    Optional<String> said(long tokens) {
        return tokens > 0 && cost instanceof PrefillCost.Known
                ? Optional.of("; a request that finds it saves about " + millis(tokens) + " ms")
                : Optional.empty();
    }

    private String millis(long tokens) {
        return String.format(
                Locale.ROOT, "%.1f", MILLIS * cost.seconds((double) tokens).orElse(0));
    }
}
