package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

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
        send(hashes(1));
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
        RankedPins small = new RankedPins(RankSettings.defaults().withoutGate(), 8 * PROMPT - 1, new RankedPins.Pins() {
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
        RankedPins small = new RankedPins(RankSettings.defaults().withoutGate(), 8 * PROMPT - 1, new RankedPins.Pins() {
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
            pins.request(hashes, hashes.length, stored, hashes.length, hashes.length * 512, 0, now);
        }
    }
}
