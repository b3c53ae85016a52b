package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DoseResponseTest {
    private static final double DELTA = Math.log(1.05);

    /** Effects at pressures of 0.5, 1, 2, 4 ..., each known to a standard error of 1 %. */
    static final Interval LARGE = new Interval(-0.5, -0.35);

    static DoseResponse sweep(double... effects) {
        List<DoseResponse.Level> levels = new ArrayList<>();
        double pressure = 0.5;
        for (double effect : effects) {
            levels.add(level(pressure, effect, 0.01));
            pressure *= 2;
        }
        return new DoseResponse(levels);
    }

    private static DoseResponse.Level level(double pressure, double effect, double se) {
        return new DoseResponse.Level(pressure, effect, se, 8);
    }

    @Test
    void effectThatGrowsWithPressure_isNotObjectedTo() {
        assertThat(sweep(0.01, -0.11, -0.19, -0.32).objection(DELTA, LARGE)).isEmpty();
    }

    @Test
    void effectWithMemoryToSpare_isObjectedTo() {
        assertThat(sweep(-0.2824, -0.3, -0.35, -0.4).objection(DELTA, LARGE))
                .hasValueSatisfying(objection -> assertThat(objection)
                        .contains("with memory to spare (pressure 0.50) there is a gain as well, of -24.6 %"));
    }

    /** Measured on an H200: -4.4 % with 90 % interval -21.6 to +16.7 % at the placebo, and -66.9 % beyond a full cache. */
    @Test
    void placeboThatCannotTell_takesNothingFromALevelBeyondItsBound() {
        DoseResponse sweep = new DoseResponse(List.of(
                new DoseResponse.Level(0.42, -0.0447, 0.1024, 6),
                new DoseResponse.Level(0.79, -0.124, 0.08, 6),
                new DoseResponse.Level(1.07, -1.19, 0.057, 6),
                new DoseResponse.Level(1.63, -1.105, 0.072, 6)));
        DoseResponse.Level placebo = sweep.placebo().orElseThrow();
        assertThat(placebo.asked(DELTA)).isEqualTo(DoseResponse.PlaceboAnswer.UNKNOWN);
        assertThat(placebo.mostGain()).isCloseTo(Math.log(1 - 0.307), within(0.005));
        assertThat(sweep.trend()).isEqualTo(DoseResponse.Trend.STEP);
        assertThat(sweep.refutation(DELTA)).isEmpty();
        assertThat(sweep.objection(DELTA, new Interval(-1.28, -0.929))).isEmpty();
        assertThat(sweep.caution(DELTA).orElseThrow())
                .startsWith("With memory to spare (pressure 0.42) the effect of -4.4 % may be a gain of up to -30.")
                .contains("not shown to be nothing; run about 140 pairs of each order at that level");
    }

    @Test
    void placeboThatCannotTell_takesALevelThatItsBoundWouldExplain_andAsksForItsPairs() {
        DoseResponse sweep = new DoseResponse(List.of(
                new DoseResponse.Level(0.4, 0.01, 0.1, 6),
                new DoseResponse.Level(0.9, 0, 0.02, 6),
                new DoseResponse.Level(1.5, -0.3, 0.02, 6),
                new DoseResponse.Level(2, -0.3, 0.02, 6)));
        assertThat(sweep.objection(DELTA, new Interval(-0.35, -0.25)).orElseThrow())
                .contains(
                        "another cause of that size would leave nothing of this one; run about 6 pairs of each order");
        assertThat(sweep.objection(DELTA, new Interval(-0.45, -0.35))).isEmpty();
    }

    /** A loss with memory to spare explains no gain elsewhere. */
    @Test
    void placeboThatShowsALoss_objectsToNothing() {
        DoseResponse sweep = sweep(0.2, 0, -0.2, -0.4);
        assertThat(sweep.placebo().orElseThrow().mostGain()).isZero();
        assertThat(sweep.objection(DELTA, LARGE)).isEmpty();
    }

    @Test
    void ofSeveralPlacebos_thatWhichIsKnownBestGivesTheBound_andAnyMayShowAGain() {
        DoseResponse.Level wide = new DoseResponse.Level(0.3, 0, 0.2, 6);
        DoseResponse.Level narrow = new DoseResponse.Level(0.4, 0, 0.01, 6);
        assertThat(new DoseResponse(List.of(wide, narrow)).placebo()).contains(narrow);
        assertThat(new DoseResponse(List.of(narrow, level(0.3, -0.3, 0.02))).refutation(DELTA))
                .isPresent();
    }

    @Test
    void effectThatGrowsEvenly_isALine() {
        DoseResponse sweep = new DoseResponse(List.of(
                level(0.5, 0, 0.2),
                level(1, -0.1, 0.2),
                level(2, -0.2, 0.2),
                level(4, -0.3, 0.2),
                level(8, -0.4, 0.2)));
        assertThat(sweep.step().orElseThrow().pFalling()).isGreaterThan(0.05);
        assertThat(sweep.trend()).isEqualTo(DoseResponse.Trend.LINE);
    }

    @Test
    void effectThatDoesNotGrow_isObjectedTo() {
        assertThat(sweep(0, -0.2, 0.01, -0.19).objection(DELTA, LARGE))
                .hasValueSatisfying(objection -> assertThat(objection).contains("does not grow with memory pressure"));
        assertThat(sweep(0, 0.1, 0.2, 0.3).objection(DELTA, LARGE)).isPresent();
    }

    @Test
    void threeLevels_areTooFew() {
        assertThat(sweep(0, -0.1, -0.2).objection(DELTA, LARGE)).isEmpty();
        assertThat(sweep(0, -0.1, -0.2).lacks()).singleElement().asString().contains("has 3 different levels");
    }

    @Test
    void sweepWithoutPlacebo_saysSo() {
        DoseResponse sweep = new DoseResponse(
                List.of(level(0.51, 0, 0.01), level(1, -0.1, 0.01), level(2, -0.2, 0.01), level(4, -0.3, 0.01)));
        assertThat(sweep.objection(DELTA, LARGE)).isEmpty();
        assertThat(sweep.lacks()).singleElement().asString().contains("no level with memory to spare");
    }

    @Test
    void levelDeclaredAPlacebo_isOneAtAnyPressure() {
        DoseResponse.Level declared = level(0.8, -0.3, 0.01).asPlacebo();
        assertThat(new DoseResponse(List.of(declared, level(2, -0.3, 0.01))).objection(DELTA, LARGE))
                .hasValueSatisfying(
                        objection -> assertThat(objection).contains("memory to spare (pressure 0.80) there is a gain"));
    }

    @Test
    void effectThatComesAtOnceWithAFullCache_isNotObjectedTo() {
        DoseResponse sweep = new DoseResponse(List.of(
                level(0.41, -0.005, 0.01),
                level(0.81, 0.025, 0.03),
                level(1.08, -1.26, 0.01),
                level(1.63, -1.07, 0.1),
                level(2.17, -1.25, 0.06)));
        assertThat(sweep.step().orElseThrow().pFalling()).isLessThan(1e-6);
        assertThat(sweep.objection(DELTA, LARGE)).isEmpty();
    }

    @Test
    void levelsAllBeyondAFullCache_mayBeFlat() {
        DoseResponse sweep = new DoseResponse(
                List.of(level(1.5, -0.3, 0.01), level(2, -0.3, 0.01), level(3, -0.3, 0.01), level(4, -0.3, 0.01)));
        assertThat(sweep.objection(DELTA, LARGE)).isEmpty();
        assertThat(sweep.lacks()).hasSize(2);
    }

    @Test
    void oneRepeatedLevel_isNoSweep() {
        DoseResponse.Level same = level(0.5, 0, 0.01);
        assertThat(new DoseResponse(List.of(same, same, same, same)).lacks())
                .singleElement()
                .asString()
                .contains("has 1 different levels");
    }

    @Test
    void preciseLevels_weighMore() {
        double[] x = {0, 1, 2, 3};
        double[] y = {0, 0, 0, 3};
        assertThat(LinearFit.of(x, y, new double[] {1, 1, 1, 1e-9})
                        .orElseThrow()
                        .slope())
                .isCloseTo(0, within(1e-6));
        assertThat(LinearFit.of(x, y).orElseThrow().slope()).isCloseTo(0.9, within(1e-12));
    }

    @Test
    void exactLine_hasASlopeBeyondDoubt() {
        LinearFit line =
                LinearFit.of(new double[] {0, 1, 2}, new double[] {1, 0, -1}).orElseThrow();
        assertThat(line.slope()).isEqualTo(-1);
        assertThat(line.intercept()).isEqualTo(1);
        assertThat(line.pFalling()).isZero();
        assertThat(line.pTwoSided()).isZero();
    }

    @Test
    void line_throughFewerThanThreePointsOrOneX_isAbsent() {
        assertThat(LinearFit.of(new double[] {0, 1}, new double[] {0, 1})).isEmpty();
        assertThat(LinearFit.of(new double[] {1, 1, 1}, new double[] {0, 1, 2})).isEmpty();
        assertThat(LinearFit.of(new double[0], new double[0])).isEmpty();
    }

    @Test
    void level_ofAnEstimate_carriesItsNumbers() {
        Estimate estimate = Estimate.of(Pairs.model(0, -0.1, 0, 0.01));
        DoseResponse.Level level = DoseResponse.Level.of(2, estimate).orElseThrow();
        assertThat(level.effect()).isEqualTo(estimate.effect().getAsDouble());
        assertThat(level.ci90()).isEqualTo(estimate.ci90().orElseThrow());
        assertThat(DoseResponse.Level.of(2, Estimate.of(CrossoverData.of(new double[0], new double[0], new double[0]))))
                .isEmpty();
    }

    @Test
    void level_withoutPressure_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> level(0, -0.1, 0.01))
                .withMessageContaining("demand over capacity");
    }
}
