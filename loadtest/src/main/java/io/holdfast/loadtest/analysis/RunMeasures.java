package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/*
 * What a run shows beside its verdict
 * ===================================
 *
 * All of it describes. What decides is one number of each leg, compared within pairs; a reader still wants to know what
 * requests saw, and whether the arms differ in other ways.
 *
 * Spread. The standard deviation of the probes of a leg is one more number of a leg, so its ratio is estimated from
 * pairs in both orders like the verdict's. It needs the same care: whatever runs second may vary less for that reason
 * alone, which is why the standard deviation is also told by arm and by position. It is a second outcome: it never
 * becomes a finding, and its interval is not corrected for having been asked besides.
 *
 * Rates. Requests of several legs together have no common clock, so throughput is that of each leg, averaged over legs.
 *
 * Saturated. Requests that come at times of their own queue without end once a server is slower than they come: then
 * the number under way grows through a flood, and fewer are done in a second than came.
 */

/**
 * Descriptive figures of a run.
 *
 * @param arms those of both arms
 * @param cells time to first token of probes by arm and position
 * @param spread the ratio of the standard deviation of probes in pinned legs to that in baseline legs, where legs have
 *     probes enough
 * @param tail the same of the distance from the median to the 99th percentile
 */
public record RunMeasures(Map<Arm, OfAnArm> arms, List<Cell> cells, Estimate spread, Estimate tail) {
    /** Percentiles of latencies where no others are requested. */
    public static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

    private static final double OFFERED_TOO_MUCH = 1.05;
    private static final int FEWEST_ARRIVALS = 20;
    private static final double SIGNIFICANT = 0.01;
    private static final int FEWEST_OF_A_SPREAD = 2;

    /**
     * One arm.
     *
     * @param ttft of its probes in milliseconds
     * @param first of probes after the first flood of a leg
     * @param steady of probes after later floods
     * @param load what floods and probes came to
     * @param saturatedLegs those whose requests came faster than they were answered, and queued
     */
    public record OfAnArm(
            int legs,
            Optional<Sample> ttft,
            Optional<Sample> first,
            Optional<Sample> steady,
            Optional<Dependence> dependence,
            Measures load,
            int saturatedLegs) {}

    /**
     * Legs of one arm at one position in their life, from 1.
     *
     * @param legSd the standard deviation within a leg, over all these legs; absent where legs have one probe
     */
    public record Cell(Arm arm, int position, int legs, Optional<Sample> ttft, OptionalDouble legSd) {}

    public RunMeasures {
        arms = Map.copyOf(arms);
        cells = List.copyOf(cells);
    }

    /** Returns the measures of one arm. */
    public OfAnArm in(Arm arm) {
        return Optional.ofNullable(arms.get(arm)).orElseThrow();
    }

    /** Computes the measures of a run with the usual percentiles and no limits. */
    public static RunMeasures of(Result result) {
        return of(result, PERCENTILES, Optional.empty());
    }

    /**
     * Computes the measures of a run.
     *
     * @param percentiles of latencies, as 50 or 99.9
     */
    public static RunMeasures of(Result result, List<Double> percentiles, Optional<Slo> slo) {
        RunHeader header = result.header();
        List<LegRecord> measured =
                result.legs().stream().filter(LegRecord::isMeasured).toList();
        Map<Arm, OfAnArm> arms = new LinkedHashMap<>();
        List<Cell> cells = new ArrayList<>();
        for (Arm arm : Arm.values()) {
            List<LegRecord> legs =
                    measured.stream().filter(leg -> leg.arm() == arm).toList();
            arms.put(arm, ofAnArm(header, legs, percentiles, slo));
            for (int at = 1; at <= header.measuredLegsOfALife(); at++) {
                int position = at;
                cells.add(cell(
                        arm,
                        position,
                        legs.stream().filter(leg -> leg.position() == position).toList()));
            }
        }
        LegPairs pairs = LegPairs.of(header.plan().design(), measured);
        return new RunMeasures(
                arms,
                cells,
                Estimate.of(pairs.data(requests -> ofProbes(requests, Sample::sd))),
                Estimate.of(pairs.data(requests -> ofProbes(requests, sample -> sample.p99() - sample.p50()))));
    }

    /** Reduces a leg's probes to a number; absent where that number is 0, since there is no ratio to 0. */
    private static OptionalDouble ofProbes(List<RequestRecord> requests, ToDoubleFunction<Sample> number) {
        return Sample.of(ttfts(requests, request -> request.role() == Role.PROBE))
                .filter(sample -> sample.count() >= FEWEST_OF_A_SPREAD)
                .map(number::applyAsDouble)
                .filter(value -> value > 0)
                .map(OptionalDouble::of)
                .orElse(OptionalDouble.empty());
    }

    private static OfAnArm ofAnArm(
            RunHeader header, List<LegRecord> legs, List<Double> percentiles, Optional<Slo> slo) {
        List<RequestRecord> all =
                legs.stream().flatMap(leg -> leg.requests().stream()).toList();
        Predicate<RequestRecord> probe = request -> request.role() == Role.PROBE;
        return new OfAnArm(
                legs.size(),
                Sample.of(ttfts(all, probe)),
                Sample.of(ttfts(all, probe.and(request -> request.cycle() == 1))),
                Sample.of(ttfts(all, probe.and(request -> request.cycle() > 1))),
                Dependence.of(legs.stream()
                        .map(leg -> ttfts(
                                leg.requests().stream()
                                        .sorted(Comparator.comparingLong(RequestRecord::sent))
                                        .toList(),
                                request -> header.statistic().takesFloods() ? isLoad(request) : probe.test(request)))
                        .toList()),
                load(legs, percentiles, slo),
                header.workload().isClosed()
                        ? 0
                        : (int) legs.stream().filter(RunMeasures::isSaturated).count());
    }

    private static Cell cell(Arm arm, int position, List<LegRecord> legs) {
        List<double[]> ofLegs = legs.stream()
                .map(leg -> ttfts(leg.requests(), request -> request.role() == Role.PROBE))
                .toList();
        double[] variances = ofLegs.stream()
                .filter(values -> values.length >= FEWEST_OF_A_SPREAD)
                .flatMapToDouble(values -> Sample.of(values).stream().mapToDouble(sample -> sample.sd() * sample.sd()))
                .toArray();
        return new Cell(
                arm,
                position,
                legs.size(),
                Sample.of(ofLegs.stream().flatMapToDouble(Arrays::stream).toArray()),
                variances.length == 0
                        ? OptionalDouble.empty()
                        : OptionalDouble.of(
                                Math.sqrt(Arrays.stream(variances).average().orElseThrow())));
    }

    private static double[] ttfts(List<RequestRecord> requests, Predicate<RequestRecord> chosen) {
        return requests.stream()
                .filter(chosen)
                .flatMapToDouble(request -> request.ttftMillis().stream())
                .toArray();
    }

    private static boolean isLoad(RequestRecord request) {
        return request.role() == Role.FLOOD || request.role() == Role.PROBE;
    }

    /** Latencies of all requests together, rates and counts by leg. */
    private static Measures load(List<LegRecord> legs, List<Double> percentiles, Optional<Slo> slo) {
        List<List<RequestRecord>> ofLegs = legs.stream()
                .map(leg -> leg.requests().stream().filter(RunMeasures::isLoad).toList())
                .filter(requests -> !requests.isEmpty())
                .toList();
        if (ofLegs.isEmpty()) {
            return new Measures(Map.of());
        }
        List<Measures> single = ofLegs.stream()
                .map(requests -> Measures.of(requests, percentiles, slo))
                .toList();
        Map<Metric, Double> values = new LinkedHashMap<>(
                Measures.of(ofLegs.stream().flatMap(List::stream).toList(), percentiles, slo)
                        .values());
        for (Metric metric : List.copyOf(values.keySet())) {
            boolean hasAClock = switch (metric.unit()) {
                case SECONDS, REQUESTS_PER_SECOND, TOKENS_PER_SECOND -> true;
                default -> metric.equals(Metric.CONCURRENCY);
            };
            if (hasAClock) {
                double[] known = single.stream()
                        .flatMapToDouble(each -> each.of(metric).stream())
                        .toArray();
                Arrays.stream(known).average().ifPresent(mean -> values.put(metric, mean));
            }
        }
        return new Measures(values);
    }

    /** Each flood begins with nothing under way, so each is looked at separately. */
    private static boolean isSaturated(LegRecord leg) {
        Map<Integer, List<RequestRecord>> floods = leg.requests().stream()
                .filter(request -> request.role() == Role.FLOOD && request.isOk())
                .filter(request -> request.lastToken().isPresent())
                .sorted(Comparator.comparingLong(RequestRecord::scheduled))
                .collect(Collectors.groupingBy(RequestRecord::cycle));
        long queued = floods.values().stream().filter(RunMeasures::queues).count();
        return queued > 0 && 2 * queued >= floods.size();
    }

    private static boolean queues(List<RequestRecord> flood) {
        if (flood.size() < FEWEST_ARRIVALS) {
            return false;
        }
        double first = flood.getFirst().scheduled();
        double arrived = flood.getLast().scheduled() - first;
        double done = flood.stream()
                        .mapToLong(request -> request.lastToken().getAsLong())
                        .max()
                        .orElseThrow()
                - first;
        double[] times = flood.stream().mapToDouble(RequestRecord::scheduled).toArray();
        double[] underWay = flood.stream()
                .mapToDouble(at -> flood.stream()
                        .filter(other -> other.scheduled() <= at.scheduled()
                                && other.lastToken().getAsLong() > at.scheduled())
                        .count())
                .toArray();
        return done > OFFERED_TOO_MUCH * arrived
                && LinearFit.of(times, underWay)
                        .filter(fit -> fit.slope() > 0 && fit.pTwoSided() < SIGNIFICANT)
                        .isPresent();
    }
}
