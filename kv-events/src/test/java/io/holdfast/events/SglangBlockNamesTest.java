package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The vectors were computed with SGLang's own code. */
final class SglangBlockNamesTest {
    @Test
    void pagesOfFour_chain() {
        assertThat(SglangBlockNames.of(range(1, 8), 4)).containsExactly(-3488128144981237669L, 5674439469042975057L);
    }

    @Test
    void pagesOfSixtyFour_chain() {
        assertThat(SglangBlockNames.of(range(100, 227), 64))
                .containsExactly(2199472829721349091L, 6538912956828024294L);
    }

    @Test
    void pagesOfOneToken_chain() {
        assertThat(SglangBlockNames.of(new int[] {128000, 128006, 9125}, 1))
                .containsExactly(-6351989031917837461L, 3691323131900188220L, -2372318320219481939L);
    }

    @Test
    void pagesOfTwo_chain() {
        assertThat(SglangBlockNames.of(new int[] {1, 2, 7, 8}, 2))
                .containsExactly(3817746824117602890L, 863173374788446151L);
    }

    @Test
    void largestToken_isFourBytesUnsigned() {
        assertThat(SglangBlockNames.of(new int[] {0, -1}, 2)).containsExactly(6449551850172071658L);
    }

    @Test
    void sixteenZeros_haveAName() {
        assertThat(SglangBlockNames.of(new int[16], 16)).containsExactly(-745911699836886992L);
    }

    @Test
    void tailShorterThanABlock_hasNoName() {
        int[] tokens = range(1, 8);
        assertThat(SglangBlockNames.of(Arrays.copyOf(tokens, 7), 4)).containsExactly(-3488128144981237669L);
        assertThat(SglangBlockNames.of(Arrays.copyOf(tokens, 3), 4)).isEmpty();
        assertThat(SglangBlockNames.of(new int[0], 4)).isEmpty();
    }

    @Test
    void salt_changesEveryName() {
        assertThat(SglangBlockNames.of(new int[] {1, 2, 7, 8}, 2, "tenant-a"))
                .containsExactly(31502315585564397L, 4743673046050733608L);
    }

    @Test
    void emptySalt_isNone() {
        assertThat(SglangBlockNames.of(range(1, 8), 4, "")).containsExactly(SglangBlockNames.of(range(1, 8), 4));
    }

    @Test
    void pairs_overlapByOneToken() {
        assertThat(SglangBlockNames.ofPairs(range(1, 9), 4, ""))
                .containsExactly(-638950109823820341L, -4369944537645631836L);
    }

    @Test
    void pairsOfATailShorterThanABlock_haveNoName() {
        assertThat(SglangBlockNames.ofPairs(range(1, 8), 4, "")).containsExactly(-638950109823820341L);
        assertThat(SglangBlockNames.ofPairs(range(1, 4), 4, "")).isEmpty();
        assertThat(SglangBlockNames.ofPairs(new int[0], 1, "")).isEmpty();
    }

    @Test
    void saltedPairs_chainToTheSalt() {
        assertThat(SglangBlockNames.ofPairs(range(1, 9), 4, "tenant-a"))
                .containsExactly(2832294365426534333L, 3603037882432405245L);
    }

    @Test
    void blockOfNoTokens_isRefused() {
        assertThatThrownBy(() -> SglangBlockNames.of(new int[4], 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("A block has at least one token, not 0.");
    }

    private static int[] range(int first, int last) {
        return IntStream.rangeClosed(first, last).toArray();
    }
}
