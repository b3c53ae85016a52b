package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.HostileTraffic.Kind;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What pins do to traffic that was made to be harmed by them. */
final class NoHarmTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int SEEDS = DEEP ? 5 : 1;
    private static final double[] SHARES = DEEP ? new double[] {0.02, 0.05, 0.2} : new double[] {0.05};

    /** By how many points of hit ratio one replay is above LRU. */
    private record Gain(Kind kind, long seed, double share, double points, ReplayResult found) {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%s-%d %.0f %%: %+.2f, pins licensed %.0f %% of the time in %d changes, %s hold operations, %d"
                            + " given up, %s",
                    kind,
                    seed,
                    100 * share,
                    points,
                    100 * found.openShare(),
                    found.gateChanges(),
                    found.holdOperations(),
                    found.pinsGivenUp(),
                    found.refused());
        }
    }

    @Test
    void hostileTraffic_isNotHarmed() {
        assertHarmless(gains(Policy.HOLDFAST, Set.of()));
    }

    /** The same where SGLang's own rules serve it, and pins are those of its branch, at a sidecar's pace. */
    @Test
    void hostileTraffic_byTheEnginesRules_isNotHarmed() {
        List<Gain> gains = new ArrayList<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            for (Kind kind : DEEP ? Kind.values() : new Kind[] {Kind.SLEEPERS}) {
                for (double share : SHARES) {
                    gains.add(byRules(kind, seed, share));
                    System.out.println(gains.getLast());
                }
            }
        }
        assertHarmless(gains);
    }

    private static Gain byRules(Kind kind, long seed, double share) {
        Trace trace = HostileTraffic.of(kind, seed).asKeptByEngines();
        int capacity = (int) (share * trace.uniqueBlocks());
        ReplaySettings settings = new ReplaySettings(
                Policy.HOLDFAST,
                Set.of(),
                false,
                false,
                hints(kind, seed),
                Optional.of(new Announced(Form.SGLANG, Optional.of(Lever.PIN), true)));
        double lru = Replay.run(trace, settings.with(Policy.LRU), capacity).hitRatio();
        ReplayResult found = Replay.run(trace, settings, capacity);
        return new Gain(kind, seed, share, 100 * (found.hitRatio() - lru), found);
    }

    private static void assertHarmless(List<Gain> gains) {
        long below = gains.stream().filter(gain -> gain.points() < -0.5).count();
        double mean = gains.stream().mapToDouble(Gain::points).average().orElseThrow();
        gains.stream().filter(gain -> gain.points() < -0.05).forEach(System.out::println);
        System.out.printf(Locale.ROOT, "%d of %d below -0.5, mean %+.3f%n", below, gains.size(), mean);
        assertThat(below).isLessThanOrEqualTo(gains.size() / 60);
        assertThat(gains)
                .allSatisfy(gain -> assertThat(gain.points()).as("%s", gain).isGreaterThan(-1.0));
        assertThat(mean).isGreaterThan(-0.05);
    }

    /** Traffic that harms nobody would show nothing. */
    @Test
    void samePinsWithoutLicence_doHarm() {
        List<Gain> gains = gains(Policy.FREQ, Set.of(Part.GATE, Part.RESERVE, Part.TICK));
        long harmed = gains.stream()
                .filter(gain -> gain.points() < -0.5)
                .map(gain -> gain.kind() + "-" + gain.seed())
                .distinct()
                .count();
        System.out.println(harmed + " of " + SEEDS * Kind.values().length + " harmed without a licence");
        assertThat(harmed).isGreaterThanOrEqualTo(SEEDS * Kind.values().length / 4);
    }

    private static List<Gain> gains(Policy policy, Set<Part> without) {
        List<Gain> gains = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                Trace trace = HostileTraffic.of(kind, seed);
                for (double share : SHARES) {
                    int capacity = (int) (share * trace.uniqueBlocks());
                    ReplaySettings settings =
                            new ReplaySettings(policy, without, false, false, hints(kind, seed), Optional.empty());
                    double lru = Replay.run(trace, ReplaySettings.of(Policy.LRU), capacity)
                            .hitRatio();
                    ReplayResult found = Replay.run(trace, settings, capacity);
                    gains.add(new Gain(kind, seed, share, 100 * (found.hitRatio() - lru), found));
                }
            }
        }
        return gains;
    }

    private static Optional<Hints> hints(Kind kind, long seed) {
        return kind == Kind.LYING_HINTS || kind == Kind.ALL
                ? Optional.of(new Hints(0.9, HostileTraffic.LIES_FROM_NANOS, seed))
                : Optional.empty();
    }
}
