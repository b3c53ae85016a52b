package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
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
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/*
 * How often a sweep is wrong
 * ==========================
 *
 * Whole sweeps over memory in virtual time: five levels, each a whole run with five pairs of each order, and the verdict from the
 * folder alone. Two levels have room for everything, one of them with memory to spare; beyond a full cache the baseline loses its
 * prefix and pinned legs keep it, so nothing but latencies stands between the data and a REAL at the upper three.
 *
 * The truth. Nothing: a prefill costs nothing. Another cause: the same, and pinned legs are faster by so much at every level,
 * whatever the cache has. Threshold: a kept prefix saves 30 % at each level beyond a full cache. Slope: it saves 10, 20 and 30 %.
 *
 * The placebo. Narrow: its pairs scatter by 3 %, as at all other levels. Wide: by 15 %, so that what happens with memory to spare
 * is nearly never shown to be nothing that matters.
 */

/** False findings and power of whole sweeps in virtual time with seeded noise. */
final class SweepCharacteristicsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    /** 300 are the figures of the docs, and take hours. */
    private static final int SWEEPS = Integer.getInteger("holdfast.sweeps", DEEP ? 10 : 4);

    private static final boolean MANY = SWEEPS >= 300;
    private static final List<Integer> CAPACITIES = List.of(4_608, 2_560, 1_792, 1_536, 1_280);
    private static final int FULL = 2_560;

    private static final VirtualExperiment EVEN =
            VirtualExperiment.underPressure().withLateness(20).with(settings -> settings.rounds(5));

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    /** By how much a level's pinned legs are faster, because of the cache or of something else. */
    enum Truth {
        NOTHING,
        ANOTHER_CAUSE_10,
        ANOTHER_CAUSE_30,
        THRESHOLD,
        SLOPE;

        boolean isGain() {
            return this == THRESHOLD || this == SLOPE;
        }

        VirtualExperiment at(int capacity) {
            VirtualExperiment level = EVEN.withMemory(capacity);
            return switch (this) {
                case NOTHING -> level.withSpeed(saving(0));
                case ANOTHER_CAUSE_10 -> withFastPinnedLegs(level, 0.1);
                case ANOTHER_CAUSE_30 -> withFastPinnedLegs(level, 0.3);
                case THRESHOLD -> level.withSpeed(saving(0.3));
                case SLOPE -> level.withSpeed(saving(0.1 * Math.max(1, CAPACITIES.indexOf(capacity) - 1)));
            };
        }

        private static VirtualExperiment withFastPinnedLegs(VirtualExperiment level, double share) {
            return level.withSpeed(saving(0)).withArms(engine -> {
                engine.servePinnedLegsAt(new Speed(0, 10_000 * (1 - share), 1_000, 1));
                return Arms.pinRoute(engine);
            });
        }

        /** Where a prefix that is kept saves that share of the time to the first token. */
        private static Speed saving(double share) {
            return new Speed(10_000 * share / (1 - share) / VirtualExperiment.PREFIX, 10_000, 1_000, 1);
        }
    }

    enum Placebo {
        NARROW(new GpuFault.Noise(10, 1.9, 1.6, 1)),
        WIDE(new GpuFault.Noise(10, 9.5, 8, 1));

        @SuppressWarnings("ImmutableEnumChecker") // a record of numbers
        private final GpuFault.Noise noise;

        Placebo(GpuFault.Noise noise) {
            this.noise = noise;
        }
    }

    @ParameterizedTest
    @EnumSource
    void withANarrowPlacebo_aSweepIsJudgedRightly(Truth truth) throws IOException {
        isJudgedRightly(truth, Placebo.NARROW);
    }

    static List<Truth> wide() {
        return DEEP || MANY ? List.of(Truth.values()) : List.of(Truth.ANOTHER_CAUSE_10, Truth.THRESHOLD);
    }

    @ParameterizedTest
    @MethodSource("wide")
    void withAWidePlacebo_aSweepIsJudgedRightly(Truth truth) throws IOException {
        isJudgedRightly(truth, Placebo.WIDE);
    }

    private void isJudgedRightly(Truth truth, Placebo placebo) throws IOException {
        Tally tally = tally(truth, placebo);
        if (truth.isGain()) {
            assertThat(tally.topIsReal).as("%s", tally).isGreaterThanOrEqualTo((int) Math.ceil(0.95 * SWEEPS));
        }
        assertThat(tally.falseReal).as("%s", tally).isLessThanOrEqualTo(SWEEPS / 100);
    }

    private Tally tally(Truth truth, Placebo placebo) throws IOException {
        SweepPlan plan = new SweepPlan(
                "2026-11-25T07:00:00Z",
                SweepPlan.levels(
                        Map.of(
                                "capacity",
                                CAPACITIES.stream().map(String::valueOf).toList()),
                        Optional.empty()),
                Map.of());
        plan.write(folder);
        Map<Finding, Integer> top = new EnumMap<>(Finding.class);
        int falseReal = 0;
        int unsure = 0;
        for (int seed = 1; seed <= SWEEPS; seed++) {
            for (int i = 0; i < CAPACITIES.size(); i++) {
                Path journal = folder.resolve(plan.levels().get(i).journal());
                Files.deleteIfExists(journal);
                VirtualExperiment level = truth.at(CAPACITIES.get(i));
                GpuFault.Noise noise = i == 0 ? placebo.noise : Placebo.NARROW.noise;
                level.withFaults(Stream.concat(level.faults().stream(), Stream.of(noise))
                                .toArray(Fault[]::new))
                        .run(CAPACITIES.size() * seed + i, journal);
            }
            Sweep sweep = Sweep.of(folder);
            top.merge(sweep.levels().getLast().result().verdict().finding(), 1, Integer::sum);
            falseReal += sweep.levels().stream()
                            .filter(level -> level.result().verdict().finding() == Finding.REAL)
                            .anyMatch(level -> !truth.isGain()
                                    || level.pressure().capacity().orElseThrow() >= FULL)
                    ? 1
                    : 0;
            unsure += sweep.levels()
                            .getFirst()
                            .result()
                            .estimate()
                            .ci90()
                            .orElseThrow()
                            .within(sweep.levels()
                                    .getFirst()
                                    .result()
                                    .header()
                                    .criteria()
                                    .delta())
                    ? 0
                    : 1;
        }
        Tally tally = new Tally(truth, placebo, top, top.getOrDefault(Finding.REAL, 0), falseReal, unsure);
        if (MANY) {
            System.out.println(tally);
        }
        return tally;
    }

    /**
     * @param top findings at the level with the least memory
     * @param unsure sweeps whose placebo was not shown to do nothing that matters
     */
    private record Tally(
            Truth truth, Placebo placebo, Map<Finding, Integer> top, int topIsReal, int falseReal, int unsure) {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%s, %s placebo: at the top level %s; sweeps with a false REAL %d, with a placebo that cannot tell"
                            + " %d, of %d",
                    truth,
                    placebo,
                    top,
                    falseReal,
                    unsure,
                    SWEEPS);
        }
    }
}
