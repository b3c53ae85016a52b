package io.holdfast.core.rank;

import java.time.Duration;

/**
 * How blocks are ranked, and when ranking is trusted. One configuration is meant for all traffic; the others are there to
 * show what each part is worth.
 *
 * @param score what orders blocks
 * @param gate whether pins wait for the shadows
 * @param shareOfRoom the most of the room that may be pinned
 * @param freePrompts how many long prompts (the 90th percentile of recent ones) must fit beside pins
 * @param ghosts how many caches' worth of removed blocks are remembered
 * @param longestTick between two choices
 * @param shortestTick between two choices
 * @param adaptsTick whether choices come sooner where reuse or eviction is fast; else they come every longest tick
 */
public record RankSettings(
        Score score,
        boolean gate,
        double shareOfRoom,
        int freePrompts,
        int ghosts,
        Duration longestTick,
        Duration shortestTick,
        boolean adaptsTick) {

    /** What orders blocks. */
    public enum Score {
        /** Uses to be expected for each second that a block is kept, at best: see {@link ReuseCurves}. */
        REUSE_RATE,
        /** How often a block was used lately. */
        FREQUENCY
    }

    public static RankSettings defaults() {
        return new RankSettings(
                Score.REUSE_RATE, true, 0.8, 8, 16, Duration.ofSeconds(10), Duration.ofSeconds(1), true);
    }

    public RankSettings withScore(Score other) {
        return new RankSettings(other, gate, shareOfRoom, freePrompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withoutGate() {
        return new RankSettings(score, false, shareOfRoom, freePrompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withFreePrompts(int prompts) {
        return new RankSettings(score, gate, shareOfRoom, prompts, ghosts, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withGhosts(int caches) {
        return new RankSettings(score, gate, shareOfRoom, freePrompts, caches, longestTick, shortestTick, adaptsTick);
    }

    public RankSettings withFixedTick() {
        return new RankSettings(score, gate, shareOfRoom, freePrompts, ghosts, longestTick, shortestTick, false);
    }
}
