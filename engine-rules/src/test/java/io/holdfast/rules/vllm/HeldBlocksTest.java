package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.HoldReport;
import io.holdfast.rules.engine.HoldReport.Result;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.testing.Heard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Holds in a cache of 255 blocks of 16 tokens, as they were measured on a real server where they were. */
class HeldBlocksTest {
    private static final int BLOCK = 16;
    private static final int USABLE = 255;
    private static final double SECOND = 1e9;
    private static final Connector QUARTER = Connector.of("not looked at here");
    private static final Connector MOST = QUARTER.withMaxShare(0.9);

    private int nextPrompt = 100;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void heldPrefix_survivesAFloodOfThreeTimesTheCache_andAnotherDoesNot(boolean held) {
        VllmBench bench = bench(QUARTER);
        int[] prefix = prompt(0, 30 * BLOCK + 1);
        HoldReport report = ask(bench, prefix, held ? hold("a", 600) : new HoldOrder.Listing());
        assertThat(report.result()).isEqualTo(held ? new Result.Held(30, 600) : new Result.Listed(Map.of()));
        assertThat(report.most()).isEqualTo(63);
        assertThat(report.total()).isEqualTo(USABLE);
        flood(bench, 3 * USABLE);
        assertThat(cached(bench, prefix)).isEqualTo(held ? 30 * BLOCK : 0);
    }

    @Test
    void everybodyHitsWhatIsHeld_andItIsInUseForTheGauge() {
        VllmBench bench = bench(QUARTER);
        int[] prefix = prompt(0, 30 * BLOCK + 5);
        ask(bench, prefix, hold("a", 600));
        assertThat(bench.engine.stats().freeBlocks())
                .as("the last block is not full")
                .isEqualTo(USABLE - 30);
        int[] longer = IntStream.concat(IntStream.of(prefix).limit(30 * BLOCK), IntStream.range(900_000, 900_050))
                .toArray();
        assertThat(cached(bench, longer)).isEqualTo(30 * BLOCK);
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE - 30);
    }

    @Test
    void lapsedHold_staysInAnIdleEngine_andEndsWithTheNextRequestOfAnybody() {
        VllmBench bench = bench(QUARTER.withMaxTtlSeconds(20));
        int[] prefix = prompt(0, 30 * BLOCK + 1);
        assertThat(ask(bench, prefix, hold("a", 100)).result()).as("clamped").isEqualTo(new Result.Held(30, 20));
        pass(bench, 19.9);
        assertThat(listed(bench)).containsOnlyKeys("a");
        pass(bench, 0.2);
        assertThat(bench.engine.step()).as("nothing to be done").isFalse();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE - 30);
        assertThat(cached(bench, prompt(1, 3))).isZero();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
        assertThat(cached(bench, prefix)).as("cached, and evictable").isEqualTo(30 * BLOCK);
        flood(bench, USABLE);
        assertThat(cached(bench, prefix)).isZero();
    }

    @Test
    void hold_lapsesWhileOthersRun() {
        VllmBench bench = bench(QUARTER);
        ask(bench, prompt(0, 30 * BLOCK + 1), hold("a", 1));
        bench.serve(prompt(1, 3), RequestOptions.of(400));
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
    }

    @Test
    void release_isDoneWhenTheRequestArrives_andCountsWhatWasThere() {
        VllmBench bench = bench(QUARTER);
        int[] prefix = prompt(0, 30 * BLOCK + 1);
        ask(bench, prefix, hold("a", 600));
        ask(bench, prompt(1, 20 * BLOCK + 1), hold("b", 600));
        Generation release = submit(bench, prompt(2, 3), new HoldOrder.Release(List.of("a", "c", "a")));
        assertThat(bench.engine.cache().pool().inUse()).as("before any pass").isEqualTo(20);
        bench.run();
        assertThat(release.report().map(HoldReport::result)).contains(new Result.Released(1));
        flood(bench, USABLE);
        assertThat(cached(bench, prefix)).isZero();
        ask(bench, prefix, hold("a", 600));
        assertThat(ask(bench, prompt(3, 3), new HoldOrder.Release(HoldOrder.ALL))
                        .result())
                .isEqualTo(new Result.Released(2));
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
    }

    /** The last block of an aligned prompt is computed anew each time, and takes the place of its copy. */
    @ParameterizedTest
    @ValueSource(ints = {16 * BLOCK, 16 * BLOCK + 1})
    void renewal_costsNoBlock_andTheTimeBeginsAnew(int length) {
        VllmBench bench = bench(QUARTER.withMaxShare(16.0 / USABLE + 1e-9));
        for (int i = 0; i <= 50; i++) {
            HoldReport report = ask(bench, prompt(0, length), hold("a", 20));
            assertThat(report.result()).isEqualTo(new Result.Held(16, 20));
            assertThat(report.held()).isEqualTo(16);
            pass(bench, 10);
        }
        assertThat(listed(bench).get("a").seconds()).isBetween(9.0, 10.0);
        assertThat(ask(bench, prompt(1, 12 * BLOCK + 1), hold("a", 20)).held())
                .as("replaced")
                .isEqualTo(12);
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE - 12);
    }

    @Test
    void overlappingHolds_countTheirCommonBlocksOnce_andKeepThemUntilTheLastEnds() {
        VllmBench bench = bench(QUARTER);
        int[] first = prompt(0, 16 * BLOCK + 1);
        int[] second = IntStream.concat(IntStream.of(first).limit(8 * BLOCK), IntStream.range(500_000, 500_129))
                .toArray();
        assertThat(ask(bench, first, hold("a", 20)).held()).isEqualTo(16);
        assertThat(ask(bench, second, hold("b", 600)).held()).isEqualTo(24);
        assertThat(listed(bench))
                .containsOnlyKeys("a", "b")
                .allSatisfy((_, left) -> assertThat(left.blocks()).isEqualTo(16));
        pass(bench, 20);
        flood(bench, 3 * USABLE);
        assertThat(cached(bench, first)).isEqualTo(8 * BLOCK);
        assertThat(cached(bench, second)).isEqualTo(16 * BLOCK);
    }

    @Test
    void share_isOfDistinctBlocks_andBeyondItNothingChanges() {
        VllmBench bench = bench(QUARTER);
        for (int i = 0; i < 3; i++) {
            assertThat(ask(bench, prompt(i, 20 * BLOCK + 1), hold("h" + i, 600)).held())
                    .isEqualTo(20 * (i + 1));
        }
        HoldReport beyond = ask(bench, prompt(3, 4 * BLOCK), hold("h3", 600));
        assertThat(beyond.result()).isEqualTo(new Result.Refused("share"));
        assertThat(beyond.held()).isEqualTo(60);
        assertThat(ask(bench, prompt(4, 30 * BLOCK), hold("h0", 600)).result())
                .as("a renewal that would be too large")
                .isEqualTo(new Result.Refused("share"));
        assertThat(listed(bench)).containsOnlyKeys("h0", "h1", "h2");
        assertThat(ask(bench, prompt(0, 20 * BLOCK + 1), hold("again", 600)).held())
                .as("another name for the same blocks")
                .isEqualTo(60);
        assertThat(ask(bench, prompt(5, 3 * BLOCK), hold("h3", 600)).held()).isEqualTo(63);
        assertThat(ask(bench, prompt(6, BLOCK - 1), hold("short", 600)).result())
                .isEqualTo(new Result.Refused("request"));
    }

    /** Four holds of ten go: the prompt wants 125 blocks, and 55 are free. */
    @Test
    void waitingRequestThatDoesNotFit_getsWhatItNeedsOfTheOldestHoldsAfterHalfASecond() {
        VllmBench bench = bench(MOST);
        for (int i = 0; i < 10; i++) {
            ask(bench, prompt(i, 20 * BLOCK + 1), hold("h" + i, 600));
        }
        ask(bench, prompt(0, 20 * BLOCK + 1), hold("h0", 600));
        long before = bench.clock.nanos();
        Heard large = bench.serve(prompt(50, 125 * BLOCK), RequestOptions.of(1));
        assertThat(large.done).isTrue();
        long prefill = 5_000_000 + 125 * BLOCK * 100_000;
        assertThat(bench.clock.nanos() - before - prefill).isEqualTo(500_000_000);
        assertThat(listed(bench)).containsOnlyKeys("h5", "h6", "h7", "h8", "h9", "h0");
        assertThat(ask(bench, prompt(51, 3), new HoldOrder.Listing()).gaveWay()).isEqualTo(4);
    }

    @Test
    void waitingRequest_isServedAtOnceWhenAHoldLapsesOrIsReleased() {
        VllmBench bench = bench(MOST.withGiveWayAfter(Duration.ofSeconds(60)));
        ask(bench, prompt(0, 100 * BLOCK + 1), hold("short", 20));
        ask(bench, prompt(1, 100 * BLOCK + 1), hold("long", 600));
        long before = bench.clock.nanos();
        assertThat(bench.serve(prompt(2, 120 * BLOCK), RequestOptions.of(1)).done)
                .isTrue();
        assertThat((bench.clock.nanos() - before) / SECOND).isBetween(19.0, 20.3);
        assertThat(listed(bench)).containsOnlyKeys("long");

        ask(bench, prompt(0, 100 * BLOCK + 1), hold("again", 600));
        Heard waits = new Heard();
        bench.submit(prompt(3, 120 * BLOCK), RequestOptions.of(1), waits);
        bench.engine.step();
        assertThat(waits.done).isFalse();
        HoldReport report = ask(bench, prompt(4, 3), new HoldOrder.Release(List.of("again")));
        assertThat(waits.done).isTrue();
        assertThat(report.gaveWay()).isZero();
    }

    /** 2.4 times the cache at once: there is always one that runs. */
    @Test
    void burst_takesNoHoldAsLongAsAnythingIsScheduled() {
        VllmBench bench = bench(QUARTER);
        int[] prefix = prompt(0, 30 * BLOCK + 1);
        ask(bench, prefix, hold("a", 600));
        List<Heard> burst = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            Heard heard = new Heard();
            burst.add(heard);
            bench.submit(prompt(nextPrompt++, 20 * BLOCK + 5), RequestOptions.of(200), heard);
        }
        bench.run();
        assertThat(burst).allMatch(heard -> heard.done);
        assertThat(cached(bench, prefix)).isEqualTo(30 * BLOCK);
        assertThat(ask(bench, prompt(1, 3), new HoldOrder.Listing()).gaveWay()).isZero();
    }

    @Test
    void runningRequestThatOutgrowsTheRest_isPreemptedAndGetsOneHold() {
        VllmBench bench = bench(MOST);
        for (int i = 0; i < 10; i++) {
            ask(bench, prompt(i, 20 * BLOCK + 1), hold("h" + i, 600));
        }
        assertThat(bench.serve(prompt(50, 40 * BLOCK), RequestOptions.of(30 * BLOCK)).done)
                .isTrue();
        assertThat(bench.engine.stats().preemptions()).isPositive();
        assertThat(ask(bench, prompt(51, 3), new HoldOrder.Listing()).gaveWay()).isOne();
    }

    @Test
    void abortedRequest_isNotHeld() {
        VllmBench bench = bench(QUARTER);
        Generation request = new Generation(prompt(0, 20 * BLOCK + 1), with(hold("a", 600), 50), false, 0, new Heard());
        bench.engine.submit(request);
        bench.engine.step();
        bench.engine.abort(request);
        bench.run();
        assertThat(request.report()).isEmpty();
        assertThat(listed(bench)).isEmpty();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
    }

    @Test
    void reset_endsAllHolds_unlessARequestKeepsItFromHappening() {
        VllmBench bench = bench(QUARTER);
        int[] prefix = prompt(0, 20 * BLOCK + 1);
        ask(bench, prefix, hold("a", 600));
        bench.submit(prompt(1, 20), RequestOptions.of(5), new Heard());
        bench.engine.step();
        assertThat(bench.engine.resetPrefixCache(false)).isFalse();
        bench.run();
        assertThat(listed(bench)).containsOnlyKeys("a");
        assertThat(bench.engine.resetPrefixCache(false)).isTrue();
        assertThat(listed(bench)).isEmpty();
        assertThat(cached(bench, prefix)).isZero();
    }

    @Test
    void orders_withoutTheConnector_areIgnored() {
        VllmBench bench = new VllmBench(VllmSettings.defaults());
        Generation request = submit(bench, prompt(0, 20 * BLOCK + 1), hold("a", 600));
        bench.run();
        assertThat(request.report()).isEmpty();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
    }

    @Test
    void ignoredPins_areAnsweredAsHolds_andNothingIsKept() {
        VllmBench bench = bench(QUARTER);
        bench.faults.begin(Fault.parse("pin-ignored"));
        assertThat(ask(bench, prompt(0, 20 * BLOCK + 1), hold("a", 600)).result())
                .isEqualTo(new Result.Held(20, 600));
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void randomOrders_neverExceedTheShare_andLeaveNothingBehind(long seed) {
        Random random = new Random(seed);
        VllmBench bench = bench(MOST.withMaxShare(0.1 + 0.1 * random.nextInt(8)));
        for (int i = 0; i < 400; i++) {
            int[] prompt = prompt(random.nextInt(6), 1 + random.nextInt(60 * BLOCK));
            HoldOrder order = switch (random.nextInt(8)) {
                case 0 -> new HoldOrder.Release(List.of("h" + random.nextInt(12)));
                case 1 -> new HoldOrder.Listing();
                default -> hold("h" + random.nextInt(12), 1 + random.nextInt(30));
            };
            Generation request = submit(bench, prompt, order);
            if (random.nextInt(3) > 0) {
                bench.run();
            } else if (random.nextInt(3) == 0) {
                bench.engine.abort(request);
            }
            request.report().ifPresent(report -> assertThat(report.held()).isLessThanOrEqualTo(report.most()));
            pass(bench, random.nextInt(3));
        }
        ask(bench, prompt(99, 3), new HoldOrder.Release(HoldOrder.ALL));
        HoldReport last = ask(bench, prompt(99, 3), new HoldOrder.Release(HoldOrder.ALL));
        assertThat(last.held()).isZero();
        assertThat(bench.engine.stats().freeBlocks()).isEqualTo(USABLE);
        assertThat(bench.engine.resetPrefixCache(false)).isTrue();
    }

    private static VllmBench bench(Connector connector) {
        return new VllmBench(VllmSettings.defaults().withConnector(connector));
    }

    private static HoldOrder hold(String id, long ttl) {
        return new HoldOrder.Hold(id, ttl);
    }

    private static RequestOptions with(HoldOrder order, int tokens) {
        return RequestOptions.of(tokens).withOrder(order);
    }

    private static Generation submit(VllmBench bench, int[] prompt, HoldOrder order) {
        return bench.submit(prompt, with(order, 1), new Heard());
    }

    private static HoldReport ask(VllmBench bench, int[] prompt, HoldOrder order) {
        Generation request = submit(bench, prompt, order);
        bench.run();
        return request.report().orElseThrow();
    }

    private static Map<String, HoldReport.Left> listed(VllmBench bench) {
        return ask(bench, prompt(90, 3), new HoldOrder.Listing()).result() instanceof Result.Listed(var holds)
                ? holds
                : Map.of();
    }

    private static int cached(VllmBench bench, int[] prompt) {
        return bench.serve(prompt, RequestOptions.of(1)).cachedTokens;
    }

    /** New prompts of 20 blocks, of so many blocks in sum. */
    private void flood(VllmBench bench, int blocks) {
        for (int i = 0; i < blocks; i += 20) {
            bench.serve(prompt(nextPrompt++, 20 * BLOCK + 1), RequestOptions.of(1));
        }
    }

    private static void pass(VllmBench bench, double seconds) {
        bench.clock.await(bench.clock.nanos() + Math.round(seconds * SECOND));
    }

    /** Prompts of different numbers share no block. */
    private static int[] prompt(int number, int length) {
        return IntStream.range(0, length).map(i -> number * 10_000 + i).toArray();
    }
}
