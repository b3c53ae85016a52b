package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.prefix.SharedPrefixes;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** When a touch is sent, and when none is; a cache of 1,000 blocks and a prefix of 100. */
class KeepWarmTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int BLOCK = 16;
    private static final int CAPACITY = 1_000;
    private static final int PREFIX = 100;
    /** Half of what is beside the prefix. */
    private static final int DUE = (CAPACITY - PREFIX) / 2;

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.vllm(), new Silent());
    private final Holds holds =
            new Holds(1, tree, new SharedPrefixes(tree, new BlockTokens(tree::resident), SECOND), Runnable::run);
    private final OwnRequests own = new OwnRequests(Optional.empty(), new Acting(Runnable::run, Runnable::run));
    private final List<CompletableFuture<Outcome>> sent = new ArrayList<>();
    /** First token of each prefix that was sent, which is the number of its hold. */
    private final List<Integer> touched = new ArrayList<>();

    private final List<String> decided = new ArrayList<>();
    private final KeepWarmBackend backend = new KeepWarmBackend(
            tokens -> {
                touched.add(tokens[0]);
                sent.add(new CompletableFuture<>());
                return sent.getLast();
            },
            () -> CompletableFuture.completedFuture(new Capabilities(true, "")));
    private final KeepWarm warm = new KeepWarm(
            holds, tree, own, new Acting(Runnable::run, Runnable::run), Duration.ofSeconds(10), new Decided());

    private long nanos = SECOND;
    private long allocated = 5_000;
    private double waiting;
    private double used;
    private double cachedTokens;
    private double unseen = 1;
    private OptionalLong promptBlocks = OptionalLong.of(20);

    @Test
    void halfOfTheRoom_isWhenATouchIsDue() {
        held(1, PREFIX);
        poll();
        allocate(DUE - 1);
        poll();
        assertThat(sent).isEmpty();
        allocate(1);
        poll();
        assertThat(sent).hasSize(1);
    }

    @Test
    void touchThatWasAnswered_countsFromItsSending() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        allocate(10);
        poll();
        sent.getFirst().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
        allocate(DUE - 11);
        poll();
        assertThat(sent).hasSize(1);
        allocate(1);
        poll();
        assertThat(sent).hasSize(2);
    }

    @Test
    void touchUnderWay_isNotSentAgain() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        allocate(DUE);
        poll();
        assertThat(sent).hasSize(1);
    }

    @Test
    void memoryOfRunningRequests_isNoRoom() {
        held(1, PREFIX);
        used = 500 * BLOCK;
        poll();
        allocate(200);
        poll();
        assertThat(sent).hasSize(1);
    }

    @Test
    void waitingRequests_countAsIfTheyWereThere() {
        held(1, PREFIX);
        poll();
        waiting = 10;
        allocate(DUE - 201);
        poll();
        assertThat(sent).isEmpty();
        allocate(1);
        poll();
        assertThat(sent).hasSize(1);
    }

    @Test
    void queueThatNeedsTheWholeRoom_isTooLong() {
        held(1, PREFIX);
        poll();
        waiting = 45;
        poll();
        assertThat(sent).isEmpty();
        assertThat(decided)
                .containsExactly("lost 1: requests that wait need some 900 blocks before a touch would be served, and"
                        + " it is evicted after 900");
    }

    @Test
    void useByAUser_isAsGoodAsATouch() {
        held(1, PREFIX);
        poll();
        allocate(DUE - 1);
        poll();
        use(1, PREFIX);
        allocate(1);
        poll();
        allocate(DUE - 2);
        poll();
        assertThat(sent).isEmpty();
        allocate(2);
        poll();
        assertThat(sent).hasSize(1);
    }

    @Test
    void lateTouch_isCountedAndTheNextOneComesEarlier() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        sent.getFirst().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(8)));
        assertThat(warm.late()).isEqualTo(1);
        allocate((int) (DUE * 0.85) - 1);
        poll();
        assertThat(sent).hasSize(1);
        allocate(2);
        poll();
        assertThat(sent).hasSize(2);
    }

    @Test
    void touchThatIsRefused_loses() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        sent.getFirst().complete(new Outcome(Kind.REJECTED, "no."));
        assertThat(decided).containsExactly("lost 1: the engine refused a touch: no.");
    }

    @Test
    void touchWithoutAnAnswer_isRepeatedFiveSecondsLater() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        sent.getFirst().complete(new Outcome(Kind.DEFERRED, "silence."));
        nanos += 5 * SECOND - 1;
        poll();
        assertThat(sent).hasSize(1);
        nanos += 1;
        poll();
        assertThat(sent).hasSize(2);
        sent.getLast().complete(new Outcome(Kind.NOT_SENT, "nobody listens."));
        nanos += SECOND;
        poll();
        assertThat(sent).hasSize(3);
    }

    /** 1,600 tokens pay for 24 touches of 65. */
    @Test
    void touchesWithoutAUse_endWhereComputingItAgainIsCheaper() {
        held(1, PREFIX);
        for (int i = 0; i < 24; i++) {
            touched();
        }
        allocate(DUE);
        poll();
        assertThat(sent).hasSize(24);
        assertThat(decided)
                .singleElement()
                .asString()
                .startsWith("rests 1: it was kept warm by 24 requests since it was used last, and one more would cost"
                        + " more than computing its 1600 tokens again");
    }

    @Test
    void useInBetween_paysForAsManyTouchesAgain() {
        held(1, PREFIX);
        for (int i = 0; i < 30; i++) {
            touched();
            if (i == 20) {
                use(1, PREFIX);
            }
        }
        assertThat(sent).hasSize(30);
        assertThat(decided).isEmpty();
    }

    @Test
    void useAfterASending_countsAndNotTheSending() {
        held(1, PREFIX);
        poll();
        allocate(DUE);
        poll();
        allocate(100);
        poll();
        use(1, PREFIX);
        allocate(1);
        poll();
        sent.getFirst().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
        allocate(DUE - 2);
        poll();
        assertThat(sent).hasSize(1);
        allocate(1);
        poll();
        assertThat(sent).hasSize(2);
    }

    @Test
    void holdThatRests_isUsedAgain() {
        held(1, PREFIX);
        for (int i = 0; i < 25; i++) {
            touched();
        }
        decided.clear();
        poll();
        assertThat(decided).isEmpty();
        use(1, PREFIX);
        poll();
        assertThat(decided).containsExactly("used 1");
    }

    @Test
    void whatOurOwnRequestsStore_isNoUse() {
        held(1, PREFIX);
        for (int i = 0; i < 25 && decided.isEmpty(); i++) {
            poll();
            allocate(DUE);
            poll();
            if (decided.isEmpty()) {
                sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(0)));
                store(path(1, PREFIX), Optional.empty());
            }
        }
        assertThat(decided).singleElement().asString().startsWith("rests 1: ");
        decided.clear();
        store(path(1, PREFIX), Optional.empty());
        poll();
        assertThat(decided).isEmpty();
        nanos += 6 * SECOND;
        poll();
        use(1, PREFIX);
        poll();
        assertThat(decided).containsExactly("used 1");
    }

    @Test
    void touchWithoutAnAnswer_keepsTheOthersBackForASecond() {
        held(1, PREFIX);
        held(2, PREFIX);
        poll();
        allocate(50);
        poll();
        use(2, PREFIX);
        poll();
        allocate(DUE - 50);
        poll();
        assertThat(sent).hasSize(1);
        sent.getFirst().complete(new Outcome(Kind.DEFERRED, "silence."));
        allocate(100);
        poll();
        assertThat(sent).hasSize(1);
        nanos += SECOND;
        poll();
        assertThat(sent).hasSize(2);
    }

    /** The second one has computed more than the next use can save. */
    @Test
    void touchesThatComeTooLate_countWithWhatTheyCompute() {
        held(1, PREFIX);
        for (int i = 0; i < 3; i++) {
            poll();
            allocate(DUE);
            poll();
            if (decided.isEmpty()) {
                sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(0)));
            }
        }
        assertThat(sent).hasSize(2);
        assertThat(decided).singleElement().asString().startsWith("rests 1: it was kept warm by 2 requests");
    }

    /** Fewer and fewer touches each, but for every sixteenth of them. */
    @Test
    void automaticHoldsThatNobodyUses_areKeptForWhatTheyAreExpectedToSave() {
        List<Integer> touches = new ArrayList<>();
        for (int i = 1; i <= 40; i++) {
            touches.add(touchesOfOneThatNobodyUses(i));
        }
        assertThat(touches.subList(0, 3)).containsExactly(98, 49, 33);
        assertThat(touches.subList(33, 40)).allMatch(each -> each < 8);
        assertThat(touches.get(32)).isEqualTo(98);
        assertThat(decided.get(1))
                .isEqualTo(
                        "rests 2: it was kept warm by 49 requests since it was used last, and one more would cost more"
                                + " than the 3200 tokens that it is expected to save, since 50 % of the last ones were"
                                + " used while they were kept warm: it is kept warm again once it was used");
    }

    @Test
    void automaticHoldThatIsUsedWhileItIsKept_mayCostWhatFourRequestsWouldCompute() {
        for (int i = 1; i <= 3; i++) {
            touchesOfOneThatNobodyUses(i);
        }
        decided.clear();
        sent.clear();
        held(HoldOrigin.AUTOMATIC, 4, PREFIX);
        touched();
        use(4, PREFIX);
        for (int i = 0; i < 4 * 1_600 / 65; i++) {
            touched();
        }
        assertThat(decided).isEmpty();
        allocate(DUE);
        poll();
        assertThat(decided)
                .singleElement()
                .asString()
                .startsWith(
                        "rests 4: it was kept warm by 98 requests since it was used last, and one more would cost more"
                                + " than the 6400 tokens that it is expected to save: ");
    }

    /** What visible requests found says nothing of those that nobody saw. */
    @Test
    void growthOfTheCachedTokens_isOnlyAUseByTheShareOfRequestsThatNoEventShows() {
        unseen = 0.25;
        held(1, PREFIX);
        for (int i = 0; i < 24; i++) {
            touched();
        }
        cachedTokens = 4 * PREFIX * BLOCK - 4;
        allocate(DUE);
        poll();
        assertThat(decided).hasSize(1);
    }

    private int touchesOfOneThatNobodyUses(int number) {
        int before = decided.size();
        int sentBefore = sent.size();
        held(HoldOrigin.AUTOMATIC, number, PREFIX);
        while (decided.size() == before) {
            poll();
            allocate(DUE);
            poll();
            if (decided.size() == before) {
                sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
            }
        }
        return sent.size() - sentBefore;
    }

    @Test
    void growthOfTheCachedTokens_isTakenForAUse() {
        held(1, PREFIX);
        for (int i = 0; i < 24; i++) {
            touched();
        }
        cachedTokens = PREFIX * BLOCK - 1;
        poll();
        allocate(DUE);
        poll();
        assertThat(decided).hasSize(1);

        KeepWarmTest other = new KeepWarmTest();
        other.held(1, PREFIX);
        for (int i = 0; i < 24; i++) {
            other.touched();
        }
        other.cachedTokens = PREFIX * BLOCK;
        other.allocate(DUE);
        other.poll();
        assertThat(other.decided).isEmpty();
        assertThat(other.sent).hasSize(25);
    }

    @Test
    void timeOfOwnRequests_isBounded() {
        held(1, PREFIX);
        poll();
        for (int i = 0; i < 2; i++) {
            allocate(DUE);
            poll();
            nanos += 5 * SECOND;
            own.now(nanos);
            sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
        }
        allocate(DUE);
        poll();
        assertThat(sent).hasSize(2);
        assertThat(holds.living(1).orElseThrow().reason())
                .isEqualTo("not kept warm now: the sidecar's own requests took 10 s within an hour, which is the most");
        nanos += 3_600 * SECOND;
        own.now(nanos);
        poll();
        assertThat(sent).hasSize(3);
    }

    @Test
    void fewAreUnderWayAtOnce_thoseFirstThatWereUsedLongestAgo() {
        for (int i = 1; i <= 10; i++) {
            held(i, 10);
            poll();
            allocate(1);
        }
        use(1, 10);
        poll();
        allocate(CAPACITY / 2);
        poll();
        assertThat(touched).containsExactly(2, 3, 4, 5, 6, 7, 8, 9);
        sent.getFirst().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(160)));
        poll();
        assertThat(touched).hasSize(9).endsWith(10);
    }

    @Test
    void whatElseIsHeld_isNoRoomEither() {
        held(1, PREFIX);
        held(2, 300);
        tree.pinPath(1_000 + PREFIX);
        tree.pinPath(2_300);
        poll();
        allocate(299);
        poll();
        assertThat(sent).isEmpty();
        allocate(1);
        poll();
        assertThat(sent).hasSize(2);
    }

    @Test
    void holdsThatLeaveNoRoom_loseTheYoungest() {
        held(1, PREFIX);
        held(2, 900);
        tree.pinPath(1_000 + PREFIX);
        tree.pinPath(2_900);
        allocated += CAPACITY;
        poll();
        assertThat(sent).isEmpty();
        assertThat(decided)
                .containsExactly(
                        "lost 2: the 1000 blocks that are held leave too little of the cache to keep all of them"
                                + " warm");
    }

    @Test
    void unknownCapacity_sendsNothing() {
        held(1, PREFIX);
        allocated += 10 * CAPACITY;
        pollSilent();
        assertThat(sent).isEmpty();
        assertThat(decided).isEmpty();
    }

    @Test
    void blocksThatComeAtOnce_makeTheNextTouchComeEarlierForAWhile() {
        held(1, PREFIX);
        poll();
        allocateAtOnce(300);
        // 900 beside the prefix, less twice what may have been stored unseen.
        assertThat(sent).hasSize(1);
        answerTouch();
        allocate(290);
        poll();
        assertThat(sent).hasSize(1);
        allocate(30);
        poll();
        assertThat(sent).hasSize(2);
        answerTouch();
        nanos += 120 * SECOND;
        allocate(DUE - 1);
        poll();
        assertThat(sent).hasSize(2);
        allocate(1);
        poll();
        assertThat(sent).hasSize(3);
    }

    @Test
    void burstsAsLargeAsTheCache_leaveTouchesSomeRoom() {
        held(1, PREFIX);
        poll();
        allocateAtOnce(2 * CAPACITY);
        answerTouch();
        allocate((CAPACITY - PREFIX) / 5 - 1);
        poll();
        assertThat(sent).hasSize(1);
        allocate(1);
        poll();
        assertThat(sent).hasSize(2);
    }

    @Test
    void engineThatIsLateWithItsNumbers_isTouchedByThoseItToldLast() {
        held(1, PREFIX);
        poll();
        allocate(DUE - 1);
        pollSilent();
        assertThat(sent).isEmpty();
        allocate(1);
        pollSilent();
        assertThat(sent).hasSize(1);
    }

    /** Allocates until a touch is due, and has it answered. */
    private void touched() {
        poll();
        allocate(DUE);
        poll();
        if (decided.isEmpty()) {
            sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
        }
    }

    private void answerTouch() {
        sent.getLast().complete(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(PREFIX * BLOCK)));
    }

    private void held(int number, int blocks) {
        held(HoldOrigin.REQUESTED, number, blocks);
    }

    private void held(HoldOrigin origin, int number, int blocks) {
        long[] path = path(number, blocks);
        store(path, Optional.empty());
        int[] tokens = new int[blocks * BLOCK];
        Arrays.fill(tokens, number);
        Hold hold = holds.register(origin, new HoldRequest(path, tokens, Duration.ofHours(1)), "asked for");
        holds.update(hold.held(path[blocks - 1], blocks, "held"));
    }

    /** A request goes on from the prefix. */
    private void use(int number, int blocks) {
        nanos += SECOND;
        store(new long[] {nanos}, Optional.of(path(number, blocks)[blocks - 1]));
    }

    private static long[] path(int number, int blocks) {
        return LongStream.rangeClosed(1, blocks).map(i -> number * 1_000L + i).toArray();
    }

    private void store(long[] blocks, Optional<Long> parent) {
        tree.now(nanos);
        StoredBlocks stores = new StoredBlocks().blockTokens(BLOCK);
        parent.ifPresent(stores::under);
        for (long block : blocks) {
            stores.add(block);
        }
        tree.batchStarted(nanos, 0);
        tree.stored(stores);
        tree.batchEnded();
    }

    /** At a pace of which nothing is unseen. */
    private void allocate(int blocks) {
        for (int left = blocks; left > 0; left -= 100) {
            allocated += Math.min(100, left);
            if (left > 100) {
                poll();
                nanos += SECOND / 10;
            }
        }
    }

    /** Told of at once. */
    private void allocateAtOnce(int blocks) {
        allocated += blocks;
        poll();
        nanos += SECOND / 10;
    }

    private void poll() {
        own.now(nanos);
        EngineReadings readings = Samples.readings(CAPACITY * BLOCK, BLOCK, 9_000, 0, waiting, used, 0, 0, nanos);
        double found = cachedTokens
                + sent.stream()
                        .filter(CompletableFuture::isDone)
                        .mapToLong(answer -> answer.join().cachedTokens().orElse(0))
                        .sum();
        EngineReadings all = Samples.with(readings, "cachedTokens", Reading.known(found, "test", nanos));
        warm.poll(backend, new KeepWarm.Now(nanos, allocated, own.usersOnly(all, 0), promptBlocks, false, unseen));
    }

    private void pollSilent() {
        warm.poll(
                backend,
                new KeepWarm.Now(nanos, allocated, EngineReadings.unknown("silent"), promptBlocks, false, unseen));
    }

    private final class Decided implements KeepWarm.Decisions {
        @Override
        public void lost(Hold hold, String evidence) {
            decided.add("lost " + hold.id() + ": " + evidence);
        }

        @Override
        public void notWorthIt(Hold hold, String reason) {
            decided.add("rests " + hold.id() + ": " + reason);
            holds.update(hold.waiting(Long.MAX_VALUE, reason));
            assertThat(holds.living(hold.id()).orElseThrow().state()).isEqualTo(HoldState.REQUESTED);
        }

        @Override
        public void usedAgain(Hold hold) {
            decided.add("used " + hold.id());
        }
    }

    private static final class Silent implements TreeListener {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    }
}
