package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import java.util.Map;
import java.util.Optional;

/**
 * One number of a published table, and all that the table says about it.
 *
 * @param where levels, labels and settings by the names of {@link Column}
 * @param order where it was in time among the legs of its pair, as printed
 * @param value in the metric's own unit
 * @param unit as printed
 */
record Observation(
        Map<String, String> where,
        Metric metric,
        Optional<Column.Side> side,
        Optional<String> order,
        Optional<String> repetition,
        Figure figure,
        double value,
        String unit) {
    Observation at(Map<String, String> other) {
        return new Observation(other, metric, side, order, repetition, figure, value, unit);
    }
}
