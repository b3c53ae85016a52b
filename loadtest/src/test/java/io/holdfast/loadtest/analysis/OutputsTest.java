package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.testing.Legs;
import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/** Greedy answers to the same requests. */
final class OutputsTest {
    private static final int PROBE = 5;

    @Test
    void sameAnswers_areNoMatter() {
        assertThat(Outputs.difference(Legs.header(), answered((leg, request) -> right(leg, request))))
                .isEmpty();
    }

    @Test
    void answersOfWhichNobodyTookADigest_areNoMatter() {
        assertThat(Outputs.difference(Legs.header(), measured())).isEmpty();
    }

    /** Each leg's probe of that number has another answer in each pinned leg: eight of 88. */
    @Test
    void otherAnswersInPinnedLegs_areCounted() {
        List<LegRecord> legs = answered((leg, request) -> leg.arm() == Arm.PINNED && request.number() == PROBE
                ? "wrong in life " + leg.life()
                : right(leg, request));
        assertThat(Outputs.difference(Legs.header(), legs))
                .hasValueSatisfying(told -> assertThat(told)
                        .startsWith(
                                "8 of 88 answers in pinned legs are none that a baseline leg got to the same request")
                        .contains("among baseline legs 0 of 176 answers are not the usual one"));
    }

    /** What an engine answers now so, now so, without any hold, a pinned leg may answer either way. */
    @Test
    void answersThatBaselineLegsGaveToo_areNotCounted() {
        List<LegRecord> legs = answered((leg, request) -> leg.life() % 2 == 0 ? "so" : right(leg, request));
        assertThat(Outputs.difference(Legs.header(), legs)).isEmpty();
        List<LegRecord> others = answered((leg, request) -> leg.arm() == Arm.PINNED && request.number() == PROBE
                ? "otherwise"
                : leg.life() == 1 ? "so" : right(leg, request));
        assertThat(Outputs.difference(Legs.header(), others))
                .hasValueSatisfying(told -> assertThat(told)
                        .startsWith("8 of 88 ")
                        .containsPattern("among baseline legs [1-9][0-9]* of 17[0-9] answers"));
    }

    private static String right(LegRecord leg, RequestRecord request) {
        return "answer to " + leg.position() + " " + request.number();
    }

    private static List<LegRecord> answered(BiFunction<LegRecord, RequestRecord, String> answers) {
        return measured().stream()
                .map(leg -> Legs.withRequests(leg, request -> request.withOutput(answers.apply(leg, request))))
                .toList();
    }

    private static List<LegRecord> measured() {
        return Legs.run(10, 5).stream().filter(LegRecord::isMeasured).toList();
    }
}
