package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.vllm.VllmSettings.Policy;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What was measured on real servers, and what their scheduler's code says where nobody measured. */
class VllmEngineTest {
    private static final int BLOCK = 16;

    private final VllmBench bench = new VllmBench(VllmSettings.defaults());

    /** 255 usable blocks, a prefix of 30, floods of prompts of 20 full blocks: 225 free ones ahead of the prefix. */
    @ParameterizedTest
    @CsvSource({"4, true", "8, true", "11, true", "12, false", "13, false", "15, false"})
    void keepingWarmWorksUpToElevenFloodPromptsBetweenTouches(int floods, boolean kept) {
        int[] prefix = prompt(0, 30 * BLOCK + 3);
        bench.serve(prefix, RequestOptions.of(1));
        int next = 1;
        int touches = 60 / floods;
        int hits = 0;
        for (int touch = 0; touch < touches; touch++) {
            for (int i = 0; i < floods; i++) {
                bench.serve(prompt(next++, 20 * BLOCK + 3), RequestOptions.of(1));
            }
            hits += bench.serve(prefix, RequestOptions.of(1)).cachedTokens == 30 * BLOCK ? 1 : 0;
        }
        assertThat(hits).isEqualTo(kept ? touches : 0);
    }

    @Test
    void alignedPrompt_repeated_storesItsLastBlockAgainAndCountsBothCopies() {
        int[] prompt = prompt(0, 4 * BLOCK);
        bench.serve(prompt, RequestOptions.of(1));
        CacheEvent.Stored first = stored(bench.frames.getLast());
        assertThat(first.blocks()).hasSize(4);
        for (int repeat = 0; repeat < 3; repeat++) {
            assertThat(bench.serve(prompt, RequestOptions.of(1)).cachedTokens).isEqualTo(3 * BLOCK);
            CacheEvent.Stored again = stored(bench.frames.getLast());
            assertThat(again.blocks()).containsExactly(first.blocks().getLast());
            assertThat(again.parent()).contains(first.blocks().get(2));
        }
        assertThat(bench.frames).hasSize(4);
        for (int flood = 1; flood <= 13; flood++) {
            bench.serve(prompt(flood, 20 * BLOCK), RequestOptions.of(1));
        }
        assertThat(bench.frames.stream()
                        .flatMap(List::stream)
                        .filter(event -> event instanceof CacheEvent.Removed removed
                                && removed.blocks()
                                        .equals(List.of(first.blocks().getLast()))))
                .hasSize(4);
    }

    @Test
    void promptWithOneTokenMoreThanItsBlocks_repeated_hitsAllAndTellsNothing() {
        bench.serve(prompt(0, 4 * BLOCK + 1), RequestOptions.of(1));
        bench.frames.clear();
        assertThat(bench.serve(prompt(0, 4 * BLOCK + 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(4 * BLOCK);
        assertThat(bench.frames).isEmpty();
    }

    @Test
    void blockFilledByAnswer_isStoredUnderItsParentWhenItsLastTokenIsComputed() {
        Heard heard = bench.serve(prompt(0, BLOCK - 2), RequestOptions.of(BLOCK + 3));
        assertThat(heard.tokens).hasSize(BLOCK + 3);
        assertThat(bench.frames).hasSize(2);
        CacheEvent.Stored second = stored(bench.frames.getLast());
        assertThat(second.parent())
                .contains(stored(bench.frames.getFirst()).blocks().getFirst());
        assertThat(second.tokens().toArray())
                .containsExactly(heard.tokens.subList(2, BLOCK + 2).stream()
                        .mapToInt(i -> i)
                        .toArray());
        // Two tokens of the answer fill the first block, sixteen the second, and the last is never computed.
        bench.serve(prompt(1, BLOCK - 2), RequestOptions.of(BLOCK + 2));
        assertThat(bench.frames).hasSize(3);
    }

    @Test
    void removals_comeBeforeTheStoreThatTheyMadeRoomFor() {
        for (int i = 0; i < 20; i++) {
            bench.serve(prompt(i, 20 * BLOCK), RequestOptions.of(1));
        }
        List<CacheEvent> last = bench.frames.getLast();
        assertThat(last).hasSize(21);
        assertThat(last.subList(0, 20))
                .allSatisfy(event ->
                        assertThat(((CacheEvent.Removed) event).blocks()).hasSize(1));
        assertThat(last.getLast()).isInstanceOf(CacheEvent.Stored.class);
    }

    @Test
    void chains_loseTheirTailFirst() {
        bench.serve(prompt(0, 20 * BLOCK + 1), RequestOptions.of(1));
        for (int i = 1; i <= 12; i++) {
            bench.serve(prompt(i, 20 * BLOCK + 1), RequestOptions.of(1));
        }
        // The last flood found 15 blocks empty, and took 6 from the tail of the coldest chain.
        assertThat(bench.serve(prompt(0, 20 * BLOCK + 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(14 * BLOCK);
    }

    @Test
    void reset_ofAnIdleEngine_forgetsAtOnceAndIsToldWithTheNextRequest() {
        bench.serve(prompt(0, 4 * BLOCK), RequestOptions.of(1));
        bench.frames.clear();
        assertThat(bench.engine.resetPrefixCache(false)).isTrue();
        bench.run();
        assertThat(bench.frames).isEmpty();
        assertThat(bench.serve(prompt(0, 4 * BLOCK), RequestOptions.of(1)).cachedTokens)
                .isZero();
        assertThat(bench.frames).hasSize(1);
        assertThat(bench.frames.getFirst()).hasSize(2).first().isEqualTo(new CacheEvent.Cleared());

        assertThat(bench.engine.resetPrefixCache(false)).isTrue();
        bench.serve(prompt(1, 3), RequestOptions.of(1));
        assertThat(bench.frames.getLast()).containsExactly(new CacheEvent.Cleared());
    }

    @Test
    void reset_whileRequestsRun_isRefusedUnlessTheyArePreempted() {
        Heard heard = new Heard();
        bench.submit(prompt(0, 40), RequestOptions.of(5), heard);
        bench.engine.step();
        bench.engine.step();
        assertThat(bench.engine.resetPrefixCache(false)).isFalse();
        assertThat(bench.engine.resetPrefixCache(true)).isTrue();
        bench.run();
        assertThat(heard.done).isTrue();
        assertThat(heard.tokens).hasSize(5);
        assertThat(bench.engine.stats().preemptions()).isOne();
        assertThat(bench.frames).hasSize(2);
        assertThat(bench.frames.getLast()).hasSize(2).first().isEqualTo(new CacheEvent.Cleared());
    }

    @Test
    void fullReport_announcesHitsAgainBeforeWhatItStores() {
        bench.serve(prompt(0, 3 * BLOCK), RequestOptions.of(1));
        bench.serve(prompt(0, 3 * BLOCK), RequestOptions.of(1).withReportsHits(true));
        List<CacheEvent> frame = bench.frames.getLast();
        assertThat(frame).hasSize(2);
        CacheEvent.Stored hits = (CacheEvent.Stored) frame.getFirst();
        assertThat(hits.parent()).isEmpty();
        assertThat(hits.blocks()).hasSize(2);
        assertThat(((CacheEvent.Stored) frame.getLast()).parent())
                .contains(hits.blocks().getLast());

        VllmBench old = new VllmBench(VllmSettings.defaults().withRelease(Release.V0_22));
        old.serve(prompt(0, 3 * BLOCK), RequestOptions.of(1));
        old.serve(prompt(0, 3 * BLOCK), RequestOptions.of(1).withReportsHits(true));
        assertThat(old.frames.getLast()).hasSize(1);
    }

    @Test
    void salts_shareNothingAndAreToldWithTheFirstBlockOnly() {
        bench.serve(prompt(0, BLOCK), RequestOptions.of(1));
        assertThat(bench.serve(
                                prompt(0, BLOCK + 1),
                                RequestOptions.of(BLOCK + 1).withSalt("a"))
                        .cachedTokens)
                .isZero();
        assertThat(stored(bench.frames.get(1)).salt()).isEqualTo("a");
        assertThat(stored(bench.frames.get(2)).salt()).isEmpty();
        assertThat(bench.serve(prompt(0, BLOCK + 1), RequestOptions.of(1).withSalt("a")).cachedTokens)
                .isEqualTo(BLOCK);
        assertThat(bench.serve(prompt(0, BLOCK + 1), RequestOptions.of(1).withSalt("b")).cachedTokens)
                .isZero();
    }

    @Test
    void sessions_areNamedInEventsThatKnowThem() {
        bench.serve(prompt(0, BLOCK), RequestOptions.of(1).withSession("s"));
        assertThat(stored(bench.frames.getLast()).session()).isEqualTo("s");
        VllmBench old = new VllmBench(VllmSettings.defaults().withRelease(Release.V0_22));
        old.serve(prompt(0, BLOCK), RequestOptions.of(1).withSession("s"));
        assertThat(stored(old.frames.getLast()).session()).isEmpty();
    }

    @Test
    void longPrompt_isComputedInChunksAndStoredAsItGoes() {
        VllmBench chunked = new VllmBench(VllmSettings.defaults().withBatch(4, 40));
        chunked.serve(prompt(0, 100), RequestOptions.of(2));
        assertThat(chunked.frames.stream()
                        .map(frame -> stored(frame).blocks().size())
                        .toList())
                .containsExactly(2, 3, 1);
        // Chunks of 40, 40 and 20 tokens, then one token: 3 first-token overheads, 100 tokens, one decode.
        assertThat(chunked.clock.nanos()).isEqualTo(1_000 * (3 * 5_000 + 100 * 100 + 5_000));
    }

    @Test
    void runningRequests_areComputedBeforeWaitingOnesInOnePass() {
        Heard first = new Heard();
        Heard second = new Heard();
        bench.submit(prompt(0, 20), RequestOptions.of(10), first);
        bench.engine.step();
        bench.submit(prompt(1, 20), RequestOptions.of(10), second);
        bench.engine.step();
        assertThat(first.tokens).hasSize(2);
        assertThat(second.tokens).hasSize(1);
        assertThat(bench.engine.stats().running()).isEqualTo(2);
        assertThat(bench.engine.stats().passes()).isEqualTo(2);
    }

    @Test
    void requestsThatComeTogether_shareWhatTheFirstIsAboutToCompute() {
        Heard first = new Heard();
        Heard second = new Heard();
        bench.submit(prompt(0, 3 * BLOCK + 1), RequestOptions.of(1), first);
        bench.submit(prompt(0, 3 * BLOCK + 1), RequestOptions.of(1), second);
        bench.run();
        assertThat(first.cachedTokens).isZero();
        assertThat(second.cachedTokens).isEqualTo(3 * BLOCK);
        assertThat(bench.frames).hasSize(1);
        assertThat(bench.frames.getFirst()).hasSize(1);
    }

    @Test
    void moreRequestsThanMayRun_wait() {
        VllmBench two = new VllmBench(VllmSettings.defaults().withBatch(2, 2048));
        List<Heard> heard = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            heard.add(new Heard());
            two.submit(prompt(i, 20), RequestOptions.of(3 + i), heard.get(i));
        }
        two.engine.step();
        assertThat(two.engine.stats().running()).isEqualTo(2);
        assertThat(two.engine.stats().waiting()).isOne();
        two.run();
        assertThat(heard).allMatch(one -> one.done);
    }

    @Test
    void firstWaitingRequestThatDoesNotFit_holdsUpThoseBehindIt() {
        Heard large = new Heard();
        Heard small = new Heard();
        VllmBench tight = tight();
        tight.submit(prompt(0, 6 * BLOCK), RequestOptions.of(3), new Heard());
        tight.engine.step();
        tight.submit(prompt(1, 6 * BLOCK), RequestOptions.of(1), large);
        tight.submit(prompt(2, BLOCK), RequestOptions.of(1), small);
        tight.engine.step();
        assertThat(small.tokens).isEmpty();
        assertThat(tight.engine.stats().waiting()).isEqualTo(2);
        tight.run();
        assertThat(large.done && small.done).isTrue();
        assertThat(tight.engine.stats().preemptions()).isZero();
    }

    @Test
    void withoutRoom_theRequestAdmittedLastIsPreemptedAndFindsItsPrefixAgain() {
        Heard first = new Heard();
        Heard second = new Heard();
        Heard third = new Heard();
        VllmBench tight = tight();
        tight.submit(prompt(0, 4 * BLOCK), RequestOptions.of(40), first);
        tight.submit(prompt(1, 4 * BLOCK), RequestOptions.of(40), second);
        tight.engine.step();
        tight.submit(prompt(2, 2 * BLOCK), RequestOptions.of(1), third);
        while (tight.engine.stats().preemptions() == 0) {
            tight.engine.step();
        }
        // Nine blocks: the first request takes the last one, the second goes, and the third is not let in.
        assertThat(first.tokens).hasSize(2);
        assertThat(second.tokens).hasSize(1);
        assertThat(tight.engine.stats().running()).isOne();
        assertThat(tight.engine.stats().waiting()).isEqualTo(2);
        assertThat(third.done).isFalse();
        tight.run();
        assertThat(first.done && second.done && third.done).isTrue();
        assertThat(second.tokens).hasSize(40);
        assertThat(second.cachedTokens).isZero();
        assertThat(tight.engine.stats().promptTokens()).isEqualTo(10 * BLOCK);
        // What a preempted request looks up and finds again counts for nobody.
        assertThat(tight.engine.stats().prefixQueries()).isEqualTo(10 * BLOCK);
        assertThat(tight.engine.stats().prefixHits()).isZero();
    }

    @Test
    void preemptedRequest_goesBackToTheFrontOfTheLine() {
        VllmBench tight = tight();
        List<String> order = new ArrayList<>();
        tight.submit(prompt(0, 4 * BLOCK), RequestOptions.of(20), heard("first", order));
        tight.submit(prompt(1, 4 * BLOCK), RequestOptions.of(20), heard("second", order));
        tight.engine.step();
        tight.submit(prompt(2, 6 * BLOCK), RequestOptions.of(1), heard("third", order));
        tight.run();
        assertThat(order).containsExactly("first", "second", "third");
        assertThat(tight.engine.stats().preemptions()).isPositive();
    }

    @Test
    void byPriority_importantRequestsGoFirstAndTheLeastImportantMakesRoom() {
        VllmBench tight = new VllmBench(
                VllmSettings.defaults().withSizes(10, BLOCK, 9 * BLOCK).withPolicy(Policy.PRIORITY));
        List<String> order = new ArrayList<>();
        tight.submit(prompt(0, 4 * BLOCK), RequestOptions.of(20).withPriority(5), heard("unimportant", order));
        tight.engine.step();
        tight.submit(prompt(1, 4 * BLOCK), RequestOptions.of(20).withPriority(0), heard("important", order));
        tight.submit(prompt(2, 6 * BLOCK), RequestOptions.of(1).withPriority(9), heard("idle", order));
        tight.run();
        assertThat(order).containsExactly("important", "unimportant", "idle");
        assertThat(tight.engine.stats().preemptions()).isPositive();
    }

    @Test
    void abort_ofARunningRequest_leavesWhatItComputedToOthers() {
        Heard heard = new Heard();
        Generation request = bench.submit(prompt(0, 4 * BLOCK), RequestOptions.of(50), heard);
        bench.engine.step();
        Generation waiting = bench.submit(prompt(1, BLOCK), RequestOptions.of(1), new Heard());
        bench.engine.abort(waiting);
        bench.engine.abort(request);
        bench.run();
        assertThat(bench.engine.stats().aborted()).isEqualTo(2);
        assertThat(bench.engine.stats().running()).isZero();
        assertThat(bench.engine.stats().usage()).isZero();
        assertThat(heard.tokens).hasSize(1);
        assertThat(bench.serve(prompt(0, 4 * BLOCK + 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(4 * BLOCK);
    }

    @Test
    void stats_countWhatRealMetricsCount() {
        bench.serve(prompt(0, 3 * BLOCK + 1), RequestOptions.of(4));
        bench.serve(prompt(0, 3 * BLOCK + 1), RequestOptions.of(4));
        VllmStats stats = bench.engine.stats();
        assertThat(stats.prefixQueries()).isEqualTo(2 * (3 * BLOCK + 1));
        assertThat(stats.prefixHits()).isEqualTo(3 * BLOCK);
        assertThat(stats.cachedTokens()).isEqualTo(3 * BLOCK);
        assertThat(stats.promptTokens()).isEqualTo(2 * (3 * BLOCK + 1));
        assertThat(stats.generatedTokens()).isEqualTo(8);
        assertThat(stats.passes()).isEqualTo(8);
        assertThat(stats.blocks()).isEqualTo(255);
        assertThat(stats.freeBlocks()).isEqualTo(255);
        assertThat(stats.answered().requests()).isEqualTo(2);
        assertThat(stats.answered().answerTokens()).isEqualTo(8);
        assertThat(stats.answered().ttft().count()).isEqualTo(2);
        assertThat(stats.times().betweenTokens().count()).isEqualTo(6);
        assertThat(stats.times().perToken().sumSeconds()).isEqualTo(0.010);
        assertThat(stats.times().wholeRequest().count()).isEqualTo(2);
        assertThat(stats.times().inference().sumSeconds())
                .isEqualTo(stats.times().prefill().sumSeconds()
                        + stats.times().decode().sumSeconds());
    }

    @Test
    void limitedPool_losesItsColdestBlocksAndComesBackEmpty() {
        bench.serve(prompt(0, 100 * BLOCK + 1), RequestOptions.of(1));
        bench.serve(prompt(1, 100 * BLOCK + 1), RequestOptions.of(1));
        bench.frames.clear();
        bench.engine.limitBlocks(150);
        assertThat(bench.serve(prompt(1, 100 * BLOCK + 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(100 * BLOCK);
        assertThat(bench.frames.getFirst()).hasSize(51);
        assertThat(bench.serve(prompt(0, 100 * BLOCK + 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(49 * BLOCK);
        assertThat(bench.engine.stats().blocks()).isEqualTo(150);

        Heard heard = new Heard();
        bench.engine.limitBlocks(10);
        bench.submit(prompt(2, 20 * BLOCK), RequestOptions.of(1), heard);
        bench.run();
        assertThat(heard.tokens).isEmpty();
        assertThat(bench.engine.stats().waiting()).isOne();
        bench.engine.limitBlocks(Integer.MAX_VALUE);
        bench.run();
        assertThat(heard.done).isTrue();
        assertThat(bench.engine.stats().blocks()).isEqualTo(255);
    }

    @Test
    void capacityFalls_afterSoManyRequests() {
        bench.faults.begin(Fault.parse("capacity-falls=20,2"));
        bench.serve(prompt(0, 3), RequestOptions.of(1));
        bench.serve(prompt(1, 3), RequestOptions.of(1));
        bench.serve(prompt(2, 3), RequestOptions.of(1));
        assertThat(bench.engine.stats().blocks()).isEqualTo(204);
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(204);
    }

    @Test
    void decodeThatCannotEvict_failsItsRequest() {
        bench.faults.begin(Fault.parse("decode-cannot-evict"));
        for (int i = 0; i < 13; i++) {
            assertThat(bench.serve(prompt(i, 20 * BLOCK), RequestOptions.of(1)).done)
                    .isTrue();
        }
        Heard heard = bench.serve(prompt(99, 2 * BLOCK), RequestOptions.of(2));
        assertThat(heard.tokens).hasSize(1);
        assertThat(heard.failure).contains("Cannot allocate 1 blocks: only 0 free");
        assertThat(bench.engine.stats().failed()).isOne();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(255);
        bench.faults.end(Fault.parse("decode-cannot-evict").kind());
        assertThat(bench.serve(prompt(98, 2 * BLOCK), RequestOptions.of(2)).done)
                .isTrue();
    }

    @Test
    void refusedFlushes_areCounted() {
        bench.faults.begin(Fault.parse("flush-refused=2"));
        assertThat(bench.engine.resetPrefixCache(false)).isFalse();
        assertThat(bench.engine.resetPrefixCache(true)).isFalse();
        assertThat(bench.engine.resetPrefixCache(false)).isTrue();
    }

    /** Nine usable blocks. */
    private static VllmBench tight() {
        return new VllmBench(VllmSettings.defaults().withSizes(10, BLOCK, 9 * BLOCK));
    }

    /** Notes who has said all. */
    private static Heard heard(String name, List<String> order) {
        return new Heard() {
            @Override
            public void token(int token, int count, int cached, boolean last) {
                super.token(token, count, cached, last);
                if (last) {
                    order.add(name);
                }
            }
        };
    }

    private static CacheEvent.Stored stored(List<CacheEvent> frame) {
        return (CacheEvent.Stored) frame.getLast();
    }

    /** Prompts of different numbers share no block. */
    private static int[] prompt(int number, int length) {
        return IntStream.range(0, length).map(i -> number * 10_000 + i).toArray();
    }
}
