package io.holdfast.core.effect;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.effect.TrafficByTime.Told;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.evidence.Interval;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongToDoubleFunction;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How often the loop is right and wrong, over seeded runs of traffic; all of them with {@code -Dholdfast.scale=deep}. */
final class TtftLoopSimulationTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int RUNS = DEEP ? 400 : 20;
    private static final double SD = 0.05;
    private static final int SPAN = 80;
    private static final double HARM = Math.log(1.1);
    private static final double GAIN = Math.log(0.9);

    /** The larger one is reported, by all runs. */
    private static double[] spreads() {
        return DEEP ? new double[] {SD, 0.08} : new double[] {SD};
    }

    /** When a run first was in each state, in windows since measuring began; and what each look showed until then. */
    private record Run(Map<State, Integer> first, List<Look> looks) {
        boolean by(State state, int window) {
            return first.getOrDefault(state, Integer.MAX_VALUE) <= window;
        }

        boolean released(int window) {
            return by(State.HARMFUL, window) || by(State.NO_BENEFIT, window);
        }
    }

    private record Look(int window, Interval percent) {}

    private static Run run(long seed, double sd, int windows, LongToDoubleFunction effect) {
        SimulatedTraffic traffic = new SimulatedTraffic(seed, sd, effect);
        Map<State, Integer> first = new EnumMap<>(State.class);
        List<Look> looks = new ArrayList<>();
        Optional<Interval> last = Optional.empty();
        while (traffic.measuringWindows() < windows) {
            traffic.window();
            TtftEffect now = traffic.loop().effect();
            first.putIfAbsent(now.state(), traffic.measuringWindows());
            if (!now.interval95Percent().equals(last)) {
                last = now.interval95Percent();
                last.ifPresent(interval -> looks.add(new Look(traffic.measuringWindows(), interval)));
            }
        }
        return new Run(first, looks);
    }

    private static List<Run> runs(double sd, int windows, LongToDoubleFunction effect) {
        List<Run> runs = new ArrayList<>();
        for (int seed = 0; seed < RUNS; seed++) {
            runs.add(run(1_000 + seed, sd, windows, effect));
        }
        return runs;
    }

    private static int count(String what, double sd, List<Run> runs, Predicate<Run> which) {
        int count = (int) runs.stream().filter(which).count();
        System.out.printf("sd %.2f: %s: %d of %d%n", sd, what, count, RUNS);
        return count;
    }

    /** A bar of so many among 400, for as many runs as there are; a slice may miss it by chance a little. */
    private static int atMost(int of400) {
        return DEEP ? of400 : (int) Math.ceil(of400 * RUNS / 400.0 + 2 * Math.sqrt(of400 * RUNS / 400.0));
    }

    private static int atLeast(int of400) {
        return RUNS - atMost(400 - of400);
    }

    @ParameterizedTest
    @MethodSource("spreads")
    void noEffect_isSeldomTakenForOneAndFoundToBeNone(double sd) {
        List<Run> runs = runs(sd, SPAN, window -> 0);
        int proven = count("no effect, PROVEN within 80 windows", sd, runs, run -> run.by(State.PROVEN, SPAN));
        int harmful = count("no effect, HARMFUL within 80 windows", sd, runs, run -> run.by(State.HARMFUL, SPAN));
        int none = count("no effect, NO_BENEFIT within 80 windows", sd, runs, run -> run.by(State.NO_BENEFIT, SPAN));
        if (sd == SD) {
            assertThat(proven).isLessThanOrEqualTo(atMost(8));
            assertThat(harmful).isLessThanOrEqualTo(atMost(32));
            assertThat(none).isGreaterThanOrEqualTo(atLeast(348));
        }
    }

    @ParameterizedTest
    @MethodSource("spreads")
    void harm_isReleasedSoon(double sd) {
        List<Run> runs = runs(sd, 40, window -> HARM);
        int released = count("10 % harm, released within 20 windows", sd, runs, run -> run.released(20));
        count("10 % harm, released within 40 windows", sd, runs, run -> run.released(40));
        if (sd == SD) {
            assertThat(released).isGreaterThanOrEqualTo(atLeast(372));
        }
    }

    @ParameterizedTest
    @MethodSource("spreads")
    void gain_isProven(double sd) {
        List<Run> runs = runs(sd, 40, window -> GAIN);
        int proven = count("10 % gain, PROVEN within 40 windows", sd, runs, run -> run.by(State.PROVEN, 40));
        count("10 % gain, PROVEN within 20 windows", sd, runs, run -> run.by(State.PROVEN, 20));
        if (sd == SD) {
            assertThat(proven).isGreaterThanOrEqualTo(atLeast(372));
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.02, 0.1, -0.1})
    void interval_ofAConstantEffect_coversAtEveryLook(double change) {
        double effect = Math.log1p(change);
        List<Run> runs = runs(SD, SPAN, window -> effect);
        int all = count(
                "effect " + 100 * change + " %, the interval covers at all looks",
                SD,
                runs,
                run -> run.looks().stream().allMatch(look -> look.percent().contains(100 * change)));
        assertThat(all).isGreaterThanOrEqualTo(atLeast(370));
    }

    @Test
    void effect_thatFlipsItsSign_isNoticed() {
        for (double sd : spreads()) {
            int noticed = 0;
            int released = 0;
            int proven = 0;
            for (int seed = 0; seed < RUNS; seed++) {
                SimulatedTraffic traffic = new SimulatedTraffic(5_000 + seed, sd, window -> window < 60 ? GAIN : HARM);
                boolean was = false;
                boolean left = false;
                boolean gone = false;
                while (traffic.measuringWindows() < 120) {
                    traffic.window();
                    State state = traffic.loop().effect().state();
                    was |= state == State.PROVEN && traffic.measuringWindows() == 60;
                    left |= was && state != State.PROVEN && traffic.measuringWindows() <= 100;
                    gone |= was && state == State.HARMFUL;
                }
                proven += was ? 1 : 0;
                noticed += left ? 1 : 0;
                released += gone ? 1 : 0;
            }
            System.out.printf(
                    "sd %.2f: 10 %% gain that becomes 10 %% harm: PROVEN before in %d, noticed within 40 windows in %d,"
                            + " released within 60 in %d of %d%n",
                    sd, proven, noticed, released, RUNS);
            if (sd == SD) {
                assertThat(noticed).isGreaterThanOrEqualTo(atLeast(348));
            }
        }
    }

    @Test
    void provenHolds_areSeldomOffAndSeldomDoubted() {
        int proven = 0;
        int doubted = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            SimulatedTraffic traffic = new SimulatedTraffic(9_000 + seed, SD, window -> GAIN);
            int windows = 0;
            int off = 0;
            int times = 0;
            boolean was = false;
            while (traffic.measuringWindows() < 288) {
                boolean is = traffic.loop().effect().state() == State.PROVEN;
                times += was && !is ? 1 : 0;
                was = is;
                windows += is ? 1 : 0;
                off += is && traffic.loop().off().isPresent() ? 1 : 0;
                traffic.window();
            }
            proven += windows > 0 ? 1 : 0;
            doubted += times > 0 ? 1 : 0;
            assertThat(off)
                    .as("run %d: off windows of %d while PROVEN", seed, windows)
                    .isLessThanOrEqualTo(windows / 20 + 1 + times);
        }
        System.out.printf(
                "sd %.2f: 10 %% gain over a day: PROVEN in %d, measured anew without need in %d of %d%n",
                SD, proven, doubted, RUNS);
        assertThat(doubted).isLessThanOrEqualTo(atMost(60));
    }

    @Test
    void slowerTokens_areFoundThoughFirstTokensComeSooner() {
        int found = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            SimulatedTraffic traffic = new SimulatedTraffic(11_000 + seed, SD, window -> GAIN).withItlEffect(HARM);
            boolean harmful = false;
            while (traffic.measuringWindows() < 40) {
                traffic.window();
                harmful |= traffic.loop().effect().state() == State.HARMFUL;
            }
            found += harmful ? 1 : 0;
        }
        System.out.printf(
                "sd %.2f: 10 %% gain and 10 %% slower tokens: HARMFUL within 40 windows in %d of %d%n",
                SD, found, RUNS);
        assertThat(found).isGreaterThanOrEqualTo(atLeast(372));
    }

    /** The default at ten requests a second, where a quarter of the prompts share heads that are lost without holds. */
    @Test
    void benefit_ofLostSharedHeads_isShownWithinMinutes() {
        int runs = DEEP ? 100 : 10;
        List<Duration> after = new ArrayList<>();
        for (int seed = 0; seed < runs; seed++) {
            TrafficByTime.Answer answer = new TrafficByTime(
                            20_000 + seed, 10, 0.07, -0.1, Told.CACHED_TOKENS_AND_EVENTS, EffectSettings.DEFAULTS)
                    .answer(Duration.ofHours(2));
            assertThat(answer.state()).as("seed %d", seed).isEqualTo(State.PROVEN);
            after.add(answer.after());
        }
        after.sort(Comparator.naturalOrder());
        System.out.printf(
                "by default at 10 requests a second, 10 %% gain: PROVEN in %d of %d, median %d min, last %d min%n",
                runs, runs, after.get(runs / 2).toMinutes(), after.getLast().toMinutes());
        assertThat(after.get(runs / 2)).isLessThanOrEqualTo(Duration.ofMinutes(30));
        assertThat(after.getLast()).isLessThanOrEqualTo(Duration.ofHours(2));
    }

    /** What is found in the cache varies with the mix of the traffic, and holds change nothing of it. */
    @ParameterizedTest
    @CsvSource({
        "10, CACHED_TOKENS_AND_EVENTS",
        "10, CACHED_TOKENS",
        "1, CACHED_TOKENS_AND_EVENTS",
        "1, CACHED_TOKENS",
    })
    void cachedTokens_thatVaryByThemselves_areSeldomTakenForAGain(double rate, Told told) {
        int proven = 0;
        int harmful = 0;
        int none = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            State found = new TrafficByTime(
                            30_000 + seed, rate, rate > 5 ? 0.07 : 0.11, 0, told, EffectSettings.DEFAULTS)
                    .answer(Duration.ofMinutes(80 * 5))
                    .state();
            proven += found == State.PROVEN ? 1 : 0;
            harmful += found == State.HARMFUL ? 1 : 0;
            none += found == State.NO_BENEFIT ? 1 : 0;
        }
        System.out.printf(
                "by default at %.0f requests a second, %s, no effect: PROVEN in %d, HARMFUL in %d, NO_BENEFIT in %d of"
                        + " %d within 6.7 hours%n",
                rate, told, proven, harmful, none, RUNS);
        assertThat(proven).isLessThanOrEqualTo(atMost(4));
        assertThat(harmful).isLessThanOrEqualTo(atMost(10));
    }
}
