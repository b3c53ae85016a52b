package io.holdfast.rules.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** How faults are written, and that the catalogue has them all. */
final class FaultTest {
    static Stream<FaultKind> kinds() {
        return FaultCatalogue.all().stream();
    }

    @Test
    void catalogue_hasEachRecordOnce() {
        List<Class<?>> records = new ArrayList<>();
        for (Class<?> room : Fault.class.getPermittedSubclasses()) {
            records.addAll(List.of(room.getPermittedSubclasses()));
        }
        assertThat(FaultCatalogue.all().stream()
                        .map(kind -> (Object) given(kind).getClass()))
                .containsExactlyInAnyOrderElementsOf(records);
        assertThat(FaultCatalogue.all().stream().map(FaultKind::name)).doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void kind_isToldInSentences(FaultKind kind) {
        assertThat(kind.name()).matches("[a-z]+(-[a-z]+)*");
        assertThat(kind.effect()).matches("(?s)[A-Z].*\\.");
        assertThat(kind.incident()).matches("(?s)[A-Z].*\\.");
        for (Argument argument : kind.arguments()) {
            assertThat(kind.form()).contains(argument.name());
            assertThat(FaultCatalogue.text()).contains(argument.name() + ": " + argument.bounds());
        }
        assertThat(FaultCatalogue.text()).contains(kind.form(), kind.effect(), kind.incident());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void kind_takesDefaultsAndBoundsAndNothingBeyond(FaultKind kind) {
        assertThat(given(kind).kind()).isSameAs(kind);
        List<String> values = new ArrayList<>(defaults(kind));
        for (int i = 0; i < kind.arguments().size(); i++) {
            String before = values.get(i);
            if (kind.arguments().get(i) instanceof Argument.Quantity quantity) {
                for (double edge : new double[] {quantity.least(), quantity.most()}) {
                    assertThat(parsed(kind, values, i, plain(edge)).kind()).isSameAs(kind);
                }
                for (String beyond : List.of(
                        plain(quantity.least() - 1),
                        plain(quantity.most() + 1),
                        "x",
                        "",
                        "1e3",
                        "NaN",
                        "99999999999999999")) {
                    assertRefused(kind, values, i, beyond);
                }
                if (quantity.whole()) {
                    assertRefused(kind, values, i, plain(quantity.least()) + ".5");
                }
            } else {
                assertRefused(kind, values, i, "");
                assertRefused(kind, values, i, "two words");
            }
            values.set(i, before);
        }
        values.add("1");
        assertThatThrownBy(() -> Fault.parse(kind.name() + "=" + String.join(",", values)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("The fault " + kind.form() + " takes ");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        warming                  | The fault warming=REQUESTS wants REQUESTS as a whole number from 1 to 1000000, which is missing.
        warming=0                | The fault warming=REQUESTS wants REQUESTS as a whole number from 1 to 1000000, not "0".
        warming=1,2              | The fault warming=REQUESTS takes one argument, not "1,2".
        pin-ignored=1            | The fault pin-ignored takes no arguments, not "1".
        http-error=5,200         | The fault http-error[=PERCENT[,STATUS]] wants STATUS as a whole number from 400 to 599, not "200".
        throttling=1.5           | The fault throttling[=FACTOR[,SECONDS]] wants FACTOR as a number from 0.01 to 1, not "1.5".
        other-model=a b          | The fault other-model[=NAME] wants NAME as 1 to 200 letters, digits and any of . _ / : -, not "a b".
        stalled-stream=1,2,3,4   | The fault stalled-stream[=PERCENT[,TOKENS[,MS]]] takes at most 3 arguments, not "1,2,3,4".
        """)
    void nonsense_isRefusedInOneSentence(String text, String sentence) {
        assertThatThrownBy(() -> Fault.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(sentence);
    }

    @Test
    void unknownName_isRefusedWithAllThereAre() {
        String names =
                FaultCatalogue.all().stream().map(FaultKind::name).sorted().collect(Collectors.joining(", "));
        assertThatThrownBy(() -> Fault.parse("cold"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("There is no fault \"cold\"; there are " + names + ".");
    }

    @Test
    void faults_areReadAsWritten() {
        assertThat(Fault.parse("cold-first-wave")).isEqualTo(new GpuFault.ColdFirstWave(64, Duration.ofMillis(150)));
        assertThat(Fault.parse("cold-first-wave=3,20")).isEqualTo(new GpuFault.ColdFirstWave(3, Duration.ofMillis(20)));
        assertThat(Fault.parse(" Warming=7 ")).isEqualTo(new GpuFault.Warming(7));
        assertThat(Fault.parse("drift=-12.5, 30")).isEqualTo(new GpuFault.Drift(-12.5, 30));
        assertThat(Fault.parse("throttling")).isEqualTo(new GpuFault.Throttling(0.84, 60));
        assertThat(Fault.parse("holds-slow=5")).isEqualTo(new GpuFault.HoldsSlow(5));
        assertThat(Fault.parse("noise")).isEqualTo(new GpuFault.Noise(5, 2, 3, 0));
        assertThat(Fault.parse("noise=10,1.5,0,7")).isEqualTo(new GpuFault.Noise(10, 1.5, 0, 7));
        assertThat(Fault.parse("capacity-falls=40,2")).isEqualTo(new CacheFault.CapacityFalls(40, 2));
        assertThat(Fault.parse("decode-cannot-evict")).isEqualTo(new CacheFault.DecodeCannotEvict());
        assertThat(Fault.parse("flush-refused=2")).isEqualTo(new CacheFault.FlushRefused(2));
        assertThat(Fault.parse("pin-ignored")).isEqualTo(new CacheFault.PinIgnored());
        assertThat(Fault.parse("pin-forgiving")).isEqualTo(new CacheFault.PinForgiving());
        assertThat(Fault.parse("auto-unpin=9")).isEqualTo(new CacheFault.AutoUnpin(9));
        assertThat(Fault.parse("hold-lost=100")).isEqualTo(new CacheFault.HoldLost(100));
        assertThat(Fault.parse("pin-late=20")).isEqualTo(new HttpFault.PinLate(Duration.ofMillis(20)));
        assertThat(Fault.parse("empty-outputs=7.5")).isEqualTo(new HttpFault.EmptyOutputs(7.5));
        assertThat(Fault.parse("stalled-stream=5,0,100"))
                .isEqualTo(new HttpFault.StalledStream(5, 0, Duration.ofMillis(100)));
        assertThat(Fault.parse("broken-sse=5")).isEqualTo(new HttpFault.BrokenSse(5, 8));
        assertThat(Fault.parse("http-error=5,429")).isEqualTo(new HttpFault.HttpError(5, 429));
        assertThat(Fault.parse("usage-wrong")).isEqualTo(new HttpFault.UsageWrong(10));
        assertThat(Fault.parse("event-loss=0.5")).isEqualTo(new EventFault.EventLoss(0.5));
        assertThat(Fault.parse("event-delay=20")).isEqualTo(new EventFault.EventDelay(Duration.ofMillis(20)));
        assertThat(Fault.parse("event-duplicates=100")).isEqualTo(new EventFault.EventDuplicates(100));
        assertThat(Fault.parse("event-reorder=50")).isEqualTo(new EventFault.EventReorder(50));
        assertThat(Fault.parse("replay-short=0")).isEqualTo(new EventFault.ReplayShort(0));
        assertThat(Fault.parse("sequence-reset=3")).isEqualTo(new EventFault.SequenceReset(3));
        assertThat(Fault.parse("clock-skew=-60000")).isEqualTo(new EventFault.ClockSkew(Duration.ofMinutes(-1)));
        assertThat(Fault.parse("slow-start=2")).isEqualTo(new ServerFault.SlowStart(Duration.ofSeconds(2)));
        assertThat(Fault.parse("restart=5,0")).isEqualTo(new ServerFault.Restart(5, Duration.ZERO));
        assertThat(Fault.parse("other-model=org/Model-7B:x")).isEqualTo(new ServerFault.OtherModel("org/Model-7B:x"));
        assertThat(Fault.parse("api-key=sk-1")).isEqualTo(new ServerFault.ApiKey("sk-1"));
        assertThat(Fault.parse("dp-ranks=4")).isEqualTo(new ServerFault.DpRanks(4));
    }

    @Test
    void recordOutOfBounds_isRefusedLikeItsText() {
        assertThatThrownBy(() -> new GpuFault.Warming(0))
                .hasMessage("The fault warming=REQUESTS wants REQUESTS as a whole number from 1 to 1000000, not 0.");
        assertThatThrownBy(() -> new HttpFault.BrokenSse(Double.NaN, 1))
                .hasMessage(
                        "The fault broken-sse[=PERCENT[,TOKENS]] wants PERCENT as a number from 0 to 100, not NaN.");
        assertThatThrownBy(() -> new ServerFault.OtherModel("")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void chance_strikesAsOftenAsItSays() {
        SplittableRandom random = new SplittableRandom(1);
        Chance chance = new EventFault.EventLoss(25);
        long struck = Stream.generate(() -> chance.strikes(random))
                .limit(100_000)
                .filter(strikes -> strikes)
                .count();
        assertThat(struck).isBetween(24_500L, 25_500L);
        assertThat(new EventFault.EventLoss(0).strikes(random)).isFalse();
        assertThat(new EventFault.EventLoss(100).strikes(random)).isTrue();
    }

    @Test
    void faults_comeAndGo() {
        Faults faults = new Faults(List.of(new EventFault.EventLoss(1)));
        faults.begin(new EventFault.EventLoss(2));
        faults.begin(new CacheFault.PinIgnored());
        assertThat(faults.find(EventFault.EventLoss.class)).hasValue(new EventFault.EventLoss(2));
        assertThat(faults.all()).hasSize(2);
        faults.end(FaultCatalogue.kind("event-loss"));
        assertThat(faults.has(EventFault.EventLoss.class)).isFalse();
        assertThat(faults.has(CacheFault.PinIgnored.class)).isTrue();
    }

    private static Fault given(FaultKind kind) {
        return Fault.parse(kind.name() + (kind.arguments().isEmpty() ? "" : "=" + String.join(",", defaults(kind))));
    }

    private static List<String> defaults(FaultKind kind) {
        return kind.arguments().stream()
                .map(argument -> argument.defaultValue().orElse("1"))
                .toList();
    }

    private static Fault parsed(FaultKind kind, List<String> values, int index, String value) {
        values.set(index, value);
        return Fault.parse(kind.name() + "=" + String.join(",", values));
    }

    private static void assertRefused(FaultKind kind, List<String> values, int index, String value) {
        Argument argument = kind.arguments().get(index);
        assertThatThrownBy(() -> parsed(kind, values, index, value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The fault " + kind.form() + " wants " + argument.name() + " as " + argument.bounds()
                        + ", not \"" + value + "\".");
    }

    private static String plain(double value) {
        return new BigDecimal(Double.toString(value)).stripTrailingZeros().toPlainString();
    }
}
