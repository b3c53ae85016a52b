package io.holdfast.core.reading;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class EngineReadingsTest {
    @Test
    void plausible_ordinaryReadings_areKept() {
        EngineReadings readings = Samples.readings(10_000, 16, 9_000, 1, 0, 10_000);
        assertThat(readings.plausible(625)).isEqualTo(readings);
        assertThat(EngineReadings.unknown("not asked").plausible(100_000))
                .isEqualTo(EngineReadings.unknown("not asked"));
    }

    @Test
    void plausible_blockOfNoTokens_isUnknown() {
        assertUnknown(Samples.readings(10_000, 0, 9_000, 0, 0, 0).plausible(1).blockTokens(), "test says 0, ");
        assertUnknown(Samples.readings(10_000, -16, 9_000, 0, 0, 0).plausible(1).blockTokens(), "test says -16, ");
    }

    @Test
    void plausible_cacheThatHoldsNothing_isUnknown() {
        assertUnknown(Samples.readings(0, 16, 9_000, 0, 0, 0).plausible(0).capacityTokens(), "at least one token");
        assertUnknown(Samples.readings(-1, 16, 9_000, 0, 0, 0).plausible(0).capacityTokens(), "test says -1, ");
    }

    @Test
    void plausible_moreBlocksThanTheCacheHolds_itsSizeIsUnknown() {
        assertUnknown(
                Samples.readings(10_000, 16, 9_000, 0, 0, 0).plausible(100_000).capacityTokens(),
                "the events report 100000 blocks of 16 tokens in it");
        assertUnknown(
                Samples.readings(10_000, 16, 9_000, 0, 0, 0).plausible(626).capacityTokens(), "626 blocks");
    }

    @Test
    void plausible_blockLargerThanTheCache_itsSizeIsUnknown() {
        assertUnknown(
                Samples.readings(10, 16, 9_000, 0, 0, 0).plausible(0).capacityTokens(), "one block has 16 tokens");
    }

    @Test
    void plausible_moreUsedThanThereIs_isUnknown() {
        assertUnknown(
                Samples.readings(10_000, 16, 9_000, 0, 0, 10_001).plausible(0).usedTokens(), "has 10000 tokens in all");
        assertUnknown(Samples.readings(10_000, 16, 9_000, 0, 0, -1).plausible(0).usedTokens(), "test says -1, ");
    }

    @Test
    void plausible_requestsThatNoEngineHas_areUnknown() {
        assertUnknown(Samples.readings(10_000, 16, 9_000, -1, 0, 0).plausible(0).runningRequests(), "test says -1, ");
        assertUnknown(
                Samples.readings(10_000, 16, 9_000, 0, 100_000_000, 0)
                        .plausible(0)
                        .waitingRequests(),
                "no engine has so many requests");
    }

    private static void assertUnknown(Reading reading, String why) {
        assertThat(reading)
                .isInstanceOfSatisfying(
                        Reading.Unknown.class,
                        unknown -> assertThat(unknown.why()).contains(why));
    }
}
