package io.holdfast.rules.sglang;

import java.util.List;

/** The share of what running requests may still say that admission leaves room for. */
final class NewTokenRatio {
    private static final double FIRST = 0.7;
    private static final double LAST = 0.14 * FIRST;
    private static final double STEP = (FIRST - LAST) / 600;

    /** Decode steps that a retraction is to last for. */
    static final int STEPS_AHEAD = 20;

    private double current = FIRST;

    double current() {
        return current;
    }

    /** After a decode step that had its room. */
    void decay() {
        current = Math.max(current - STEP, LAST);
    }

    void reset() {
        current = FIRST;
    }

    /** After a retraction: what the requests that are left have said, as a share of what they may say. */
    void estimate(List<RadixRequest> left) {
        long said = 0;
        long may = 0;
        for (RadixRequest active : left) {
            said += active.request.answered();
            may += active.request.maxAnswer();
        }
        current = Math.min(1, (said + (double) STEPS_AHEAD * left.size()) / (may + 1));
    }
}
