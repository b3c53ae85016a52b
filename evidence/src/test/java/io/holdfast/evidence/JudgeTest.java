package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class JudgeTest {
    private static final double CALM = 0.0078125;
    private static final double EIGHTH = 0.125;
    private static final Interval NOTHING = new Interval(-0.001, 0.002);
    private static final Interval PLENTY = new Interval(0.3, 0.4);

    private static Verdict judge(CrossoverData data) {
        return judge(data, Pairs.CONFIRMED);
    }

    private static Verdict judge(CrossoverData data, CacheProof proof) {
        return Judge.judge(Experiment.of(data, proof), Criteria.standard());
    }

    private static Verdict judge(CrossoverData data, double delta) {
        return Judge.judge(Experiment.of(data, Pairs.CONFIRMED), new Criteria(delta, 0.05, 4));
    }

    private static CrossoverData gain() {
        return Pairs.model(0, -0.2, 0, CALM);
    }

    @Nested
    final class ArmThatClaimsNoHold {
        private static Verdict judgeSwitch(CrossoverData data, CacheProof proof) {
            return Judge.judge(Experiment.of(data, proof).withoutHold(), Criteria.standard());
        }

        @Test
        void gain_isRealWithoutCachedTokens() {
            Verdict verdict = judgeSwitch(gain(), CacheProof.unknown());
            assertThat(verdict.headline()).isEqualTo("REAL");
            assertThat(verdict.reason())
                    .startsWith("The switch changed the value by -18.1 %")
                    .contains("in both orders", "it claims no hold")
                    .doesNotContain("prefix");
            assertThat(verdict.warnings()).isEmpty();
        }

        @Test
        void cacheThatSaysNo_takesNothingAway() {
            CacheProof no = new CacheProof(Optional.of(NOTHING), Optional.of(NOTHING), CacheProof.FINEST_THRESHOLD);
            assertThat(judgeSwitch(gain(), no).finding()).isEqualTo(Finding.REAL);
            assertThat(judgeSwitch(Pairs.model(0, 0.001, 0, CALM), no).finding())
                    .isEqualTo(Finding.NO_EFFECT);
            assertThat(judgeSwitch(Pairs.model(-0.2, 0.001, 0, CALM), no).finding())
                    .isEqualTo(Finding.ORDER_ARTEFACT);
            assertThat(judgeSwitch(Pairs.model(0, 0.2, 0, CALM), no).finding()).isEqualTo(Finding.HARMFUL);
        }

        @Test
        void gainThatOneOrderDoesNotShow_isNotReal() {
            CrossoverData oneOrder = Pairs.model(-0.2, -0.01, 0, EIGHTH);
            assertThat(judgeSwitch(oneOrder, CacheProof.unknown()).finding()).isEqualTo(Finding.INCONCLUSIVE);
        }

        @Test
        void failedGate_isInvalidAllTheSame() {
            Experiment experiment = Experiment.of(gain(), CacheProof.unknown())
                    .withFailedGates(List.of("A gate."))
                    .withoutHold();
            assertThat(Judge.judge(experiment, Criteria.standard()).finding()).isEqualTo(Finding.INVALID);
        }
    }

    @Nested
    final class Rule1Gates {
        @Test
        void failedGate_evenWithAPerfectGain_isInvalidAndNamesIt() {
            Verdict verdict = Judge.judge(
                    Experiment.of(gain(), Pairs.CONFIRMED)
                            .withFailedGates(List.of("3 of 128 outputs were empty.", "The pin was not hit.")),
                    Criteria.standard());
            assertThat(verdict.headline()).isEqualTo("INVALID");
            assertThat(verdict.reason()).contains("3 of 128 outputs were empty. The pin was not hit.");
        }

        @Test
        void failedGate_withTooFewPairs_isInvalidFirst() {
            Verdict verdict = Judge.judge(
                    Experiment.of(CrossoverData.of(new double[0], new double[0], new double[0]), CacheProof.unknown())
                            .withFailedGates(List.of("The flush failed.")),
                    Criteria.standard());
            assertThat(verdict.finding()).isEqualTo(Finding.INVALID);
        }
    }

    @Nested
    final class Rule2Design {
        @ParameterizedTest
        @CsvSource({"3, 4, 4", "4, 3, 4", "4, 4, 3", "0, 4, 4", "4, 0, 4", "4, 4, 0", "0, 0, 0"})
        void tooFewPairsOfAnOrder_isInconclusiveAndCountsThem(int aa, int bp, int pb) {
            Verdict verdict = judge(CrossoverData.of(
                    Pairs.balanced(aa, 0, CALM), Pairs.balanced(bp, -0.2, CALM), Pairs.balanced(pb, 0.2, CALM)));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
            assertThat(verdict.reason())
                    .contains("%d AA, %d BP and %d PB pairs where at least 4".formatted(aa, bp, pb));
            assertThat(verdict.requiredPerOrder()).hasValue(4);
        }

        @Test
        void normalOrderAlone_isInconclusiveAndStillPrintsTheNaiveClaim() {
            Verdict verdict = judge(CrossoverData.of(new double[0], Pairs.balanced(9, -0.2, CALM), new double[0]));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
            assertThat(verdict.estimate().naivePercent()).isPresent();
            assertThat(verdict.reason())
                    .startsWith("All 9 pairs ran the baseline leg first")
                    .contains("the naive claim of one order is -18.1 %");
        }

        @Test
        void reversedOrderAlone_isInconclusiveAndStillPrintsTheNaiveClaim() {
            Verdict verdict = judge(CrossoverData.of(new double[0], new double[0], Pairs.balanced(9, 0.2, CALM)));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
            assertThat(verdict.reason())
                    .startsWith("All 9 pairs ran the pinned leg first")
                    .contains("the naive claim of one order is -18.2 %");
        }

        @Test
        void fewerPairsThanPlanned_areInconclusiveHoweverClearTheyAre() {
            Experiment experiment = Experiment.of(gain(), Pairs.CONFIRMED);
            Verdict verdict = Judge.judge(experiment.withPlannedPairs(15), Criteria.standard());
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
            assertThat(verdict.reason()).contains("12 of 15 planned pairs; the plan was fixed beforehand");
            assertThat(verdict.estimate().effect()).isPresent();
            assertThat(Judge.judge(experiment.withPlannedPairs(12), Criteria.standard())
                            .finding())
                    .isEqualTo(Finding.REAL);
        }

        @Test
        void failedGate_beforeThePlanEnded_isInvalidFirst() {
            Experiment stopped = Experiment.of(gain(), Pairs.CONFIRMED)
                    .withPlannedPairs(15)
                    .withFailedGates(List.of("The flush failed."));
            assertThat(Judge.judge(stopped, Criteria.standard()).finding()).isEqualTo(Finding.INVALID);
        }

        @Test
        void fourPairsOfEach_areEnough() {
            assertThat(judge(gain()).finding()).isEqualTo(Finding.REAL);
        }

        @Test
        void higherMinimum_isKept() {
            Verdict verdict =
                    Judge.judge(Experiment.of(gain(), Pairs.CONFIRMED), new Criteria(Math.log(1.05), 0.05, 5));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
            assertThat(verdict.requiredPerOrder()).hasValue(5);
        }
    }

    @Nested
    final class Rule3CarryOver {
        /** Effect -1/8 and carry-over exactly as large. All values are exact in binary. */
        private final CrossoverData asLargeAsTheEffect = Pairs.model(0, -EIGHTH / 2, EIGHTH, CALM);

        @Test
        void carryOverAsLargeAsTheEffect_isInconclusive() {
            Verdict verdict = judge(asLargeAsTheEffect);
            assertThat(verdict.estimate().effect()).hasValue(-EIGHTH);
            assertThat(verdict.estimate().carryOver()).hasValue(EIGHTH);
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(carryover)");
            assertThat(verdict.reason()).contains("+13.3 %").contains("restart the server before every leg");
        }

        @Test
        void carryOverSmallerThanTheEffect_isAWarning() {
            double carryOver = EIGHTH - 1.0 / 64;
            Verdict verdict = judge(Pairs.model(0, -EIGHTH + carryOver / 2, carryOver, CALM));
            assertThat(verdict.estimate().effect()).hasValue(-EIGHTH);
            assertThat(verdict.finding()).isEqualTo(Finding.REAL);
            assertThat(verdict.warnings()).anyMatch(warning -> warning.contains("leaves something behind"));
        }

        @Test
        void effectOfExactlyDelta_isVetoedAndAnySmallerIsNot() {
            assertThat(judge(asLargeAsTheEffect, EIGHTH).shortfall()).contains(Shortfall.CARRYOVER);
            assertThat(judge(asLargeAsTheEffect, Math.nextUp(EIGHTH)).shortfall())
                    .contains(Shortfall.PRECISION);
        }

        @Test
        void insignificantCarryOver_doesNotVeto() {
            // Carry-over larger than the effect, but its interval is wide: AA pairs scatter.
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.3), Pairs.balanced(4, -EIGHTH / 2, CALM), Pairs.balanced(4, 0.1875, CALM));
            assertThat(judge(data).shortfall()).contains(Shortfall.PRECISION);
        }

        @Test
        void pureCarryOver_isNeverReal() {
            assertThat(judge(Pairs.model(0, 0, 0.2, CALM)).headline()).isEqualTo("INCONCLUSIVE(carryover)");
        }
    }

    @Nested
    final class Rule4Real {
        @Test
        void gainInBothOrdersConfirmedByTheServer_isRealWithAllItsNumbers() {
            Verdict verdict = judge(gain());
            assertThat(verdict.headline()).isEqualTo("REAL");
            assertThat(verdict.reason())
                    .contains("-18.1 %")
                    .contains("normal -18.1 %, reversed -18.1 %")
                    .contains("2/70 by permutation")
                    .contains("the naive comparison says -18.1 %");
            assertThat(verdict.warnings()).isEmpty();
            assertThat(verdict.requiredPerOrder()).isEmpty();
        }

        @Test
        void gainOfExactlyDelta_isRealAndAnySmallerIsNot() {
            CrossoverData data = Pairs.model(0, -EIGHTH, 0, CALM);
            assertThat(judge(data, EIGHTH).finding()).isEqualTo(Finding.REAL);
            assertThat(judge(data, Math.nextUp(EIGHTH)).shortfall()).contains(Shortfall.PRECISION);
        }

        @Test
        void orderBiasOfExactlyDelta_isNamed() {
            CrossoverData data = Pairs.model(-EIGHTH, -1, 0, CALM);
            assertThat(judge(data, EIGHTH).headline()).isEqualTo("REAL with order bias");
            assertThat(judge(data, Math.nextUp(EIGHTH)).headline()).isEqualTo("REAL");
        }

        @Test
        void orderBias_isWarnedOf() {
            assertThat(judge(Pairs.model(-0.22, -0.9, 0, CALM)).warnings())
                    .anyMatch(warning -> warning.contains("Being second alone changes the value by -19.7 %"));
        }

        @Test
        void intervalThatReachesZero_isNotReal() {
            assertNoGain(Pairs.model(0, -0.2, 0, 0.25), "is not all below zero");
        }

        @Test
        void normalOrderNotShownAlone_isNotReal() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.3), Pairs.balanced(4, -0.1, CALM), Pairs.balanced(4, 0.1, CALM));
            assertNoGain(data, "the normal order against A/A");
        }

        @Test
        void reversedOrderWithoutGain_isNotReal() {
            assertNoGain(withReversedGain(0), "the reversed order against A/A shows +0.0 %");
        }

        @Test
        void reversedOrderWithSomeGain_isReal() {
            assertThat(judge(withReversedGain(0.001953125)).finding()).isEqualTo(Finding.REAL);
        }

        /** A gain of 12 % in normal order and of this much in reversed order, too noisy to show a carry-over. */
        private static CrossoverData withReversedGain(double gain) {
            return CrossoverData.of(
                    Pairs.balanced(4, 0, 0.0625),
                    Pairs.balanced(4, -0.140625, 0.0625),
                    Pairs.balanced(4, gain, 0.0625));
        }

        @Test
        void tTestThatFailsAfterHolm_isNotReal() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(20, 0, 0), Pairs.balanced(4, -0.1, 0.0845), Pairs.balanced(4, 0.1, 0.0845));
            Experiment alone = Experiment.of(data, Pairs.CONFIRMED);
            assertThat(Judge.judge(alone, Criteria.standard()).finding()).isEqualTo(Finding.REAL);

            Verdict besideAnother = Judge.judge(alone.withOtherPrimaryPValues(List.of(0.6)), Criteria.standard());
            assertThat(besideAnother.shortfall()).contains(Shortfall.PRECISION);
            assertThat(besideAnother.reason()).contains("0.055 after Holm's correction");
            // A smaller p beside it takes the first place, and ours is not multiplied.
            assertThat(Judge.judge(alone.withOtherPrimaryPValues(List.of(0.0001)), Criteria.standard())
                            .finding())
                    .isEqualTo(Finding.REAL);
        }

        @Test
        void sharedLevelOfSeveralLooks_isNotRealWhereOneLookIs() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(20, 0, 0), Pairs.balanced(4, -0.1, 0.0845), Pairs.balanced(4, 0.1, 0.0845));
            Verdict verdict = Judge.judge(
                    Experiment.of(data, Pairs.CONFIRMED), Criteria.standard().atOneOf(3));
            assertThat(verdict.shortfall()).contains(Shortfall.PRECISION);
        }

        @Test
        void sharedLevelOfSeveralLooks_widensTheIntervalsThatDecide() {
            Criteria third = Criteria.standard().atOneOf(3);
            Verdict real = Judge.judge(Experiment.of(Pairs.model(0, -0.2, 0, CALM), Pairs.CONFIRMED), third);
            assertThat(real.reason()).contains("98.3 % CI");
            CrossoverData nothing = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.001), Pairs.balanced(4, 0, 0.05), Pairs.balanced(4, 0, 0.05));
            assertThat(judge(nothing).finding()).isEqualTo(Finding.NO_EFFECT);
            assertThat(Judge.judge(Experiment.of(nothing, Pairs.CONFIRMED), third)
                            .shortfall())
                    .contains(Shortfall.PRECISION);
        }

        @Test
        void permutationThatFails_isNotRealThoughTheTTestPasses() {
            double[] bp = {0.02, -0.4, -0.4, -0.4};
            double[] pb = {0, 0.09, -0.02, 0};
            CrossoverData data = CrossoverData.of(Pairs.balanced(20, -0.13875, 0), bp, pb);
            assertThat(Estimate.of(data).tPValue().getAsDouble()).isLessThan(0.03);
            assertNoGain(data, "p by permutation is 0.11");
        }

        private static void assertNoGain(CrossoverData data, String doubt) {
            Verdict verdict = judge(data);
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(precision)");
            assertThat(verdict.reason()).contains(doubt);
            // Exactly one of the conditions fails, so the test is about that one.
            assertThat(verdict.estimate().effect().getAsDouble()).isLessThan(-Math.log(1.05));
        }

        /** Goes red when an unknown exposure is taken for a loss of 0. */
        @Test
        void gainOnAServerThatReportsNoCachedTokens_isUnmeasuredAndNotNoExposure() {
            Verdict unknown = judge(gain(), CacheProof.unknown());
            assertThat(unknown.headline()).isEqualTo("INCONCLUSIVE(unmeasured)");
            assertThat(unknown.reason())
                    .contains("the server reported no cached tokens")
                    .contains("--enable-prompt-tokens-details")
                    .contains("--enable-cache-report");

            CacheProof zero = CacheProof.fromLives(
                    Collections.nCopies(8, OptionalDouble.of(0)),
                    Collections.nCopies(8, OptionalDouble.of(0.3)),
                    0.005);
            assertThat(judge(gain(), zero).headline()).isEqualTo("NO_EXPOSURE");
        }

        @Test
        void gainWithUnknownMechanism_isUnmeasured() {
            CacheProof proof = new CacheProof(Optional.of(PLENTY), Optional.empty(), 0.005);
            assertThat(judge(gain(), proof).headline()).isEqualTo("INCONCLUSIVE(unmeasured)");
        }

        @Test
        void gainWithUnknownExposure_isUnmeasured() {
            CacheProof proof = new CacheProof(Optional.empty(), Optional.of(PLENTY), 0.005);
            assertThat(judge(gain(), proof).headline()).isEqualTo("INCONCLUSIVE(unmeasured)");
        }
    }

    @Nested
    final class Rule5Unexplained {
        @Test
        void gainWithoutMoreCachedTokens_isUnexplained() {
            Verdict verdict = judge(gain(), Pairs.proof(PLENTY, NOTHING));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(unexplained)");
            assertThat(verdict.reason()).contains("not shown to keep more of the prefix");
        }

        @Test
        void gainWithNeitherExposureNorMechanism_isUnexplainedFirst() {
            assertThat(judge(gain(), Pairs.proof(NOTHING, NOTHING)).headline()).isEqualTo("INCONCLUSIVE(unexplained)");
        }

        @Test
        void mechanismOfExactlyTheThreshold_isNone() {
            CacheProof at = Pairs.proof(PLENTY, new Interval(0.005, 0.4));
            CacheProof above = Pairs.proof(PLENTY, new Interval(Math.nextUp(0.005), 0.4));
            assertThat(judge(gain(), at).shortfall()).contains(Shortfall.UNEXPLAINED);
            assertThat(judge(gain(), above).finding()).isEqualTo(Finding.REAL);
        }

        @Test
        void gainThatASweepContradicts_isUnexplained() {
            DoseResponse flat = DoseResponseTest.sweep(-0.2, -0.2, -0.2, -0.2);
            Verdict verdict =
                    Judge.judge(Experiment.of(gain(), Pairs.CONFIRMED).withDoseResponse(flat), Criteria.standard());
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(unexplained)");
            assertThat(verdict.reason()).contains("with memory to spare");
        }

        @Test
        void gainThatASweepSupports_isReal() {
            DoseResponse growing = DoseResponseTest.sweep(0, -0.1, -0.2, -0.3);
            Verdict verdict =
                    Judge.judge(Experiment.of(gain(), Pairs.CONFIRMED).withDoseResponse(growing), Criteria.standard());
            assertThat(verdict.headline()).isEqualTo("REAL");
        }
    }

    @Nested
    final class Rule6Exposure {
        @Test
        void baselineThatKeptItsPrefix_isNoExposure() {
            Verdict verdict = judge(Pairs.model(0, 0, 0, CALM), Pairs.proof(NOTHING, NOTHING));
            assertThat(verdict.headline()).isEqualTo("NO_EXPOSURE");
            assertThat(verdict.reason()).contains("it lost 0.1 % (95 % CI -0.1 % to 0.2 %), where more than 0.5 %");
        }

        @Test
        void lossTooUncertain_isNoExposureAndDoesNotClaimThatNothingWasLost() {
            Verdict verdict = judge(Pairs.model(0, 0, 0, CALM), Pairs.proof(new Interval(-0.1, 0.5), NOTHING));
            assertThat(verdict.headline()).isEqualTo("NO_EXPOSURE");
            assertThat(verdict.reason())
                    .contains("nothing shows that there was something for a hold to win")
                    .doesNotContain("so there was nothing");
        }

        @Test
        void provenOrderBias_isNamed() {
            assertThat(judge(Pairs.model(-0.22, 0, 0, CALM), Pairs.proof(NOTHING, NOTHING))
                            .headline())
                    .isEqualTo("NO_EXPOSURE with order bias");
        }

        @Test
        void orderBiasWhoseIntervalReachesZero_isNotNamed() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(4, -0.22, 0.3), Pairs.balanced(4, -0.22, CALM), Pairs.balanced(4, -0.22, CALM));
            assertThat(judge(data, Pairs.proof(NOTHING, NOTHING)).headline()).isEqualTo("NO_EXPOSURE");
        }

        @Test
        void lossOfExactlyTheThreshold_isNoExposure() {
            CrossoverData nothing = Pairs.model(0, 0, 0, CALM);
            assertThat(judge(nothing, Pairs.proof(new Interval(0.005, 0.4), NOTHING))
                            .finding())
                    .isEqualTo(Finding.NO_EXPOSURE);
            assertThat(judge(nothing, Pairs.proof(new Interval(Math.nextUp(0.005), 0.4), NOTHING))
                            .finding())
                    .isEqualTo(Finding.NO_EFFECT);
        }

        @Test
        void harmWithoutExposure_isNoExposureWithAWarning() {
            Verdict verdict = judge(Pairs.model(0, 0.2, 0, CALM), Pairs.proof(NOTHING, NOTHING));
            assertThat(verdict.finding()).isEqualTo(Finding.NO_EXPOSURE);
            assertThat(verdict.warnings()).anyMatch(warning -> warning.contains("worse by +22.1 %"));
        }
    }

    @Nested
    final class Rule7WithinMargins {
        @Test
        void noEffectAndNoOrderBias_isNoEffect() {
            Verdict verdict = judge(Pairs.model(0.01, 0, 0, CALM));
            assertThat(verdict.headline()).isEqualTo("NO_EFFECT");
            assertThat(verdict.reason()).contains("inside -4.8 % to +5.0 %");
        }

        @Test
        void noEffectButOrderBias_isAnArtefactAndQuotesTheNaiveClaim() {
            Verdict verdict = judge(Pairs.model(-0.22, 0, 0, CALM));
            assertThat(verdict.headline()).isEqualTo("ORDER_ARTEFACT");
            assertThat(verdict.reason()).startsWith("The naive comparison says -19.7 %, but being second alone gives");
        }

        @Test
        void orderBiasOfExactlyDelta_isAnArtefactAndAnySmallerIsNot() {
            CrossoverData data = Pairs.model(-EIGHTH, 0, 0, CALM);
            assertThat(judge(data, EIGHTH).finding()).isEqualTo(Finding.ORDER_ARTEFACT);
            assertThat(judge(data, Math.nextUp(EIGHTH)).finding()).isEqualTo(Finding.NO_EFFECT);
        }

        @Test
        void orderBiasWhoseIntervalReachesZero_isNoArtefact() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(4, -0.22, 0.3), Pairs.balanced(4, -0.22, CALM), Pairs.balanced(4, -0.22, CALM));
            Verdict verdict = judge(data);
            assertThat(verdict.headline()).isEqualTo("NO_EFFECT");
            assertThat(verdict.warnings()).anyMatch(warning -> warning.contains("Being second alone"));
        }

        @Test
        void intervalThatEndsAtTheMargin_isNotInside() {
            CrossoverData data = Pairs.model(0, 0, 0, 0.0625);
            double end = Estimate.of(data).ci90().orElseThrow().high();
            assertThat(judge(data, end).shortfall()).contains(Shortfall.PRECISION);
            assertThat(judge(data, Math.nextUp(end)).finding()).isEqualTo(Finding.NO_EFFECT);
        }

        @Test
        void unknownExposure_stillAllowsNoEffectAndWarns() {
            Verdict verdict = judge(Pairs.model(0, 0, 0, CALM), CacheProof.unknown());
            assertThat(verdict.finding()).isEqualTo(Finding.NO_EFFECT);
            assertThat(verdict.warnings()).anyMatch(warning -> warning.contains("is unknown"));
        }
    }

    @Nested
    final class Rule8Harm {
        @Test
        void slowdownBeyondNoise_isHarmful() {
            Verdict verdict = judge(Pairs.model(0, 0.2, 0, CALM));
            assertThat(verdict.headline()).isEqualTo("HARMFUL");
            assertThat(verdict.reason()).contains("+22.1 %");
        }

        @Test
        void harmOfExactlyDelta_isHarmfulAndAnySmallerIsNot() {
            CrossoverData data = Pairs.model(0, EIGHTH, 0, CALM);
            assertThat(judge(data, EIGHTH).finding()).isEqualTo(Finding.HARMFUL);
            assertThat(judge(data, Math.nextUp(EIGHTH)).shortfall()).contains(Shortfall.PRECISION);
        }

        @Test
        void harmThatOneOrderDoesNotShow_isInconclusive() {
            CrossoverData normalUnclear = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.3), Pairs.balanced(4, 0.1, CALM), Pairs.balanced(4, -0.1, CALM));
            assertThat(judge(normalUnclear).reason()).contains("the normal order against A/A");
            CrossoverData reversedWithout = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.0625), Pairs.balanced(4, 0.140625, 0.0625), Pairs.balanced(4, 0, 0.0625));
            assertThat(judge(reversedWithout).reason()).contains("the reversed order against A/A shows +0.0 %");
        }

        @Test
        void harmOnAServerThatReportsNoCachedTokens_isStillHarm() {
            assertThat(judge(Pairs.model(0, 0.2, 0, CALM), CacheProof.unknown()).finding())
                    .isEqualTo(Finding.HARMFUL);
        }
    }

    @Nested
    final class Rule9Precision {
        @Test
        void noise_isInconclusiveAndSaysHowManyPairsWouldDo() {
            // Pairs of standard deviation 0.1: 17 or 18 of each order find 5 % with 80 % power.
            CrossoverData data = Pairs.model(0, 0, 0, 0.1 * Math.sqrt(0.75));
            Verdict verdict = judge(data);
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(precision)");
            int needed = RequiredPairs.toDetect(0.1, Math.log(1.05)).orElseThrow();
            assertThat(verdict.requiredPerOrder()).hasValue(needed);
            assertThat(needed).isEqualTo(18);
            assertThat(verdict.reason()).contains("run about 18 pairs of each order");
        }

        @Test
        void noisyHarm_isInconclusive() {
            Verdict verdict = judge(Pairs.model(0, 0.1, 0, 0.25));
            assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(precision)");
            assertThat(verdict.reason()).contains("is not all above zero");
        }

        @Test
        void effectJustInsideTheMargin_needsThePairsThatSetItApartFromTheMargin() {
            Verdict verdict = judge(Pairs.model(0, -0.045, 0, CALM));
            assertThat(verdict.shortfall()).contains(Shortfall.PRECISION);
            int needed = RequiredPairs.toNarrow(CALM * Math.sqrt(4.0 / 3), Math.log(1.05) - 0.045)
                    .orElseThrow();
            assertThat(needed).isGreaterThan(4);
            assertThat(verdict.requiredPerOrder()).hasValue(needed);
        }

        @Test
        void largeCalmEffectThatNoisyAaPairsHide_needsOneMorePairAtLeast() {
            CrossoverData data = CrossoverData.of(
                    Pairs.balanced(4, 0, 0.3), Pairs.balanced(4, -0.1, CALM), Pairs.balanced(4, 0.1, CALM));
            assertThat(judge(data).requiredPerOrder()).hasValue(5);
        }

        @Test
        void requiredPairs_actuallyRun_tell() {
            int needed = judge(Pairs.model(0, 0.01, 0, 0.09)).requiredPerOrder().orElseThrow();
            CrossoverData repeated = CrossoverData.of(
                    Pairs.balanced(needed, 0, 0.09),
                    Pairs.balanced(needed, 0.01, 0.09),
                    Pairs.balanced(needed, -0.01, 0.09));
            assertThat(judge(repeated).finding()).isEqualTo(Finding.NO_EFFECT);
        }

        @Test
        void effectCloseUnderTheMargin_getsNoNumberOfPairs() {
            Verdict verdict = judge(Pairs.model(0, Math.log(0.956), 0, 0.06));
            assertThat(verdict.shortfall()).contains(Shortfall.PRECISION);
            assertThat(verdict.requiredPerOrder()).isEmpty();
            assertThat(verdict.reason()).contains("it lies too close to the margin of -4.8 % to +5.0 %");
        }

        @Test
        void lostHolds_thatAreExplained_sayWhatIsToBeMended() {
            Verdict verdict = Judge.judge(
                    Experiment.of(Pairs.model(0, -0.045, 0, 0.09), Pairs.CONFIRMED)
                            .withLostHolds(
                                    new Experiment.LostHolds(8, 8, Optional.of("nothing was held: no room for it"))),
                    Criteria.standard());
            assertThat(verdict.reason())
                    .endsWith("8 of 8 pinned legs did not keep their prefix (nothing was held: no room for it), so mend"
                            + " that before running more pairs.");
        }

        @Test
        void lostHolds_areToBeMendedBeforeMorePairsAreRun() {
            Verdict verdict = Judge.judge(
                    Experiment.of(Pairs.model(0, -0.045, 0, 0.09), Pairs.CONFIRMED)
                            .withLostHolds(new Experiment.LostHolds(4, 8)),
                    Criteria.standard());
            assertThat(verdict.requiredPerOrder()).isEmpty();
            assertThat(verdict.reason())
                    .endsWith(
                            "4 of 8 pinned legs did not keep their prefix, so find out why before running more pairs.");
        }

        @Test
        void experimentWithoutPairs_saysNothingOfCachedTokens() {
            double[] none = {};
            Verdict verdict = judge(CrossoverData.of(none, none, none), CacheProof.unknown());
            assertThat(verdict.warnings()).isEmpty();
        }

        @Test
        void hopelessNoise_asksForNoNumber() {
            Verdict verdict = judge(Pairs.model(0, 0, 0, 100));
            assertThat(verdict.requiredPerOrder()).isEmpty();
            assertThat(verdict.reason()).contains("no practical number of pairs would tell");
        }
    }

    @Nested
    final class BesideTheRules {
        @ParameterizedTest
        @EnumSource
        void flag_onAGain_isAWarningAndChangesNothing(Flag flag) {
            Verdict verdict =
                    Judge.judge(Experiment.of(gain(), Pairs.CONFIRMED).withFlags(Set.of(flag)), Criteria.standard());
            assertThat(verdict.headline()).isEqualTo("REAL");
            assertThat(verdict.warnings()).containsExactly(flag.warning());
        }

        /** Whatever the AA pairs are, REAL needs all that the two orders alone can show. */
        @Test
        void aaPairs_canOnlyTakeRealAway() {
            SplittableRandom random = new SplittableRandom(11);
            int real = 0;
            for (int i = 0; i < 500; i++) {
                CrossoverData pairs = Pairs.simulate(random, 4, 0.04, 0, -0.08, 0);
                double[] aa = Pairs.normal(random, 4, random.nextDouble(-0.5, 0.5), random.nextDouble(0.2));
                Verdict verdict = judge(CrossoverData.of(aa, pairs.of(PairOrder.BP), pairs.of(PairOrder.PB)));
                Estimate ordersAlone =
                        Estimate.of(CrossoverData.of(new double[0], pairs.of(PairOrder.BP), pairs.of(PairOrder.PB)));
                assertThat(verdict.estimate().effect()).isEqualTo(ordersAlone.effect());
                assertThat(verdict.estimate().ci95()).isEqualTo(ordersAlone.ci95());
                if (verdict.finding() == Finding.REAL) {
                    real++;
                    assertThat(ordersAlone.ci95().orElseThrow().below(0)).isTrue();
                    assertThat(ordersAlone.effect().getAsDouble()).isLessThanOrEqualTo(-Math.log(1.05));
                    assertThat(ordersAlone.permutationP().getAsDouble()).isLessThanOrEqualTo(0.05);
                }
            }
            assertThat(real).isBetween(20, 480);
        }

        @Test
        void sameExperiment_givesAnEqualVerdict() {
            assertThat(judge(gain())).isEqualTo(judge(gain()));
        }

        @Test
        void everyReason_isOneSentenceWithoutLeftovers() {
            List<Verdict> verdicts = List.of(
                    judge(gain()),
                    judge(gain(), CacheProof.unknown()),
                    judge(gain(), Pairs.proof(PLENTY, NOTHING)),
                    judge(gain(), Pairs.proof(NOTHING, PLENTY)),
                    judge(Pairs.model(0, -EIGHTH / 2, EIGHTH, CALM)),
                    judge(Pairs.model(0, 0, 0, CALM)),
                    judge(Pairs.model(-0.22, 0, 0, CALM)),
                    judge(Pairs.model(0, 0.2, 0, CALM)),
                    judge(Pairs.model(0, 0, 0, 0.1)),
                    judge(Pairs.model(0, 0, 0, 100)));
            assertThat(verdicts)
                    .allSatisfy(verdict -> assertThat(verdict.reason())
                            .matches("[A-Z][^\\n]*\\.")
                            .doesNotContain("Optional", "NaN", "Infinity", "%s"));
        }

        @Test
        void worst_ofSeveralMetrics_isTheGravest() {
            Verdict real = judge(gain());
            Verdict harmful = judge(Pairs.model(0, 0.2, 0, CALM));
            Verdict nothing = judge(Pairs.model(0, 0, 0, CALM));
            assertThat(Verdict.worst(List.of(real, nothing))).isEqualTo(nothing);
            assertThat(Verdict.worst(List.of(real, harmful, nothing))).isEqualTo(harmful);
            assertThatIllegalArgumentException().isThrownBy(() -> Verdict.worst(List.of()));
        }

        @Test
        void findings_byGravity_runFromRealToInvalid() {
            List<Finding> byGravity = Arrays.stream(Finding.values())
                    .sorted((a, b) -> a == b ? 0 : a.isWorseThan(b) ? 1 : -1)
                    .toList();
            assertThat(byGravity)
                    .containsExactly(
                            Finding.REAL,
                            Finding.NO_EFFECT,
                            Finding.ORDER_ARTEFACT,
                            Finding.NO_EXPOSURE,
                            Finding.INCONCLUSIVE,
                            Finding.HARMFUL,
                            Finding.INVALID);
        }
    }
}
