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
        /** Its prefix is gone, and stored by a request of our own. */
        PRIME,
        /** Wanted, and not possible now. */
        WAIT,
        /** Wanted, and never possible. */
        REFUSE
    }

    /**
     * One decision.
     *
     * @param holdId 0 for a shared prefix that is not held
     * @param prefix the last block of the prefix that it is about
     * @param lastBlock the block to pin or unpin, at the end of the prefix, above or below; 0 where the action touches none
     * @param blocks blocks on its path
     * @param code which of all reasons
     * @param reason that reason in a sentence, with its numbers
     */
    public record Line(
            Action action, long holdId, long prefix, long lastBlock, int blocks, Reason code, String reason) {}
}
