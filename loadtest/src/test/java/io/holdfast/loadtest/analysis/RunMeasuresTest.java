package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.RunMeasures.Cell;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class RunMeasuresTest {
    private static final List<Double> PERCENTILES = List.of(50.0, 99.0);
    private static final int PROBES = 24;

    @Test
    void equalMeansWithLessSpread_areFoundToVaryLess() {
        RunMeasures measures = of(legs(leg -> leg.arm() == Arm.PINNED ? 1 : 4));

        Interval ci = measures.spread().ci95().orElseThrow();
        assertThat(ci.contains(Math.log(0.25))).isTrue();
        assertThat(ci.high()).isNegative();
        assertThat(measures.tail().ci95().orElseThrow().high()).isNegative();
    }

    @Test
    void equalSpread_isFoundInNeitherDirection() {
        RunMeasures measures = of(legs(leg -> 4));

        assertThat(measures.spread().ci95().orElseThrow().excludesZero()).isFalse();
        assertThat(measures.tail().ci95().orElseThrow().excludesZero()).isFalse();
    }

    @Test
    void lessSpreadOfWhateverIsSecond_isNoEffectAndShowsByPosition() {
        RunMeasures measures = of(legs(leg -> leg.position() == 2 ? 1 : 4));

        assertThat(measures.spread().ci95().orElseThrow().excludesZero()).isFalse();
        assertThat(measures.spread().orderBiasCi95().orElseThrow().high()).isNegative();
        assertThat(measures.cells())
                .extracting(
                        cell -> cell.arm() + " " + cell.position(),
                        cell -> Math.round(cell.legSd().orElseThrow()))
                .containsExactly(
                        tuple("BASELINE 1", 4L), tuple("BASELINE 2", 1L), tuple("PINNED 1", 4L), tuple("PINNED 2", 1L));
    }

    @Test
    void spread_neverDecides() {
        Result result = Analysis.of(
                new Journal.Contents(Legs.header(), legs(leg -> leg.arm() == Arm.PINNED ? 1 : 4), List.of()));

        assertThat(result.verdict().finding()).isNotIn(Finding.REAL, Finding.HARMFUL);
    }

    @Test
    void tableByArmAndPosition_countsLegsAndValues() {
        List<Cell> cells = of(Legs.run(10, 5)).cells();

        assertThat(cells).extracting(Cell::legs).containsExactly(8, 8, 4, 4);
        assertThat(cells)
                .extracting(cell -> cell.ttft().orElseThrow().count())
                .as("two probes in a leg")
                .containsExactly(16, 16, 8, 8);
        assertThat(cells.getFirst().ttft().orElseThrow().mean()).isCloseTo(10, within(0.1));
        assertThat(cells.getLast().ttft().orElseThrow().mean()).isCloseTo(5, within(0.1));
    }

    @Test
    void sample_isThatOfTheHandbook() {
        double[] percents =
                IntStream.rangeClosed(0, 100).mapToDouble(i -> 100 - i).toArray();

        assertThat(Sample.of(percents)).contains(new Sample(101, 50, Math.sqrt(858.5), 0, 50, 90, 95, 99, 100));
        assertThat(Sample.of(new double[] {7}).orElseThrow().sd()).isZero();
        assertThat(Sample.of(new double[0])).isEmpty();
    }

    @Test
    void neighboursThatHangTogether_areWorthFewerValues() {
        RandomGenerator random = new SplittableRandom(5);
        List<double[]> legs = new ArrayList<>();
        for (int leg = 0; leg < 20; leg++) {
            double[] values = new double[400];
            for (int i = 1; i < values.length; i++) {
                values[i] = 0.6 * values[i - 1] + random.nextGaussian();
            }
            legs.add(values);
        }

        Dependence dependence = Dependence.of(legs).orElseThrow();

        assertThat(dependence.lag1()).isCloseTo(0.6, within(0.03));
        assertThat(dependence.effective()).isCloseTo(8_000 * 0.25, within(200.0));
        assertThat(Dependence.of(List.of(new double[] {1, 2, 3})))
                .as("too short")
                .isEmpty();
        assertThat(Dependence.of(List.of(new double[10]))).as("nothing varies").isEmpty();
    }

    @Test
    void rates_areThoseOfLegsAndNotOfAllTogether() {
        // Each request of a made-up leg is sent at the same moment and answered within 10 ms.
        RunMeasures measures =
                RunMeasures.of(result(Legs.header(), Legs.run(10, 5)), PERCENTILES, Optional.of(Slo.of("ttft=7ms")));

        var baseline = measures.in(Arm.BASELINE).load();
        assertThat(baseline.of(Metric.REQUEST_THROUGHPUT).orElseThrow())
                .as("ten requests in ten milliseconds")
                .isCloseTo(1_000, within(5.0));
        assertThat(baseline.of(Metric.OUTPUT_THROUGHPUT).orElseThrow()).isCloseTo(16_000, within(80.0));
        assertThat(baseline.of(Metric.GOOD_SHARE).orElseThrow()).isEqualTo(0.8);
        assertThat(measures.in(Arm.PINNED).load().of(Metric.GOOD_SHARE).orElseThrow())
                .isEqualTo(1.0);
        assertThat(baseline.of(Metric.percentile(Quantity.TTFT, 50)).orElseThrow())
                .isCloseTo(5, within(0.1));
    }

    @Test
    void arrivalsThatOutrunTheServer_areSaturated() {
        List<LegRecord> keeping = arriving(1);
        List<LegRecord> drowning = arriving(20);

        assertThat(saturated(keeping)).isZero();
        assertThat(saturated(drowning)).isEqualTo(16);
    }

    @Test
    void leg_isSaturatedWhereHalfOfItsFloodsAre() {
        assertThat(saturated(floods(2))).isEqualTo(16);
        assertThat(saturated(floods(3))).isZero();
    }

    /** Legs with so many floods of thirty requests, of which the first outruns the server. */
    private static List<LegRecord> floods(int count) {
        return Legs.run(10, 5).stream()
                .map(leg -> {
                    List<RequestRecord> requests = new ArrayList<>();
                    for (int flood = 1; flood <= count; flood++) {
                        for (int i = 0; i < 30; i++) {
                            long at = flood * 2_000_000_000L + i * 10_000_000L;
                            long token = at + 5_000_000 + (flood == 1 ? 20_000_000L * i : 0);
                            requests.add(Legs.timed(requests.size(), Role.FLOOD, flood, at, token, OptionalInt.of(0)));
                        }
                    }
                    return Legs.withRequests(leg, requests);
                })
                .toList();
    }

    private static int saturated(List<LegRecord> legs) {
        return RunMeasures.of(result(Legs.arriving("poisson:100"), legs), PERCENTILES, Optional.empty())
                .in(Arm.BASELINE)
                .saturatedLegs();
    }

    /** Thirty requests, one every 10 ms; each waits so many milliseconds longer than the one before. */
    private static List<LegRecord> arriving(int longerMillis) {
        return Legs.run(10, 5).stream()
                .map(leg -> withProbes(leg, 30, Role.FLOOD, i -> {
                    long at = i * 10_000_000L;
                    return new long[] {at, at + 5_000_000 + (longerMillis == 1 ? 0 : 1_000_000L * i * longerMillis)};
                }))
                .toList();
    }

    private static RunMeasures of(List<LegRecord> legs) {
        return RunMeasures.of(result(Legs.header(), legs), PERCENTILES, Optional.empty());
    }

    private static Result result(RunHeader header, List<LegRecord> legs) {
        return Analysis.of(new Journal.Contents(header, legs, List.of()));
    }

    /** All legs of a run whose probes have the same mean, and a spread of their own. */
    private static List<LegRecord> legs(ToDoubleFunction<LegRecord> sd) {
        RandomGenerator random = new SplittableRandom(11);
        return Legs.run(20, 20).stream()
                .map(leg -> withProbes(leg, PROBES, Role.PROBE, i -> {
                    double millis = 20 + sd.applyAsDouble(leg) * random.nextGaussian();
                    return new long[] {0, Math.round(1e6 * Math.max(0.1, millis))};
                }))
                .toList();
    }

    /** When a request's turn comes and when its first token. */
    private interface Times {
        long[] of(int request);
    }

    private static LegRecord withProbes(LegRecord leg, int count, Role role, Times times) {
        List<RequestRecord> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long[] at = times.of(i);
            requests.add(Legs.timed(i, role, 1, at[0], at[1], OptionalInt.of(0)));
        }
        return Legs.withRequests(leg, requests);
    }

    @Test
    void pairsWithoutSpread_giveNone() {
        assertThat(of(Legs.run(10, 5)).spread().ci95())
                .as("both probes of a leg took the same")
                .isEmpty();
        assertThat(of(Legs.run(10, 5)).spread().data().of(PairOrder.BP)).isEmpty();
    }
}
