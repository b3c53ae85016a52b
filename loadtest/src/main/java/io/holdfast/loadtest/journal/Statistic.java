package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/** The one number that a leg is reduced to: of its times to the first token, in milliseconds. */
public enum Statistic {
    /** Median of the probes: what a pin is for. */
    PROBE_P50(false, "the median of a leg's probes"),
    /** 95th percentile of the probes; with fewer than 20 of them it lies next to the slowest. */
    PROBE_P95(false, "the 95th percentile of a leg's probes"),
    /** Mean of the probes, which a single slow one moves. */
    PROBE_MEAN(false, "the mean of a leg's probes"),
    /** Mean of floods and probes, the first wave included: what most benchmarks print. */
    WHOLE_MEAN(true, "the mean of a leg's floods and probes");

    private final boolean floods;
    private final String text;

    Statistic(boolean floods, String text) {
        this.floods = floods;
        this.text = text;
    }

    /** Reduces the requests that count to a number; absent when none of these was OK. */
    public OptionalDouble of(List<RequestRecord> requests) {
        return reduced(requests, sample -> switch (this) {
            case PROBE_P50 -> median(sample);
            case PROBE_P95 -> Quantiles.of(sample, 0.95);
            case PROBE_MEAN, WHOLE_MEAN -> mean(sample);
        });
    }

    /** The mean of the same requests. */
    public OptionalDouble meanOf(List<RequestRecord> requests) {
        return reduced(requests, Statistic::mean);
    }

    /** The median of the same requests. */
    public OptionalDouble medianOf(List<RequestRecord> requests) {
        return reduced(requests, Statistic::median);
    }

    /** Returns true if requests of a flood count. */
    public boolean takesFloods() {
        return floods;
    }

    /** Returns a description of a few words. */
    public String text() {
        return text;
    }

    private OptionalDouble reduced(List<RequestRecord> requests, ToDoubleFunction<double[]> by) {
        double[] sample = requests.stream()
                .filter(request -> request.role() == Role.PROBE || (floods && request.role() == Role.FLOOD))
                .flatMapToDouble(request -> request.ttftMillis().stream())
                .toArray();
        return sample.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(by.applyAsDouble(sample));
    }

    private static double median(double[] sample) {
        return Quantiles.of(sample, 0.5);
    }

    private static double mean(double[] sample) {
        return DoubleStream.of(sample).sum() / sample.length;
    }
}
