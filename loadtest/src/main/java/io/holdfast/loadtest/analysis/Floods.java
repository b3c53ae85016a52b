package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * Outcome of the requests that came at times of their own, from both origins: the time that the server took, and the
 * time that a user waited who wanted an answer at that moment.
 *
 * @param arrivals when they came
 * @param requests of the floods of measured legs
 * @param notSent of them, since as many were under way as may be
 * @param ttftMillis median time to the first token from when a request was sent
 * @param ttftFromTurnMillis the same from when its turn came
 * @param lateMillis 99th percentile of what lies between the two
 */
public record Floods(
        String arrivals,
        int requests,
        int notSent,
        OptionalDouble ttftMillis,
        OptionalDouble ttftFromTurnMillis,
        OptionalDouble lateMillis) {

    /** Summarises the floods; absent where requests come when others are over, since nobody waits for a turn then. */
    public static Optional<Floods> of(RunHeader header, List<LegRecord> legs) {
        if (header.workload().isClosed()) {
            return Optional.empty();
        }
        List<RequestRecord> floods = legs.stream()
                .filter(LegRecord::isMeasured)
                .flatMap(leg -> leg.requests().stream())
                .filter(request -> request.role() == Role.FLOOD)
                .toList();
        return Optional.of(new Floods(
                header.workload().arrivals(),
                floods.size(),
                (int) floods.stream()
                        .filter(request -> request.status() == RequestStatus.NOT_SENT)
                        .count(),
                quantile(floods, 0.5, RequestRecord::ttftMillis),
                quantile(floods, 0.5, RequestRecord::ttftFromScheduleMillis),
                quantile(
                        floods,
                        0.99,
                        request -> request.isOk()
                                ? OptionalDouble.of((request.sent() - request.scheduled()) / 1e6)
                                : OptionalDouble.empty())));
    }

    private static OptionalDouble quantile(
            List<RequestRecord> requests, double which, Function<RequestRecord, OptionalDouble> of) {
        double[] sample = requests.stream()
                .flatMapToDouble(request -> of.apply(request).stream())
                .toArray();
        return sample.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(Quantiles.of(sample, which));
    }
}
