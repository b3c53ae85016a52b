package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.FailurePattern;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.LegVerdict.Word;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How far a suite is, and what its legs came to, by tables that were published. */
final class SuiteStateTest {
    private static final Map<String, String> SETTINGS = Map.of("answer", "64");

    /** What was planned when a benchmark was killed at 56 %. */
    private static List<String> plan() {
        List<String> plan = new ArrayList<>(
                MatrixAxes.usual().legs().stream().map(MatrixLeg::id).toList());
        for (String mode : List.of("sequential", "batched")) {
            IntStream.rangeClosed(1, 3).forEach(pass -> plan.add("staggered/" + mode + "/4096tok/pass" + pass));
        }
        return plan;
    }

    private static SuiteState after(int legs, Set<String> failed, Set<String> warned) {
        return SuiteState.of(
                plan(),
                plan().stream()
                        .limit(legs)
                        .map(id -> new LegVerdict(
                                id,
                                failed.contains(id) ? Word.FAIL : warned.contains(id) ? Word.WARN : Word.OK,
                                List.of(),
                                false))
                        .toList());
    }

    @Test
    void suiteKilledAt115Of204_listsThe89ThatAreMissing() {
        SuiteState state = after(115, Set.of(), Set.of("b1/hot/streaming/2048tok/pass1"));
        assertThat(state.headline()).isEqualTo("PARTIAL: 115 of 204 legs (56.4 %): 114 OK, 1 WARN, 0 FAIL, 0 INVALID");
        assertThat(state.last()).hasValue("b2/cold/streaming/4096tok/pass1");
        assertThat(state.missingLegs()).isEqualTo(89);
        assertThat(state.missingLines())
                .containsExactly(
                        "b2/cold/streaming        8  4096tok pass 2-3, 8192tok pass 1-3, 16384tok pass 1-3",
                        "b2/cold/non-streaming   15  all of them",
                        "b2/warm/streaming       15  all of them",
                        "b2/warm/non-streaming   15  all of them",
                        "b2/hot/streaming        15  all of them",
                        "b2/hot/non-streaming    15  all of them",
                        "staggered                6  all of them");
    }

    @Test
    void warnings_keepASuiteCompleteAndFailuresDoNot() {
        assertThat(after(204, Set.of(), Set.of("b1/hot/streaming/2048tok/pass1"))
                        .word())
                .isEqualTo(SuiteState.Word.COMPLETE);
        assertThat(after(204, Set.of("b2/hot/streaming/1024tok/pass1"), Set.of())
                        .word())
                .isEqualTo(SuiteState.Word.FAILED);
    }

    @Test
    void fifteenOf198_addUp() {
        Set<String> warned = Set.copyOf(plan().subList(0, 15));
        SuiteState state = SuiteState.of(
                plan().subList(0, 198),
                plan().stream()
                        .limit(198)
                        .map(id -> new LegVerdict(id, warned.contains(id) ? Word.WARN : Word.OK, List.of(), false))
                        .toList());
        assertThat(new MatrixReport(state, List.of(), List.of(), List.of(), List.of()).counts())
                .isEqualTo("183 OK + 15 WARN + 0 FAIL + 0 INVALID = 198");
        assertThat(state.missingLines()).isEmpty();
    }

    /** All three passes of five configurations, as a report of a real server tells it. */
    @Test
    void failuresOf198Legs_areThePublishedTable() {
        Set<String> failed = Set.of(
                "b2/warm/streaming/1024tok",
                "b2/warm/non-streaming/1024tok",
                "b2/hot/streaming/1024tok",
                "b2/hot/non-streaming/1024tok",
                "b2/hot/non-streaming/2048tok");
        SuiteState state = SuiteState.of(
                plan(),
                plan().stream()
                        .limit(198)
                        .map(id -> new LegVerdict(
                                id,
                                failed.contains(id.substring(0, id.lastIndexOf('/'))) ? Word.FAIL : Word.OK,
                                List.of(),
                                true))
                        .toList());
        FailurePattern pattern = MatrixReport.pattern(state);
        assertThat(pattern.failing().values()).hasSize(5).containsOnly(new FailurePattern.Outcome(3, 3));
        assertThat(pattern.common())
                .isEqualTo(Map.of(
                        "batch", List.of("b2"),
                        "cache", List.of("warm", "hot"),
                        "context", List.of("1024tok", "2048tok")));
        assertThat(pattern.passingBeside(List.of("b2", "hot", "non-streaming", "2048tok")))
                .as("1024tok fails as well, and cold is not beside hot")
                .containsExactlyInAnyOrder(
                        List.of("b2", "hot", "streaming", "2048tok"),
                        List.of("b2", "warm", "non-streaming", "2048tok"),
                        List.of("b1", "hot", "non-streaming", "2048tok"),
                        List.of("b2", "hot", "non-streaming", "4096tok"));
        assertThat(pattern.lines())
                .contains("All that failed has in common: batch b2, cache warm or hot, context 1024tok or 2048tok; of"
                        + " the 8 configurations there 5 failed, of the 58 others none.");
        assertThat(pattern.lines().getFirst()).startsWith("3/3  b2/warm/streaming/1024tok  (passing beside it: ");
    }

    @ParameterizedTest
    @CsvSource({"64, OK, false", "45, WARN, false", "33, WARN, false", "32, WARN, true", "1, WARN, true"})
    void answerThatEndsEarly_isAWarningAndFlaggedWhenShort(int tokens, Word word, boolean flagged) {
        LegVerdict verdict =
                LegVerdict.of(MatrixLegs.leg("b1/hot/streaming/2048tok/pass1", SETTINGS, MatrixLegs.answer(tokens, 0)));
        assertThat(verdict.word()).isEqualTo(word);
        assertThat(verdict.flagged()).isEqualTo(flagged);
        assertThat(verdict.counts()).isTrue();
    }

    @Test
    void shortAnswerAmongOthers_isFlaggedWhereverItStands() {
        LegVerdict verdict = LegVerdict.of(MatrixLegs.leg(
                "b2/hot/streaming/2048tok/pass1", SETTINGS, MatrixLegs.answer(10, 0), MatrixLegs.answer(60, 0)));
        assertThat(verdict.word()).isEqualTo(Word.WARN);
        assertThat(verdict.flagged()).isTrue();
    }

    @Test
    void legThatEndedEarly_failsWhateverWasAnsweredUntilThen() {
        LoadLeg whole = MatrixLegs.leg("b1/cold/streaming/512tok/pass1", SETTINGS, MatrixLegs.answer(64, 0));
        LoadLeg early = new LoadLeg(
                whole.id(),
                whole.load(),
                whole.loadId(),
                whole.bodies(),
                whole.settings(),
                whole.startedAt(),
                whole.parts(),
                whole.notes(),
                whole.client(),
                Optional.of("the cache could not be emptied"));
        assertThat(LegVerdict.of(early))
                .isEqualTo(new LegVerdict(whole.id(), Word.FAIL, List.of("the cache could not be emptied"), true));
    }

    @Test
    void unsoundText_isFlaggedAtFullLengthAndABlankFails() {
        assertThat(verdictOf("its answer is one token again and again")).satisfies(verdict -> {
            assertThat(verdict.word()).isEqualTo(Word.WARN);
            assertThat(verdict.flagged()).isTrue();
        });
        assertThat(verdictOf("its answer is blank").word()).isEqualTo(Word.FAIL);
    }

    private static LegVerdict verdictOf(String oddity) {
        RequestRecord sound = MatrixLegs.answer(64, 0);
        RequestRecord odd = new RequestRecord(
                0,
                sound.role(),
                0,
                sound.status(),
                sound.scheduled(),
                sound.sent(),
                sound.firstByte(),
                sound.firstToken(),
                sound.lastToken(),
                sound.done(),
                sound.promptTokens(),
                sound.completionTokens(),
                sound.cachedTokens(),
                oddity);
        return LegVerdict.of(MatrixLegs.leg("x/y", SETTINGS, odd));
    }

    @Test
    void warmLegWithoutACachedToken_isInvalid() {
        Map<String, String> warm = Map.of("answer", "64", "state", "warm", "page", "16");
        assertThat(LegVerdict.of(MatrixLegs.leg("a", warm, MatrixLegs.answer(64, 0))))
                .isEqualTo(new LegVerdict(
                        "a",
                        Word.INVALID,
                        List.of("cache_state: it was to be warm, and request 0 found 0 of 100 tokens cached"),
                        true));
        assertThat(LegVerdict.of(MatrixLegs.leg("a", warm, MatrixLegs.answer(64, 64)))
                        .word())
                .isEqualTo(Word.OK);
        Map<String, String> hot = Map.of("answer", "64", "state", "hot", "page", "16");
        assertThat(LegVerdict.of(MatrixLegs.leg("a", hot, MatrixLegs.answer(64, 32)))
                        .word())
                .isEqualTo(Word.INVALID);
    }

    @Test
    void systemThroughput_isAllTokensByTheWall() {
        LoadLeg leg = MatrixLegs.leg("a", SETTINGS, MatrixLegs.answer(64, 0), MatrixLegs.answer(64, 0));
        assertThat(leg.result("t", List.of(50.0), Optional.empty()).measures().of(Metric.OUTPUT_THROUGHPUT))
                .hasValue(64);
    }

    @Test
    void passes_areAveragedInTheTableAlone() {
        assertThat(MatrixReport.mean(results(10, 11, 15), Metric.OUTPUT_THROUGHPUT))
                .hasValue(12);
        assertThat(MatrixReport.mean(results(10), Metric.GOODPUT)).isEmpty();
    }

    private static List<LoadResult> results(double... rates) {
        return java.util.Arrays.stream(rates)
                .mapToObj(rate -> new LoadResult(
                        "a",
                        "a",
                        Optional.empty(),
                        "",
                        Map.of(),
                        1,
                        Map.of(),
                        new Measures(Map.of(Metric.OUTPUT_THROUGHPUT, rate))))
                .toList();
    }

    @Test
    void timeLeft_isWithinTenPercentAfterFiveLegs() {
        List<Suite.Leg> legs = legs();
        TimeLeft left = new TimeLeft(legs);
        assertThat(left.all(List.of(legs.getFirst().id()))).isEmpty();
        double[] sum = {0};
        for (int i = 0; i < legs.size(); i++) {
            double took = 4 * seconds(legs.get(i));
            if (i < 5) {
                left.add(legs.get(i).id(), took, OptionalDouble.empty());
            } else {
                sum[0] += took;
            }
        }
        List<String> missing = legs.stream().skip(5).map(Suite.Leg::id).toList();
        assertThat(left.all(missing).orElseThrow().toMillis() / 1e3).isBetween(0.9 * sum[0], 1.1 * sum[0]);
    }

    /** Of a leg that ran twice its third pass takes as long as one of them, and not as both. */
    @Test
    void missingPass_takesWhatOtherPassesOfItTook() {
        List<Suite.Leg> legs = legs();
        TimeLeft left = new TimeLeft(legs);
        left.add(legs.get(0).id(), 10, OptionalDouble.empty());
        left.add(legs.get(1).id(), 20, OptionalDouble.empty());
        assertThat(left.all(List.of(legs.get(2).id()))).hasValue(Duration.ofSeconds(15));
    }

    /** What a server of 400 tokens a second in prompts and 12 in answers takes. */
    private static double seconds(Suite.Leg leg) {
        return leg.load().requests().stream()
                .mapToDouble(request -> request.length() / 400.0 + request.maxTokens() / 12.0)
                .sum();
    }

    @Test
    void coolDownsOf242Seconds_areTheirShareOfTheTimeLeft() {
        List<Suite.Leg> legs = legs();
        TimeLeft left = new TimeLeft(legs);
        left.add(legs.getFirst().id(), 60, OptionalDouble.of(242));
        List<String> missing = IntStream.range(0, 114)
                .mapToObj(i -> "b1/cold/streaming/512tok/pass" + i)
                .toList();
        assertThat(left.coolDowns(missing).toSeconds()).isEqualTo(114 * 242);
        assertThat(left.text(missing)).contains("7.7 h of cool-downs (80 %)");
    }

    @Test
    void timeThatIsOver_endsASuiteBetweenPairsAlone() {
        VirtualServer server = VirtualServer.usual();
        List<Suite.Leg> legs = new Staggered(List.of(256), Duration.ofMillis(10), 4, true, 1).passes(3);
        List<String> told = new ArrayList<>();
        RunClock clock = server.clock();
        Pace pace = new Pace(
                Suite.Between.nothing(),
                new TimeLeft(legs),
                legs.stream().map(Suite.Leg::id).toList(),
                new Pace.Limits(Duration.ZERO, Optional.of(Duration.ofSeconds(5))),
                clock,
                told::add);
        assertThat(pace.goesOn(legs.getFirst())).isTrue();
        clock.sleep(6_000_000_000L);
        assertThat(pace.goesOn(legs.get(1))).isTrue();
        assertThat(pace.goesOn(legs.get(2))).isFalse();
        assertThat(told.getLast()).contains("6 legs are not begun").contains("--resume");
        pace.after(MatrixLegs.leg(legs.getFirst().id(), Map.of(), MatrixLegs.answer(4, 0)));
        assertThat(pace.goesOn(legs.get(2))).isFalse();
        assertThat(told.getLast()).contains("5 legs are not begun");
    }

    private static List<Suite.Leg> legs() {
        return Stream.of(512, 1_024, 2_048, 4_096, 8_192)
                .flatMap(context -> IntStream.rangeClosed(1, 3)
                        .mapToObj(pass -> new Suite.Leg(
                                "b1/cold/streaming/" + context + "tok/pass" + pass,
                                DrawnLoad.of(new Recipe(
                                        "load",
                                        "",
                                        context,
                                        Map.of(),
                                        List.of(Part.of("load", 1, Range.of(context), Range.of(64), "burst")))),
                                Map.of())))
                .toList();
    }
}
