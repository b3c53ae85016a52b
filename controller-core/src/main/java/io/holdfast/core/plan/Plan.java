package io.holdfast.core.plan;

import java.util.List;

/** The pins and unpins that one tick decides, and what it decided not to do; every line has its reason. */
public record Plan(long tick, List<Line> lines) {
    public Plan {
        lines = List.copyOf(lines);
    }

    /** What becomes of one hold. */
    public enum Action {
        PIN,
        UNPIN,
        KEEP,
        /** Wanted, and not possible now. */
        WAIT,
        /** Wanted, and never possible. */
        REFUSE
    }

    /**
     * One decision.
     *
     * @param lastBlock the block to pin or unpin; 0 where the action touches none
     * @param blocks blocks on its path
     */
    public record Line(Action action, long holdId, long lastBlock, int blocks, String reason) {}
}
