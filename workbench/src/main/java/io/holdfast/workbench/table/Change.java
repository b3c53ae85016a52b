package io.holdfast.workbench.table;

import io.holdfast.workbench.compare.Percents;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Optional;

/**
 * A change from one printed number to another.
 *
 * <p>One rule rounds all of them: half up by size, at the last digit that is asked for, from the numbers as printed.
 */
record Change(BigDecimal from, BigDecimal to) {
    private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

    /** Returns the change in percent of the first; absent where that is 0. */
    Optional<BigDecimal> percent(int decimals) {
        return from.signum() == 0
                ? Optional.empty()
                : Optional.of(to.subtract(from).multiply(HUNDRED).divide(from, decimals, RoundingMode.HALF_UP));
    }

    /** Returns the second divided by the first; absent where the first is 0. */
    Optional<BigDecimal> times(int decimals) {
        return from.signum() == 0 ? Optional.empty() : Optional.of(to.divide(from, decimals, RoundingMode.HALF_UP));
    }

    /** Returns the change in percent with a sign, as {@code -22.4 %}; {@code none} from 0. */
    String text(int decimals) {
        return percent(decimals).map(Percents::printed).orElse("none");
    }

    /** Returns the log ratio; NaN where one of both is not above 0. */
    double logRatio() {
        return from.signum() > 0 && to.signum() > 0
                ? Math.log(to.divide(from, MathContext.DECIMAL64).doubleValue())
                : Double.NaN;
    }
}
