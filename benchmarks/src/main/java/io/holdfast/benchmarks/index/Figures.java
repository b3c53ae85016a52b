package io.holdfast.benchmarks.index;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A line of named figures, as {@code key=value} pairs or as one JSON object. */
final class Figures {
    private final ObjectNode json = JsonNodeFactory.instance.objectNode();
    private final List<String> pairs = new ArrayList<>();

    /** The figures of one run, under the name that sets it apart from other indexers'. */
    static Figures of(String mode) {
        return new Figures().add("impl", "holdfast").add("mode", mode);
    }

    Figures add(String name, String value) {
        json.put(name, value);
        pairs.add(name + "=" + value);
        return this;
    }

    Figures add(String name, long value) {
        json.put(name, value);
        pairs.add(name + "=" + value);
        return this;
    }

    /** Rounded to this many decimals; what is no number, such as a rate over no time, is left out. */
    Figures add(String name, double value, int decimals) {
        if (Double.isFinite(value)) {
            json.put(name, BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_EVEN));
            pairs.add(name + "=" + String.format(Locale.ROOT, "%." + decimals + "f", value));
        }
        return this;
    }

    Figures addHex(String name, long value) {
        return add(name, String.format(Locale.ROOT, "%016x", value));
    }

    /** The percentiles that every list of single times is shown by. */
    Figures add(Times times) {
        return add("p50_ns", times.quantile(0.5))
                .add("p99_ns", times.quantile(0.99))
                .add("p999_ns", times.quantile(0.999))
                .add("max_ns", times.quantile(1));
    }

    /** Returns true if nothing speaks against the run under this name. */
    boolean isZero(String name) {
        return json.path(name).asLong() == 0;
    }

    /** The figures as JSON, on one line. */
    String json() {
        return json.toString();
    }

    /** The figures as pairs, on one line. */
    @Override
    public String toString() {
        return String.join(" ", pairs);
    }
}
