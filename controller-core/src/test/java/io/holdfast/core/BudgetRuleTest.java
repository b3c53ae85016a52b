package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Budget.Term;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class BudgetRuleTest {
    private static final PromptSizes.Facts NONE = new PromptSizes.Facts(0, 0, 0, 0, 0);
    private static final PromptSizes.Facts HUNDRED = new PromptSizes.Facts(100, 9_000, 2_000, 4_000, 0);
    private static final long SECOND = 1_000_000_000L;

    @Test
    void hardGuard_enoughPromptsSeen_leavesLargestOutputGrowthAndSlack() {
        // 100000 - max(9000, 2 x 4000) - 1000 - 3 x 1000 - (2 x 16 + 1000)
        assertThat(hard(
                        settings(1_000, OptionalInt.empty()),
                        Samples.readings(100_000, 16, 50_000, 3, 0, 20_000),
                        HUNDRED))
                .hasValue(100_000 - 9_000 - 1_000 - 3_000 - 1_032);
    }

    @Test
    void hardGuard_twiceTheP99AboveTheLargest_counts() {
        assertThat(hard(
                        settings(1_000, OptionalInt.empty()),
                        Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                        new PromptSizes.Facts(1_000, 9_000, 4_000, 8_000, 0)))
                .hasValue(100_000 - 16_000 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_outputAbove4096_admissionCounts4096AndDecodingGrowsToAllOfIt() {
        assertThat(hard(settings(32_000, OptionalInt.empty()), Samples.readings(100_000, 16, 50_000, 2, 0, 0), HUNDRED))
                .hasValue(100_000 - 9_000 - 4_096 - 2 * 32_000 - 1_032);
    }

    @Test
    void hardGuard_nothingRuns_theLastRequestCanEnd() {
        Budget budget =
                compute(settings(32_000, OptionalInt.empty()), Samples.readings(100_000, 16, 50_000, 0, 0, 0), HUNDRED);
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 9_000 - 32_000 - 1_032);
        assertThat(budget.hardWhy()).contains("the last request's output beyond what admission counts 27904");
    }

    @Test
    void hardGuard_chainOfUnknownLengthSeen_leavesWhatTheEngineAccepts() {
        PromptSizes.Facts late = new PromptSizes.Facts(100, 9_000, 2_000, 4_000, 1);
        Budget budget =
                compute(settings(1_000, OptionalInt.empty()), Samples.readings(100_000, 16, 50_000, 0, 0, 0), late);
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 50_000 - 1_000 - 1_032);
        assertThat(budget.hardWhy()).contains("1 of the chains stored in an hour began under a block that was never");
        assertThat(hard(settings(1_000, OptionalInt.of(9_500)), Samples.readings(100_000, 16, 50_000, 0, 0, 0), late))
                .as("a promise still serves")
                .hasValue(100_000 - 9_500 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_fewPromptsSeen_leavesWhatTheEngineAccepts() {
        assertThat(hard(
                        settings(1_000, OptionalInt.empty()),
                        Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                        new PromptSizes.Facts(99, 9_000, 2_000, 4_000, 0)))
                .hasValue(100_000 - 50_000 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_promise_takesThePlaceOfTheAcceptedMaximum() {
        assertThat(hard(settings(1_000, OptionalInt.of(6_000)), Samples.readings(100_000, 16, 50_000, 0, 0, 0), NONE))
                .hasValue(100_000 - 6_000 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_promptLargerThanThePromise_wins() {
        assertThat(hard(
                        settings(1_000, OptionalInt.of(6_000)),
                        Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                        HUNDRED))
                .hasValue(100_000 - 9_000 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_assumedPrompt_isAtMostWhatTheEngineAccepts() {
        assertThat(hard(settings(1_000, OptionalInt.empty()), Samples.readings(100_000, 16, 8_500, 0, 0, 0), HUNDRED))
                .hasValue(100_000 - 8_500 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_largestPromptFillsTheCache_isZeroAndNotNegative() {
        assertThat(hard(settings(1_000, OptionalInt.empty()), Samples.readings(10_000, 16, 9_990, 0, 0, 0), NONE))
                .hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"capacityTokens", "blockTokens", "runningRequests", "largestAcceptedTokens"})
    void hardGuard_readingUnknown_isUnknownAndNamesIt(String name) {
        EngineReadings readings =
                Samples.with(Samples.readings(100_000, 16, 50_000, 0, 0, 0), name, Reading.unknown("not exported"));
        Term term = compute(settings(1_000, OptionalInt.empty()), readings, NONE)
                .terms()
                .get(0);
        assertThat(term.tokens()).isEmpty();
        assertThat(term.why()).isEqualTo("the reading " + name + " is unknown: not exported");
    }

    @Test
    void hardGuard_readingOlderThanTenSeconds_isUnknownAndNamesIt() {
        EngineReadings readings = Samples.with(
                Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                "runningRequests",
                Reading.known(0, "/metrics", -11 * SECOND));
        Budget budget = compute(settings(1_000, OptionalInt.empty()), readings, NONE);
        assertThat(budget.hardTokens()).isZero();
        assertThat(budget.hardUnknown()).contains("the reading runningRequests is 11 s old: /metrics");
    }

    @Test
    void hardGuard_promise_needsNoAcceptedMaximum() {
        EngineReadings readings = Samples.with(
                Samples.readings(100_000, 16, 50_000, 0, 0, 0), "largestAcceptedTokens", Reading.unknown("stock"));
        assertThat(hard(settings(1_000, OptionalInt.of(6_000)), readings, NONE))
                .hasValue(100_000 - 6_000 - 1_000 - 1_032);
    }

    @Test
    void hardGuard_pinsThatTheEngineMayEvict_onlyCapacityBounds() {
        Budget budget = BudgetRule.compute(
                settings(1_000, OptionalInt.empty()),
                Samples.readings(100_000, 16, 50_000, 3, 0, 0),
                NONE,
                0,
                false,
                0);
        assertThat(budget.hardTokens()).isEqualTo(100_000);
    }

    @Test
    void automatic_room_excludesWhatRunningRequestsHoldButNotOurPins() {
        // Used 30000, of which 100 blocks of 16 are ours: room 100000 - 28400 = 71600.
        Budget budget = BudgetRule.compute(
                settings(1_000, OptionalInt.of(100)),
                Samples.readings(100_000, 16, 50_000, 3, 0, 30_000),
                new PromptSizes.Facts(100, 90, 80, 85, 0),
                100,
                true,
                0);
        assertThat(budget.pinnedTokens()).isEqualTo(1_600);
        assertThat(tokens(budget, "0.8 of the room")).hasValue(57_280);
        assertThat(tokens(budget, "room less 8 p90 prompts")).hasValue(71_600 - 640);
        assertThat(tokens(budget, "operator's share")).hasValue(50_000);
        assertThat(budget.automaticTokens()).isEqualTo(50_000);
        assertThat(budget.automaticWhy()).isEqualTo("share 0.5 of the capacity 100000 = 50000");
    }

    @Test
    void automatic_usedTokensUnknown_isUnknownWhileTheHardBoundIsNot() {
        EngineReadings readings = Samples.with(
                Samples.readings(100_000, 16, 50_000, 0, 0, 0), "usedTokens", Reading.unknown("not exported"));
        Budget budget = compute(settings(1_000, OptionalInt.of(100)), readings, HUNDRED);
        assertThat(budget.automaticTokens()).isZero();
        assertThat(budget.automaticUnknown()).contains("the reading usedTokens is unknown: not exported");
        assertThat(budget.hardUnknown()).isEmpty();
    }

    @Test
    void automatic_noPromptSeen_isUnknown() {
        Budget budget =
                compute(settings(1_000, OptionalInt.of(100)), Samples.readings(100_000, 16, 50_000, 0, 0, 0), NONE);
        assertThat(budget.automaticUnknown()).contains("no prompt was seen in the last hour, so its p90 is unknown");
    }

    private static OptionalLong hard(ControllerSettings settings, EngineReadings readings, PromptSizes.Facts prompts) {
        Budget budget = compute(settings, readings, prompts);
        OptionalLong term = tokens(budget, Budget.HARD_GUARD);
        assertThat(term).hasValue(budget.hardTokens());
        return term;
    }

    private static OptionalLong tokens(Budget budget, String name) {
        Optional<Term> term =
                budget.terms().stream().filter(t -> t.name().equals(name)).findFirst();
        return term.map(Term::tokens).orElse(OptionalLong.empty());
    }

    private static Budget compute(ControllerSettings settings, EngineReadings readings, PromptSizes.Facts prompts) {
        return BudgetRule.compute(settings, readings, prompts, 0, true, 0);
    }

    private static ControllerSettings settings(int maxOutput, OptionalInt promise) {
        return new ControllerSettings(
                "e", 0.5, maxOutput, promise, true, Duration.ofMinutes(5), Duration.ofMillis(100), Optional.empty());
    }
}
