package io.holdfast.core.plan;

import java.util.List;
import java.util.Set;

/** The pins and unpins that one tick decides, and what it decided not to do; every line has its reason. */
public record Plan(long tick, List<Line> lines) {
    public Plan {
        lines = List.copyOf(lines);
    }

    /** Action that one hold is due for. */
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

    private static final Set<Reason> LET_GO_ALWAYS = Set.of(Reason.OVER, Reason.STALLED, Reason.ABOVE_BOUND);

    /**
     * Returns the same plan without releases of holds whose lease lasts and that nobody gave up, except for those that
     * the hard guard and waiting requests demand.
     */
    public Plan keeping(String why) {
        return new Plan(
                tick,
                lines.stream()
                        .map(line -> line.action() == Action.UNPIN && !LET_GO_ALWAYS.contains(line.code())
                                ? new Line(
                                        Action.KEEP,
                                        line.holdId(),
                                        line.prefix(),
                                        line.lastBlock(),
                                        line.blocks(),
                                        Reason.HELD,
                                        why)
                                : line)
                        .toList());
    }

    /**
     * One decision.
     *
     * @param holdId 0 for a shared prefix that is not held
     * @param prefix the last block of the prefix that it is about
     * @param lastBlock the block to pin or unpin, at the end of the prefix, above or below; 0 where the action touches
     *     none
     * @param blocks blocks on its path
     * @param code which of all reasons
     * @param reason that reason in a sentence, with its numbers
     */
    public record Line(
            Action action, long holdId, long prefix, long lastBlock, int blocks, Reason code, String reason) {}
}
