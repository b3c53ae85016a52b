package io.holdfast.workbench.compare;

import static io.holdfast.workbench.compare.Files.file;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.compare.Expectation.Judged;
import io.holdfast.workbench.compare.Expectation.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ExpectationTest {
    private static final Path EXAMPLES =
            Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."), "examples", "expectations");

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // Throughput against 100; all of the interval below, all above, and both.
                "overhead(throughput)<=5% | 98 98.2 97.8 98.1 | MET",
                "overhead(throughput)<=5% | 94 93.8 94.2 94.1 | MISSED",
                "overhead(throughput)<=5% | 98 91 102 95 | UNDECIDED",
                "overhead(throughput) in 1%..3% | 98 98.1 97.9 98 | MET",
                "overhead(throughput) in 1%..3% | 94 94.1 93.9 94 | MISSED",
                "overhead(throughput) in 1%..3% | 98 95 101 98 | UNDECIDED",
                "overhead(throughput) in 1%..3% | 100 99.9 100.1 100 | BETTER_THAN_EXPECTED",
                "gain(throughput)>=10% | 120 121 119 120 | MET",
                "gain(throughput)>=10% | 104 104.1 103.9 104 | MISSED",
                "gain(throughput)>=10% | 90 90.1 89.9 90 | HARMFUL",
                "change(throughput) in +10%..+30% | 120 121 119 120 | MET",
                "change(throughput) in 10%..30% | 90 90.1 89.9 90 | HARMFUL",
                // A single run can fail and not pass.
                "overhead(throughput)<=5% | 98 | UNDECIDED",
                "overhead(throughput)<=5% | 90 | MISSED",
                "gain(throughput)>=10% | 90 | HARMFUL"
            })
    void outcome_isThatOfTheInterval(String text, String after, Outcome outcome) {
        double[] values = doubles(after);
        Judged judged = Expectation.of("x", text)
                .judge(compared(
                        file("a")
                                .runs(
                                        "w",
                                        "rate=8",
                                        "output_throughput",
                                        values.length == 1 ? new double[] {100} : STILL),
                        file("b").runs("w", "rate=8", "output_throughput", values)));
        assertThat(judged.outcome()).isEqualTo(outcome);
        assertThat(judged.why()).singleElement().asString().contains(outcome.text());
    }

    @Test
    void fileOfExpectations_mayBeAboutMoreThanWasMeasured_butNotAboutNothing() {
        Comparison comparison = compared(
                file("a").runs("w", "rate=8", "output_throughput", STILL),
                file("b").runs("w", "rate=8", "output_throughput", STILL));
        Expectation here = Expectation.of("here", "overhead(throughput)<=5% @ 8");
        Expectation elsewhere = Expectation.of("elsewhere", "overhead(throughput)<=5% @ 32..");
        assertThat(Expectation.judge(List.of(here, elsewhere), comparison))
                .extracting(Judged::outcome)
                .containsExactly(Outcome.MET, Outcome.NOT_MEASURED);
        assertThatThrownBy(() -> Expectation.judge(List.of(elsewhere), comparison))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Nothing that is compared is where ");
    }

    private static final double[] STILL = {100, 100.1, 99.9, 100};

    @Test
    void place_isARateOrAnotherSetting_andTheWorstPlaceCounts() {
        Comparison comparison = compared(
                file("a")
                        .runs("w", "rate=8", "output_throughput", STILL)
                        .runs("w", "rate=16", "output_throughput", STILL)
                        .runs("w", "rate=32", "output_throughput", STILL),
                file("b")
                        .runs("w", "rate=8", "output_throughput", 99, 99.1, 98.9, 99)
                        .runs("w", "rate=16", "output_throughput", 97, 97.1, 96.9, 97)
                        .runs("w", "rate=32", "output_throughput", 80, 80.1, 79.9, 80));
        assertThat(judge("overhead(throughput)<=5% @ 8..16", comparison)).isEqualTo(Outcome.MET);
        assertThat(judge("overhead(throughput)<=5% @ 16..", comparison)).isEqualTo(Outcome.MISSED);
        assertThat(judge("overhead(throughput)<=5% @ rate 8", comparison)).isEqualTo(Outcome.MET);
        assertThat(judge("overhead(throughput)<=5% @ rate=32, workload=w", comparison))
                .isEqualTo(Outcome.MISSED);
        assertThatThrownBy(() -> judge("overhead(throughput)<=5% @ 64..", comparison))
                .hasMessageContaining("the results have for rate: 16, 32, 8");
    }

    @Test
    void worstPlaceCounts_whereverItStands() {
        Comparison comparison = compared(
                file("a")
                        .runs("w", "rate=8", "output_throughput", STILL)
                        .runs("w", "rate=16", "output_throughput", STILL),
                file("b")
                        .runs("w", "rate=8", "output_throughput", 80, 80.1, 79.9, 80)
                        .runs("w", "rate=16", "output_throughput", 99, 99.1, 98.9, 99));
        assertThat(judge("overhead(throughput)<=5%", comparison)).isEqualTo(Outcome.MISSED);
    }

    @Test
    void ofSeveralFiles_theLastIsHeldAgainstTheFirst() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("a")
                                .runs("w", "rate=8", "output_throughput", STILL)
                                .done(),
                        file("b")
                                .runs("w", "rate=8", "output_throughput", 80, 80.1, 79.9, 80)
                                .done(),
                        file("c")
                                .runs("w", "rate=8", "output_throughput", STILL)
                                .done()),
                Set.of());
        assertThat(judge("overhead(throughput)<=5%", comparison)).isEqualTo(Outcome.MET);
    }

    @Test
    void saturatedRate_isNotJudged() {
        Comparison comparison = compared(
                file("a").runs("w", "rate=32", "request_throughput", 21, 21.1, 20.9),
                file("b").runs("w", "rate=32", "request_throughput", 15, 15.1, 14.9));
        Judged judged = Expectation.of("x", "overhead(throughput)<=5% @ 32..").judge(comparison);
        assertThat(judged.outcome()).isEqualTo(Outcome.UNDECIDED);
        assertThat(judged.why()).singleElement().asString().endsWith("SATURATED, so not judged");
    }

    @Test
    void expectedGain_thatIsALossOnAllModels_isHarmful() {
        Comparison comparison = compared(
                file("p8")
                        .run("baseline", "model=llama", "itl_p50", 12)
                        .run("baseline", "model=qwen3", "itl_p50", 15)
                        .run("baseline", "model=gemma3", "itl_p50", 11),
                file("p9")
                        .run("baseline", "model=llama", "itl_p50", 18)
                        .run("baseline", "model=qwen3", "itl_p50", 23)
                        .run("baseline", "model=gemma3", "itl_p50", 20));
        Judged judged = ExpectationFile.read(EXAMPLES.resolve("cuda-graphs.yaml"))
                .getFirst()
                .judge(comparison);
        assertThat(judged.outcome()).isEqualTo(Outcome.HARMFUL);
        assertThat(judged.why())
                .satisfiesExactly(
                        llama -> assertThat(llama).contains("worse by 50.0 %").contains("single run: HARMFUL"),
                        qwen -> assertThat(qwen).contains("worse by 53.3 %"),
                        gemma -> assertThat(gemma).contains("worse by 81.8 %"));
    }

    @Test
    void shippedTable_judgesEachRowByItsOwnPlace() {
        Comparison comparison = compared(
                file("baseline")
                        .runs("single-model", "rate=4", "output_throughput", STILL)
                        .runs("single-model", "rate=16", "output_throughput", STILL)
                        .runs("single-model", "rate=32", "output_throughput", STILL)
                        .runs("multi-model", "rate=8", "output_throughput", STILL)
                        .runs("long-sequences", "rate=8", "output_throughput", STILL),
                file("kvcached")
                        .runs("single-model", "rate=4", "output_throughput", 98, 98.1, 97.9, 98)
                        .runs("single-model", "rate=16", "output_throughput", 94, 94.1, 93.9, 94)
                        .runs("single-model", "rate=32", "output_throughput", 95, 95.1, 94.9, 95)
                        .runs("multi-model", "rate=8", "output_throughput", 96, 92, 99, 88)
                        .runs("long-sequences", "rate=8", "output_throughput", 97, 97.1, 96.9, 97));
        List<Judged> judged = ExpectationFile.read(EXAMPLES.resolve("kvcached.yaml")).stream()
                .map(each -> each.judge(comparison))
                .toList();
        assertThat(judged)
                .extracting(Judged::outcome)
                .containsExactly(Outcome.MET, Outcome.MISSED, Outcome.MET, Outcome.UNDECIDED, Outcome.MET);
        assertThat(Expectation.worst(judged)).isEqualTo(Outcome.MISSED);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "throughput is fine | The expectation 'throughput is fine' is not understood; write one such as",
                "overhead(speed)<=5% | There is no metric 'speed'",
                "overhead(throughput)<5% | is not understood",
                "overhead(throughput) in 5%..1% | ends before it begins",
                "overhead(prompt_tokens_mean)<=5% | write change(prompt_tokens_mean)",
                "overhead(throughput)<=5% @ fast | The place 'fast' in the expectation"
            })
    void unclearExpectation_isRefusedInASentence(String text, String sentence) {
        assertThatThrownBy(() -> Expectation.of("x", text))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(sentence);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'expectations: [{name: a, expect: \"gain(errors)>=1%\", wen: 2}]' | unknown key 'expectations[0].wen'",
                "'expectations: [{name: a}]' | 'expectations[0].expect' is a text",
                "'expected: []' | known here are [expectations]",
                "'expectations: []' | expectations",
                "'{expectations: [{name: a, expect: \"gain(errors)>=1%\"}], other: 1}' | unknown key 'other'",
                "'a: [' | is no YAML in line 1"
            })
    void wrongFile_isRefusedByThePlace(String content, String sentence) throws IOException {
        Path file = java.nio.file.Files.writeString(folder.resolve("e.yaml"), content);
        assertThatThrownBy(() -> ExpectationFile.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(sentence);
    }

    private static Outcome judge(String text, Comparison comparison) {
        return Expectation.of(text, text).judge(comparison).outcome();
    }

    private static Comparison compared(Files one, Files other) {
        return Comparison.of(List.of(one.done(), other.done()), Set.of());
    }

    private static double[] doubles(String text) {
        return Arrays.stream(text.strip().split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }
}
