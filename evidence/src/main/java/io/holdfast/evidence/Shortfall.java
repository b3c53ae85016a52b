package io.holdfast.evidence;

import java.util.Locale;

/** What an inconclusive experiment lacks. */
public enum Shortfall {
    /** Too few pairs, an order is missing, or the plan was not carried out to its end. */
    DESIGN,
    /** What the first leg left behind is as large as the effect. */
    CARRYOVER,
    /** A gain for which the server shows no cause. */
    UNEXPLAINED,
    /** A gain whose cause the server did not report. */
    UNMEASURED,
    /** Too much noise for the number of pairs. */
    PRECISION;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
