package io.holdfast.core.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Requests are told as SGLang tells them: the blocks that were not there, below those that were. */
final class SharedPrefixesTest {
    private static final long HALF_LIFE = 300_000_000_000L;
    private static final long SYSTEM_PROMPT = 20;

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {
            if (ended) {
                prefixes().insertionEnded(lastBlock);
            }
        }

        @Override
        public void parted(long above, long first) {
            prefixes().parted(above, first);
        }

        @Override
        public void pinnedBlockRemoved(long block) {}
    });
    private final SharedPrefixes prefixes = new SharedPrefixes(tree, new BlockTokens(tree::resident), HALF_LIFE);
    private final VisibleRequests requests = new VisibleRequests(RequestRules.sglang(), tree, new RequestListener() {
        @Override
        public void prompt(VisibleRequest request, int before) {
            prefixes().prompt(request, before);
            lastRequest = Optional.of(request);
        }

        @Override
        public void completed(VisibleRequest request) {}
    });
    private Optional<VisibleRequest> lastRequest = Optional.empty();
    private long seconds;
    private long nextUser = 1_000;

    private SharedPrefixes prefixes() {
        return prefixes;
    }

    @Test
    void systemPromptBeforeTexts_lostOnce_isWorthAHold() {
        user(20, 10);
        user(20, 10);
        assertThat(seen())
                .hasValueSatisfying(prefix -> assertThat(prefix.ways()).isEqualTo(2));
        user(20, 10);
        assertThat(prefixes.worthHolding(prefix -> HALF_LIFE)).isEmpty();
        loseAll();
        user(20, 10);
        assertThat(prefixes.worthHolding(prefix -> HALF_LIFE)).singleElement().satisfies(prefix -> {
            assertThat(prefix.lastBlock()).isEqualTo(SYSTEM_PROMPT);
            assertThat(prefix.blocks()).isEqualTo(20);
            assertThat(prefix.requests()).isEqualTo(4);
            assertThat(prefix.hits()).isEqualTo(2);
            assertThat(prefix.losses()).isEqualTo(1);
            assertThat(prefix.lostBlocks()).isEqualTo(20);
        });
    }

    @Test
    void hottest_tellsHowOftenItIsTouchedNow() {
        assertThat(prefixes.hottest(8, Set.of(SYSTEM_PROMPT))).isEmpty();
        for (int i = 0; i < 40; i++) {
            user(20, 5);
        }
        assertThat(prefixes.hottest(8, Set.of(SYSTEM_PROMPT))).singleElement().satisfies(hot -> {
            assertThat(hot.lastBlock()).isEqualTo(SYSTEM_PROMPT);
            assertThat(hot.blocks()).isEqualTo(20);
            assertThat(hot.resident()).isTrue();
            assertThat(hot.held()).isTrue();
            assertThat(hot.tokens()).isEmpty();
            // 40 requests within moments: as many as a rate would leave behind whose half-life is five minutes.
            assertThat(hot.touchesAnHour()).isBetween(40 * 12 * 0.5, 40 * 12 * 0.7);
        });
        assertThat(prefixes.hottest(0, Set.of())).isEmpty();
        loseAll();
        assertThat(prefixes.hottest(8, Set.of(SYSTEM_PROMPT)))
                .singleElement()
                .satisfies(hot -> assertThat(hot.resident()).isFalse());
    }

    @Test
    void tailsEvictedBetweenUsers_stillShowsWhereTheyPart() {
        for (int i = 0; i < 4; i++) {
            long[] tail = user(20, 5);
            evict(tail);
        }
        assertThat(seen())
                .hasValueSatisfying(prefix -> assertThat(prefix.ways()).isEqualTo(4));
    }

    @Test
    void conversation_whoseTurnsFollowOneAnother_isNotShared() {
        long[] turn = user(20, 10);
        for (int i = 0; i < 6; i++) {
            turn = below(turn[turn.length - 1], 8);
        }
        loseAll();
        user(20, 10);
        assertThat(prefixes.worthHolding(prefix -> HALF_LIFE)).isEmpty();
    }

    @Test
    void oneTextAgainAndAgain_isOneWay() {
        user(20, 5);
        long[] text = user(20, 5);
        for (int i = 0; i < 5; i++) {
            evict(text);
            store(SYSTEM_PROMPT, text);
        }
        assertThat(seen())
                .hasValueSatisfying(prefix -> assertThat(prefix.ways()).isEqualTo(2));
    }

    @Test
    void shortestLivingPath_isTheShortestThatIsLeft() {
        long[] first = user(20, 5);
        long[] longer = user(20, 9);
        long[] shorter = user(20, 3);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(last(shorter));
        evict(shorter);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(last(longer));
        evict(longer);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEmpty();
        assertThat(first).hasSize(5);
    }

    @Test
    void prefixStoredAlone_isItsOwnShortestPath() {
        user(20, 5);
        user(20, 5);
        loseAll();
        store(0, LongStream.rangeClosed(1, 20).toArray());
        user(20, 5);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(OptionalLong.of(SYSTEM_PROMPT));
    }

    @Test
    void wantedPrefix_thatNobodyShared_findsPathsThatWereThereBefore() {
        long[] only = user(20, 5);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEmpty();
        prefixes.want(SYSTEM_PROMPT, 20);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(last(only));
        prefixes.unwant(SYSTEM_PROMPT);
        assertThat(prefixes.find(SYSTEM_PROMPT)).isEmpty();
    }

    @Test
    void wantedPrefix_thatComesLater_isFollowedFromThen() {
        prefixes.want(SYSTEM_PROMPT, 20);
        long[] text = user(20, 5);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(last(text));
        assertThat(seen())
                .hasValueSatisfying(prefix -> assertThat(prefix.losses()).isZero());
    }

    @Test
    void heat_halvesInAHalfLife() {
        for (int i = 0; i < 8; i++) {
            user(20, 5);
        }
        double hot = seen().orElseThrow().heat();
        seconds += 300;
        prefixes.now(seconds * 1_000_000_000);
        assertThat(seen().orElseThrow().heat()).isBetween(hot * 0.49, hot * 0.51);
    }

    @Test
    void needBesideTheHeldPrefix_isTheRestOfThePrompts() {
        for (int i = 0; i < 40; i++) {
            user(20, 3);
        }
        assertThat(prefixes.needBeside(Set.of())).hasValue(23);
        assertThat(prefixes.needBeside(Set.of(SYSTEM_PROMPT))).hasValue(3);
    }

    @Test
    void longerSharedPrefix_knowsTheShorterOne() {
        user(20, 5);
        user(20, 5);
        long[] team = user(20, 5);
        long teamEnd = team[4];
        below(teamEnd, 3);
        below(teamEnd, 3);
        assertThat(prefixes.find(teamEnd)).hasValueSatisfying(prefix -> {
            assertThat(prefix.above()).isEqualTo(OptionalLong.of(SYSTEM_PROMPT));
            assertThat(prefix.blocks()).isEqualTo(25);
        });
    }

    @Test
    void sharedPrefixes_areBounded() {
        for (int i = 0; i < 2_000; i++) {
            long[] one = below(0, 3);
            store(one[1], 1_000_000 + i);
        }
        assertThat(prefixes.all()).hasSizeLessThanOrEqualTo(1024);
    }

    @Test
    void sharing_countsARequestForItsLongestPrefixAlone() {
        user(20, 5);
        user(20, 5);
        long[] team = user(20, 5);
        below(team[4], 3);
        below(team[4], 3);
        assertThat(prefixes.sharing()).isEqualTo(new Sharing(4, 0, 0, 0, 0));
        loseAll();
        user(19, 5);
        user(20, 5);
        assertThat(prefixes.sharing())
                .as("nobody knew yet that 19 blocks are shared; then the last of 20")
                .isEqualTo(new Sharing(4, 0, 1, 0, 1));
        assertThat(seen().orElseThrow().losses()).isEqualTo(1);
        assertThat(seen().orElseThrow().lostBlocks()).isEqualTo(1);
    }

    @Test
    void sharing_tellsWhatWasFoundInPartFromWhatWasLostWhole_andWhatEventsDidNotShow() {
        user(20, 5);
        user(20, 5);
        user(20, 5);
        prefixes.used(SYSTEM_PROMPT, 1);
        loseAll();
        user(20, 5);
        assertThat(prefixes.sharing()).isEqualTo(new Sharing(3, 1, 0, 1, 20));
        assertThat(prefixes.sharing().lost()).isEqualTo(1);
    }

    @Test
    void evictionOfASharedPrefix_isToldOnceWithItsLengthAndAge() {
        user(20, 5);
        user(20, 5);
        assertThat(prefixes.evictions()).isEmpty();
        seconds += 30;
        loseAll();
        assertThat(prefixes.evictions())
                .containsExactly(new PrefixEviction(1, SYSTEM_PROMPT, 20, Duration.ofSeconds(31)));
        assertThat(prefixes.evictions()).hasSize(1);
        user(20, 5);
        loseAll();
        assertThat(prefixes.evictions())
                .last()
                .isEqualTo(new PrefixEviction(2, SYSTEM_PROMPT, 20, Duration.ofSeconds(1)));
        for (int i = 0; i < 20; i++) {
            user(20, 5);
            loseAll();
            assertThat(prefixes.evictions()).hasSizeLessThanOrEqualTo(16);
        }
        assertThat(prefixes.evictions().getLast().number()).isEqualTo(22);
    }

    @Test
    void requestsThatRunTogether_andComputeItEach_haveLostNothing() {
        user(20, 5);
        user(20, 5);
        user(20, 5);
        computedAgain(20, 5);
        assertThat(seen().orElseThrow().losses()).as("nothing was evicted").isZero();
        assertThat(prefixes.sharing().lost()).isZero();
        loseAll();
        // Both copies.
        loseAll();
        user(20, 5);
        computedAgain(20, 5);
        assertThat(seen().orElseThrow().losses())
                .as("evicted once, computed twice")
                .isEqualTo(1);
    }

    @Test
    void twoWays_lostAndBack_areNotWorthAHold() {
        user(20, 5);
        long[] again = user(20, 5);
        loseAll();
        store(
                0,
                LongStream.concat(LongStream.rangeClosed(1, 20), LongStream.of(again))
                        .toArray());
        assertThat(seen()).hasValueSatisfying(prefix -> {
            assertThat(prefix.requests()).isEqualTo(3);
            assertThat(prefix.losses()).isEqualTo(1);
            assertThat(prefix.ways()).isEqualTo(2);
        });
        assertThat(prefixes.worthHolding(prefix -> HALF_LIFE)).isEmpty();
    }

    @Test
    void laterChunkOfAPrompt_passesNothingAgain() {
        user(20, 5);
        user(20, 5);
        prefixes.prompt(lastRequest.orElseThrow(), 25);
        assertThat(seen().orElseThrow().requests()).isEqualTo(2);
        assertThat(prefixes.sharing()).isEqualTo(new Sharing(1, 0, 0, 0, 0));
    }

    @Test
    void sharing_longerPrefixThatIsOnlyWanted_hidesNoSharedOne() {
        user(20, 5);
        long[] text = user(20, 5);
        prefixes.want(text[2], 23);
        below(text[4], 3);
        assertThat(prefixes.sharing()).isEqualTo(new Sharing(2, 0, 0, 0, 0));
    }

    @Test
    void youngestPath_isRememberedWhateverItsLength() {
        List<long[]> shorter = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            shorter.add(user(20, 2));
        }
        long[] youngest = user(20, 9);
        shorter.forEach(this::evict);
        assertThat(prefixes.shortestPathOver(SYSTEM_PROMPT)).isEqualTo(last(youngest));
    }

    @Test
    void room_isMadeOfTheColdestThatNobodyWants() {
        prefixes.want(77, 5);
        for (int i = 0; i < 1_500; i++) {
            long[] one = below(0, 3);
            store(one[1], 10_000_000 + i);
            if (i % 30 == 0) {
                user(20, 1);
            }
        }
        assertThat(prefixes.find(77)).as("wanted").isPresent();
        assertThat(seen().orElseThrow().ways()).as("hot").isEqualTo(50);
    }

    @Test
    void costliestPrefix_comesFirst() {
        user(20, 5);
        user(20, 5);
        loseAll();
        user(20, 5);
        long[] other = below(0, 3);
        store(other[1], 9_000_001);
        assertThat(prefixes.all()).extracting(SharedPrefix::lastBlock).containsExactly(SYSTEM_PROMPT, other[1]);
    }

    @Test
    void sharedPrefix_thatNobodyWantsAnyMore_isFollowedStill() {
        user(20, 5);
        user(20, 5);
        prefixes.want(SYSTEM_PROMPT, 20);
        prefixes.unwant(SYSTEM_PROMPT);
        assertThat(seen()).isPresent();
    }

    /** The example that is often counted otherwise: 64 requests of 448 tokens, 248 of which all of them share. */
    @Test
    void demand_hasWhatIsSharedOnce_andSaysWhatItWouldBeInFull() {
        for (int i = 0; i < 70; i++) {
            user(31, 25);
        }

        assertThat(prefixes.demand(64, 8)).isEqualTo(new Demand(64, 13_048, 28_672));
        assertThat(prefixes.demand(1, 8)).isEqualTo(new Demand(1, 448, 448));
        assertThat(prefixes.demand(1_000, 8).prompts()).isEqualTo(70);
        assertThat(prefixes.demand(0, 8)).isEqualTo(Demand.NONE);
    }

    @Test
    void demandOfTwoTeams_hasTheCommonPromptOnceAndEachTeamsOnce() {
        long[] one = user(20, 5);
        long[] other = user(20, 5);
        long[] first = below(one[4], 3);
        long[] second = below(one[4], 3);
        long[] third = below(other[4], 4);
        long[] fourth = below(other[4], 4);

        // 20 common, 5 for each team, and the ends: 3 + 3 + 4 + 4.
        assertThat(prefixes.demand(4, 1)).isEqualTo(new Demand(4, 44, 28 + 28 + 29 + 29));
        assertThat(first.length + second.length + third.length + fourth.length).isEqualTo(14);
    }

    @Test
    void lengths_areOfTheLastPrompts() {
        assertThat(prefixes.lengths(16)).isEqualTo(Lengths.NONE);
        for (int i = 0; i < 8; i++) {
            user(20, 3);
        }
        user(20, 30);
        user(20, 40);

        assertThat(prefixes.lengths(16)).isEqualTo(new Lengths(10, 23 * 16, 50 * 16));
    }

    @Test
    void needBeside_isOfTheNinthOfTenPrompts() {
        for (int i = 0; i < 8; i++) {
            user(20, 3);
        }
        user(20, 30);
        user(20, 40);
        assertThat(prefixes.needBeside(Set.of())).hasValue(50);
    }

    @Test
    void needBeside_shorterPrefixHeldAlone_isAllBeyondIt() {
        user(20, 5);
        long[] team = user(20, 5);
        for (int i = 0; i < 40; i++) {
            below(team[4], 3);
        }
        assertThat(prefixes.needBeside(Set.of(SYSTEM_PROMPT))).hasValue(8);
        assertThat(prefixes.needBeside(Set.of(SYSTEM_PROMPT, team[4]))).hasValue(3);
    }

    @Test
    void oneLongGap_isNotTheUsualOne() {
        for (int i = 0; i < 6; i++) {
            seconds += i == 5 ? 999 : 9;
            user(20, 10);
        }
        assertThat(seen().orElseThrow().gapNanos()).isEqualTo(10_000_000_000L);
    }

    private Optional<SharedPrefix> seen() {
        return prefixes.find(SYSTEM_PROMPT);
    }

    private static OptionalLong last(long[] blocks) {
        return OptionalLong.of(blocks[blocks.length - 1]);
    }

    /** One more user's text of its own below the first {@code shared} blocks; the text's blocks. */
    private long[] user(int shared, int text) {
        int there = 0;
        while (there < shared && tree.resident(there + 1)) {
            there++;
        }
        long[] fresh = fresh(text);
        long[] stored = LongStream.concat(LongStream.rangeClosed(there + 1, shared), LongStream.of(fresh))
                .toArray();
        store(there, stored);
        return fresh;
    }

    /** The same by a request that began before the blocks were there, so that it stores them once more. */
    private void computedAgain(int shared, int text) {
        store(
                0,
                LongStream.concat(LongStream.rangeClosed(1, shared), LongStream.of(fresh(text)))
                        .toArray());
    }

    private long[] below(long parent, int blocks) {
        long[] fresh = fresh(blocks);
        store(parent, fresh);
        return fresh;
    }

    private long[] fresh(int blocks) {
        nextUser += 1_000;
        return LongStream.range(nextUser, nextUser + blocks).toArray();
    }

    private void store(long parent, long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset().in(Tier.GPU).blockTokens(16);
        if (parent != 0) {
            chain.under(parent);
        }
        for (long block : blocks) {
            chain.add(block);
        }
        batch(() -> {
            tree.stored(chain);
            requests.stored(chain);
        });
    }

    private void loseAll() {
        evict(LongStream.concat(LongStream.rangeClosed(1, 20), LongStream.rangeClosed(1_000, nextUser + 100))
                .filter(tree::resident)
                .map(block -> -block)
                .sorted()
                .map(block -> -block)
                .toArray());
    }

    private void evict(long... blocks) {
        long[] tailFirst = LongStream.range(0, blocks.length)
                .map(i -> blocks[(int) (blocks.length - 1 - i)])
                .toArray();
        batch(() -> {
            tree.removed(tailFirst, 0, tailFirst.length, Tier.GPU, 0);
            requests.removed(tailFirst, 0, tailFirst.length, Tier.GPU, 0);
        });
    }

    private void batch(Runnable events) {
        seconds++;
        long nanos = seconds * 1_000_000_000;
        tree.now(nanos);
        prefixes.now(nanos);
        tree.batchStarted(seconds, nanos / 1000);
        requests.batchStarted(seconds, nanos / 1000);
        events.run();
        tree.batchEnded();
        requests.batchEnded();
        requests.idle(OptionalLong.empty(), OptionalLong.empty());
    }
}
