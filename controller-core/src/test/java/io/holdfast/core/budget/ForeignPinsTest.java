package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class ForeignPinsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long HOUR = 3_600 * SECOND;
    private static final long ALWAYS_QUIET = Long.MIN_VALUE / 2;

    private final ForeignPins pins = new ForeignPins();

    @Test
    void lookAtRest_countsWhatIsNotOurs() {
        look(0, 0, 1_536, 512, ALWAYS_QUIET, 0);
        look(0, 0, 1_536, 512, ALWAYS_QUIET, 5 * SECOND - 1);
        assertThat(pins.tokens(5 * SECOND)).isZero();
        look(0, 0, 1_536, 512, ALWAYS_QUIET, 5 * SECOND);
        assertThat(pins.tokens(5 * SECOND)).isEqualTo(1_024);
        assertThat(pins.seenAtRest(5 * SECOND)).isTrue();
    }

    /** An engine counts what a prompt takes before it counts the request. */
    @Test
    void promptOnItsOwn_thatDoesNotRunYet_isNoPin() {
        look(0, 0, 0, 0, ALWAYS_QUIET, 0);
        for (long now = SECOND; now < 60 * SECOND; now += 6 * SECOND) {
            look(0, 0, 1_936, 0, ALWAYS_QUIET, now);
            look(0, 0, 1_936, 0, ALWAYS_QUIET, now + 3 * SECOND);
            look(1, 0, 1_936, 0, ALWAYS_QUIET, now + 4 * SECOND);
            assertThat(pins.tokens(now + 4 * SECOND)).isZero();
        }
    }

    /** Two prompts on their own, and a call of ours between them. */
    @Test
    void looksThatNobodyTakes_endARiseAllTheSame() {
        look(0, 0, 0, 0, ALWAYS_QUIET, 0);
        look(0, 0, 1_936, 0, ALWAYS_QUIET, SECOND);
        look(1, 0, 1_936, 0, 2 * SECOND, SECOND + 1);
        readings(0, 0, 1_936, 1, 0, 2 * SECOND, 7 * SECOND);
        readings(0, 0, 1_936, 2, 0, 2 * SECOND, 8 * SECOND);
        assertThat(pins.tokens(8 * SECOND)).isZero();
    }

    /** What is believed is what every look showed. */
    @Test
    void riseThatGoesAgain_isBelievedAsFarAsItStayed() {
        look(0, 0, 2_000, 0, ALWAYS_QUIET, 0);
        look(0, 0, 700, 0, ALWAYS_QUIET, 3 * SECOND);
        look(0, 0, 900, 0, ALWAYS_QUIET, 6 * SECOND);
        assertThat(pins.tokens(6 * SECOND)).isEqualTo(700);
    }

    @Test
    void lookAtRest_isBelievedUntilALaterOneOrAClear() {
        rested(1_536, ALWAYS_QUIET, 0);
        look(5, 0, 4_000, 0, ALWAYS_QUIET, 10 * SECOND);
        assertThat(pins.tokens(10 * SECOND)).isEqualTo(1_536);
        look(0, 0, 512, 0, ALWAYS_QUIET, 20 * SECOND);
        assertThat(pins.tokens(20 * SECOND)).isEqualTo(512);
        pins.forget();
        assertThat(pins.tokens(20 * SECOND)).isZero();
    }

    @Test
    void lookUnderLoad_lowersAndNeverRaises() {
        rested(1_536, ALWAYS_QUIET, 0);
        look(1, 0, 1_000, 0, ALWAYS_QUIET, 6 * SECOND);
        assertThat(pins.tokens(6 * SECOND)).isEqualTo(1_000);
        look(1, 0, 3_000, 0, ALWAYS_QUIET, 7 * SECOND);
        assertThat(pins.tokens(7 * SECOND)).isEqualTo(1_000);
    }

    @Test
    void engineThatNeverRests_theSmallestOfTheHourCounts() {
        look(3, 0, 9_000, 0, ALWAYS_QUIET, 0);
        look(1, 0, 2_000, 0, ALWAYS_QUIET, SECOND);
        look(3, 0, 8_000, 0, ALWAYS_QUIET, 2 * SECOND);
        assertThat(pins.tokens(2 * SECOND)).isEqualTo(2_000);
        assertThat(pins.seenAtRest(2 * SECOND)).isFalse();
        look(3, 0, 7_000, 0, ALWAYS_QUIET, HOUR + 10 * SECOND);
        assertThat(pins.tokens(HOUR + 10 * SECOND)).isEqualTo(7_000);
    }

    @Test
    void callOfOurs_noLookCountsBeforeTheNumberIsRenewed() {
        // Ours is counted from the call on, the engine's number at rest comes up to half a minute later.
        look(0, 0, 512, 0, 10 * SECOND, 10 * SECOND);
        look(0, 0, 512, 0, 10 * SECOND, 44 * SECOND);
        assertThat(pins.tokens(44 * SECOND)).isZero();
        rested(512, 10 * SECOND, 45 * SECOND);
        assertThat(pins.tokens(50 * SECOND)).isEqualTo(512);
    }

    @Test
    void requestServedSinceTheCall_renewsTheNumber() {
        look(0, 0, 512, 0, 10 * SECOND, 11 * SECOND);
        readings(0, 0, 768, 1, 0, 10 * SECOND, 12 * SECOND);
        readings(0, 0, 768, 1, 0, 10 * SECOND, 17 * SECOND);
        assertThat(pins.tokens(17 * SECOND)).isEqualTo(768);
    }

    @Test
    void numberAskedBeforeTheLastCall_saysNothing() {
        look(0, 0, 512, 0, 10 * SECOND, 9 * SECOND);
        assertThat(pins.tokens(50 * SECOND)).isZero();
    }

    @Test
    void requestServedBeforeTheCall_renewsNothing() {
        readings(0, 0, 0, 5, 0, ALWAYS_QUIET, 0);
        readings(0, 0, 512, 6, 0, 10 * SECOND, 11 * SECOND);
        assertThat(pins.tokens(11 * SECOND))
                .as("served before the call, as far as is known")
                .isZero();
        readings(0, 0, 512, 6, 0, 20 * SECOND, 19 * SECOND);
        readings(0, 0, 512, 7, 0, 20 * SECOND, 21 * SECOND);
        assertThat(pins.tokens(21 * SECOND)).as("asked before the call").isZero();
        readings(0, 0, 512, 8, 0, 20 * SECOND, 22 * SECOND);
        readings(0, 0, 512, 8, 0, 20 * SECOND, 27 * SECOND);
        assertThat(pins.tokens(27 * SECOND)).isEqualTo(512);
    }

    @Test
    void whatWasSeenMoreThanAnHourAgo_isNotBelieved() {
        rested(1_000, ALWAYS_QUIET, 0);
        look(1, 0, 800, 0, ALWAYS_QUIET, 6 * SECOND);
        for (long now = 0; now <= HOUR + 600 * SECOND; now += 300 * SECOND) {
            look(1, 0, 5_000, 0, ALWAYS_QUIET, now);
            assertThat(pins.tokens(now)).isEqualTo(now <= HOUR ? 800 : 5_000);
        }
    }

    @Test
    void unknownNumber_saysNothing() {
        EngineReadings unknown = Samples.with(
                Samples.readings(10_000, 16, 1_000, 0, 0, 512), "usedTokens", Reading.unknown("not exported"));
        pins.look(unknown, 0, ALWAYS_QUIET, 0);
        assertThat(pins.tokens(0)).isZero();
    }

    /** An engine whose number lags behind, with pins and unpins of ours: others' pins are found, ours never taken for them. */
    @Test
    void randomLives_whatIsBelievedIsWhatOthersHold() {
        for (int seed = 1; seed <= 300; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            ForeignPins found = new ForeignPins();
            long foreign = 0;
            long ours = 0;
            long shown = 0;
            long shownAt = 0;
            long quietSince = ALWAYS_QUIET;
            long now = 0;
            for (int step = 0; step < 400; step++) {
                now += SECOND / 2;
                int what = random.nextInt(40);
                if (what == 0) {
                    foreign = 16L * random.nextInt(64);
                } else if (what == 1) {
                    ours = 16L * random.nextInt(64);
                    quietSince = now;
                }
                boolean rests = random.nextInt(4) != 0;
                long running = rests ? 0 : 16L * random.nextInt(1, 200);
                if (!rests || now - shownAt >= 30 * SECOND) {
                    shown = foreign + ours + running;
                    shownAt = now;
                }
                EngineReadings readings = Samples.readings(
                        100_000, 16, 50_000, shown > foreign + ours ? 1 : 0, 0, (double) shown, 0, 0, now);
                found.look(readings, ours, quietSince, now);
            }
            // Two minutes of rest without a call of ours show exactly what others hold.
            for (int look = 0; look < 240; look++) {
                now += SECOND / 2;
                found.look(
                        Samples.readings(100_000, 16, 50_000, 0, 0, (double) (foreign + ours)), ours, quietSince, now);
            }
            assertThat(found.tokens(now)).as("seed %d", seed).isEqualTo(foreign);
        }
    }

    /** Looks at an engine that rests long enough to be believed. */
    private void rested(long used, long quietSince, long from) {
        look(0, 0, used, 0, quietSince, from);
        look(0, 0, used, 0, quietSince, from + 5 * SECOND);
    }

    private void look(int running, int waiting, long used, long ours, long quietSince, long now) {
        readings(running, waiting, used, 0, ours, quietSince, now);
    }

    private void readings(int running, int waiting, long used, long served, long ours, long quietSince, long now) {
        pins.look(
                Samples.readings(100_000, 16, 50_000, running, waiting, (double) used, 0, (double) served, now),
                ours,
                quietSince,
                now);
    }
}
