package io.holdfast.sidecar.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Traffic;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.prefix.Demand;
import io.holdfast.core.prefix.Lengths;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.reuse.Durations;
import io.holdfast.sidecar.view.Conditions.Answer;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether holds and moves of memory can pay, by numbers that the test writes. */
class ConditionsTest {
    private static final OptionalDouble CAPACITY = OptionalDouble.of(22_000);
    private static final OptionalInt NO_SEGMENT = OptionalInt.of(0);

    @Test
    void demand_isToldAsAShareOfTheCache_andBesideItWhatItWouldBeUnshared() {
        Conditions found = Conditions.of(
                traffic(3_000, 4_000, new Demand(64, 13_048, 28_672), Lengths.NONE), CAPACITY, NO_SEGMENT);

        assertThat(found.pressure().answer()).isEqualTo(Answer.YES);
        assertThat(found.pressure().why())
                .isEqualTo("100 % of the reuses come later than half of the untouched blocks stay, which is 3.0 s; 64"
                        + " prompts at once ask for 13,048 tokens, 59 % of the cache (28,672 if none were shared)");
        Conditions alone =
                Conditions.of(traffic(3_000, 4_000, new Demand(1, 448, 448), Lengths.NONE), CAPACITY, NO_SEGMENT);
        assertThat(alone.pressure().why()).endsWith("; 1 prompt at a time asks for 448 tokens, 2 % of the cache");
    }

    @ParameterizedTest
    @CsvSource({
        // residence and reuse in ms, segments, median and ninetieth length: what each condition is
        "3000, 4000, 3, 500, 510, YES, YES, NO",
        "30000, 4000, 3, 500, 1000, NO, YES, YES",
        "3999, 4000, 1, 500, 999, YES, NO, NO",
        "0, 4000, 0, 500, 1000, UNKNOWN, NO, YES",
        "3000, 0, -1, 0, 0, UNKNOWN, UNKNOWN, UNKNOWN",
    })
    void conditions_areWhatWasMeasured(
            int residence,
            int reuse,
            int segments,
            int median,
            int ninetieth,
            Answer pressure,
            Answer models,
            Answer lengths) {
        Conditions found = Conditions.of(
                traffic(residence, reuse, Demand.NONE, new Lengths(median == 0 ? 19 : 20, median, ninetieth)),
                CAPACITY,
                segments < 0 ? OptionalInt.empty() : OptionalInt.of(segments));

        assertThat(found.pressure().answer()).isEqualTo(pressure);
        assertThat(found.models().answer()).isEqualTo(models);
        assertThat(found.lengths().answer()).isEqualTo(lengths);
    }

    @Test
    void lossesThatWereMeasured_areAYes_whateverTheTimesSay() {
        Traffic lost = traffic(Duration.ofSeconds(3), 0, 4_000, OptionalDouble.empty(), new Sharing(44, 0, 3, 0, 96));

        assertThat(Conditions.of(lost, CAPACITY, NO_SEGMENT).pressure())
                .isEqualTo(new Conditions.Condition(
                        Answer.YES, "of 47 requests that share a prefix 3 found it lost, wholly or in part"));
    }

    @Test
    void nothingRemoved_isUnknownAfterSeconds_andANoAfterHalfAnHour() {
        assertThat(pressureWithoutRemovals(Duration.ofSeconds(3)))
                .isEqualTo(new Conditions.Condition(
                        Answer.UNKNOWN,
                        "no untouched block was removed for want of room in the 3 s that were seen, and half an hour"
                                + " tells"));
        assertThat(pressureWithoutRemovals(Duration.ofMinutes(30)).answer()).isEqualTo(Answer.NO);
    }

    private static Conditions.Condition pressureWithoutRemovals(Duration span) {
        return Conditions.of(traffic(span, 0, 4_000, OptionalDouble.empty(), Sharing.NONE), CAPACITY, NO_SEGMENT)
                .pressure();
    }

    /** Of a pair of requests every six seconds half of the reuses come within the pair, in no time. */
    @ParameterizedTest
    @CsvSource({"0.5, YES", "0.03, YES", "0.02, NO", "0, NO"})
    void bursts_hideNoReuseThatComesTooLate(double late, Answer answer) {
        Traffic bursts = traffic(Duration.ofMinutes(1), 4_000, 130, OptionalDouble.of(late), Sharing.NONE);

        assertThat(Conditions.of(bursts, CAPACITY, NO_SEGMENT).pressure().answer())
                .isEqualTo(answer);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        YES     | YES     | NO      | Holds can pay, since the cache is short of room. Moving memory between engines can: several share it, and this cache is short of room.
        NO      | YES     | YES     | Holds cannot pay, since the cache is not short of room. Moving memory between engines can: several share it, and the lengths of prompts vary.
        YES     | NO      | YES     | Holds can pay, since the cache is short of room. Moving memory between engines cannot: there are not several that share it.
        NO      | YES     | NO      | Holds cannot pay, since the cache is not short of room. Moving memory between engines cannot: no cache is short of room, and the lengths of prompts are alike.
        UNKNOWN | YES     | UNKNOWN | Whether holds can pay is not known yet. Whether moving memory between engines can is not known.
        YES     | UNKNOWN | NO      | Holds can pay, since the cache is short of room. Whether moving memory between engines can is not known.
        """)
    void advice_followsFromThem(Answer pressure, Answer models, Answer lengths, String advice) {
        Conditions found = new Conditions(
                new Conditions.Condition(pressure, ""),
                new Conditions.Condition(models, ""),
                new Conditions.Condition(lengths, ""));

        assertThat(found.advice()).isEqualTo(advice);
    }

    /** 0 for what was not measured. */
    private static Traffic traffic(int residenceMillis, int reuseMillis, Demand demand, Lengths lengths) {
        Traffic measured = traffic(
                Duration.ofMinutes(1),
                residenceMillis,
                reuseMillis,
                residenceMillis == 0 || reuseMillis == 0
                        ? OptionalDouble.empty()
                        : OptionalDouble.of(reuseMillis > residenceMillis ? 1 : 0),
                Sharing.NONE);
        return new Traffic(
                measured.span(),
                measured.counted(),
                measured.residence(),
                measured.reuse(),
                measured.lateReuse(),
                measured.sharing(),
                measured.prefill(),
                demand,
                lengths);
    }

    private static Traffic traffic(
            Duration span, int residenceMillis, int reuseMillis, OptionalDouble late, Sharing sharing) {
        return new Traffic(
                span,
                100,
                durations(residenceMillis),
                durations(reuseMillis),
                late,
                sharing,
                new PrefillCost.Unknown(0, "nothing was measured"),
                Demand.NONE,
                Lengths.NONE);
    }

    private static Durations durations(int millis) {
        Optional<Duration> each = Optional.of(Duration.ofMillis(millis)).filter(Duration::isPositive);
        return new Durations(each.isPresent() ? 9 : 0, each, each, each);
    }
}
