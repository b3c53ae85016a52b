package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Traffic;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.prefix.Demand;
import io.holdfast.core.prefix.Lengths;
import io.holdfast.core.reuse.Durations;
import io.holdfast.sidecar.Conditions.Answer;
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
                .isEqualTo("an untouched block stays 0.8 times as long as it takes until a prefix is used again; 64"
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
        "20000, 4000, 1, 500, 999, YES, NO, NO",
        "0, 4000, 0, 500, 1000, NO, NO, YES",
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
        return new Traffic(
                Duration.ofMinutes(1),
                100,
                durations(residenceMillis),
                durations(reuseMillis),
                new PrefillCost.Unknown(0, "nothing was measured"),
                demand,
                lengths);
    }

    private static Durations durations(int millis) {
        Optional<Duration> each = Optional.of(Duration.ofMillis(millis)).filter(Duration::isPositive);
        return new Durations(each.isPresent() ? 9 : 0, each, each, each);
    }
}
