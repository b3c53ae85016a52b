package io.holdfast.loadtest.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ArrivalsTest {
    private static final FloodShape SHAPE = FloodShape.of(64, 16, 6, 32, 3);
    private static final long SECOND = 1_000_000_000;

    @TempDir
    private Path folder = Path.of("");

    @Test
    void constantRate_hasEqualGaps() {
        assertThat(turns("constant:4", 4)).containsExactly(0L, SECOND / 4, SECOND / 2, 3 * SECOND / 4);
    }

    @Test
    void poisson_hasGapsOfItsRateThatScatterAsMuch() {
        List<Long> turns = turns("poisson:50", 4_001);
        assertThat(turns).isSorted().startsWith(0L);
        double[] gaps = new double[4_000];
        for (int i = 0; i < gaps.length; i++) {
            gaps[i] = (turns.get(i + 1) - turns.get(i)) / 1e9;
        }
        double mean = turns.getLast() / 1e9 / gaps.length;
        double squares = 0;
        for (double gap : gaps) {
            squares += (gap - mean) * (gap - mean);
        }
        assertThat(mean).isCloseTo(0.02, within(0.002));
        assertThat(Math.sqrt(squares / gaps.length))
                .as("of an exponential gap the deviation is the mean")
                .isCloseTo(mean, within(0.1 * mean));
    }

    /** Nine gaps between 1 and 9 requests a second take 1.8 s, since the mean rate is 5. */
    @Test
    void ramp_goesEvenlyFromOneRateToTheOther() {
        List<Long> turns = turns("ramp:1..9", 10);
        assertThat(turns).startsWith(0L).isSorted();
        assertThat(turns.getLast()).isCloseTo(1_800_000_000L, within(2L));
        for (int i = 1; i < turns.size(); i++) {
            double at = turns.get(i) / 1e9;
            assertThat(at + (9 - 1) / 1.8 * at * at / 2)
                    .as("what came until then")
                    .isCloseTo(i, within(1e-6));
        }
        assertThat(turns("ramp:4..4", 3)).isEqualTo(turns("constant:4", 3));
        assertThat(turns("ramp:8..0.5", 5)).isSorted();
        assertThat(turns("ramp:1..9", 1)).containsExactly(0L);
    }

    @Test
    void trace_isFollowedFromItsFirstRequest() throws IOException {
        Path trace = Files.writeString(
                folder.resolve("t.csv"), "time,prefix,tokens\n10,a,64\n10.25,b,64\n10.25,a,64\n12,a,64\n");
        assertThat(turns("trace:" + trace, 3)).containsExactly(0L, SECOND / 4, SECOND / 4);
        assertThatThrownBy(() -> turns("trace:" + trace, 5))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The trace " + trace
                        + " has 4 requests, and a flood has 5; name a longer one, or make the flood smaller.");
    }

    @Test
    void traceThatCannotBeFollowed_isNamedByItsLine() throws IOException {
        Path back = Files.writeString(folder.resolve("back.csv"), "time,prefix,tokens\n2,a,64\n1,b,64\n");
        assertThatThrownBy(() -> Arrivals.of("trace:" + back))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 3 of the trace " + back + " ");
        assertThatThrownBy(() -> Arrivals.of("trace:" + folder.resolve("none")))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("There is no trace " + folder.resolve("none") + ".");
        assertThatThrownBy(() -> Arrivals.of("trace:\0"))
                .isInstanceOf(LoadTestException.class)
                .hasMessageEndingWith("which is no name of a file.");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "poisson:0",
                "poisson:-4",
                "poisson:NaN",
                "poisson:Infinity",
                "poisson:inf",
                "poisson:",
                "poisson:4x",
                "poisson:1e9",
                "constant:0.0001",
                "constant:1e-999999999",
                "ramp:1",
                "ramp:1..",
                "ramp:..8",
                "ramp:0..8",
                "ramp:8..-1"
            })
    void rateThatIsNone_isRefusedInOneSentence(String text) {
        assertThatThrownBy(() -> Arrivals.of(text))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("The arrivals are '" + text + "', where '")
                .hasMessageContaining("' is no rate between 0.001 and 100000 requests a second; write it as ")
                .hasMessageEndingWith(".");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "open", "Poisson:4", "poisson", "trace:", "constant=4"})
    void wordThatIsNone_isRefusedInOneSentence(String text) {
        assertThatThrownBy(() -> Arrivals.of(text))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The arrivals are '" + text
                        + "'; write closed, constant:RATE, poisson:RATE, ramp:FROM..TO or" + " trace:FILE.");
    }

    @Test
    void floodOfMoreThanADay_isRefused() {
        assertThatThrownBy(() ->
                        IdlePrefixFlood.workload(1, FloodShape.of(64, 16, 200, 32, 1), Arrivals.of("constant:0.001")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("would take more than a day");
    }

    @ParameterizedTest
    @ValueSource(strings = {"closed", "constant:4", "poisson:0.5", "ramp:1..8"})
    void text_isReadAgain(String text) {
        assertThat(Arrivals.of(text).text()).isEqualTo(text);
        assertThat(Arrivals.of(Arrivals.of(text).text())).isEqualTo(Arrivals.of(text));
    }

    /** Legs of a pair differ in their texts and never in their times; a flood differs from the next in both. */
    @Test
    void floods_comeAtTheSameTimesInEveryLeg() {
        Workload workload = IdlePrefixFlood.workload(7, SHAPE.withLearning(2, 1), Arrivals.of("poisson:10"));
        assertThat(workload.facts().arrivals()).isEqualTo("poisson:10");
        List<List<Long>> first = turns(workload, 0);
        assertThat(first)
                .hasSize(5)
                .doesNotHaveDuplicates()
                .allSatisfy(turns -> assertThat(turns).hasSize(6));
        assertThat(turns(workload, 1)).isEqualTo(first);
        assertThat(turns(workload, 2)).isEqualTo(first);
    }

    @Test
    void times_areOfTheSeedAndInTheWorkloadsId() {
        String id = id(7, "poisson:10");
        assertThat(id(7, "poisson:10")).isEqualTo(id);
        assertThat(id(7, "poisson:11")).isNotEqualTo(id);
        assertThat(id(8, "poisson:10")).isNotEqualTo(id);
        assertThat(id(7, "closed"))
                .isNotEqualTo(id)
                .isEqualTo(IdlePrefixFlood.workload(7, SHAPE).id());
    }

    /** Nothing but times is added: the same requests are sent. */
    @Test
    void requests_areTheSameHoweverTheyCome() {
        Workload open = IdlePrefixFlood.workload(7, SHAPE, Arrivals.of("poisson:10"));
        Workload closed = IdlePrefixFlood.workload(7, SHAPE);
        for (int position = 0; position < Workload.LEGS_OF_A_LIFE; position++) {
            assertThat(open.requests(position)).isEqualTo(closed.requests(position));
        }
        assertThat(closed.phases(1)).noneMatch(Phase::hasTurns);
    }

    private static List<List<Long>> turns(Workload workload, int position) {
        return workload.phases(position).stream()
                .filter(Phase::isFlood)
                .map(Phase::turns)
                .toList();
    }

    private static String id(long seed, String arrivals) {
        return IdlePrefixFlood.workload(seed, SHAPE, Arrivals.of(arrivals)).id();
    }

    private static List<Long> turns(String text, int requests) {
        return Arrivals.of(text).turns(requests, new SplittableRandom(5));
    }
}
