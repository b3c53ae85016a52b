package io.holdfast.workbench.table;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import java.util.Optional;

/**
 * Two numbers of a published table that are compared there.
 *
 * @param where both were measured, by the names of {@link Column}
 * @param order in which both ran, where the table tells
 * @param stated what the table says that the change is
 */
record Comparison(
        Map<String, String> where,
        Metric metric,
        Observation baseline,
        Observation treatment,
        Optional<PairOrder> order,
        Optional<String> repetition,
        Optional<Figure> stated) {

    Change change() {
        return new Change(baseline.figure().number(), treatment.figure().number());
    }

    /** Returns true if both legs are the baseline's, so that only their order differs. */
    boolean isControl() {
        return order.equals(Optional.of(PairOrder.AA));
    }

    /** Returns a text such as {@code 67.09 -> 52.07 (-22.4 %)}. */
    String text() {
        return baseline.figure().text() + " -> " + treatment.figure().text()
                + change().percent(1)
                        .map(percent -> " (" + Percents.printed(percent) + ")")
                        .orElse("");
    }

    /** Returns true if the second is worse; false where there is no direction. */
    boolean isWorse() {
        return direction() < 0;
    }

    boolean isBetter() {
        return direction() > 0;
    }

    private int direction() {
        int sign = Double.compare(treatment.value(), baseline.value());
        return switch (metric.better()) {
            case LOWER -> -sign;
            case HIGHER -> sign;
            case NEITHER -> 0;
        };
    }

    Optional<Double> logRatio() {
        return change().logRatio();
    }

    /** Returns true if the change is larger than a ratio of that size, in either direction. */
    boolean exceeds(double logRatio) {
        return logRatio().map(ratio -> Math.abs(ratio) >= logRatio).orElse(false);
    }

    /** Returns the change stated by the table where its numbers do not give it, by the rule of {@link Change}. */
    Optional<String> wrongStatement() {
        return stated.filter(figure -> {
                    int decimals = figure.decimals();
                    Optional<BigDecimal> right =
                            figure.unit().equals("x") ? times(decimals) : change().percent(decimals);
                    return right.isPresent() && right.get().compareTo(figure.number()) != 0;
                })
                .map(figure -> "printed " + statement(figure) + ", and the numbers give " + right(figure));
    }

    /** A speed-up is how often the smaller goes into the larger. */
    private Optional<BigDecimal> times(int decimals) {
        return metric.better() == Metric.Better.LOWER
                ? new Change(treatment.figure().number(), baseline.figure().number()).times(decimals)
                : change().times(decimals);
    }

    private static String statement(Figure figure) {
        return figure.unit().equals("x") ? figure.text() + "x" : Percents.printed(figure.number());
    }

    private String right(Figure figure) {
        // One digit more shows why the last one printed is another.
        int decimals = figure.decimals() + 1;
        return figure.unit().equals("x")
                ? times(decimals).orElse(BigDecimal.ZERO) + "x"
                : change().text(Math.max(decimals, 1));
    }

    /** The change as a whole share, for people. */
    String percent() {
        return change().percent(1).map(Percents::printed).orElse("none");
    }

    static BigDecimal rounded(double value, int decimals) {
        return BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
    }
}
