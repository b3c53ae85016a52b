package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.budget.Budget.Term;
import io.holdfast.core.budget.BudgetRule.Pinning;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class BudgetRuleTest {
    private static final PromptSizes.Facts NONE = PromptSizes.Facts.NONE;
    private static final PromptSizes.Facts HUNDRED = new PromptSizes.Facts(100, 9_000, 2_000, 4_000, 0, 9_000, 9_000);
    private static final Optional<RequestSizes> NOTHING_WRITTEN = Optional.empty();
    private static final long SECOND = 1_000_000_000L;
    private static final long SLACK = 1_032;

    private static final Pinning LASTS = new Pinning(false, false, OptionalLong.empty());
    private static final Pinning LASTS_HARD = new Pinning(true, false, OptionalLong.empty());

    @Test
    void hardGuard_nothingWritten_leavesTheContextWhateverRuns() {
        for (int running : new int[] {0, 2, 8, 32}) {
            assertThat(hard(NOTHING_WRITTEN, Samples.readings(100_000, 16, 50_000, running, 3, 90_000), HUNDRED))
                    .hasValue(100_000 - 50_000 - SLACK);
        }
    }

    @Test
    void hardGuard_shortPromptsSeen_changeNothingUnlessMeasuredIsWritten() {
        PromptSizes.Facts small = new PromptSizes.Facts(120, 64, 64, 64, 0, 64, 64);
        EngineReadings readings = Samples.readings(4_096, 16, 1_030, 0, 0, 0);
        assertThat(hard(NOTHING_WRITTEN, readings, small)).hasValue(4_096 - 1_030 - 32 - 41);
        assertThat(hard(Optional.of(RequestSizes.measured(16)), readings, small))
                .hasValue(4_096 - 128 - 16 - 32 - 41);
    }

    @Test
    void hardGuard_contextAboveTheCache_leavesNoRoomAndSaysHowToMakeSome() {
        Budget budget = compute(NOTHING_WRITTEN, Samples.readings(42_816, 16, 131_072, 0, 0, 0), NONE);
        assertThat(budget.hardTokens()).isZero();
        assertThat(budget.noRoom().orElseThrow())
                .startsWith("no room: context 42,816 of 42,816 tokens of cache")
                .contains("--context-length", "largestPromptTokens and maxOutputTokens", "risks");
        assertThat(compute(NOTHING_WRITTEN, Samples.readings(42_816, 16, 40_960, 0, 0, 0), NONE)
                        .noRoom())
                .isEmpty();
        assertThat(compute(NOTHING_WRITTEN, Samples.readings(42_816, 16, 42_400, 0, 0, 0), NONE)
                        .hardWhy())
                .startsWith("no room: context 42,400 of 42,816");
    }

    @Test
    void measured_enoughPromptsSeen_leavesLargestAndAnswer() {
        assertThat(hard(
                        Optional.of(RequestSizes.measured(1_000)),
                        Samples.readings(100_000, 16, 50_000, 3, 0, 20_000),
                        HUNDRED))
                .hasValue(100_000 - 9_000 - 1_000 - SLACK);
    }

    @Test
    void measured_twiceTheP99AboveTheLargest_counts() {
        assertThat(hard(
                        Optional.of(RequestSizes.measured(1_000)),
                        Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                        new PromptSizes.Facts(1_000, 9_000, 4_000, 8_000, 0, 9_000, 9_000)))
                .hasValue(100_000 - 16_000 - 1_000 - SLACK);
    }

    @Test
    void measured_promptOfUnknownLengthOrTooFew_leavesTheContext() {
        EngineReadings readings = Samples.readings(100_000, 16, 50_000, 0, 0, 0);
        Budget late = compute(
                Optional.of(RequestSizes.measured(1_000)),
                readings,
                new PromptSizes.Facts(100, 9_000, 2_000, 4_000, 1, 9_000, 9_000));
        assertThat(late.hardTokens()).isEqualTo(100_000 - 50_000 - SLACK);
        assertThat(late.hardWhy()).contains("1 of the chains stored in an hour began under a block that was never");
        assertThat(hard(
                        Optional.of(RequestSizes.measured(1_000)),
                        readings,
                        new PromptSizes.Facts(99, 9_000, 2_000, 4_000, 0, 9_000, 9_000)))
                .hasValue(100_000 - 50_000 - SLACK);
    }

    @Test
    void written_bothNumbers_takeThePlaceOfTheContext() {
        EngineReadings readings = Samples.readings(100_000, 16, 50_000, 0, 0, 0);
        assertThat(hard(Optional.of(RequestSizes.of(6_000, 32_000)), readings, NONE))
                .as("all of the answer counts, not only what admission counts")
                .hasValue(100_000 - 6_000 - 32_000 - SLACK);
        assertThat(hard(Optional.of(RequestSizes.of(40_000, 32_000)), readings, NONE))
                .as("no request is larger than the context")
                .hasValue(100_000 - 50_000 - SLACK);
    }

    @Test
    void written_promptOrRequestSeenThatIsLarger_winsForGoodAndIsAnAlarm() {
        EngineReadings readings = Samples.readings(100_000, 16, 50_000, 0, 0, 0);
        Budget budget = compute(
                Optional.of(RequestSizes.of(6_000, 1_000)),
                readings,
                new PromptSizes.Facts(0, 0, 0, 0, 0, 9_000, 9_000));
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 9_000 - 1_000 - SLACK);
        assertThat(budget.alarms()).hasSize(1);
        assertThat(budget.alarms().getFirst().kind()).isEqualTo(Budget.AlarmKind.WRITTEN_SIZE_BROKEN);
        assertThat(budget.alarms().getFirst().sentence())
                .startsWith("a prompt of 9000 tokens was seen, largestPromptTokens says 6000");
        assertThat(hard(
                        Optional.of(RequestSizes.of(6_000, 1_000)),
                        readings,
                        new PromptSizes.Facts(0, 0, 0, 0, 0, 6_000, 9_000)))
                .as("a longer answer")
                .hasValue(100_000 - 9_000 - SLACK);
    }

    @Test
    void foreignPins_areSubtractedAndAnAlarm() {
        Budget budget = BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                Samples.readings(10_000, 16, 1_000, 0, 0, 6_000),
                new Observed(NONE, OptionalLong.empty(), NONE, 6_000, true, 0),
                0,
                true,
                0);
        assertThat(budget.hardTokens()).isEqualTo(10_000 - 1_000 - 132 - 6_000);
        assertThat(budget.hardWhy()).contains("- pinned by others 6000");
        assertThat(budget.alarms().getFirst().kind()).isEqualTo(Budget.AlarmKind.FOREIGN_PINS);
    }

    @Test
    void newPins_whileRequestsRun_leaveTheLargestBesideThem() {
        // Used 60000, of which 100 blocks of 16 are ours: 58400 of others.
        Budget budget = BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                Samples.readings(100_000, 16, 20_000, 4, 0, 60_000),
                Observed.NOTHING,
                100,
                true,
                0);
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 20_000 - SLACK);
        assertThat(budget.newTokens()).isEqualTo(100_000 - 58_400 - 20_000 - SLACK);
        assertThat(budget.newWhy()).contains("in use beside our pins 58400");
    }

    @Test
    void newPins_atRest_leaveWhatIsInUseBesideOurs() {
        Budget budget = compute(NOTHING_WRITTEN, Samples.readings(100_000, 16, 20_000, 0, 0, 60_000), NONE);
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 20_000 - SLACK);
        assertThat(budget.newTokens()).isEqualTo(budget.hardTokens() - 60_000);
        assertThat(budget.newWhy()).endsWith(": what is in use while nothing runs may be pinned by somebody else");
    }

    @Test
    void newPins_pinMadeSinceTheEngineWasAsked_isNotSubtracted() {
        EngineReadings readings = Samples.readings(100_000, 16, 20_000, 4, 0, 60_000);
        Observed asked = new Observed(NONE, OptionalLong.empty(), NONE, 0, false, 0, OptionalLong.of(60_000));
        assertThat(BudgetRule.compute(settings(NOTHING_WRITTEN), readings, asked, 100, true, 0)
                        .newTokens())
                .isEqualTo(100_000 - 60_000 - 20_000 - SLACK);
    }

    @Test
    void pinsWithoutUnpin_stayWithinTheShare_requestedOnesToo() {
        EngineReadings readings = Samples.readings(100_000, 16, 20_000, 0, 0, 0);
        Budget budget = BudgetRule.compute(settings(NOTHING_WRITTEN), readings, Observed.NOTHING, 100, LASTS, 0);
        assertThat(budget.hardTokens()).isEqualTo(100_000);
        assertThat(budget.newTokens()).isEqualTo(50_000);
        assertThat(budget.newWhy()).isEqualTo("share 0.5 of the capacity 100000 = 50000");
        assertThat(BudgetRule.compute(settings(NOTHING_WRITTEN), readings, Observed.NOTHING, 100, LASTS_HARD, 0)
                        .newTokens())
                .as("beside pins of another backend that take memory for good")
                .isEqualTo(50_000);
    }

    @Test
    void engineThatBoundsWhatIsHeld_isNotAskedForMore() {
        EngineReadings readings = Samples.readings(100_000, 16, 20_000, 0, 0, 0);
        Budget budget = bounded(readings, 25_000);
        assertThat(budget.newTokens()).isEqualTo(25_000);
        assertThat(budget.automaticTokens()).isEqualTo(25_000);
        assertThat(budget.newWhy())
                .isEqualTo("pins of this backend can be evicted, and the engine lets it hold 25000 of 100000 tokens");
        assertThat(bounded(readings, 75_000).automaticTokens())
                .as("the operator's share is tighter")
                .isEqualTo(50_000);
        assertThat(bounded(readings, 200_000).newTokens()).isEqualTo(100_000);
    }

    private static Budget bounded(EngineReadings readings, long tokens) {
        return BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                readings,
                Observed.NOTHING,
                100,
                new Pinning(false, true, OptionalLong.of(tokens)),
                0);
    }

    @Test
    void room_morePinnedThanInUse_isTheCapacity() {
        EngineReadings readings = Samples.readings(100_000, 16, 20_000, 0, 0, 0);
        Budget budget = BudgetRule.compute(settings(NOTHING_WRITTEN), readings, Observed.NOTHING, 100, true, 0);
        assertThat(tokens(budget, "0.8 of the room")).hasValue(80_000);
    }

    @Test
    void growth_runningTimesAnswers_boundsTheAutomaticAlone() {
        PromptSizes.Facts answers = new PromptSizes.Facts(100, 900, 500, 800, 0, 900, 900);
        Budget budget = BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                Samples.readings(100_000, 16, 20_000, 2, 0, 10_000),
                new Observed(HUNDRED, OptionalLong.of(HUNDRED.p90()), answers, 0, true, 32),
                0,
                true,
                0);
        assertThat(tokens(budget, "room less growth")).hasValue(90_000 - 32 * 800);
        assertThat(budget.hardTokens()).isEqualTo(100_000 - 20_000 - SLACK);
    }

    @Test
    void growth_answersUnknown_takesTheContextOrTheWrittenNumber() {
        EngineReadings readings = Samples.readings(100_000, 16, 20_000, 2, 0, 10_000);
        Observed two = new Observed(HUNDRED, OptionalLong.of(HUNDRED.p90()), NONE, 0, true, 2);
        assertThat(tokens(BudgetRule.compute(settings(NOTHING_WRITTEN), readings, two, 0, true, 0), "room less growth"))
                .hasValue(90_000 - 40_000);
        assertThat(tokens(
                        BudgetRule.compute(
                                settings(Optional.of(RequestSizes.of(9_000, 700))), readings, two, 0, true, 0),
                        "room less growth"))
                .hasValue(90_000 - 1_400);
    }

    @ParameterizedTest
    @ValueSource(strings = {"capacityTokens", "blockTokens", "contextTokens"})
    void hardGuard_readingUnknown_isUnknownAndNamesIt(String name) {
        EngineReadings readings =
                Samples.with(Samples.readings(100_000, 16, 50_000, 0, 0, 0), name, Reading.unknown("not exported"));
        Term term = compute(NOTHING_WRITTEN, readings, NONE).terms().get(0);
        assertThat(term.tokens()).isEmpty();
        assertThat(term.why()).isEqualTo("the reading " + name + " is unknown: not exported");
    }

    @Test
    void tightest_withOneCacheUnknown_isUnknown_andSaysWhy() {
        EngineReadings known = Samples.readings(100_000, 16, 50_000, 0, 0, 0);
        Budget tightest = Budget.tightest(List.of(
                compute(NOTHING_WRITTEN, known, HUNDRED),
                compute(
                        NOTHING_WRITTEN,
                        Samples.with(known, "capacityTokens", Reading.unknown("not exported")),
                        HUNDRED)));
        assertThat(tightest.hardTokens()).isZero();
        assertThat(tightest.knowsHard()).isFalse();
        assertThat(tightest.hardUnknown()).contains("the reading capacityTokens is unknown: not exported");
    }

    @Test
    void pinsThatCanBeEvicted_haveTheWholeCacheAsRoom_andLeaveNone() {
        Budget budget = BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                Samples.readings(100_000, 16, 50_000, 3, 0, 60_000),
                new Observed(HUNDRED, OptionalLong.of(4_000), NONE, 0, true, 0),
                0,
                false,
                0);
        assertThat(budget.leavesRoom()).isFalse();
        assertThat(budget.room()).isEqualTo(100_000);
        assertThat(budget.automaticBesideReserve()).isEqualTo(50_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"runningRequests", "waitingRequests", "usedTokens"})
    void newPins_readingUnknown_allowNothingAndLetNothingGo(String name) {
        EngineReadings readings =
                Samples.with(Samples.readings(100_000, 16, 50_000, 0, 0, 0), name, Reading.unknown("not exported"));
        Budget budget = compute(NOTHING_WRITTEN, readings, HUNDRED);
        assertThat(budget.newTokens()).isZero();
        assertThat(budget.hardUnknown()).contains("the reading " + name + " is unknown: not exported");
        assertThat(budget.knowsHard()).isTrue();
    }

    @Test
    void hardGuard_readingOlderThanTenSeconds_isUnknownAndNamesIt() {
        EngineReadings readings = Samples.with(
                Samples.readings(100_000, 16, 50_000, 0, 0, 0),
                "capacityTokens",
                Reading.known(0, "/metrics", -11 * SECOND));
        Budget budget = compute(NOTHING_WRITTEN, readings, NONE);
        assertThat(budget.hardTokens()).isZero();
        assertThat(budget.hardUnknown()).contains("the reading capacityTokens is 11 s old: /metrics");
    }

    @Test
    void hardGuard_pinsThatTheEngineMayEvict_onlyCapacityBounds() {
        Budget budget = BudgetRule.compute(
                settings(NOTHING_WRITTEN),
                Samples.readings(100_000, 16, 50_000, 3, 0, 0),
                Observed.NOTHING,
                0,
                false,
                0);
        assertThat(budget.hardTokens()).isEqualTo(100_000);
    }

    @Test
    void automatic_room_excludesWhatRunningRequestsHoldButNotOurPins() {
        // Used 30000, of which 100 blocks of 16 are ours: room 100000 - 28400 = 71600.
        Budget budget = BudgetRule.compute(
                settings(Optional.of(RequestSizes.of(100, 1_000))),
                Samples.readings(100_000, 16, 50_000, 3, 0, 30_000),
                new Observed(new PromptSizes.Facts(100, 90, 80, 85, 0, 90, 90), OptionalLong.of(80), NONE, 0, true, 3),
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
    void automatic_noPromptSeen_isUnknown() {
        Budget budget = compute(NOTHING_WRITTEN, Samples.readings(100_000, 16, 50_000, 0, 0, 0), NONE);
        assertThat(budget.automaticUnknown())
                .contains("no prompt was seen yet, so what nine of ten of them need is unknown");
    }

    private static OptionalLong hard(
            Optional<RequestSizes> written, EngineReadings readings, PromptSizes.Facts prompts) {
        Budget budget = compute(written, readings, prompts);
        OptionalLong term = tokens(budget, Budget.HARD_GUARD);
        assertThat(term).hasValue(budget.hardTokens());
        return term;
    }

    private static OptionalLong tokens(Budget budget, String name) {
        Optional<Term> term =
                budget.terms().stream().filter(t -> t.name().equals(name)).findFirst();
        return term.map(Term::tokens).orElse(OptionalLong.empty());
    }

    private static Budget compute(Optional<RequestSizes> written, EngineReadings readings, PromptSizes.Facts prompts) {
        OptionalLong need = prompts.count() == 0 ? OptionalLong.empty() : OptionalLong.of(prompts.p90());
        Observed observed = new Observed(prompts, need, NONE, 0, true, 0);
        return BudgetRule.compute(settings(written), readings, observed, 0, true, 0);
    }

    private static BudgetSettings settings(Optional<RequestSizes> written) {
        return new BudgetSettings(0.5, written, "--context-length");
    }
}
