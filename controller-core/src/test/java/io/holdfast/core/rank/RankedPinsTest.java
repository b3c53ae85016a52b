package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

final class RankedPinsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int CAPACITY = 400;
    private static final int PROMPT = 20;

    private static final RankedPins.Pins NOBODY = new RankedPins.Pins() {
        @Override
        public void pin(long hash) {
            // Nobody has to.
        }

        @Override
        public void unpin(long hash) {
            // Nobody has to.
        }
    };

    private final Set<Long> pinned = new TreeSet<>();
    private final RankedPins pins = new RankedPins(RankSettings.defaults(), CAPACITY, new RankedPins.Pins() {
        @Override
        public void pin(long hash) {
            assertThat(pinned.add(hash)).isTrue();
        }

        @Override
        public void unpin(long hash) {
            assertThat(pinned.remove(hash)).isTrue();
        }
    });
    private final Set<Integer> removed = new HashSet<>();
    private final LruCache engine = new LruCache(CAPACITY, removed::add);
    /** What the same requests would have left in a cache without pins. */
    private final LruCache unpinned = new LruCache(CAPACITY, block -> {});

    private long now;
    private int fresh = 1_000_000;

    @Test
    void conversationsBetweenOneShots_areHeld_onceTheShadowsAgree() {
        traffic(120, 0.5);
        assertThat(pins.isOpen()).isTrue();
        assertThat(pinned).isNotEmpty();
        assertThat(pins.pinned()).isEqualTo(pinned.size());
        assertThat(pinned.size()).isLessThanOrEqualTo((int) (0.8 * CAPACITY));
        long conversations = pinned.stream().filter(hash -> hash < 1_000_000).count();
        assertThat(conversations).isGreaterThan(pinned.size() / 2);
    }

    @Test
    void rankOfEachBlock_agreesWithThatOfAllOthers() {
        traffic(120, 0.5);
        Map<Long, PrefixRank> ranks = new HashMap<>();
        for (int conversation = 0; conversation < 20; conversation++) {
            for (long hash : hashes(conversation)) {
                pins.rank(hash, 1, new long[] {10, 60, 600}, now).ifPresent(rank -> ranks.put(hash, rank));
            }
        }
        assertThat(ranks).hasSizeGreaterThan(100);
        int held = 0;
        for (Map.Entry<Long, PrefixRank> entry : ranks.entrySet()) {
            PrefixRank rank = entry.getValue();
            assertThat(rank.order().chosen()).isEqualTo(pinned.contains(entry.getKey()));
            held += rank.order().chosen() ? 1 : 0;
            assertThat(rank.lru().keeps()).isEqualTo(unpinned.has(entry.getKey().intValue()));
            assertThat(rank.kind().leastPromptTokens()).isEqualTo(8_192);
            assertThat(rank.order().of()).isEqualTo(pins.resident());
            assertThat(rank.chances().get(0).chance())
                    .isBetween(0.0, rank.chances().get(1).chance());
            assertThat(rank.chances().get(2).chance())
                    .isBetween(rank.chances().get(1).chance(), 1.0);
            for (PrefixRank other : ranks.values()) {
                if (other.order().usesASecond() > rank.order().usesASecond()) {
                    assertThat(other.order().before()).isLessThan(rank.order().before() + (other.cached() ? 0 : 1));
                }
            }
        }
        assertThat(held).isPositive();
        assertThat(ranks.values())
                .as("so the cache and the one without pins are not the same")
                .anyMatch(rank -> rank.order().chosen() && !rank.lru().keeps());
    }

    /** The model with pins takes what ranks highest long before anybody may. */
    @Test
    void beforeTheLicence_nothingIsChosen() {
        RankedPins unlicensed = new RankedPins(RankSettings.defaults(), CAPACITY, NOBODY);
        for (int i = 0; i < 60; i++) {
            now += SECOND;
            unlicensed.tick(now);
            unlicensed.request(hashes(i % 3), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
        assertThat(unlicensed.isOpen()).isFalse();
        assertThat(unlicensed
                        .rank(hashes(0)[0], 1, new long[] {10}, now)
                        .orElseThrow()
                        .order()
                        .chosen())
                .isFalse();
    }

    @Test
    void whatWasGenerated_wasNotAskedFor() {
        long[] path = hashes(3);
        RankedPins chunked = new RankedPins(RankSettings.defaults(), CAPACITY, NOBODY);
        long request = chunked.request(path, 7, 7, 7, 7 * 512, 0, now);
        chunked.grew(request, path, 7, PROMPT, PROMPT * 512, true, now);
        assertThat(chunked.evidence().of()).isEqualTo(7);
        long other = chunked.request(hashes(4), 7, 7, 7, 7 * 512, 0, now);
        chunked.grew(other, hashes(4), 7, 10, 10 * 512, false, now);
        assertThat(chunked.evidence().of()).as("more of a prompt was").isEqualTo(17);
    }

    @Test
    void emptiedCache_isEmptyInBothModels() {
        traffic(120, 0.5);
        pins.request(hashes(1), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        pins.cleared(now);
        pinned.clear();
        assertThat(pins.resident()).isZero();
        double without = pins.evidence().without();
        double with = pins.evidence().with();
        pins.request(hashes(1), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        assertThat(pins.evidence().without()).isEqualTo(without);
        assertThat(pins.evidence().with()).isEqualTo(with);
        pins.request(hashes(1), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        assertThat(pins.evidence().without()).as("found again").isEqualTo(without + PROMPT);
    }

    /** Or the model with pins would find for ever what the engine has long evicted. */
    @Test
    void emptiedCache_keepsNothingInTheModelWithPins() {
        traffic(120, 0.5);
        pins.cleared(now);
        pinned.clear();
        for (int conversation = 0; conversation < 10; conversation++) {
            pins.request(hashes(conversation), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
        for (int i = 0; i < 2 * CAPACITY / PROMPT; i++) {
            now += SECOND;
            pins.request(hashes(100 + i), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
        double with = pins.evidence().with();
        for (int conversation = 0; conversation < 10; conversation++) {
            pins.request(hashes(conversation), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
        assertThat(pins.evidence().with()).isEqualTo(with);
    }

    @Test
    void laterPartOfAPrompt_teachesWhenItIsUsedAgain() {
        long[] path = hashes(3);
        RankedPins chunked = new RankedPins(RankSettings.defaults(), CAPACITY, NOBODY);
        for (int i = 0; i < 200; i++) {
            now += SECOND;
            long request = chunked.request(path, 1, 1, 1, 512, 0, now);
            if (i % 10 == 0) {
                chunked.grew(request, path, 1, PROMPT, PROMPT * 512, false, now);
            }
        }
        assertThat(chunked.medianReuse())
                .as("of 20 blocks, 19 each ten seconds")
                .isCloseTo(10, within(2.0));
    }

    /** What lies above a pinned block would be evicted, and with it all use of the pin. */
    @Test
    void whatIsPinned_reachesFromTheRoot_andIsNoMoreThanMayBe() {
        traffic(120, 0.5);
        int largest = 0;
        for (int most = 4 * PROMPT; most >= 0; most -= 9) {
            now += 10 * SECOND;
            pins.tick(now, most, new long[0]);
            assertThat(pinned).hasSizeLessThanOrEqualTo(most);
            assertThat(pinned)
                    .allSatisfy(hash -> assertThat(hash % 1_000 == 0
                                    || (hash >= 1_000_000 && (hash - 1_000_000) % PROMPT == 0)
                                    || pinned.contains(hash - 1))
                            .isTrue());
            largest = Math.max(largest, pinned.size());
        }
        assertThat(largest).isGreaterThan(PROMPT);
    }

    @Test
    void whatComesFirst_isPinnedBeforeWhatRanksHigher() {
        traffic(120, 0.5);
        long[] cold = hashes(77);
        send(cold);
        now += 20 * SECOND;
        pins.tick(now, PROMPT, new long[] {cold[PROMPT - 1], 123_456});
        assertThat(pinned).hasSize(PROMPT).contains(cold[0], cold[PROMPT - 1]);
    }

    /** A part of a path that cannot be held as a whole is no use to whoever wants its end. */
    @Test
    void pathThatIsMoreThanMayBeHeld_isLeftOut() {
        traffic(120, 0.5);
        long[] cold = hashes(77);
        send(cold);
        now += 20 * SECOND;
        pins.tick(now, PROMPT - 1, new long[] {cold[PROMPT - 1]});
        assertThat(pinned).hasSizeBetween(1, PROMPT - 1).doesNotContain(cold[0], cold[PROMPT - 1]);
    }

    @Test
    void blocks_areAlikeByTurnUsesAndLength() {
        assertThat(classes(uses -> RankedPins.classOf(1, uses, 1), 1, 2, 3, 5, 9))
                .isEqualTo(classes(uses -> RankedPins.classOf(1, uses, 1), 1, 2, 4, 8, 1_000))
                .hasSize(5);
        assertThat(classes(tokens -> RankedPins.classOf(1, 1, tokens), 0, 8_192, 32_768))
                .isEqualTo(classes(tokens -> RankedPins.classOf(1, 1, tokens), 8_191, 32_767, 1_000_000))
                .hasSize(3);
        assertThat(classes(turn -> RankedPins.classOf(turn, 1, 1), 1, 2, 3, 4))
                .isEqualTo(classes(turn -> RankedPins.classOf(turn, 1, 1), 1, 2, 3, 100))
                .hasSize(4);
    }

    private static Set<Integer> classes(IntUnaryOperator of, int... values) {
        return IntStream.of(values).map(of).boxed().collect(Collectors.toSet());
    }

    /** Some backends can only hold to where an insertion ended. */
    @Test
    void choiceThatIsCutWithinARequest_endsWhereAHoldMayEnd() {
        RankedPins cut =
                new RankedPins(RankSettings.defaults().withLicence(RankSettings.Licence.NONE), CAPACITY, NOBODY);
        long[] path = hashes(3);
        for (int i = 0; i < 20; i++) {
            now += 10 * SECOND;
            cut.tick(now);
            cut.request(path, PROMPT / 2, PROMPT / 2, PROMPT / 2, 512, 0, now);
            cut.request(path, PROMPT, PROMPT, PROMPT, 512, 0, now);
        }
        now += 10 * SECOND;
        cut.tick(now, PROMPT - 5, new long[0]);
        assertThat(cut.pinned()).isEqualTo(PROMPT - 5);
        assertThat(ends(cut, hash -> hash == path[PROMPT / 2 - 1])).containsExactly(path[PROMPT / 2 - 1]);
        assertThat(ends(cut, hash -> true)).containsExactly(path[PROMPT - 6]);
        assertThat(ends(cut, hash -> false)).isEmpty();
    }

    private static List<Long> ends(RankedPins pins, LongPredicate mayEnd) {
        List<Long> ends = new ArrayList<>();
        pins.ends(300, 0, mayEnd, (hash, above, chance, uses, turn, idleSeconds) -> ends.add(hash));
        return ends;
    }

    /** What nobody remembers any more had its chance to be used again. */
    @Test
    void forgottenBlocks_countAsNotUsedAgain() {
        RankedPins forgetful = new RankedPins(
                RankSettings.defaults().withLicence(RankSettings.Licence.NONE).withGhosts(0), CAPACITY, NOBODY);
        for (int i = 0; i < 600; i++) {
            now += SECOND;
            forgetful.tick(now);
            forgetful.request(hashes(i), PROMPT, PROMPT, PROMPT, 512, 0, now);
            if (i % 10 == 0) {
                forgetful.request(hashes(Math.max(0, i - 10)), PROMPT, PROMPT, PROMPT, 512, 0, now);
            }
            for (long hash : hashes(Math.max(0, i - 30))) {
                forgetful.removed(hash, now);
            }
        }
        List<Double> chances = new ArrayList<>();
        forgetful.ends(300, 0, hash -> true, (hash, above, chance, uses, turn, idleSeconds) -> {
            if (uses == 1) {
                chances.add(chance);
            }
        });
        assertThat(chances)
                .as("one in ten is")
                .isNotEmpty()
                .allSatisfy(chance -> assertThat(chance).isLessThan(0.2));
    }

    /** An answer that grows block by block takes one place, wherever it ends by now. */
    @Test
    void endThatMoves_takesWhatWasKnownOfItAlong() {
        RankedPins pins =
                new RankedPins(RankSettings.defaults().withLicence(RankSettings.Licence.NONE), CAPACITY, NOBODY);
        long[] path = hashes(3);
        long number = pins.request(path, PROMPT, PROMPT, PROMPT, 512, 0, now);
        long further = path[PROMPT - 1] + 1_000_000;
        int known = pins.remembered();
        assertThat(pins.moved(path[PROMPT - 1], further)).isTrue();
        assertThat(pins.remembered()).isEqualTo(known);
        assertThat(pins.knows(path[PROMPT - 1])).isFalse();
        assertThat(pins.removed(further, now)).isTrue();
        path[PROMPT - 1] = further;
        assertThat(pins.moved(further, path[0])).as("which is known already").isFalse();
        assertThat(pins.moved(path[PROMPT - 1] + 1, 5))
                .as("of which nothing is known")
                .isFalse();
        pins.request(path, PROMPT, PROMPT, PROMPT, 512, 0, now + SECOND);
        assertThat(pins.moved(further, 5)).as("where another request went").isFalse();
        assertThat(number).isZero();
    }

    @Test
    void whatAModelOfTheCacheHas_isNotForgotten() {
        RankedPins forgetful = new RankedPins(RankSettings.defaults().withGhosts(0), CAPACITY, NOBODY);
        forgetful.request(hashes(1), PROMPT, PROMPT, PROMPT, 512, 0, now);
        for (long hash : hashes(1)) {
            forgetful.removed(hash, now);
        }
        forgetful.request(hashes(2), PROMPT, PROMPT, PROMPT, 512, 0, now);
        assertThat(forgetful.evidence().without()).as("its blocks are others").isZero();
    }

    /** Through flushes, and though not all of a prompt was stored. */
    @Test
    void whatIsRemembered_isBounded() {
        RankedPins bounded = new RankedPins(RankSettings.defaults().withGhosts(2), CAPACITY, NOBODY);
        for (int i = 0; i < 1_000; i++) {
            now += SECOND;
            bounded.tick(now);
            bounded.request(hashes(i), PROMPT, PROMPT / 2, PROMPT, 512, 0, now);
            if (i % 10 == 0) {
                bounded.cleared(now);
            }
        }
        assertThat(bounded.remembered()).isBetween(2 * CAPACITY, 3 * CAPACITY);
    }

    /** Or a machine that slept over a weekend would make all choices of the weekend. */
    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void afterALongSleep_notEveryMissedChoiceIsMade() {
        pins.request(hashes(1), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        now += 200L * 365 * 86_400 * SECOND;
        assertThat(pins.tick(now, CAPACITY, new long[0])).isTrue();
        assertThat(pins.tick(now, CAPACITY, new long[0])).as("once is enough").isFalse();
    }

    @Test
    void blockThatCameBack_isNotForgottenAsOneThatIsGone() {
        RankedPins forgetful = new RankedPins(RankSettings.defaults().withGhosts(1), CAPACITY, NOBODY);
        for (int round = 0; round < 2; round++) {
            forgetful.request(hashes(1), PROMPT, PROMPT, PROMPT, 512, 0, now);
            for (long hash : hashes(round == 0 ? 1 : 2)) {
                forgetful.removed(hash, now);
            }
        }
        for (int i = 0; i < 100; i++) {
            now += SECOND;
            forgetful.request(hashes(3 + i), PROMPT, PROMPT, PROMPT, 512, 0, now);
            for (long hash : hashes(3 + i)) {
                forgetful.removed(hash, now);
            }
        }
        assertThat(forgetful.knows(hashes(1)[0])).isTrue();
        assertThat(forgetful.knows(hashes(3)[0])).as("gone for long").isFalse();
    }

    @Test
    void choicesComeTwiceWithinAGapBetweenTwoUses() {
        assertThat(choices(new RankedPins(RankSettings.defaults(), 100 * CAPACITY, NOBODY), 4))
                .as("uses every 4 s, which is in a bin that ends at 5.3 s")
                .isBetween(35, 40);
    }

    @Test
    void choicesComeTwiceWhileABlockStays() {
        assertThat(choices(new RankedPins(RankSettings.defaults(), 4 * PROMPT, NOBODY), 600))
                .as("nothing is used again, and the fifth prompt evicts the first")
                .isBetween(45, 55);
    }

    @Test
    void choicesComeEveryTenSecondsWhereNothingIsUsedAgainOrEvicted() {
        assertThat(choices(new RankedPins(RankSettings.defaults(), 100 * CAPACITY, NOBODY), 600))
                .isBetween(9, 10);
    }

    /** In 100 s with a request a second, so many prompts in turns, after there was time to learn. */
    private int choices(RankedPins from, int prompts) {
        int choices = 0;
        for (int i = 0; i < 1_600; i++) {
            now += SECOND / 8;
            boolean chosen = from.tick(now, CAPACITY, new long[0]);
            choices += chosen && i >= 800 ? 1 : 0;
            if (i % 8 == 0) {
                from.request(hashes(i / 8 % prompts), PROMPT, PROMPT, PROMPT, 512, 0, now);
            }
        }
        return choices;
    }

    @Test
    void whatRunningRequestsHold_isNoRoomForPins() {
        pinned.clear();
        RankedPins busy = new RankedPins(
                RankSettings.defaults().withLicence(RankSettings.Licence.NONE), CAPACITY, new RankedPins.Pins() {
                    @Override
                    public void pin(long hash) {
                        pinned.add(hash);
                    }

                    @Override
                    public void unpin(long hash) {
                        pinned.remove(hash);
                    }
                });
        for (int i = 0; i < 200; i++) {
            now += SECOND;
            busy.running(i < 100 ? 0 : CAPACITY - (8 * PROMPT - 1), now);
            busy.tick(now);
            busy.request(hashes(i % 4 == 0 ? 100 + i : i % 5), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
            if (i == 99) {
                assertThat(pinned).isNotEmpty();
            }
        }
        assertThat(pinned).as("not eight prompts fit beside one that is held").isEmpty();
    }

    @Test
    void oneShotsAlone_areNeverPinned() {
        traffic(600, 0);
        assertThat(pins.isOpen()).isFalse();
        assertThat(pinned).isEmpty();
    }

    @Test
    void trafficThatEnds_closesTheGate_andAllPinsGo() {
        traffic(120, 0.5);
        assertThat(pins.isOpen()).isTrue();
        traffic(3_000, 0);
        assertThat(pins.isOpen()).isFalse();
        assertThat(pinned).isEmpty();
    }

    @Test
    void cacheThatEightPromptsFill_isLeftAlone_whilePromptsNeedAllOfIt() {
        RankedPins small = new RankedPins(
                RankSettings.defaults().withLicence(RankSettings.Licence.NONE), 8 * PROMPT - 1, new RankedPins.Pins() {
                    @Override
                    public void pin(long hash) {
                        throw new AssertionError("pinned " + hash);
                    }

                    @Override
                    public void unpin(long hash) {
                        throw new AssertionError("unpinned " + hash);
                    }
                });
        for (int i = 0; i < 200; i++) {
            now += SECOND;
            small.tick(now);
            // One in four is new, and nothing is held of what is new.
            small.request(hashes(i % 4 == 0 ? 100 + i : i % 5), PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
    }

    @Test
    void cacheThatEightPromptsFill_hasRoomForWhatTheyShare() {
        RankedPins small = new RankedPins(
                RankSettings.defaults().withLicence(RankSettings.Licence.NONE), 8 * PROMPT - 1, new RankedPins.Pins() {
                    @Override
                    public void pin(long hash) {
                        pinned.add(hash);
                    }

                    @Override
                    public void unpin(long hash) {
                        pinned.remove(hash);
                    }
                });
        for (int i = 0; i < 200; i++) {
            now += SECOND;
            small.tick(now);
            long[] path = hashes(0);
            path[PROMPT - 1] = 1_000_000L + i;
            small.request(path, PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
        }
        assertThat(pinned).contains(0L, PROMPT - 2L).hasSizeLessThan(2 * PROMPT);
    }

    @Test
    void requestThatGrows_isOneRequestAndOneUse() {
        long[] path = hashes(3);
        RankedPins chunked = new RankedPins(RankSettings.defaults(), CAPACITY, NOBODY);
        RankedPins whole = new RankedPins(RankSettings.defaults(), CAPACITY, NOBODY);
        for (int i = 0; i < 30; i++) {
            now += 10 * SECOND;
            whole.request(path, PROMPT, PROMPT, PROMPT, PROMPT * 512, 0, now);
            long request = chunked.request(path, 7, 7, 7, 7 * 512, 0, now);
            chunked.grew(request, path, 7, PROMPT - 2, (PROMPT - 2) * 512, false, now);
            chunked.grew(request, path, PROMPT - 2, PROMPT, PROMPT * 512, true, now);
            assertThat(chunked.medianReuse()).isEqualTo(whole.medianReuse());
        }
        assertThat(chunked.medianReuse()).isCloseTo(10, within(2.0));
    }

    @Test
    void whatTheEngineRemoved_isNotLetGoOfAgain() {
        traffic(120, 0.5);
        Set<Long> before = Set.copyOf(pinned);
        // A restart, or pins that the engine gave up: nobody has to be asked to unpin what is gone.
        before.forEach(hash -> pins.removed(hash, now));
        pinned.clear();
        now += 20 * SECOND;
        pins.tick(now);
        assertThat(pins.pinned()).isEqualTo(pinned.size());
    }

    /** Requests each second: of ten conversations that go on, or never seen again. */
    private void traffic(int seconds, double conversations) {
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < seconds; i++) {
            for (int j = 0; j < 4; j++) {
                now += SECOND / 4;
                pins.tick(now);
                if (random.nextDouble() < conversations) {
                    send(hashes(random.nextInt(10)));
                } else {
                    fresh += PROMPT;
                    long[] path = new long[PROMPT];
                    for (int depth = 0; depth < PROMPT; depth++) {
                        path[depth] = (long) fresh + depth;
                    }
                    send(path);
                }
            }
        }
    }

    private static long[] hashes(int conversation) {
        long[] path = new long[PROMPT];
        for (int depth = 0; depth < PROMPT; depth++) {
            path[depth] = conversation * 1_000L + depth;
        }
        return path;
    }

    private void send(long[] hashes) {
        int[] path = new int[hashes.length];
        for (int depth = 0; depth < path.length; depth++) {
            path[depth] = (int) hashes[depth];
        }
        pinned.stream().map(Long::intValue).filter(engine::has).forEach(engine::keep);
        int found = engine.hits(path, path.length);
        int stored = engine.use(path, path.length, now);
        pinned.stream().map(Long::intValue).filter(engine::has).forEach(engine::release);
        removed.forEach(block -> pins.removed(block, now));
        removed.clear();
        if (found < stored) {
            unpinned.use(path, path.length, now);
            pins.request(hashes, hashes.length, stored, hashes.length, hashes.length * 512, 0, now);
        }
    }
}
