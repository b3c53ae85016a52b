package io.holdfast.loadtest.journal;

import io.holdfast.evidence.PairOrder;

/** A leg as it was planned, the arm given by order and position. */
public record PlannedLeg(int life, PairOrder order, int position) {
    boolean isThatOf(LegRecord leg) {
        return isAt(leg) && leg.order() == order && leg.arm() == Arm.of(order, position);
    }

    boolean isAt(LegRecord leg) {
        return leg.life() == life && leg.position() == position;
    }

    /** Returns the leg's place in the experiment, as in {@code life 3 BP, leg 2 (pinned)}. */
    public String label() {
        return (life == 0 ? "rehearsal" : "life " + life + " " + order) + ", "
                + (position == 0 ? "burn-in leg" : "leg " + position) + " ("
                + (Arm.of(order, position) == Arm.PINNED ? "pinned" : "baseline") + ")";
    }
}
