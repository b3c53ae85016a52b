package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ReuseCurvesTest {
    private static final int CLASSES = 4;

    /** A gap that ended with a use, or an age at which none had come yet. */
    private record Seen(int blockClass, int hint, double age, boolean usedAgain) {}

    @Test
    void nothingKnown_promisesNothing() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        curves.beginFit();
        curves.endFit();
        assertThat(curves.rate(0, 0, 3)).isZero();
    }

    @Test
    void blocksUsedAgainSooner_areWorthMore() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 1_000; i++) {
            curves.usedAgain(0, 0, 10);
            curves.usedAgain(1, 0, 100);
        }
        curves.beginFit();
        curves.endFit();
        assertThat(curves.rate(0, 0, 1)).isGreaterThan(3 * curves.rate(1, 0, 1));
    }

    @Test
    void chance_isTheShareThatWasUsedAgainByThen() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 6_000; i++) {
            curves.usedAgain(1, 0, 20);
        }
        curves.beginFit();
        for (int i = 0; i < 4_000; i++) {
            curves.notUsedYet(1, 0, 3_000);
        }
        curves.endFit();
        assertThat(curves.chance(1, 0, 0, 300)).isCloseTo(0.6, within(0.01));
        assertThat(curves.chance(1, 0, 0, 5)).isCloseTo(0, within(0.01));
        assertThat(curves.chance(1, 0, 60, 300)).as("the time has passed").isCloseTo(0, within(0.01));
        assertThat(new ReuseCurves(CLASSES).chance(0, 0, 1, 300))
                .as("nothing known")
                .isZero();
    }

    /** Curves are worked out when they are asked for, and a class has to be compared by the same moment as all others. */
    @Test
    void curve_isThatOfTheFit_wheneverItIsAskedFor() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 1_000; i++) {
            curves.usedAgain(i % 2, 0, 10);
            curves.usedAgain(i % 2, 0, 100);
        }
        curves.beginFit();
        curves.endFit();
        double atOnce = curves.rate(0, 0, 3);
        for (int i = 0; i < 1_000; i++) {
            curves.usedAgain(1, 0, 10);
        }
        assertThat((double) curves.rate(1, 0, 3)).isEqualTo(atOnce);
    }

    /** Prompts that come once would seem to come again, for all the conversations beside them. */
    @Test
    void chance_leansOnNoOtherClass() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 6_000; i++) {
            curves.usedAgain(0, 0, 20);
        }
        curves.beginFit();
        for (int i = 0; i < 10; i++) {
            curves.notUsedYet(1, 0, 3_000);
        }
        curves.endFit();
        assertThat(curves.chance(0, 0, 0, 300)).isCloseTo(1, within(0.01));
        assertThat(curves.chance(1, 0, 0, 300)).as("seen, and never used again").isZero();
        assertThat(curves.chance(2, 0, 0, 300)).as("never seen").isZero();
    }

    @Test
    void forgottenBlocks_stayCountedAtTheAgeThatTheyHad() {
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 6_000; i++) {
            curves.usedAgain(1, 0, 20);
        }
        for (int i = 0; i < 4_000; i++) {
            curves.forgotten(1, 0, 3_000);
        }
        for (int fit = 0; fit < 3; fit++) {
            curves.beginFit();
            curves.endFit();
            assertThat(curves.chance(1, 0, 0, 300)).isCloseTo(0.6, within(0.01));
        }
    }

    @Test
    void hintThatIsRightByChance_changesNothing() {
        SplittableRandom random = new SplittableRandom(1);
        ReuseCurves curves = new ReuseCurves(CLASSES);
        for (int i = 0; i < 200_000; i++) {
            curves.usedAgain(0, random.nextInt(ReuseCurves.HINTS), 5 + random.nextDouble() * 100);
        }
        curves.beginFit();
        curves.endFit();
        for (double age : new double[] {1, 10, 50}) {
            assertThat((double) curves.rate(0, 1, age))
                    .isCloseTo(curves.rate(0, 2, age), within(0.05 * curves.rate(0, 0, age)));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void rates_areThoseOfTheDefinition(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        ReuseCurves curves = new ReuseCurves(CLASSES);
        List<Seen> seen = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            double age = Math.exp(random.nextDouble() * 12 - 2);
            seen.add(new Seen(random.nextInt(CLASSES), random.nextInt(ReuseCurves.HINTS), age, random.nextInt(3) == 0));
        }
        seen.stream().filter(Seen::usedAgain).forEach(one -> curves.usedAgain(one.blockClass(), one.hint(), one.age()));
        curves.beginFit();
        seen.stream()
                .filter(one -> !one.usedAgain())
                .forEach(one -> curves.notUsedYet(one.blockClass(), one.hint(), one.age()));
        curves.endFit();
        for (int blockClass = 0; blockClass < CLASSES; blockClass++) {
            for (int hint = 0; hint < ReuseCurves.HINTS; hint++) {
                double[] survival = survival(seen, blockClass, hint);
                for (int step = 0; step < AgeBins.COUNT * AgeBins.STEPS; step += 7) {
                    int bin = step / AgeBins.STEPS;
                    double age = edge(bin) + (edge(bin + 1) - edge(bin)) * (step % AgeBins.STEPS) / AgeBins.STEPS;
                    double expected = bestRate(survival, age, bin);
                    assertThat((double) curves.rate(blockClass, hint, age + 1e-9 * (1 + age)))
                            .as("seed %d, class %d, hint %d, age %.2f", seed, blockClass, hint, age)
                            .isCloseTo(expected, within(1e-5 * expected + 1e-12));
                }
            }
        }
    }

    /** Kaplan and Meier's product, leaning on all classes and turned by the hint, counted anew for each bin. */
    private static double[] survival(List<Seen> seen, int blockClass, int hint) {
        double[] survival = new double[AgeBins.COUNT + 1];
        survival[0] = 1;
        for (int bin = 0; bin < AgeBins.COUNT; bin++) {
            int now = bin;
            double pooled = ratio(count(seen, -1, -1, now, true), count(seen, -1, -1, now, false));
            double hazard = (count(seen, blockClass, -1, now, true) + 50 * pooled)
                    / (count(seen, blockClass, -1, now, false) + 50);
            double told = pooled == 0
                    ? 1
                    : (count(seen, -1, hint, now, true) + 2_000 * pooled)
                            / ((count(seen, -1, hint, now, false) + 2_000) * pooled);
            survival[bin + 1] = survival[bin] * (1 - Math.min(hazard * told, 0.999));
        }
        return survival;
    }

    private static double ratio(double part, double of) {
        return of == 0 ? 0 : part / of;
    }

    /** Uses at this age, or all that came to it. */
    private static double count(List<Seen> seen, int blockClass, int hint, int bin, boolean uses) {
        return seen.stream()
                .filter(one -> blockClass < 0 || one.blockClass() == blockClass)
                .filter(one -> hint < 0 || one.hint() == hint)
                .filter(one -> uses ? one.usedAgain() && binOf(one.age()) == bin : binOf(one.age()) >= bin)
                .count();
    }

    private static int binOf(double age) {
        int bin = 0;
        while (bin < AgeBins.COUNT - 1 && age >= edge(bin + 1)) {
            bin++;
        }
        return bin;
    }

    private static double edge(int bin) {
        return bin == 0 ? 0 : 0.5 * Math.pow(1.4, bin - 1);
    }

    /** The best of all times to stop at, each tried. */
    private static double bestRate(double[] survival, double age, int bin) {
        double now = survival[bin]
                * Math.pow(survival[bin + 1] / survival[bin], (age - edge(bin)) / (edge(bin + 1) - edge(bin)));
        double best = 0;
        for (int stop = bin + 1; stop <= Math.min(AgeBins.COUNT, bin + 14); stop++) {
            double unused = (edge(bin + 1) - age) * (now + survival[bin + 1]) / 2;
            for (int edge = bin + 2; edge <= stop; edge++) {
                unused += (edge(edge) - edge(edge - 1)) * (survival[edge - 1] + survival[edge]) / 2;
            }
            best = Math.max(best, (now - survival[stop]) / unused);
        }
        return best;
    }
}
