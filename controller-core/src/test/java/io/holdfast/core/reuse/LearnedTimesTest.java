package io.holdfast.core.reuse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.TreeListener;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class LearnedTimesTest {
    private static final long SECOND = 1_000_000_000;
    private static final LearnedTimes SECONDS =
            new LearnedTimes(3, new long[] {SECOND, 2 * SECOND, 3 * SECOND}, 0, new long[0]);

    private final ReuseTimes times = new ReuseTimes(new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    }));

    @Test
    void pastThatIsReplayed_forgetsNothingOfAnEarlierProcess() {
        times.restore(SECONDS);
        times.now(1_000 * SECOND);
        times.batch(10_000_000);
        times.batch(990_000_000);
        assertThat(times.residence().median()).isEqualTo(Optional.of(Duration.ofSeconds(2)));
        assertThat(times.learned()).usingRecursiveComparison().isEqualTo(SECONDS);
    }

    @Test
    void moreThanAreRemembered_areCountedAndTheOldestGo() {
        RecentDurations early = new RecentDurations();
        for (int i = 0; i < 1_500; i++) {
            early.add(i);
        }
        RecentDurations taken = RecentDurations.of(early.count(), early.last());
        assertThat(taken.count()).isEqualTo(1_500);
        assertThat(taken.last()).startsWith(476).endsWith(1_499).hasSize(1_024);

        RecentDurations later = new RecentDurations();
        for (int i = 0; i < 1_300; i++) {
            later.add(10_000 + i);
        }
        RecentDurations both = taken.then(later);
        assertThat(both.count()).isEqualTo(2_800);
        assertThat(both.last()).startsWith(10_276).endsWith(11_299).hasSize(1_024);
        RecentDurations one = new RecentDurations();
        one.add(7);
        assertThat(taken.then(one).last()).startsWith(477).endsWith(7);
    }

    @Test
    void countsThatDoNotFit_areRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new LearnedTimes(2, new long[1], 0, new long[0]));
        assertThatIllegalArgumentException().isThrownBy(() -> new LearnedTimes(0, new long[0], 1, new long[] {-1}));
    }
}
