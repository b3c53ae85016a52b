package io.holdfast.workbench.table;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;

/**
 * Two numbers of one metric that are compared.
 *
 * @param where both were measured
 * @param order in which both ran, where the table tells
 * @param stated what the table says that the change is
 */
record Comparison(
        Map<String, String> where,
        Observation baseline,
        Observation treatment,
        Optional<PairOrder> order,
        Optional<Figure> stated) {
    Metric metric() {
        return baseline.metric();
    }

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

    /** Returns the title of its metric with its text. */
    String titled() {
        return metric().title() + " " + text();
    }

    String percent() {
        return change().text(1);
    }

    /** Returns 1 if the second is better, -1 if it is worse, and 0 where there is no difference or no direction. */
    int direction() {
        int sign = Double.compare(treatment.value(), baseline.value());
        return switch (metric().better()) {
            case LOWER -> -sign;
            case HIGHER -> sign;
            case NEITHER -> 0;
        };
    }

    double logRatio() {
        return change().logRatio();
    }

    /** Returns the size of the change, as the absolute log ratio; 0 where there is none. */
    double size() {
        double ratio = logRatio();
        return Double.isNaN(ratio) ? 0 : Math.abs(ratio);
    }

    /** Returns the change stated by the table where its numbers do not give it, by the rule of {@link Change}. */
    Optional<String> wrongStatement() {
        return stated.filter(figure -> right(figure, figure.decimals())
                        .filter(right -> right.compareTo(figure.number()) != 0)
                        .isPresent())
                // One digit more shows why the last one printed is another.
                .map(figure -> "printed " + statement(figure, figure.number()) + ", and the numbers give "
                        + statement(figure, right(figure, figure.decimals() + 1).orElse(BigDecimal.ZERO)));
    }

    private static String statement(Figure figure, BigDecimal number) {
        return figure.unit().equals("x") ? number.toPlainString() + "x" : Percents.printed(number);
    }

    /** Returns the change in the unit of a statement; a speed-up is how often the smaller goes into the larger. */
    private Optional<BigDecimal> right(Figure stated, int decimals) {
        if (!stated.unit().equals("x")) {
            return change().percent(decimals);
        }
        return metric().better() == Metric.Better.LOWER
                ? new Change(treatment.figure().number(), baseline.figure().number()).times(decimals)
                : change().times(decimals);
    }
}
