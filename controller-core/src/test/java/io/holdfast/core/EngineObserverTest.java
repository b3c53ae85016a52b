package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.reuse.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EngineObserverTest {
    private static final int SIZE = 16;
    private static final long MILLI = 1_000_000;
    private static final long ORIGIN = 7_000_000_000L;

    private final EngineObserver events = new EngineObserver(
            RequestRules.vllm(), request -> false, heldUse(), true, MemoryBudget.unbounded(), () -> {});
    private long nanos = MILLI;
    private long sequence;

    private static HeldUse heldUse() {
        return new EngineObservers(RequestRules.vllm(), request -> false, true, MemoryBudget.unbounded(), rank -> {})
                .heldUse();
    }

    @Test
    void prompts_chunksAndDecodeBlocks_areNoPromptsOfTheirOwn() {
        batch(0, chain(1, 80));
        batch(200, chain(81, 30).under(80));
        for (int block = 111; block <= 120; block++) {
            batch(400, chain(block, 1).under(block - 1));
        }
        batch(50, chain(500, 4));
        assertThat(events.prompts().count()).isEqualTo(2);
        assertThat(events.prompts().p90()).isEqualTo(110 * SIZE);
        assertThat(events.counters().visibleRequests()).isEqualTo(2);
        batch(100_000, chain(700, 1));
        events.readings(readings(3, 0, 9000), ORIGIN, List.of());
        assertThat(events.prompts().largest()).isEqualTo(110 * SIZE);
        nanos += 200 * MILLI;
        events.readings(readings(3, 0, 9000), ORIGIN, List.of());
        assertThat(events.prompts().largest()).isEqualTo(120 * SIZE);
    }

    @Test
    void invisibleShare_isWhatTheEngineServedAndEventsDidNotShow() {
        assertThat(events.invisibleShare()).isInstanceOf(Reading.Unknown.class);
        events.readings(readings(10, 1, 500), ORIGIN, List.of());
        assertThat(events.invisibleShare()).isInstanceOf(Reading.Unknown.class);
        batch(0, chain(1, 3), chain(11, 3), chain(21, 3));
        events.readings(readings(14, 1, 900), ORIGIN, List.of());
        assertThat(events.invisibleShare().number()).hasValue(0.25);
        events.gap(new Gap(Gap.Cause.DROPPED, 1, 3));
        events.readings(readings(20, 1, 900), ORIGIN, List.of());
        assertThat(events.invisibleShare()).isInstanceOf(Reading.Unknown.class);
        events.readings(EngineReadings.unknown("it does not answer"), ORIGIN, List.of());
        assertThat(events.invisibleShare()).isEqualTo(Reading.unknown("it does not answer"));
    }

    @Test
    void idleEngine_endsRequestsWhenWhatItPublishedHasHadTimeToArrive() {
        batch(0, chain(1, 2));
        events.readings(readings(1, 0, 32), ORIGIN, List.of());
        batch(300, chain(3, 1).under(2));
        assertThat(events.counters().visibleRequests()).isEqualTo(1);
        nanos += 200 * MILLI;
        events.readings(readings(1, 0, 32), ORIGIN, List.of());
        batch(300, chain(4, 1).under(3));
        assertThat(events.counters().visibleRequests()).isEqualTo(2);
    }

    @Test
    void traffic_nothingRemovedOrUsedAgain_isUnknown() {
        batch(0, chain(1, 3));
        assertThat(events.traffic().residence()).isEqualTo(Durations.NONE);
        assertThat(events.traffic().reuse()).isEqualTo(Durations.NONE);
        assertThat(events.traffic().rho()).isEmpty();
        assertThat(events.traffic().prefill()).isInstanceOf(PrefillCost.Unknown.class);
    }

    @Test
    void residence_isTheAgeOfWhatIsRemovedSinceItsLastTouch() {
        batch(1_000, chain(1, 3));
        batch(1_000, chain(11, 3));
        // This goes over the first path, so that only the second has grown old.
        batch(20_000, chain(4, 1).under(3));
        remove(10_000, 13);
        remove(0, 4);
        assertThat(events.traffic().residence().count()).isEqualTo(2);
        assertSeconds(events.traffic().residence().median(), 10);
        remove(0, 12, 11);
        assertThat(events.traffic().residence().count()).isEqualTo(3);
        assertSeconds(events.traffic().residence().median(), 30);
        assertSeconds(events.traffic().residence().tenth(), 10);
        assertSeconds(events.traffic().residence().ninetieth(), 30);
    }

    @Test
    void reuse_isTheTimeSinceThePathWasTouchedOrLost() {
        batch(1_000, chain(1, 3));
        batch(8_000, chain(4, 2).under(3));
        assertSeconds(events.traffic().reuse().median(), 8);
        // What decoding adds is no other request.
        batch(100, chain(6, 1).under(5));
        assertThat(events.traffic().reuse().count()).isEqualTo(1);
        remove(1_000, 6, 5, 4, 3, 2, 1);
        batch(38_900, chain(1, 3));
        assertThat(events.traffic().reuse().count()).isEqualTo(2);
        assertSeconds(events.traffic().reuse().median(), 8);
        assertThat(events.traffic().rho().orElseThrow()).isBetween(0.1, 0.2);
    }

    @Test
    void pastEvents_tellOfPrefixesAndNotOfTimes() {
        // An hour of the past comes at once, and then the present.
        for (int i = 0; i < 60; i++) {
            events.now(nanos += MILLI);
            events.batchStarted(sequence++, (nanos - (60L - i) * 60_000 * MILLI) / 1000);
            events.stored(i == 0 ? chain(1, 3) : chain(100 + i, 1).under(3));
            events.removed(new long[] {99L + i}, 0, 1, Tier.GPU, 0);
            events.batchEnded();
        }
        batch(500, chain(700, 3));
        assertThat(events.traffic().span()).isBetween(Duration.ofMinutes(60), Duration.ofMinutes(61));
        assertThat(events.traffic().residence()).isEqualTo(Durations.NONE);
        assertThat(events.traffic().reuse()).isEqualTo(Durations.NONE);
        remove(1_000, 159);
        assertThat(events.traffic().residence()).isEqualTo(Durations.NONE);
        remove(1_000, 702);
        assertSeconds(events.traffic().residence().median(), 2);
        batch(1_000, chain(710, 1).under(700));
        assertSeconds(events.traffic().reuse().median(), 3);
    }

    @Test
    void pastEvents_areNotComparedWithTheEnginesCount() {
        events.readings(readings(10, 1, 500), ORIGIN, List.of());
        for (int i = 0; i < 5; i++) {
            events.now(nanos += MILLI);
            events.batchStarted(sequence++, nanos / 1000 - 60_000_000);
            events.stored(chain(10 * i + 10, 1));
            events.batchEnded();
        }
        batch(500, chain(700, 3));
        events.readings(readings(11, 1, 500), ORIGIN, List.of());
        batch(500, chain(800, 3));
        events.readings(readings(13, 1, 900), ORIGIN, List.of());
        assertThat(events.traffic().counted()).isEqualTo(2);
        assertThat(events.invisibleShare().number()).hasValue(0.5);
    }

    @Test
    void reuse_ownRequests_teachNothing() {
        EngineObserver own = new EngineObserver(
                RequestRules.vllm(), request -> true, heldUse(), true, MemoryBudget.unbounded(), () -> {});
        own.now(1_000 * MILLI);
        own.batchStarted(0, 1);
        own.stored(chain(1, 3));
        own.batchEnded();
        own.now(9_000 * MILLI);
        own.batchStarted(1, 2);
        own.stored(chain(4, 2).under(3));
        own.batchEnded();
        assertThat(own.traffic().reuse()).isEqualTo(Durations.NONE);
    }

    private static void assertSeconds(Optional<Duration> seen, int wanted) {
        // Touches have a grain of a fifteenth of a second.
        assertThat(seen.orElseThrow()).isBetween(Duration.ofSeconds(wanted), Duration.ofMillis(wanted * 1000L + 100));
    }

    private void remove(long laterMillis, long... hashes) {
        nanos += laterMillis * MILLI;
        events.now(nanos);
        events.batchStarted(sequence++, nanos / 1000);
        events.removed(hashes, 0, hashes.length, Tier.GPU, 0);
        events.batchEnded();
    }

    /** Two KV cache groups store each block; the one whose layers look back over everything decides what is in the cache. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void hybridEngine_eachGroupLetsGo_allAnswerAlike(boolean windowedFirst) {
        BlockTree fleet = new BlockTree(BlockTree.Naming.CONTENT_CHAIN);
        Cache router = fleet.addCache(CacheTraits.vllm());
        StoredBlocks full = named(1, 3);
        StoredBlocks windowed = named(1, 3).group(1).windowed(true);
        nextBatch(router, () -> {
            stored(router, windowedFirst ? windowed : full);
            stored(router, windowedFirst ? full : windowed);
        });
        assertAll(fleet, 3);
        assertThat(events.tree().ambiguous(3)).isFalse();
        assertThat(events.tree().endedInsertion(3)).isTrue();

        nextBatch(router, () -> removed(router, 1, 1, 2, 3));
        assertAll(fleet, 3);
        nextBatch(router, () -> stored(router, named(4, 1).under(3)));
        assertThat(events.counters().visibleRequests()).isEqualTo(1);
        assertAll(fleet, 4);

        nextBatch(router, () -> {
            stored(router, windowed);
            removed(router, 0, 4, 3);
        });
        assertAll(fleet, 2);
        assertThat(events.tree().resident(3)).isFalse();
        assertThat(events.tree().ambiguous(3)).isFalse();
        assertThat(router.holds(3, Tier.GPU)).isFalse();
        assertThat(router.holds(3, Tier.GPU, 1)).isTrue();
        assertThat(events.counters().removedUnknown()).isZero();

        nextBatch(router, () -> stored(router, named(3, 2).under(2)));
        assertThat(events.counters().visibleRequests()).isEqualTo(2);
        assertAll(fleet, 4);
    }

    /** Decisions, readers beside the engine and a router say that so many of the blocks 1 to 4 are there. */
    private void assertAll(BlockTree fleet, int blocks) {
        long[] path = {1, 2, 3, 4};
        Matches matches = new Matches();
        fleet.match(path, 0, path.length, matches);
        assertThat(matches.depthOf(0, Tier.GPU)).isEqualTo(blocks);
        events.tree().match(path, 0, path.length, matches);
        assertThat(matches.depthOf(0, Tier.GPU)).isEqualTo(blocks);
        assertThat(events.tree().match(new HoldRequest(path, Duration.ofSeconds(1))))
                .isEqualTo(blocks);
        assertThat(events.tree().size()).isEqualTo(blocks);
    }

    private void nextBatch(Cache router, Runnable happens) {
        nanos += 300 * MILLI;
        events.now(nanos);
        events.batchStarted(sequence, nanos / 1000);
        router.batchStarted(sequence++, nanos / 1000);
        happens.run();
        events.batchEnded();
        router.batchEnded();
    }

    private void stored(Cache router, StoredBlocks chain) {
        events.stored(chain);
        router.stored(chain);
    }

    private void removed(Cache router, int group, long... hashes) {
        events.removed(hashes, 0, hashes.length, Tier.GPU, group);
        router.removed(hashes, 0, hashes.length, Tier.GPU, group);
    }

    private static StoredBlocks named(long first, int count) {
        return chain(first, count).names(LongStream.range(first, first + count).toArray(), 0);
    }

    private EngineReadings readings(int requests, int running, int promptTokens) {
        return EngineReadings.unknownBut("not asked")
                .runningRequests(known(running))
                .waitingRequests(known(0))
                .ttftCount(known(requests))
                .promptTokens(known(promptTokens))
                .build();
    }

    private Reading known(double value) {
        return Reading.known(value, "a test", ORIGIN + nanos);
    }

    private void batch(long laterMillis, StoredBlocks... chains) {
        nanos += laterMillis * MILLI;
        events.now(nanos);
        events.batchStarted(sequence++, nanos / 1000);
        for (StoredBlocks chain : chains) {
            events.stored(chain);
        }
        events.batchEnded();
    }

    private static StoredBlocks chain(long first, int count) {
        StoredBlocks chain = new StoredBlocks().blockTokens(SIZE);
        for (int i = 0; i < count; i++) {
            chain.add(first + i);
        }
        return chain;
    }
}
