package io.holdfast.loadtest.analysis;

import java.util.List;
import java.util.Optional;

/**
 * Correlation of a request's value with that of the next request of its leg. Correlated values are worth fewer than
 * they are: an interval over single requests that leaves this out is too narrow.
 *
 * @param lag1 the correlation of neighbours, around the mean of their own leg
 * @param effective how many independent values would tell as much, by {@code n (1 - lag1) / (1 + lag1)}, and never more
 */
public record Dependence(int values, double lag1, double effective) {
    /** Shorter legs say nothing: around a mean of few values neighbours seem to repel each other. */
    private static final int FEWEST_OF_A_LEG = 8;

    /** Estimates the correlation; absent where no leg is long enough, or where nothing varies. */
    static Optional<Dependence> of(List<double[]> legs) {
        int values = 0;
        double together = 0;
        double squares = 0;
        for (double[] leg : legs) {
            if (leg.length < FEWEST_OF_A_LEG) {
                continue;
            }
            values += leg.length;
            double mean = 0;
            for (double value : leg) {
                mean += value / leg.length;
            }
            for (int i = 0; i < leg.length; i++) {
                squares += (leg[i] - mean) * (leg[i] - mean);
                if (i > 0) {
                    together += (leg[i] - mean) * (leg[i - 1] - mean);
                }
            }
        }
        if (!(squares > 0)) {
            return Optional.empty();
        }
        double lag1 = together / squares;
        return Optional.of(new Dependence(values, lag1, values * Math.min(1, (1 - lag1) / (1 + lag1))));
    }
}
