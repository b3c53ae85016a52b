package io.holdfast.workbench.preset;

import io.holdfast.evidence.LinearFit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Time to read a prompt, as a straight line through cold requests: a fixed part and a part for each token.
 *
 * @param requests that it was fitted to
 */
record PrefillLine(double fixedMillis, double millisPerToken, int requests) {
    /** One cold request. */
    record Point(int tokens, double millis) {}

    /**
     * The line of least squares; absent where there are too few points, or all of one length, and where longer prompts
     * took no longer: then other things than reading them were measured.
     */
    static Optional<PrefillLine> of(List<Point> cold) {
        return LinearFit.of(
                        cold.stream().mapToDouble(Point::tokens).toArray(),
                        cold.stream().mapToDouble(Point::millis).toArray())
                .filter(fit -> fit.slope() > 0)
                .map(fit -> new PrefillLine(fit.intercept(), fit.slope(), cold.size()));
    }

    double cold(int tokens) {
        return fixedMillis + millisPerToken * tokens;
    }

    String text() {
        return String.format(
                Locale.ROOT,
                "TTFT = %.2f ms + %.4f ms for each token computed, fitted to %d cold requests",
                fixedMillis,
                millisPerToken,
                requests);
    }
}
