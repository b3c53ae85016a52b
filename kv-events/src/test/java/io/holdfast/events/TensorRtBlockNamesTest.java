package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.StoredBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The vectors were computed by another implementation of the rule that the engine's source has; no engine was run. */
final class TensorRtBlockNamesTest {
    private static final int[] TOKENS = IntStream.rangeClosed(1, 8).toArray();

    @Test
    void blocks_chain() {
        assertThat(TensorRtBlockNames.of(TOKENS, 4)).containsExactly(-2003500929019345749L, 8460888372051954880L);
        assertThat(TensorRtBlockNames.of(IntStream.rangeClosed(100, 227).toArray(), 64))
                .containsExactly(-1453653862479680629L, 7921602693595225221L);
    }

    @Test
    void largestToken_isFourBytes() {
        assertThat(TensorRtBlockNames.of(new int[] {Integer.MAX_VALUE, 5, 9}, 2))
                .containsExactly(-4852064886827265258L);
    }

    @Test
    void salt_changesEveryName() {
        byte[] first = TensorRtBlockNames.next(TensorRtBlockNames.root(OptionalLong.of(7)), TOKENS, 0, 4);
        byte[] second = TensorRtBlockNames.next(first, TOKENS, 4, 4);

        assertThat(TensorRtBlockNames.name(first)).isEqualTo(8844936961183559918L);
        assertThat(TensorRtBlockNames.name(second)).isEqualTo(-982649131580783640L);
    }

    @Test
    void digests_continueTheChainOfNames() {
        byte[] first = TensorRtBlockNames.next(TensorRtBlockNames.root(OptionalLong.empty()), TOKENS, 0, 4);
        byte[] second = TensorRtBlockNames.next(first, TOKENS, 4, 4);

        assertThat(TensorRtBlockNames.of(TOKENS, 4))
                .containsExactly(TensorRtBlockNames.name(first), TensorRtBlockNames.name(second));
    }

    /** Its events tell of no salt, and a salted prefix cannot be stored again by its tokens alone. */
    @ParameterizedTest
    @CsvSource({"-2003500929019345749, false", "8844936961183559918, true"})
    void prefixThatTheRuleNamesOtherwise_isTakenForSalted(long named, boolean salted) {
        List<Boolean> told = new ArrayList<>();
        BlockNaming.tensorRt()
                .listening(new RelayedEvents(new EventLog()) {
                    @Override
                    public void stored(StoredBlocks chain) {
                        told.add(chain.namespaced());
                    }
                })
                .stored(new StoredBlocks().blockTokens(4).add(named).tokens(TOKENS, 0, 4));
        assertThat(told).containsExactly(salted);
    }
}
