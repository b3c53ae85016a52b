package io.holdfast.evidence;

import java.util.Locale;

/** Lack that makes an experiment inconclusive. */
public enum Shortfall {
    /** Too few pairs, an order is missing, or the plan was not carried out to its end. */
    DESIGN,
    /** The first leg left behind an effect as large as the one sought. */
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
