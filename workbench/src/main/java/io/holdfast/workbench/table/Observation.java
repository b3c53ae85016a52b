package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Column.Side;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * One number of a table, and all that is told of it.
 *
 * @param where workload, model, levels and settings, by the names of {@link Column}
 * @param side the arm that it is of, where there are arms
 * @param order where it was in time among the legs of its pair, as printed
 * @param figure as printed
 * @param value in the metric's own unit
 * @param unit as printed
 */
record Observation(
        Map<String, String> where,
        Optional<Side> side,
        Optional<String> order,
        Optional<String> repetition,
        Metric metric,
        Figure figure,
        double value,
        String unit) {
    Observation {
        where = Collections.unmodifiableMap(new LinkedHashMap<>(where));
    }

    Observation at(Map<String, String> other) {
        return new Observation(other, side, order, repetition, metric, figure, value, unit);
    }

    String workload() {
        return where.getOrDefault(Column.WORKLOAD, "");
    }

    /** Returns its model; empty where none is told. */
    String model() {
        return where.getOrDefault(Column.MODEL, "");
    }

    /** Returns true for the first of two legs, as far as it is told. */
    boolean ranFirst() {
        return order.map(Column::isFirst).orElse(false);
    }
}
