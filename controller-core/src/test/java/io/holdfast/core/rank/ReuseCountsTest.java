package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Counts of several engines, and who is told what. */
final class ReuseCountsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int CAPACITY = 100_000;
    private static final int CONVERSATIONS = 40;
    private static final int MOST_BLOCKS = 60;
    private static final long[] WITHIN = {10, 60, 600};

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

    /** One request of a second. */
    private record Asked(int conversation, int blocks, int hint) {
        long[] path() {
            return LongStream.range(0, blocks)
                    .map(block -> 1_000L * conversation + block)
                    .toArray();
        }

        void of(RankedPins pins, long now) {
            pins.tick(now);
            pins.request(path(), blocks, blocks, blocks, blocks * 512, hint, now);
        }
    }

    /** Conversations that go on, with hints that mean nothing. */
    private static List<Asked> traffic(long seed, int seconds) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] blocks = new int[CONVERSATIONS];
        List<Asked> all = new ArrayList<>();
        for (int i = 0; i < seconds; i++) {
            int conversation = random.nextInt(1 + random.nextInt(CONVERSATIONS));
            blocks[conversation] = Math.min(MOST_BLOCKS, blocks[conversation] + random.nextInt(1, 8));
            all.add(new Asked(conversation, blocks[conversation], random.nextInt(ReuseCurves.HINTS)));
        }
        return all;
    }

    private static RankedPins engine() {
        return new RankedPins(RankSettings.defaults().withLicence(RankSettings.Licence.NONE), CAPACITY, NOBODY);
    }

    private static ReuseCounts counted(RankedPins pins, long now) {
        return pins.reuse(now).counted();
    }

    @Test
    void halvesOfTheTraffic_addUpToWhatOneEngineCountsOfAll() {
        RankedPins even = engine();
        RankedPins odd = engine();
        RankedPins all = engine();
        long now = 0;
        for (Asked asked : traffic(8, 1_200)) {
            now += SECOND;
            asked.of(asked.conversation() % 2 == 0 ? even : odd, now);
            asked.of(all, now);
        }
        ReuseCounts sum = counted(even, now).plus(counted(odd, now));
        assertThat(sum.numbers()).isEqualTo(counted(all, now).numbers());
        assertThat(Arrays.stream(sum.used()).sum()).isGreaterThan(10_000);
        assertThat(Arrays.stream(sum.unused()).sum()).isGreaterThan(1_000);

        // Who takes the sum ranks as who goes on from all of it.
        RankedPins newcomer = engine();
        newcomer.give(sum, now);
        RankedPins goesOn = engine();
        goesOn.restore(all.learned(CAPACITY, now), 0, now);
        RankedPins alone = engine();
        boolean differs = false;
        for (Asked asked : traffic(9, 90)) {
            now += SECOND;
            asked.of(newcomer, now);
            asked.of(goesOn, now);
            asked.of(alone, now);
            for (long hash : asked.path()) {
                PrefixRank rank = newcomer.rank(hash, 1, WITHIN, now).orElseThrow();
                assertThat(rank).isEqualTo(goesOn.rank(hash, 1, WITHIN, now).orElseThrow());
                differs |= !rank.equals(alone.rank(hash, 1, WITHIN, now).orElseThrow());
            }
        }
        assertThat(differs).as("who knows nothing ranks otherwise").isTrue();
        assertThat(newcomer.medianReuse()).isEqualTo(goesOn.medianReuse());
    }

    /** Or counts would go round a cell and grow with each newcomer. */
    @Test
    void whatWasTaken_isToldToNobody() {
        RankedPins a = engine();
        RankedPins b = engine();
        RankedPins twin = engine();
        long now = 0;
        for (Asked asked : traffic(1, 300)) {
            now += SECOND;
            asked.of(a, now);
        }
        assertThat(b.reuse(now).mayTake()).isTrue();
        ReuseCounts ofA = counted(a, now);
        b.give(ofA, now);
        assertThat(b.reuse(now).mayTake()).isFalse();
        assertThat(counted(b, now).isEmpty()).isTrue();
        for (Asked asked : traffic(2, 300)) {
            now += SECOND;
            asked.of(b, now);
            asked.of(twin, now);
        }
        assertThat(counted(b, now).numbers()).isEqualTo(counted(twin, now).numbers());
        assertThat(b.learned(CAPACITY, now).counts().numbers())
                .as("what the next process of B goes on from")
                .isEqualTo(ofA.plus(counted(b, now)).numbers());

        RankedPins again = engine();
        again.give(counted(b, now), now);
        assertThat(again.learned(CAPACITY, now).counts().numbers())
                .as("A, of which nothing was left, has nothing of its own back by way of B")
                .isEqualTo(counted(twin, now).numbers());
        assertThat(counted(again, now).isEmpty()).isTrue();

        RankedPins next = engine();
        next.restore(b.learned(CAPACITY, now), 0, now);
        assertThat(next.reuse(now).mayTake()).isFalse();
        assertThat(counted(next, now).isEmpty())
                .as("an earlier process told it already")
                .isTrue();
    }

    /** It may be read late from the disk, and the cell's sum may be in it. */
    @Test
    void ownPast_replacesWhatACellGave() {
        RankedPins past = engine();
        RankedPins cell = engine();
        RankedPins now = engine();
        RankedPins twin = engine();
        traffic(1, 100).forEach(asked -> asked.of(past, SECOND));
        traffic(2, 100).forEach(asked -> asked.of(cell, 5 * SECOND));
        now.give(counted(cell, 5 * SECOND), 5 * SECOND);
        for (Asked asked : traffic(3, 50)) {
            asked.of(now, 9 * SECOND);
            asked.of(twin, 9 * SECOND);
        }
        now.restore(past.learned(CAPACITY, 9 * SECOND), 0, 9 * SECOND);
        twin.restore(past.learned(CAPACITY, 9 * SECOND), 0, 9 * SECOND);
        assertThat(now.learned(CAPACITY, 9 * SECOND))
                .usingRecursiveComparison()
                .isEqualTo(twin.learned(CAPACITY, 9 * SECOND));
        assertThat(now.medianReuse()).isEqualTo(twin.medianReuse());
    }

    @Test
    void counts_areBoundedInProportion_andAsWholeNumbers() {
        RankedPins pins = engine();
        traffic(1, 300).forEach(asked -> asked.of(pins, 7 * SECOND));
        ReuseCounts counts = counted(pins, 8 * SECOND);
        assertThat(counts.atMost(counts.weight())).isSameAs(counts);
        ReuseCounts half = counts.atMost(counts.weight() / 2);
        assertThat(half.weight()).isBetween(0.45 * counts.weight(), 0.5 * counts.weight());
        for (int at = 0; at < ReuseCounts.COUNT; at++) {
            assertThat(half.numbers()[at]).isEqualTo(Math.floor(counts.numbers()[at] / 2));
        }
        assertThat(ReuseCounts.none().isEmpty()).isTrue();
        assertThat(counts.isEmpty()).isFalse();
    }

    @Test
    void whatIsNoCount_isRefused() {
        for (double wrong : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY}) {
            double[] numbers = new double[ReuseCounts.COUNT];
            numbers[7] = wrong;
            assertThatIllegalArgumentException().isThrownBy(() -> new ReuseCounts(numbers));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> new ReuseCounts(new double[ReuseCounts.COUNT - 1]));
    }
}
