package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Emulated time only: 100 us a token, 5 ms fixed, 5 ms a decode step, unless a test says otherwise. */
class SglangEngineTest {
    private static final double MS = 1e6;

    private final VirtualClock clock = new VirtualClock();
    private final List<List<CacheEvent>> published = new ArrayList<>();

    private SglangEngine engine(EngineSettings settings) {
        Faults faults = new Faults(settings.faults());
        SglangEngine engine = new SglangEngine(
                settings.sglang(),
                faults,
                clock,
                new Gpu(settings.speed(), faults, clock, () -> false),
                Model.seeded(settings.seed(), 32_000),
                published::add,
                ElasticPool.OWN);
        engine.step();
        return engine;
    }

    private static EngineSettings small() {
        return EngineSettings.defaults().withCapacityTokens(160);
    }

    private static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens).map(i -> number * 1000 + i).toArray();
    }

    private Heard submit(SglangEngine engine, int[] prompt, int maxNew) {
        Heard heard = new Heard();
        engine.submit(new Generation(prompt, RequestOptions.of(maxNew), false, clock.nanos(), heard));
        return heard;
    }

    private Heard serve(SglangEngine engine, int[] prompt, int maxNew) {
        Heard heard = submit(engine, prompt, maxNew);
        runDry(engine);
        return heard;
    }

    private static void runDry(SglangEngine engine) {
        boolean worked = true;
        while (worked) {
            worked = engine.step();
        }
    }

    private double millisOf(Runnable work) {
        long before = clock.nanos();
        work.run();
        return (clock.nanos() - before) / MS;
    }

    private static long lastBlock(int[] prompt) {
        long[] names = SglangBlockNames.of(prompt, 16);
        return names[names.length - 1];
    }

    @Test
    void prefill_coldPrompt_takesTheFixedPartAndEachToken() {
        SglangEngine engine = engine(EngineSettings.defaults());
        assertThat(millisOf(() -> serve(engine, prompt(1, 512), 1))).isEqualTo(5 + 51.2);
    }

    @Test
    void prefill_cachedPrefix_takesTimeForTheRestOnly() {
        SglangEngine engine = engine(EngineSettings.defaults());
        serve(engine, prompt(1, 512), 1);
        assertThat(millisOf(() -> serve(engine, prompt(1, 520), 1))).isEqualTo(5 + 0.8);
    }

    @Test
    void prefill_exactRepeat_recomputesAtLeastTheLastToken() {
        SglangEngine engine = engine(EngineSettings.defaults());
        serve(engine, prompt(1, 512), 1);
        assertThat(serve(engine, prompt(1, 512), 1).cachedTokens).isEqualTo(496);
    }

    @Test
    void prefillAndDecode_runTogether_andTakeOnePassForAll() {
        SglangEngine engine = engine(EngineSettings.defaults());
        Heard first = submit(engine, prompt(1, 16), 3);
        Heard second = submit(engine, prompt(2, 16), 3);
        assertThat(millisOf(() -> runDry(engine))).isEqualTo(5 + 2 * 1.6 + 2 * 5);
        assertThat(first.tokens).hasSize(3);
        assertThat(second.tokens).hasSize(3);
    }

    @Test
    void answer_dependsOnSeedAndPromptAlone() {
        SglangEngine engine = engine(EngineSettings.defaults());
        List<Integer> cold = serve(engine, prompt(1, 64), 8).tokens;
        List<Integer> warm = serve(engine, prompt(1, 64), 8).tokens;
        assertThat(warm).isEqualTo(cold);
        assertThat(serve(engine, prompt(2, 64), 8).tokens).isNotEqualTo(cold);
        SglangEngine other = engine(EngineSettings.defaults().withSeed(2));
        assertThat(serve(other, prompt(1, 64), 8).tokens).isNotEqualTo(cold);
    }

    @Test
    void answer_stock_joinsTheCacheButForItsLastToken() {
        SglangEngine engine = engine(EngineSettings.defaults());
        List<Integer> answer = serve(engine, prompt(1, 32), 33).tokens;
        int[] next = IntStream.concat(
                        IntStream.concat(
                                IntStream.of(prompt(1, 32)), answer.stream().mapToInt(t -> t)),
                        IntStream.of(7, 7, 7))
                .toArray();
        assertThat(serve(engine, next, 1).cachedTokens).isEqualTo(64);
    }

    @Test
    void answer_pinBranch_doesNotJoinTheCache() {
        SglangEngine engine = engine(EngineSettings.defaults().withVariant(Variant.PIN_GPU));
        List<Integer> answer = serve(engine, prompt(1, 32), 33).tokens;
        int[] next = IntStream.concat(
                        IntStream.of(prompt(1, 32)), answer.stream().mapToInt(t -> t))
                .toArray();
        assertThat(serve(engine, next, 1).cachedTokens).isEqualTo(32);
    }

    @Test
    void queue_isServedInOrder_andNobodyPassesAHeadThatDoesNotFit() {
        SglangEngine engine = engine(small());
        Heard running = submit(engine, prompt(1, 64), 60);
        engine.step();
        Heard large = submit(engine, prompt(2, 96), 20);
        Heard tiny = submit(engine, prompt(3, 4), 1);
        engine.step();
        assertThat(large.tokens).isEmpty();
        assertThat(tiny.tokens).isEmpty();
        assertThat(engine.stats().waiting()).isEqualTo(2);
        runDry(engine);
        assertThat(running.done && large.done && tiny.done).isTrue();
    }

    @Test
    void running_neverExceedsItsLimit() {
        SglangEngine engine = engine(EngineSettings.defaults().withMaxRunning(2));
        for (int i = 1; i <= 5; i++) {
            submit(engine, prompt(i, 16), 4);
        }
        int most = 0;
        while (engine.step()) {
            most = Math.max(most, engine.stats().running());
        }
        assertThat(most).isEqualTo(2);
        assertThat(engine.stats().answered().requests()).isEqualTo(5);
    }

    @Test
    void answer_isClippedToWhatAnEmptyCacheHasRoomFor() {
        SglangEngine engine = engine(small());
        serve(engine, prompt(1, 64), 1);
        assertThat(serve(engine, prompt(2, 100), 1_000).tokens).hasSize(160 - 112 - 16 - 1);
        assertThat(serve(engine, prompt(3, 100), 5).tokens).hasSize(5);
    }

    @Test
    void promptWithinAPageOfTheCache_isAcceptedAndWaitsForEver_andSoDoThoseBehind() {
        SglangEngine engine = engine(small());
        int[] hopeless = prompt(1, small().sglang().maxPromptTokens());
        Generation request = new Generation(hopeless, RequestOptions.of(1), false, 0, new Heard());
        engine.submit(request);
        Heard behind = submit(engine, prompt(2, 4), 1);
        for (int pass = 0; pass < 100; pass++) {
            assertThat(engine.step()).isFalse();
        }
        assertThat(behind.tokens).isEmpty();
        assertThat(engine.stats().waiting()).isEqualTo(2);
        assertThat(engine.flush()).as("a waiting request forbids it").isFalse();
        engine.abort(request);
        runDry(engine);
        assertThat(behind.done).isTrue();
    }

    @Test
    void flood_evictsAnIdlePrefix_andAPinKeepsIt() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 32), 1);
        serve(engine, prompt(2, 32), 1);
        assertThat(engine.pin(new long[] {lastBlock(prompt(2, 32))}).count()).isEqualTo(1);
        for (int i = 10; i < 30; i++) {
            serve(engine, prompt(i, 48), 1);
        }
        assertThat(serve(engine, prompt(1, 40), 1).cachedTokens).isZero();
        assertThat(serve(engine, prompt(2, 40), 1).cachedTokens).isEqualTo(32);
    }

    @Test
    void events_leaveAfterThePrefillAndAtTheEnd() {
        SglangEngine engine = engine(EngineSettings.defaults());
        published.clear();
        submit(engine, prompt(1, 32), 20);
        engine.step();
        assertThat(published).as("the prompt, right after its prefill").hasSize(1);
        runDry(engine);
        assertThat(published).as("and the answer's block").hasSize(2);
    }

    @Test
    void events_oneTokenToSay_storeThePromptOnce() {
        SglangEngine engine = engine(EngineSettings.defaults());
        published.clear();
        serve(engine, prompt(1, 32), 1);
        assertThat(published).hasSize(1);
    }

    @Test
    void overPinning_stopsTheServerForGood() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 64), 1);
        engine.pin(new long[] {lastBlock(prompt(1, 64))});
        Heard stuck = serve(engine, prompt(2, 97), 1);
        assertThat(stuck.tokens).isEmpty();
        assertThat(engine.stats().protectedTokens())
                .as("the safety net has unpinned all")
                .isZero();
        assertThat(engine.cache().pins().counts()).isEmpty();
        Heard behind = serve(engine, prompt(3, 4), 1);
        assertThat(behind.tokens).as("a small request would fit, nobody looks").isEmpty();
        assertThat(engine.stats().waiting()).isEqualTo(2);
        assertThat(engine.stats().running()).isZero();
    }

    @Test
    void overPinning_wherePromptFitsButNotItsAnswer_isNotEvenUnpinned() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 64), 1);
        engine.pin(new long[] {lastBlock(prompt(1, 64))});
        Heard stuck = serve(engine, prompt(2, 96), 1);
        assertThat(stuck.tokens).isEmpty();
        assertThat(engine.stats().protectedTokens()).isEqualTo(64);
        assertThat(engine.cache().pins().counts()).hasSize(1);
    }

    @Test
    void overPinning_unpinAndAbort_doNotBringTheServerBack() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 64), 1);
        engine.pin(new long[] {lastBlock(prompt(1, 64))});
        Generation stuck = new Generation(prompt(2, 96), RequestOptions.of(1), false, 0, new Heard());
        engine.submit(stuck);
        runDry(engine);
        assertThat(engine.unpin(new long[] {lastBlock(prompt(1, 64))}).count()).isEqualTo(1);
        engine.abort(stuck);
        assertThat(engine.stats().waiting()).isZero();
        assertThat(serve(engine, prompt(3, 4), 1).tokens).isEmpty();
    }

    @Test
    void aFullEngine_looksAgainWhenARequestEnds() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        submit(engine, prompt(1, 64), 4);
        engine.step();
        Heard next = submit(engine, prompt(2, 96), 1);
        engine.step();
        assertThat(next.tokens).isEmpty();
        runDry(engine);
        assertThat(next.done).isTrue();
    }

    @Test
    void flush_isRefusedWhileARequestRunsOrWaits_andClearsPins() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 32), 1);
        engine.pin(new long[] {lastBlock(prompt(1, 32))});
        submit(engine, prompt(2, 32), 4);
        assertThat(engine.flush()).as("waiting").isFalse();
        engine.step();
        assertThat(engine.flush()).as("running").isFalse();
        runDry(engine);
        assertThat(engine.flush()).isTrue();
        assertThat(engine.stats().freeTokens()).isEqualTo(160);
        assertThat(engine.cache().pins().counts()).isEmpty();
        assertThat(published.getLast()).containsExactly(new CacheEvent.Cleared());
    }

    @Test
    void abort_running_saysOneMoreToken_andKeepsWhatWasComputed() {
        SglangEngine engine = engine(EngineSettings.defaults());
        Heard heard = new Heard();
        Generation request = new Generation(prompt(1, 40), RequestOptions.of(100), false, 0, heard);
        engine.submit(request);
        engine.step();
        engine.step();
        engine.abort(request);
        engine.abort(request);
        runDry(engine);
        assertThat(request.answered()).isEqualTo(3);
        assertThat(heard.tokens).as("nobody listens to the last one").hasSize(2);
        assertThat(engine.stats().usedTokens()).isZero();
        assertThat(engine.stats().evictableTokens()).isEqualTo(32);
        assertThat(engine.stats().aborted()).as("a second time changes nothing").isEqualTo(1);
        assertThat(engine.stats().answered().requests())
                .as("it is not answered")
                .isZero();
    }

    @Test
    void abort_waiting_leavesNothing() {
        SglangEngine engine = engine(EngineSettings.defaults());
        Generation request = new Generation(prompt(1, 40), RequestOptions.of(100), false, 0, new Heard());
        engine.submit(request);
        engine.abort(request);
        assertThat(engine.stats().waiting()).isZero();
        assertThat(engine.stats().waitingTokens()).isZero();
        runDry(engine);
        assertThat(engine.stats().evictableTokens()).isZero();
        assertThat(engine.stats().aborted()).isEqualTo(1);
    }

    @Test
    void abort_inChunks_keepsWhatChunksHaveStored() {
        SglangEngine engine =
                engine(EngineSettings.defaults().withSglang(sglang -> sglang.withChunkedPrefillTokens(32)));
        Generation request = new Generation(prompt(1, 200), RequestOptions.of(1), false, 0, new Heard());
        engine.submit(request);
        engine.step();
        engine.step();
        engine.abort(request);
        runDry(engine);
        assertThat(engine.stats().usedTokens()).isZero();
        assertThat(engine.stats().evictableTokens())
                .as("the second chunk had not been stored yet")
                .isEqualTo(32);
    }

    @Test
    void memory_runningOut_retractsAndServesEverybodyInTheEnd() {
        SglangEngine engine = engine(small().withCapacityTokens(256));
        List<Heard> all = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            all.add(submit(engine, prompt(i, 30), 60));
        }
        runDry(engine);
        assertThat(engine.stats().retracted()).isPositive();
        assertThat(all).allMatch(heard -> heard.done && heard.tokens.size() == 60);
        assertThat(engine.stats().usedTokens()).isZero();
        SglangEngine roomy = engine(EngineSettings.defaults());
        assertThat(all.getFirst().tokens).isEqualTo(serve(roomy, prompt(1, 30), 60).tokens);
    }

    @Test
    void memory_runningOutForTheLast_failsItAndServesOn() {
        SglangEngine engine = engine(small());
        Heard alone = submit(engine, prompt(1, 20), 100);
        engine.step();
        engine.limitTokens(48);
        runDry(engine);
        assertThat(alone.failure)
                .contains(
                        "Out of memory even after retracting all other requests in the decode batch. Aborting the last"
                                + " request.");
        assertThat(alone.tokens).as("to the end of its last page").hasSize(48 - 20 + 1);
        assertThat(serve(engine, prompt(2, 10), 2).done).isTrue();
    }

    @Test
    void ignoringTheEnd_reservesTheWholeAnswer() {
        SglangEngine engine = engine(small().withCapacityTokens(256));
        List<Generation> both = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            both.add(new Generation(prompt(i, 30), RequestOptions.of(100).withIgnoresEnd(true), false, 0, new Heard()));
        }
        both.forEach(engine::submit);
        engine.step();
        engine.step();
        assertThat(engine.stats().running()).as("by the ratio both would fit").isEqualTo(1);
    }

    @Test
    void memory_runningOutUnderPins_killsThePinBranch() {
        SglangEngine engine = engine(small().withVariant(Variant.PIN_GPU));
        serve(engine, prompt(1, 64), 1);
        submit(engine, prompt(2, 20), 100);
        engine.step();
        assertThat(engine.pin(new long[] {lastBlock(prompt(1, 64))}).count()).isEqualTo(1);
        assertThatThrownBy(() -> runDry(engine))
                .isInstanceOf(EngineDeath.class)
                .hasMessageContaining("Out of memory even after retracting all other requests");
    }

    @Test
    void limit_evictsAtOnce_waitsForWhatRuns_andCanBeLifted() {
        SglangEngine engine = engine(small());
        serve(engine, prompt(1, 64), 1);
        submit(engine, prompt(2, 64), 20);
        engine.step();
        engine.limitTokens(48);
        assertThat(engine.stats().capacityTokens()).as("what runs stays").isEqualTo(64);
        engine.limitTokens(Integer.MAX_VALUE);
        assertThat(engine.stats().capacityTokens()).isEqualTo(160);
        runDry(engine);
        engine.limitTokens(48);
        assertThat(engine.stats().capacityTokens()).isEqualTo(48);
        assertThat(engine.stats().evictableTokens()).isLessThanOrEqualTo(48);
        assertThat(engine.flush()).isTrue();
        assertThat(engine.stats().freeTokens()).isEqualTo(48);
    }

    @Test
    void decode_publishesAtEach40thStepOnly() {
        SglangEngine engine = engine(EngineSettings.defaults());
        submit(engine, prompt(1, 32), 33);
        submit(engine, prompt(2, 32), 100);
        engine.step();
        published.clear();
        for (int step = 1; step < 40; step++) {
            engine.step();
        }
        assertThat(engine.stats().answered().requests()).as("one has ended").isEqualTo(1);
        assertThat(published).as("and stored its answer's blocks").isEmpty();
        engine.step();
        assertThat(published).hasSize(1);
        assertThat(engine.reported().work().genThroughput()).isPositive();
    }

    @Test
    void stats_countWhatWasServed() {
        SglangEngine engine = engine(EngineSettings.defaults());
        serve(engine, prompt(1, 64), 1);
        serve(engine, prompt(1, 70), 3);
        SglangStats stats = engine.stats();
        assertThat(stats.answered().requests()).isEqualTo(2);
        assertThat(stats.answered().promptTokens()).isEqualTo(134);
        assertThat(stats.answered().answerTokens()).isEqualTo(4);
        assertThat(stats.cachedTokens()).isEqualTo(64);
        assertThat(stats.answered().ttft().count()).isEqualTo(2);
        assertThat(stats.answered().ttft().sumSeconds()).isEqualTo(0.0114 + 0.0056);
    }
}
