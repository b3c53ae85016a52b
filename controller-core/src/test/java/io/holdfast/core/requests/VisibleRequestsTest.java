package io.holdfast.core.requests;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Blocks have 16 tokens here; a block is named by a number that the test chose. */
final class VisibleRequestsTest {
    private static final int SIZE = 16;
    private static final long MILLI = 1000;
    private static final long SECOND = 1000 * MILLI;

    private final List<String> prompts = new ArrayList<>();
    private final List<VisibleRequest> completed = new ArrayList<>();
    private final RequestListener listener = new RequestListener() {
        @Override
        public void prompt(VisibleRequest request, int before) {
            prompts.add(before + "-" + request.promptBlocks());
        }

        @Override
        public void completed(VisibleRequest request) {
            completed.add(request);
        }
    };
    private final Followed vllm = new Followed(RequestRules.vllm(), listener);
    private final Followed sglang = new Followed(RequestRules.sglang(), listener);
    private long stamp = SECOND;
    private long sequence;

    @Test
    void vllm_decodeBlocksOfTwoRequests_extendEachItsOwn() {
        batch(vllm, 0, root(1, 2, 3));
        batch(vllm, 10 * MILLI, under(2, 20, 21));
        batch(vllm, 100 * MILLI, under(3, 4), under(21, 22));
        batch(vllm, 300 * MILLI, under(4, 5));
        batch(vllm, 30 * MILLI, under(22, 23));
        vllm.requests.flush();
        assertThat(told())
                .containsExactlyInAnyOrder("5: 5 blocks 0 hits 5 new 2 output?", "23: 6 blocks 2 hits 4 new 2 output?");
        assertThat(vllm.requests.seen()).isEqualTo(2);
        assertThat(prompts).containsExactly("0-3", "0-4");
    }

    @Test
    void vllm_twoBlocksUnderAnEnd_areAnotherRequest() {
        batch(vllm, 0, root(1, 2));
        batch(vllm, 100 * MILLI, under(2, 3, 4));
        vllm.requests.flush();
        assertThat(told()).containsExactly("2: 2 blocks 0 hits 2 new 0 output", "4: 4 blocks 2 hits 2 new 0 output");
    }

    @Test
    void vllm_storeUnderAnEndInTheSameStep_isAnotherRequest() {
        batch(vllm, 0, root(1, 2), under(2, 3));
        vllm.requests.flush();
        assertThat(told()).containsExactly("2: 2 blocks 0 hits 2 new 0 output", "3: 3 blocks 2 hits 1 new 0 output");
    }

    @Test
    void vllm_blockThatCameFasterOrSlowerThanAnyEngineDecodes_isAnotherRequest() {
        batch(vllm, 0, root(1, 2));
        batch(vllm, 20 * SECOND, under(2, 3));
        batch(vllm, 100 * MILLI, under(3, 4));
        batch(vllm, MILLI, under(4, 5));
        vllm.requests.flush();
        assertThat(told())
                .containsExactly(
                        "2: 2 blocks 0 hits 2 new 0 output",
                        "4: 4 blocks 2 hits 2 new 1 output?",
                        "5: 5 blocks 4 hits 1 new 0 output");
    }

    @Test
    void vllm_lastBlockOfAnAlignedRepeat_isNewThoughItWasThere() {
        batch(vllm, 0, root(1, 2, 3, 4));
        batch(vllm, SECOND, under(3, 4));
        removed(vllm, 4);
        assertThat(completed).hasSize(1);
        removed(vllm, 4);
        assertThat(told()).containsExactly("4: 4 blocks 0 hits 4 new 0 output", "4: 4 blocks 3 hits 1 new 0 output");
    }

    @Test
    void vllm_hitsReportedFromTheRoot_areHits() {
        batch(vllm, 0, root(1, 2, 3, 4));
        batch(vllm, SECOND, root(1, 2, 3, 4));
        batch(vllm, SECOND, root(1, 2, 8, 9));
        removed(vllm, 4);
        vllm.requests.flush();
        assertThat(told())
                .containsExactly(
                        "4: 4 blocks 0 hits 4 new 0 output",
                        "4: 4 blocks 4 hits 0 new 0 output",
                        "9: 4 blocks 2 hits 2 new 0 output");
    }

    /** SGLang tells of the prompt that it cut after the rest of its step, when it goes on with it. */
    @Test
    void sglang_smallPartOfACutPromptThatIsToldLate_isOfOneRequestWithTheNext() {
        batch(sglang, 0, root(series(1, 500)));
        batch(sglang, 60 * MILLI, root(series(1001, 12)));
        batch(sglang, 60 * MILLI, under(1012, series(1013, 512)));
        batch(sglang, 60 * MILLI, under(1524, series(1525, 30)));
        sglang.requests.flush();
        assertThat(told())
                .containsExactlyInAnyOrder(
                        "500: 500 blocks 0 hits 500 new 0 output", "1554: 554 blocks 0 hits 554 new 0 output?");
    }

    @Test
    void sglang_partOfACutPromptThatIsToldWithItsRest_isOfOneRequestWithIt() {
        batch(sglang, 0, root(series(1, 500)));
        batch(sglang, 60 * MILLI, root(series(1001, 12)), under(1012, series(1013, 40)), root(series(2001, 5)));
        sglang.requests.flush();
        assertThat(told())
                .containsExactlyInAnyOrder(
                        "500: 500 blocks 0 hits 500 new 0 output",
                        "1052: 52 blocks 0 hits 52 new 0 output?",
                        "2005: 5 blocks 0 hits 5 new 0 output");
    }

    /** Nothing was cut where there was room: a longer prompt with the same begin came at the same time. */
    @Test
    void sglang_storeUnderAnEndInTheSameStep_isAnotherRequestWhereTheStepBeforeHadRoom() {
        batch(sglang, 0, root(series(1, 20)));
        batch(sglang, 60 * MILLI, root(series(1001, 12)), under(1012, series(1013, 40)));
        sglang.requests.flush();
        assertThat(sglang.requests.seen()).isEqualTo(3);
    }

    /** What was cut is told of before the others of the step in which it goes on. */
    @Test
    void sglang_storeUnderAnEndThatIsNotTheFirstOfItsStep_isAnotherRequest() {
        batch(sglang, 0, root(series(1, 500)));
        batch(sglang, 60 * MILLI, root(series(2001, 5)), root(series(1001, 12)), under(1012, series(1013, 40)));
        sglang.requests.flush();
        assertThat(told())
                .containsExactlyInAnyOrder(
                        "500: 500 blocks 0 hits 500 new 0 output",
                        "2005: 5 blocks 0 hits 5 new 0 output",
                        "1012: 12 blocks 0 hits 12 new 0 output?",
                        "1052: 52 blocks 12 hits 40 new 0 output?");
    }

    /** The engine was at rest in between, so what it tells of now had room. */
    @Test
    void sglang_fullStepLongBefore_cutNothingThatIsToldOfNow() {
        long late = RequestRules.sglang().nextChunk().toMillis() * MILLI;
        batch(sglang, 0, root(series(1, 500)));
        batch(sglang, late, root(series(1001, 12)), under(1012, series(1013, 40)));
        sglang.requests.flush();
        assertThat(sglang.requests.seen()).as("just in time").isEqualTo(2);
        batch(sglang, 60 * MILLI, root(series(3001, 500)));
        batch(sglang, late + MILLI, root(series(4001, 12)), under(4012, series(4013, 40)));
        sglang.requests.flush();
        assertThat(sglang.requests.seen()).isEqualTo(2 + 3);
    }

    /** The end of an answer may be told of after the prompts of its step. */
    @Test
    void sglang_answerThatEndsInTheStep_doesNotHideThatItsLastPromptWasCut() {
        batch(sglang, 0, root(series(1, 4)));
        batch(sglang, 500 * MILLI, root(series(1001, 500)), under(4, 5));
        batch(sglang, 60 * MILLI, under(1500, series(1501, 512)));
        sglang.requests.flush();
        assertThat(told())
                .containsExactlyInAnyOrder(
                        "5: 5 blocks 0 hits 5 new 1 output?", "2012: 1012 blocks 0 hits 1012 new 0 output?");
    }

    @Test
    void chunks_ofAPromptThatFilledItsSteps_areOneRequest() {
        batch(vllm, 0, root(series(1, 64)));
        batch(vllm, 200 * MILLI, under(64, series(65, 64)));
        batch(vllm, 200 * MILLI, under(128, series(129, 10)));
        batch(vllm, 200 * MILLI, under(138, series(200, 2)));
        vllm.requests.flush();
        assertThat(told())
                .containsExactly("138: 138 blocks 0 hits 138 new 0 output?", "201: 140 blocks 138 hits 2 new 0 output");
        assertThat(prompts).containsExactly("0-64", "64-128", "128-138", "0-140");
    }

    @Test
    void sglang_finish_endsTheRequestAndWhatFollowsUnderItIsAnother() {
        batch(sglang, 0, root(1, 2, 3));
        batch(sglang, 2 * SECOND, under(3, 4, 5));
        batch(sglang, SECOND, under(5, 6, 7));
        batch(sglang, 30 * SECOND, under(7, 8));
        sglang.requests.flush();
        assertThat(told())
                .containsExactly(
                        "5: 5 blocks 0 hits 5 new 2 output?",
                        "7: 7 blocks 5 hits 2 new 0 output?",
                        "8: 8 blocks 7 hits 1 new 0 output");
    }

    @Test
    void sglang_blocksLoadedFromTheHost_areHitsOfThePrefillAfterThem() {
        batch(sglang, 0, root(1, 2, 3), on(Tier.HOST, root(1, 2, 3)));
        removed(sglang, 1, 2, 3);
        batch(sglang, SECOND, root(1, 2, 3), under(3, 4));
        batch(sglang, SECOND, under(4, 5));
        sglang.requests.flush();
        assertThat(told()).containsExactly("3: 3 blocks 0 hits 3 new 0 output", "5: 5 blocks 3 hits 2 new 1 output?");
    }

    @Test
    void sglang_sameChainAgain_isATwinInAnotherNamespace() {
        batch(sglang, 0, root(1, 2));
        batch(sglang, SECOND, root(1, 2));
        sglang.requests.flush();
        assertThat(told()).containsExactly("2: 2 blocks 0 hits 2 new 0 output", "2: 2 blocks 0 hits 2 new 0 output");
    }

    @Test
    void removalOfTheLastBlock_completesTheRequest() {
        batch(sglang, 0, root(1, 2, 3));
        removed(sglang, 3);
        assertThat(told()).containsExactly("3: 3 blocks 0 hits 3 new 0 output");
        batch(sglang, SECOND, under(2, 3));
        sglang.requests.flush();
        assertThat(told()).last().isEqualTo("3: 3 blocks 2 hits 1 new 0 output");
    }

    @Test
    void idle_oneRequestInBetween_itsPromptIsWhatTheEngineCounted() {
        sglang.requests.idle(OptionalLong.of(7), OptionalLong.of(1000));
        batch(sglang, 0, root(1, 2, 3));
        sglang.requests.idle(OptionalLong.of(8), OptionalLong.of(1000 + 3 * SIZE));
        batch(sglang, SECOND, under(3, 4, 5));
        sglang.requests.idle(OptionalLong.of(9), OptionalLong.of(1000 + 6 * SIZE));
        batch(sglang, SECOND, under(5, 6, 7));
        sglang.requests.idle(OptionalLong.of(11), OptionalLong.of(5000));
        assertThat(told())
                .containsExactly(
                        "3: 3 blocks 0 hits 3 new 0 output",
                        "5: 5 blocks 3 hits 2 new 2 output",
                        "7: 7 blocks 5 hits 2 new 0 output");
        assertThat(completed.get(1).promptTokens()).hasValue(3 * SIZE);
        assertThat(completed.get(2).promptTokens()).isEmpty();
    }

    @Test
    void idle_judgedRequestWasAlone_isNotJudgedAnyMore() {
        vllm.requests.idle(OptionalLong.of(0), OptionalLong.of(0));
        batch(vllm, 0, root(1, 2));
        batch(vllm, 300 * MILLI, under(2, 3));
        vllm.requests.idle(OptionalLong.of(1), OptionalLong.of(2 * SIZE + 5));
        assertThat(told()).containsExactly("3: 3 blocks 0 hits 3 new 1 output");
    }

    @Test
    void gap_leavesRequestsJudgedAndDepthsUnknown() {
        batch(vllm, 0, root(1, 2, 3));
        vllm.gap(new Gap(Gap.Cause.DROPPED, 5, 7));
        batch(vllm, SECOND, under(3, 4, 5));
        vllm.requests.flush();
        assertThat(told()).containsExactly("3: 3 blocks 0 hits 3 new 0 output?", "5: 0 blocks 0 hits 2 new 0 output");
    }

    @Test
    void clear_andRestart_completeAllAndForgetTheBlocks() {
        batch(vllm, 0, root(1, 2));
        vllm.cleared();
        batch(vllm, SECOND, root(1, 2));
        vllm.restarted(0);
        batch(vllm, SECOND, root(1, 2));
        vllm.requests.flush();
        assertThat(told()).hasSize(3).containsOnly("2: 2 blocks 0 hits 2 new 0 output");
    }

    @Test
    void openRequests_areBoundedInNumberAndTime() {
        RequestRules few = new RequestRules(
                RequestRules.Decoding.EACH_BLOCK,
                RequestRules.vllm().fastestToken(),
                RequestRules.vllm().slowestToken(),
                1024,
                RequestRules.vllm().nextChunk(),
                Duration.ofSeconds(60),
                2);
        Followed bounded = new Followed(few, listener);
        batch(bounded, 0, root(1), root(2), root(3));
        assertThat(completed).hasSize(1);
        batch(bounded, 61 * SECOND, root(4));
        assertThat(told()).hasSize(3).doesNotContain("4: 1 blocks 0 hits 1 new 0 output");
        assertThat(bounded.requests.seen()).isEqualTo(4);
    }

    @Test
    void otherGroups_tellNothingNew() {
        batch(vllm, 0, root(1, 2), root(1, 2).group(1));
        vllm.removed(new long[] {2}, 0, 1, Tier.GPU, 1);
        vllm.requests.flush();
        assertThat(told()).containsExactly("2: 2 blocks 0 hits 2 new 0 output");
    }

    @Test
    void decodeBlocks_allocateNothing() {
        StoredBlocks chain = new StoredBlocks();
        long[] gone = new long[1];
        long next = decode(chain, gone, 1, 200_000);
        ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = thread.getCurrentThreadAllocatedBytes();
        decode(chain, gone, next, 200_000);
        assertThat(thread.getCurrentThreadAllocatedBytes() - before).isLessThan(200_000);
    }

    /** One long request after another, while blocks behind them leave. */
    private long decode(StoredBlocks chain, long[] gone, long first, int blocks) {
        for (long block = first; block < first + blocks; block++) {
            stamp += 100 * MILLI;
            vllm.batchStarted(sequence++, stamp);
            chain.reset().blockTokens(SIZE).add(block);
            if (block % 2_000 != 1) {
                chain.under(block - 1);
            }
            vllm.stored(chain);
            if (block > 1000) {
                gone[0] = block - 1000;
                vllm.removed(gone, 0, 1, Tier.GPU, 0);
            }
            vllm.batchEnded();
        }
        return first + blocks;
    }

    private List<String> told() {
        return completed.stream()
                .map(r -> r.lastBlock() + ": " + r.blocks() + " blocks " + r.hits() + " hits " + r.newBlocks() + " new "
                        + r.outputBlocks() + " output" + (r.judged() ? "?" : ""))
                .toList();
    }

    private void batch(Followed to, long later, StoredBlocks... chains) {
        stamp += later;
        to.batchStarted(sequence++, stamp);
        for (StoredBlocks chain : chains) {
            to.stored(chain);
        }
        to.batchEnded();
    }

    private void removed(Followed to, long... hashes) {
        to.batchStarted(sequence++, stamp);
        to.removed(hashes, 0, hashes.length, Tier.GPU, 0);
        to.batchEnded();
    }

    private static StoredBlocks root(long... hashes) {
        StoredBlocks chain = new StoredBlocks().blockTokens(SIZE);
        for (long hash : hashes) {
            chain.add(hash);
        }
        return chain;
    }

    private static StoredBlocks under(long parent, long... hashes) {
        return root(hashes).under(parent);
    }

    private static StoredBlocks on(Tier tier, StoredBlocks chain) {
        return chain.in(tier);
    }

    private static long[] series(long first, int count) {
        long[] hashes = new long[count];
        for (int i = 0; i < count; i++) {
            hashes[i] = first + i;
        }
        return hashes;
    }
}
