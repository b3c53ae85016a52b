package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.OptionalDouble;

/** The one number that a leg is reduced to. */
public enum Statistic {
    /** Median time to first token of the probes: what a pin is for. */
    PROBE_P50 {
        @Override
        public OptionalDouble of(List<RequestRecord> requests) {
            double[] sample = ttfts(requests.stream()
                    .filter(request -> request.role() == Role.PROBE)
                    .toList());
            return sample.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(Quantiles.of(sample, 0.5));
        }
    },
    /** Mean time to first token of floods and probes, the first wave included: what most benchmarks print. */
    WHOLE_MEAN {
        @Override
        public OptionalDouble of(List<RequestRecord> requests) {
            double[] sample = ttfts(requests.stream()
                    .filter(request -> request.role() != Role.PRIME)
                    .toList());
            double sum = 0;
            for (double value : sample) {
                sum += value;
            }
            return sample.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / sample.length);
        }
    };

    /** In milliseconds; absent when no request that counts was OK. */
    public abstract OptionalDouble of(List<RequestRecord> requests);

    private static double[] ttfts(List<RequestRecord> requests) {
        return requests.stream()
                .flatMapToDouble(request -> request.ttftMillis().stream())
                .toArray();
    }
}
