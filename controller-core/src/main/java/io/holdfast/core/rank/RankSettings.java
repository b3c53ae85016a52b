package io.holdfast.core.rank;

import java.time.Duration;

/**
 * Settings for how blocks are ranked, and when ranking is trusted. One configuration is meant for all traffic; the
 * others are there to show what each part is worth.
 *
 * @param score what orders blocks
 * @param licence what pins wait for
 * @param share the most of the room that may be pinned
 * @param freePrompts how many long prompts (the 90th percentile of recent ones) must fit beside pins
 * @param ghosts how many caches' worth of removed blocks are remembered
 * @param longestTick between two choices
 * @param shortestTick between two choices
 * @param adaptsTick whether choices come sooner where reuse or eviction is fast; else they come every longest tick
 */
public record RankSettings(
        Score score,
        Licence licence,
        Share share,
        int freePrompts,
        int ghosts,
        Duration longestTick,
        Duration shortestTick,
        boolean adaptsTick) {

    /** Measure by which blocks are ordered. */
    public enum Score {
        /** Uses to be expected for each second that a block is kept, at best: see {@link ReuseCurves}. */
        REUSE_RATE,
        /** Number of recent uses of a block. */
        FREQUENCY
    }

    /** Condition that pins wait for. */
    public enum Licence {
        /** A model of the cache with pins that finds more than one without: see {@link ShadowGate}. */
        TWO_SHADOWS,
        /** The engine itself, which pins, finding no less than a model without: see {@link OneShadow}. */
        ONE_SHADOW,
        /** Nothing. */
        NONE
    }

    /** The most of the room that may be pinned. */
    public enum Share {
        FIXED,
        /** Less where what nobody uses stays for much longer than it takes until it is used again. */
        BY_RESIDENCE;

        private static final double MOST = 0.8;

        double of(double residence, double medianReuse) {
            if (this == FIXED || medianReuse == 0) {
                return MOST;
            }
            double ratio = residence / medianReuse;
            return ratio < 1.5 ? MOST : ratio < 5 ? 0.4 : 0.1;
        }
    }

    public static RankSettings defaults() {
        return new RankSettings(
                Score.REUSE_RATE,
                Licence.TWO_SHADOWS,
                Share.FIXED,
                8,
                16,
                Duration.ofSeconds(10),
                Duration.ofSeconds(1),
                true);
    }

    public RankSettings withScore(Score other) {
        return new RankSettings(other, licence, share, freePrompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withLicence(Licence other) {
        return new RankSettings(score, other, share, freePrompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withShare(Share other) {
        return new RankSettings(score, licence, other, freePrompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withFreePrompts(int prompts) {
        return new RankSettings(score, licence, share, prompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withGhosts(int caches) {
        return new RankSettings(score, licence, share, freePrompts, caches, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withFixedTick() {
        return new RankSettings(score, licence, share, freePrompts, ghosts, longestTick, shortestTick, false);
    }
}
