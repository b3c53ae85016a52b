package io.holdfast.core.effect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.plan.Why;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What a loop does beside an engine that a test moves second by second, with windows of 40 s. */
final class TtftLoopTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int WINDOW = 40;
    private static final Reading UNKNOWN = Reading.unknown("the test does not tell it");

    private EffectSettings settings = EffectSettings.DEFAULTS.withWindow(Duration.ofSeconds(WINDOW));
    private Optional<Duration> residence = Optional.of(Duration.ofSeconds(10));
    private Optional<Duration> reuse = Optional.empty();
    private PrefillCost prefill = new PrefillCost.Unknown(0, "nothing was measured");
    private TtftLoop loop = make();
    /** Whether each window that is over was one with holds. */
    private final List<Boolean> arms = new ArrayList<>();

    private long now;
    private boolean holds = true;
    private double on = 0.1;
    private double off = 0.1;
    private int perSecond = 5;
    private double waiting;
    private boolean stays;
    private double itlOn = 0.03;
    private boolean told = true;
    private double cachedOn = 0.5;
    private double cachedOff = 0.5;
    private double seconds;
    private double count;
    private double prompts;
    private double cached;
    private double itlSeconds;
    private double itlCount;
    private boolean cachedTold = true;
    private int usersPerSecond;
    private long usersFoundOn;
    private long usersFoundOff;

    private TtftLoop make() {
        return new TtftLoop(settings, new SplittableRandom(7), new TtftLoop.Cache() {
            @Override
            public Optional<Duration> residence() {
                return residence;
            }

            @Override
            public Optional<Duration> reuse() {
                return reuse;
            }

            @Override
            public PrefillCost prefill() {
                return prefill;
            }
        });
    }

    private void second() {
        loop.tick(now * SECOND, holds && (isOn() || stays), Optional.empty());
        if (now % WINDOW == WINDOW - 1) {
            arms.add(isOn());
        }
        count += perSecond;
        seconds += perSecond * (isOn() ? on : off);
        prompts += perSecond * 1_000.0;
        cached += perSecond * 1_000 * (isOn() ? cachedOn : cachedOff);
        if (usersPerSecond > 0) {
            loop.used(new PrefixUse(
                    perSecond,
                    usersPerSecond,
                    usersPerSecond * 4_500L,
                    usersPerSecond * (isOn() ? usersFoundOn : usersFoundOff)));
        }
        itlCount += perSecond * 10.0;
        itlSeconds += perSecond * 10 * (isOn() ? itlOn : 0.03);
        now++;
        loop.reading(
                EngineReadings.unknownBut("the test does not tell it")
                        .ttftSumSeconds(told ? at(seconds) : UNKNOWN)
                        .ttftCount(told ? at(count) : UNKNOWN)
                        .promptTokens(at(prompts))
                        .cachedTokens(cachedTold ? at(cached) : UNKNOWN)
                        .runningRequests(at(2))
                        .waitingRequests(at(waiting))
                        .itlSumSeconds(at(itlSeconds))
                        .itlCount(at(itlCount))
                        .build(),
                now * SECOND);
    }

    private Reading at(double value) {
        return Reading.known(value, "the test", now * SECOND);
    }

    private boolean isOn() {
        return loop.off().isEmpty();
    }

    private void windows(int windows) {
        for (int i = 0; i < windows * WINDOW; i++) {
            second();
        }
        loop.tick(now * SECOND, holds && isOn(), Optional.empty());
    }

    private State state() {
        return loop.effect().state();
    }

    private String reason() {
        return loop.effect().reason();
    }

    @Test
    void quads_areAbbaOrBaabAndBothOccur() {
        told = false;
        SplittableRandom noise = new SplittableRandom(1);
        for (int window = 0; window < 82; window++) {
            // Times are anything, so that nothing is found.
            double time = 0.1 * Math.exp(noise.nextGaussian());
            for (int i = 0; i < WINDOW; i++) {
                loop.firstToken(FirstToken.of(time, 1_000), now * SECOND);
                second();
            }
        }
        List<String> quads = new ArrayList<>();
        for (int i = 2; i + 4 <= 82; i += 4) {
            StringBuilder quad = new StringBuilder();
            arms.subList(i, i + 4).forEach(arm -> quad.append(arm ? 'A' : 'B'));
            quads.add(quad.toString());
        }
        assertThat(arms.subList(0, 2)).as("steady first").containsOnly(true);
        assertThat(quads).containsOnly("ABBA", "BAAB").contains("ABBA", "BAAB");
    }

    @Test
    void firstLook_comesAfterTwelveWindows() {
        on = 0.05;
        windows(13);
        assertThat(state()).isEqualTo(State.UNPROVEN);
        assertThat(loop.effect().effectPercent()).isEmpty();
        assertThat(reason()).isEqualTo("measuring: 11 of at least 12 windows are complete");
        windows(1);
        assertThat(state()).isEqualTo(State.PROVEN);
        assertThat(loop.effect().windows()).isEqualTo(12);
        assertThat(loop.effect().effectPercent().orElseThrow()).isCloseTo(-50, within(0.001));
        assertThat(reason()).isEqualTo("holds shorten time to first token");
    }

    @Test
    void readings_withoutTimes_measureNothingAndNothingIsLetGo() {
        told = false;
        windows(30);
        assertThat(loop.effect().windows()).isZero();
        assertThat(arms).containsOnly(true);
        assertThat(reason()).endsWith("the last one: the engine did not report its times to first token");
    }

    @Test
    void reports_areUsedInPlaceOfCounters_andByClass() {
        on = 0.3;
        for (int i = 0; i < 20 * WINDOW; i++) {
            for (String name : List.of("chat", "batch")) {
                double time = name.equals("chat") && isOn() ? 0.05 : 0.1;
                loop.firstToken(new FirstToken(time, 1_000, OptionalInt.empty(), Optional.of(name)), now * SECOND);
            }
            second();
        }
        assertThat(state()).as("by counters it would be harm").isEqualTo(State.PROVEN);
        assertThat(loop.effect().effectPercent().orElseThrow()).isCloseTo(-25, within(0.01));
        assertThat(loop.effect().classes()).hasSize(2);
        assertThat(loop.effect().classes().getFirst().name()).isEqualTo("batch");
        assertThat(loop.effect().classes().getFirst().effectPercent().orElseThrow())
                .isCloseTo(0, within(0.01));
        assertThat(loop.effect().classes().getLast().effectPercent().orElseThrow())
                .isCloseTo(-50, within(0.01));
    }

    @Test
    void classes_areBounded() {
        for (int i = 0; i < 20 * WINDOW; i++) {
            for (int name = 0; name < 40; name++) {
                loop.firstToken(
                        new FirstToken(0.1, 10, OptionalInt.empty(), Optional.of("class-" + name)), now * SECOND);
            }
            second();
        }
        assertThat(loop.effect().classes()).hasSize(Window.MOST_CLASSES);
    }

    @Test
    void window_withTooFewRequests_isNotReady() {
        perSecond = 0;
        for (int i = 0; i < 20 * WINDOW; i++) {
            count += i % 3 == 0 ? 1 : 0;
            seconds += i % 3 == 0 ? 0.1 : 0;
            second();
        }
        assertThat(arms).containsOnly(true);
        assertThat(reason()).contains("requests that count, and needs 20");
    }

    @Test
    void window_inWhichTheEngineRestarted_endsTheQuad() {
        windows(2);
        windows(1);
        assertThat(loop.effect().windows()).isEqualTo(1);
        for (int i = 0; i < WINDOW / 2; i++) {
            second();
        }
        count = 0;
        seconds = 0;
        for (int i = 0; i < WINDOW / 2; i++) {
            second();
        }
        windows(0);
        assertThat(loop.effect().windows()).isEqualTo(1);
        assertThat(reason()).endsWith("the engine began to count anew");
        loop.interrupted();
        windows(1);
        assertThat(reason()).endsWith("the engine's cache was replaced");
        windows(2);
        assertThat(reason()).startsWith("measuring: 1 of at least 12");
    }

    @Test
    void window_inWhichNothingIsHeld_isNone() {
        holds = false;
        windows(20);
        assertThat(arms).containsOnly(true);
        assertThat(reason()).endsWith("nothing was held that may be released, so there was nothing to measure");
        holds = true;
        windows(3);
        assertThat(loop.effect().windows()).isEqualTo(1);
    }

    @Test
    void offWindow_inWhichItIsHeldStill_isNone() {
        stays = true;
        on = 0.05;
        List<String> reasons = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            windows(1);
            reasons.add(reason());
        }
        assertThat(arms).contains(false);
        assertThat(reasons)
                .anySatisfy(said ->
                        assertThat(said).endsWith("holds that should have been released" + " were still in place"));
        assertThat(loop.effect().effectPercent()).isEmpty();
    }

    @Test
    void thinTraffic_isNotMeasuredUntilItIsUsual() {
        perSecond = 20;
        windows(6);
        int before = loop.effect().windows();
        assertThat(before).isEqualTo(4);
        perSecond = 1;
        windows(4);
        assertThat(loop.effect().windows()).isEqualTo(before);
        assertThat(reason()).contains("less than a fifth of what is usual");
        assertThat(arms.subList(arms.size() - 3, arms.size())).containsOnly(true);
        windows(20);
        assertThat(loop.effect().windows()).isGreaterThan(before);
    }

    @Test
    void queue_keepsHoldsOn() {
        windows(2);
        while (isOn()) {
            second();
        }
        waiting = 20;
        for (int i = 0; i < 11; i++) {
            second();
        }
        assertThat(isOn()).isTrue();
        assertThat(loop.effect().guard())
                .contains("more requests wait than run, so holds stay on until the queue is shorter");
        int from = arms.size();
        windows(10);
        assertThat(arms.subList(from, arms.size())).containsOnly(true);
        waiting = 0;
        windows(6);
        assertThat(loop.effect().guard()).isEmpty();
        assertThat(arms.subList(from, arms.size())).contains(false);
    }

    @Test
    void queue_ofOneReading_isABurst() {
        windows(2);
        for (int i = 0; i < 12 * WINDOW; i++) {
            waiting = i % 3 == 0 ? 0 : 50;
            second();
        }
        assertThat(loop.effect().guard()).isEmpty();
        assertThat(arms).contains(false);
    }

    @Test
    void stall_keepsHoldsOn() {
        windows(2);
        while (isOn()) {
            second();
        }
        loop.tick(now * SECOND, false, Optional.of("requests wait while nothing runs"));
        assertThat(isOn()).isTrue();
        assertThat(loop.effect().guard()).contains("requests wait while nothing runs");
    }

    @Test
    void slowerTokens_areHarmfulThoughFirstTokensComeSooner() {
        on = 0.05;
        itlOn = 0.04;
        windows(14);
        assertThat(state()).isEqualTo(State.HARMFUL);
        assertThat(reason()).isEqualTo("holds lengthen the time between tokens");
        assertThat(loop.effect().itlPercent().orElseThrow()).isCloseTo(33.3, within(0.1));
    }

    @Test
    void harm_isReleased_andTriedAgainLaterEachTime() {
        on = 0.2;
        windows(14);
        List<Integer> rests = new ArrayList<>();
        for (int round = 0; round < 7; round++) {
            assertThat(state()).isEqualTo(State.HARMFUL);
            assertThat(loop.off().map(Why::code)).contains(Reason.HARMFUL);
            rests.add((int) (loop.effect().nextTry().orElseThrow().toSeconds() / WINDOW));
            while (!isOn()) {
                second();
            }
            assertThat(state()).isEqualTo(State.UNPROVEN);
            assertThat(loop.effect().windows()).as("measured anew").isZero();
            while (state() == State.UNPROVEN) {
                second();
            }
        }
        assertThat(rests).containsExactly(20, 40, 80, 160, 320, 320, 320);
    }

    @Test
    void gain_afterHarm_beginsBackOffAnew() {
        on = 0.2;
        windows(14);
        on = 0.05;
        while (state() != State.PROVEN) {
            second();
        }
        on = 0.2;
        while (state() != State.HARMFUL) {
            second();
        }
        assertThat(loop.effect().nextTry().orElseThrow()).isEqualTo(Duration.ofSeconds(20 * WINDOW));
    }

    @Test
    void tooLittleGain_isNoBenefit_byTheKey() {
        on = 0.098;
        windows(14);
        assertThat(state()).isEqualTo(State.NO_BENEFIT);
        assertThat(reason())
                .isEqualTo(
                        "holds do not shorten time to first token by 3.00 % or more, and requests do not compute that"
                                + " much fewer prompt tokens");
        assertThat(loop.off().map(Why::code)).contains(Reason.NO_BENEFIT);
        settings = new EffectSettings(Optional.of(Duration.ofSeconds(WINDOW)), 0.05, 0.01);
        loop = make();
        now = 0;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
    }

    @Test
    void afterProof_oneWindowInTwentyIsOff_orNoneByTheKey() {
        on = 0.05;
        windows(14);
        arms.clear();
        windows(200);
        assertThat(arms.stream().filter(arm -> !arm).count()).isEqualTo(10);
        settings = new EffectSettings(Optional.of(Duration.ofSeconds(WINDOW)), 0, 0.03);
        loop = make();
        now = 0;
        windows(14);
        arms.clear();
        windows(100);
        assertThat(arms).containsOnly(true);
        assertThat(state()).isEqualTo(State.PROVEN);
    }

    @Test
    void offTime_isWhatItWas_andCostsWhatWasComputedMore() {
        cachedOn = 0.9;
        cachedOff = 0.4;
        on = 0.05;
        prefill = new PrefillCost.Known(0.01, 1e-3, 1e-5, 50);
        windows(14);
        // Six windows of 200 requests of 1,000 tokens, half of which are cached only with holds, at 1 ms each.
        assertThat(loop.effect().offTime()).isEqualTo(Duration.ofSeconds(6 * WINDOW));
        assertThat(loop.effect().offPrefill().orElseThrow().toMillis() / 1e3).isCloseTo(600, within(15.0));
    }

    @Test
    void cost_isAbsentWherePrefillIsNotMeasured() {
        windows(14);
        assertThat(loop.effect().offPrefill()).isEmpty();
    }

    @Test
    void whatTheOtherArmLeft_isNotMeasured() {
        residence = Optional.of(Duration.ofSeconds(15));
        windows(2);
        // For 15 s after each switch times are as if the other arm were on still.
        boolean arm = true;
        int since = 100;
        for (int i = 0; i < 12 * WINDOW; i++) {
            loop.tick(now * SECOND, isOn(), Optional.empty());
            since = isOn() == arm ? since + 1 : 0;
            arm = isOn();
            boolean effective = since < 15 ? !arm : arm;
            on = effective ? 0.05 : 0.1;
            off = on;
            second();
        }
        windows(0);
        assertThat(loop.effect().effectPercent().orElseThrow()).as(reason()).isCloseTo(-50, within(1.0));
    }

    @Test
    void blocksThatStayLongerThanHalfAWindow_areSaid() {
        residence = Optional.of(Duration.ofMinutes(50));
        windows(4);
        assertThat(reason())
                .contains("blocks stay 3000 s in this cache, longer than half a window")
                .contains("ttftWindowSeconds");
        assertThat(loop.effect().windows()).as("half of each window counts").isEqualTo(2);
    }

    @Test
    void queue_inAnOnWindow_countsForNothing() {
        waiting = 20;
        windows(10);
        assertThat(loop.effect().windows()).isZero();
        assertThat(reason()).endsWith("so holds stay on until the queue is shorter");
    }

    @Test
    void slowerTokens_afterProof_areHarmful() {
        on = 0.05;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
        itlOn = 0.06;
        for (int i = 0; i < 400 && state() == State.PROVEN; i++) {
            windows(1);
        }
        assertThat(state()).isEqualTo(State.HARMFUL);
        assertThat(reason()).isEqualTo("holds lengthen the time between tokens");
    }

    @Test
    void onWindow_inWhichSomethingIsHeldForLessThanHalf_doesNotCountAsHeld() {
        on = 0.05;
        for (int i = 0; i < 20 * WINDOW; i++) {
            // A hold that is there for the last second of each window alone.
            holds = now % WINDOW == WINDOW - 1;
            second();
        }
        assertThat(loop.effect().windows()).isZero();
        assertThat(arms).containsOnly(true);
        assertThat(reason())
                .endsWith(
                        "something was held for 3 % of it, and it takes half, so that what was not held does not count"
                                + " as held");
        holds = true;
        windows(14);
        assertThat(loop.effect().windows()).isEqualTo(12);
    }

    @Test
    void onWindow_inWhichSomethingIsHeldForJustHalf_countsAsHeld() {
        for (int i = 0; i < 20 * WINDOW; i++) {
            holds = now % WINDOW > WINDOW / 2;
            second();
        }
        assertThat(loop.effect().windows()).isZero();
        assertThat(reason()).contains("something was held for 48 % of it");
        for (int i = 0; i < 3 * WINDOW; i++) {
            holds = now % WINDOW >= WINDOW / 2;
            second();
        }
        windows(0);
        assertThat(loop.effect().windows()).isEqualTo(1);
    }

    /** Holds that are let go at the beginning of a window without them are there while the other arm's cache is skipped. */
    @Test
    void whatIsHeldWhileTheOtherArmIsSkipped_isNotHeldInTheWindow() {
        boolean before = true;
        int since = 0;
        for (int i = 0; i < 14 * WINDOW; i++) {
            since = isOn() == before ? since + 1 : 0;
            before = isOn();
            stays = since < 5;
            second();
        }
        windows(0);
        assertThat(loop.effect().windows()).isEqualTo(12);
    }

    @Test
    void fewerComputedTokens_areAGain_thoughFirstTokensComeNoSooner() {
        cachedOn = 0.6;
        cachedOff = 0.2;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
        assertThat(reason()).isEqualTo("requests compute fewer prompt tokens with holds");
        TtftEffect.Computed computed = loop.effect().computed().orElseThrow();
        assertThat(computed.ofUsers()).isFalse();
        assertThat(computed.sharePercent()).isEmpty();
        assertThat(computed.effectPercent().orElseThrow()).isCloseTo(-50, within(0.01));
        assertThat(loop.effect().effectPercent().orElseThrow()).isCloseTo(0, within(0.01));
    }

    /** 24 of 244 requests find 4,000 of their 4,500 tokens with holds, and nothing without. */
    @Test
    void gainOfATenthOfTheRequests_isProven_andSaysWhoseItIs() {
        perSecond = 10;
        usersPerSecond = 1;
        usersFoundOn = 4_000;
        cachedOn = 0.5;
        cachedOff = 0.49;
        on = 0.0985;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
        assertThat(reason())
                .isEqualTo("requests that use held prefixes, 10 % of all, compute fewer prompt tokens with holds");
        TtftEffect.Computed computed = loop.effect().computed().orElseThrow();
        assertThat(computed.ofUsers()).isTrue();
        assertThat(computed.sharePercent().orElseThrow()).isCloseTo(10, within(0.01));
        assertThat(computed.effectPercent().orElseThrow()).isCloseTo(-88.9, within(0.1));
    }

    @Test
    void usersWhoFindNoMore_areNoBenefit() {
        usersPerSecond = 1;
        usersFoundOn = 4_000;
        usersFoundOff = 4_000;
        windows(14);
        assertThat(state()).isEqualTo(State.NO_BENEFIT);
        assertThat(reason())
                .isEqualTo("holds do not shorten time to first token by 3.00 % or more, and requests that use held"
                        + " prefixes, 20 % of all, do not compute that much fewer prompt tokens");
    }

    @Test
    void whatOthersComputeAnew_isNoGain() {
        usersPerSecond = 1;
        usersFoundOn = 4_000;
        cachedOn = 0.3;
        cachedOff = 0.5;
        windows(14);
        assertThat(state()).isEqualTo(State.NO_BENEFIT);
        assertThat(reason()).endsWith("and what holds save, other requests compute anew");
    }

    @Test
    void cachedTokens_thatNobodyTells_areUnknown_andTimesAloneAreJudged() {
        cachedTold = false;
        on = 0.05;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
        assertThat(loop.effect().computed()).isEmpty();
        loop = make();
        now = 0;
        on = 0.1;
        windows(14);
        assertThat(state()).isEqualTo(State.NO_BENEFIT);
        assertThat(reason())
                .endsWith("no source reports what is found in the cache, so computed tokens are not judged");
    }

    @Test
    void noGainOfTimes_isNotNoBenefit_whileTokensAreOpen() {
        windows(2);
        for (int i = 0; i < 16; i++) {
            // Times are the same; what is found is anything.
            cachedOn = i % 3 * 0.3;
            cachedOff = i % 2 * 0.5;
            windows(1);
        }
        assertThat(loop.effect().interval95Percent().orElseThrow().high()).isLessThan(1);
        assertThat(state()).isEqualTo(State.UNPROVEN);
    }

    @Test
    void gainOfAClass_isProven_thoughAllTogetherGainNothing() {
        for (int i = 0; i < 20 * WINDOW; i++) {
            for (int request = 0; request < 20; request++) {
                boolean chat = request == 0;
                loop.firstToken(
                        new FirstToken(
                                chat ? (isOn() ? 0.05 : 0.1) : 0.1,
                                1_000,
                                OptionalInt.empty(),
                                Optional.of(chat ? "chat" : "batch")),
                        now * SECOND);
            }
            second();
        }
        assertThat(state()).isEqualTo(State.PROVEN);
        assertThat(reason())
                .isEqualTo("holds shorten time to first token of requests of the class chat, 5.0 % of those that are"
                        + " reported");
    }

    @Test
    void holdsThatSaveNoMore_areMeasuredAnew() {
        usersPerSecond = 1;
        usersFoundOn = 4_000;
        windows(14);
        assertThat(state()).isEqualTo(State.PROVEN);
        usersFoundOn = 0;
        windows(2);
        assertThat(state()).isEqualTo(State.UNPROVEN);
        usersFoundOn = 4_000;
        windows(16);
        assertThat(state()).isEqualTo(State.PROVEN);
        // What was lost without holds stays by itself now: the one window in twenty without holds shows it.
        usersFoundOff = 4_000;
        for (int i = 0; i < 100 && state() == State.PROVEN; i++) {
            windows(1);
        }
        assertThat(state()).isEqualTo(State.UNPROVEN);
    }

    @Test
    void automaticWindows_areAsLongAsResidenceReuseAndTrafficHaveThem() {
        settings = EffectSettings.DEFAULTS;
        residence = Optional.of(Duration.ofSeconds(10));
        assertThat(automaticWindow()).isEqualTo(60);
        residence = Optional.of(Duration.ofSeconds(50));
        assertThat(automaticWindow()).isEqualTo(150);
        reuse = Optional.of(Duration.ofSeconds(90));
        assertThat(automaticWindow()).isEqualTo(270);
        reuse = Optional.of(Duration.ofMinutes(20));
        assertThat(automaticWindow()).isEqualTo(300);
        reuse = Optional.empty();
        residence = Optional.of(Duration.ofHours(2));
        assertThat(automaticWindow()).isEqualTo(1_800);
    }

    /** Of the first round. */
    private int automaticWindow() {
        loop = make();
        now = 0;
        while (loop.effect().windows() < 1) {
            second();
        }
        long began = now;
        while (loop.effect().windows() < 2) {
            second();
        }
        return (int) (now - began);
    }

    @Test
    void expectation_saysWhenAnAnswerComes_byTrafficAndWindows() {
        settings = EffectSettings.DEFAULTS;
        loop = make();
        for (int i = 0; i < 61; i++) {
            second();
        }
        assertThat(loop.effect().expected()).contains("an answer takes about 13 to 49 minutes at this traffic");
        while (loop.effect().windows() < 4) {
            second();
        }
        assertThat(loop.effect().expected()).contains("an answer takes about 8 to 44 minutes more at this traffic");
    }

    @Test
    void expectation_atTooLittleTraffic_saysTheNumber() {
        settings = EffectSettings.DEFAULTS;
        loop = make();
        perSecond = 0;
        for (int i = 0; i < 4_000; i++) {
            count += 0.011;
            seconds += 0.0011;
            second();
        }
        assertThat(loop.effect().expected().orElseThrow())
                .isEqualTo("no answer is to be expected at this traffic: 0.660 requests a minute are 9 in the part of a"
                        + " window that counts, and it takes 20");
    }

    @Test
    void expectation_beforeAnyRequest_promisesNothing() {
        loop.tick(0, true, Optional.empty());
        assertThat(loop.effect().expected()).contains("how long an answer takes shows when requests come");
    }

    @Test
    void expectation_afterTheEngineBeganToCountAnew_isOfTheRequestsSince() {
        settings = EffectSettings.DEFAULTS;
        loop = make();
        holds = false;
        for (int i = 0; i < 900; i++) {
            second();
        }
        count = 0;
        seconds = 0;
        for (int i = 0; i < 120; i++) {
            second();
        }
        assertThat(loop.effect().expected().orElseThrow()).startsWith("an answer takes about");
    }

    /** Who starts before the traffic does, does not wait for the end of a window of half an hour. */
    @Test
    void quietBeginning_makesNoLongWindowOfTheBusyTimeAfterIt() {
        settings = EffectSettings.DEFAULTS;
        loop = make();
        perSecond = 0;
        for (int i = 0; i < 120; i++) {
            count += i % 60 == 0 ? 1 : 0;
            second();
        }
        assertThat(loop.windowLength()).isGreaterThan(Duration.ofMinutes(20));
        perSecond = 5;
        for (int i = 0; i < 120; i++) {
            second();
        }
        assertThat(loop.windowLength()).isLessThan(Duration.ofMinutes(5));
        assertThat(loop.effect().expected().orElseThrow()).startsWith("an answer takes about");
    }
}
