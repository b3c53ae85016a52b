package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/*
 * How often the whole tool is wrong
 * =================================
 *
 * Engines whose effect is known are put to the whole test, from the first flush to the verdict: lives 10 % apart, noise between
 * legs and between requests, five pairs of each order. In every cell pins are kept and the baseline loses its prefix, so nothing
 * but the latencies stands between the data and a false REAL.
 *
 * No effect: a prefill costs nothing, so what pins save is worth nothing. Gain: what they save is a tenth of the time to the
 * first token. Harm: what is held slows every pass by a tenth. With an order bias the first leg of each life takes 1.25 times as
 * long, which makes the second look 20 % faster.
 *
 * The truth that intervals have to cover is the same experiment's without any noise.
 */

/** False findings, power and coverage of whole experiments in virtual time with seeded noise. */
final class OperatingCharacteristicsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    /** 2,000 are the figures of the docs, and take hours. */
    private static final int RUNS = Integer.getInteger("holdfast.experiments", DEEP ? 30 : 15);

    /** From here on chance leaves little to the tally. */
    private static final boolean MANY = RUNS >= 2_000;

    /** The readiness check of a server life is a request as well. */
    private static final int READINESS = 1;

    private static final VirtualExperiment EVEN =
            VirtualExperiment.underPressure().withLateness(20).with(settings -> settings.rounds(5));

    private static final Speed FREE_PREFILL = new Speed(0, 10_000, 1_000, 1);

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    /** What the engine is, apart from noise. */
    enum Cell {
        NOTHING(false),
        GAIN(false),
        HARM(false),
        NOTHING_WITH_ORDER_BIAS(true),
        GAIN_WITH_ORDER_BIAS(true),
        HARM_WITH_ORDER_BIAS(true);

        private final boolean biased;

        Cell(boolean biased) {
            this.biased = biased;
        }

        boolean isGain() {
            return this == GAIN || this == GAIN_WITH_ORDER_BIAS;
        }

        boolean isHarm() {
            return this == HARM || this == HARM_WITH_ORDER_BIAS;
        }

        double effect() {
            return isGain() ? Math.log(0.9) : isHarm() ? Math.log(1.1) : 0;
        }

        VirtualExperiment experiment(GpuFault.Noise noise) {
            Stream<Fault> bias =
                    biased ? Stream.of(new GpuFault.Warming(READINESS + EVEN.requestsOfALeg())) : Stream.of();
            Stream<Fault> harm = isHarm() ? Stream.of(new GpuFault.HoldsSlow(39.06)) : Stream.of();
            return EVEN.withSpeed(isGain() ? new Speed(4.4, 10_000, 1_000, 1) : FREE_PREFILL)
                    .withFaults(Stream.concat(Stream.of(noise), Stream.concat(bias, harm))
                            .toArray(Fault[]::new));
        }
    }

    @ParameterizedTest
    @EnumSource
    void pairsThatScatterByThreePercent_areJudgedRightly(Cell cell) throws IOException {
        Tally tally = tally(cell, new GpuFault.Noise(10, 1.9, 1.6, 1));
        assertThat(tally.pairSd()).isCloseTo(0.03, within(MANY ? 0.001 : 0.005));
        assertThat(tally.falseFindings()).as("%s", tally).isLessThanOrEqualTo(RUNS / 100);
        assertThat(tally.hits()).as("%s", tally).isGreaterThanOrEqualTo((int) Math.ceil(0.95 * RUNS));
        // What a handful of experiments covers says little; the bounds are those of thousands.
        assertThat(tally.covered()).as("%s", tally).isBetween(MANY ? 0.93 : 0.75, MANY ? 0.97 : 1.0);
        assertThat(tally.coveredAsShown()).as("%s", tally).isBetween(MANY ? 0.93 : 0.75, MANY ? 0.97 : 1.0);
    }

    static List<Cell> noisierCells() {
        return DEEP || MANY ? List.of(Cell.values()) : List.of(Cell.NOTHING_WITH_ORDER_BIAS);
    }

    @ParameterizedTest
    @MethodSource("noisierCells")
    void pairsThatScatterByFivePercent_areNeverJudgedFalsely(Cell cell) throws IOException {
        Tally tally = tally(cell, new GpuFault.Noise(10, 3.2, 2.6, 1));
        assertThat(tally.pairSd()).isCloseTo(0.05, within(MANY ? 0.002 : 0.01));
        assertThat(tally.falseFindings()).as("%s", tally).isLessThanOrEqualTo(RUNS / 100);
        assertThat(tally.covered()).as("%s", tally).isBetween(MANY ? 0.93 : 0.75, MANY ? 0.97 : 1.0);
    }

    private Tally tally(Cell cell, GpuFault.Noise noise) throws IOException {
        Path journal = folder.resolve("run.jsonl");
        double truth = cell.experiment(new GpuFault.Noise(0, 0, 0, 1))
                .withLateness(0)
                .run(1, journal)
                .estimate()
                .effect()
                .orElseThrow();
        Files.delete(journal);
        assertThat(truth).isCloseTo(cell.effect(), within(0.001));
        VirtualExperiment experiment = cell.experiment(noise);
        Map<Finding, Integer> found = new EnumMap<>(Finding.class);
        double squares = 0;
        int covered = 0;
        int coveredAsShown = 0;
        for (int seed = 1; seed <= RUNS; seed++) {
            try {
                Result result = experiment.run(seed, journal);
                found.merge(result.verdict().finding(), 1, Integer::sum);
                squares += Math.pow(result.estimate().pairSd().orElseThrow(), 2);
                covered += result.estimate().ci95().orElseThrow().contains(truth) ? 1 : 0;
                coveredAsShown += result.estimate().shown().orElseThrow().ci95().contains(truth) ? 1 : 0;
                Files.delete(journal);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("Seed " + seed + " of " + cell, e);
            }
        }
        Tally tally = new Tally(
                cell, found, Math.sqrt(squares / RUNS), (double) covered / RUNS, (double) coveredAsShown / RUNS);
        if (MANY) {
            System.out.println(tally);
        }
        return tally;
    }

    /** @param coveredAsShown by the interval that a report shows */
    private record Tally(Cell cell, Map<Finding, Integer> found, double pairSd, double covered, double coveredAsShown) {
        int count(Finding... findings) {
            return Stream.of(findings)
                    .mapToInt(finding -> found.getOrDefault(finding, 0))
                    .sum();
        }

        /** REAL without a gain, or HARMFUL without harm. */
        int falseFindings() {
            return (cell.isGain() ? 0 : count(Finding.REAL)) + (cell.isHarm() ? 0 : count(Finding.HARMFUL));
        }

        int hits() {
            return cell.isGain()
                    ? count(Finding.REAL)
                    : cell.isHarm() ? count(Finding.HARMFUL) : count(Finding.NO_EFFECT, Finding.ORDER_ARTEFACT);
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%s: %s, sd of a pair %.4f, covered %.4f, as shown %.4f",
                    cell,
                    found,
                    pairSd,
                    covered,
                    coveredAsShown);
        }
    }
}
