package io.holdfast.workbench.compare;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Unit;
import io.holdfast.loadtest.measure.Quantity;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Metrics as people name them, and their values as tables have them. */
public final class Figures {
    /** Below this a whole number of milliseconds would hide a change. */
    private static final double FEW_MILLIS = 10;

    private static final String THROUGHPUT = "throughput";

    /** Metrics in which a gain shows, and those at whose cost it may come, side by side. */
    private static final List<Metric> USUAL = List.of(
            Metric.OUTPUT_THROUGHPUT,
            Metric.THROUGHPUT,
            Metric.REQUEST_THROUGHPUT,
            Metric.GOODPUT,
            Metric.GOOD_SHARE,
            Metric.percentile(Quantity.TTFT, 50),
            Metric.percentile(Quantity.TTFT, 99),
            Metric.percentile(Quantity.FIRST_CHUNK, 50),
            Metric.percentile(Quantity.ITL, 50),
            Metric.percentile(Quantity.ITL, 99),
            Metric.percentile(Quantity.ICL, 50),
            Metric.percentile(Quantity.TPOT, 50),
            Metric.percentile(Quantity.E2E, 50),
            Metric.percentile(Quantity.STREAM, 50),
            Metric.CACHED_SHARE,
            Metric.ERRORS);

    private Figures() {}

    /** The usual ones of those that are there. */
    static List<Metric> usual(Predicate<Metric> there) {
        List<Metric> found = USUAL.stream().filter(there).collect(Collectors.toList());
        // One throughput says it; requests a second only where tokens are not told.
        if (found.contains(Metric.OUTPUT_THROUGHPUT)) {
            found.remove(Metric.REQUEST_THROUGHPUT);
        }
        if (found.contains(Metric.percentile(Quantity.ITL, 50))) {
            found.remove(Metric.percentile(Quantity.ICL, 50));
        }
        return found;
    }

    /**
     * Returns the metrics that a name may stand for, in order of preference: throughput may be of tokens, of an unknown
     * unit or of requests.
     */
    static List<Metric> named(String name) {
        if (name.equals(THROUGHPUT)) {
            return List.of(Metric.OUTPUT_THROUGHPUT, Metric.THROUGHPUT, Metric.REQUEST_THROUGHPUT);
        }
        return Metric.named(name)
                .map(List::of)
                .orElseThrow(() -> new LoadTestException("There is no metric '" + name
                        + "'; write one such as throughput, output_throughput, goodput, ttft_p50, itl_p99, tpot_mean,"
                        + " e2e_p95 or errors."));
    }

    /** The first of those that a name may stand for which is there. */
    static Optional<Metric> of(String name, Predicate<Metric> there) {
        return named(name).stream().filter(there).findFirst();
    }

    /** The metrics of these names, of those that are there. */
    static List<Metric> of(List<String> names, Predicate<Metric> there) {
        Set<Metric> found = new LinkedHashSet<>();
        names.forEach(name -> of(name, there).ifPresent(found::add));
        return List.copyOf(found);
    }

    /** A value as tables have it; times of a few milliseconds with decimals. */
    public static String shown(Metric metric, double value) {
        if (metric.unit() == Unit.MILLIS && value < FEW_MILLIS && !metric.name().startsWith("e2e")) {
            return String.format(Locale.ROOT, "%.2f ms", value);
        }
        return metric.shown(value);
    }

    /** The smallest over the largest, as how far apart they are. */
    public static double apart(double[] values) {
        double most = Arrays.stream(values).max().orElse(0);
        double least = Arrays.stream(values).min().orElse(0);
        return least > 0 ? most / least - 1 : 0;
    }
}
