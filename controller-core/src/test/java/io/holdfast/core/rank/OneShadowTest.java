package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class OneShadowTest {
    private static final double RESIDENCE = 20;
    /** Five residences. */
    private static final double WINDOW = 100;

    private final OneShadow licence = new OneShadow();
    private double now;

    @Test
    void engineThatFindsAsMuch_goesOnPinning() {
        assertThat(windows(5, 0)).containsOnly(true);
        assertThat(windows(5, 3)).containsOnly(true);
    }

    @Test
    void losingWindows_areFollowedByLongerAndLongerRests() {
        assertThat(rests(-1, 6)).containsExactly(1, 2, 4, 8, 16, 16);
        while (!windows(1, 1).getFirst()) {
            assertThat(now).isLessThan(100 * WINDOW);
        }
        assertThat(rests(-1, 2)).as("a window that won begins anew").containsExactly(1, 2);
    }

    @Test
    void whatIsFoundDuringARest_tellsNothing() {
        windows(1, -1);
        assertThat(licence.decide(now, RESIDENCE)).isFalse();
        licence.request(0, 1_000);
        now += WINDOW;
        assertThat(licence.decide(now, RESIDENCE)).isTrue();
        now += WINDOW;
        assertThat(licence.decide(now, RESIDENCE)).isTrue();
    }

    @Test
    void window_isAMinuteToTwentyMinutes() {
        licence.decide(0, 1);
        licence.request(0, 1);
        assertThat(licence.decide(59, 1)).isTrue();
        assertThat(licence.decide(60, 1)).isFalse();
        OneShadow slow = new OneShadow();
        slow.decide(0, 1_000);
        slow.request(0, 1);
        assertThat(slow.decide(1_199, 1_000)).isTrue();
        assertThat(slow.decide(1_200, 1_000)).isFalse();
    }

    @Test
    void share_fallsWithResidenceOverReuse() {
        assertThat(RankSettings.Share.FIXED.of(100, 1)).isEqualTo(0.8);
        assertThat(RankSettings.Share.BY_RESIDENCE.of(100, 0)).isEqualTo(0.8);
        assertThat(RankSettings.Share.BY_RESIDENCE.of(14, 10)).isEqualTo(0.8);
        assertThat(RankSettings.Share.BY_RESIDENCE.of(15, 10)).isEqualTo(0.4);
        assertThat(RankSettings.Share.BY_RESIDENCE.of(50, 10)).isEqualTo(0.1);
    }

    /** Whether each of so many windows pinned, in which the engine found so much more. */
    private List<Boolean> windows(int count, int advantage) {
        List<Boolean> pinned = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            pinned.add(licence.decide(now, RESIDENCE));
            licence.request(Math.max(0, advantage), Math.max(0, -advantage));
            now += WINDOW;
        }
        return pinned;
    }

    /** How many windows each of so many rests lasts. */
    private List<Integer> rests(int advantage, int count) {
        List<Integer> rests = new ArrayList<>();
        int rest = 0;
        while (rests.size() < count) {
            boolean pins = windows(1, advantage).getFirst();
            if (pins && rest > 0) {
                rests.add(rest);
            }
            rest = pins ? 0 : rest + 1;
        }
        return rests;
    }
}
