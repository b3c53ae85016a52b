package io.holdfast.core.pin;

/** A moment of an engine's clock, as the ledger notes it. */
final class EngineMoment {
    private static final String BEGINS = "counts from ";
    private static final String ENDS = " us of the engine's clock on";

    private EngineMoment() {}

    /** Empty for one that never comes. */
    static String note(long micros) {
        return micros == Long.MAX_VALUE ? "" : BEGINS + micros + ENDS;
    }

    /** Returns the noted moment, or one that never comes where none is noted, so that whatever is there counts. */
    static long of(String note) {
        if (!note.startsWith(BEGINS) || !note.endsWith(ENDS)) {
            return Long.MAX_VALUE;
        }
        try {
            return Long.parseLong(note, BEGINS.length(), note.length() - ENDS.length(), 10);
        } catch (NumberFormatException e) {
            return Long.MAX_VALUE;
        }
    }
}
