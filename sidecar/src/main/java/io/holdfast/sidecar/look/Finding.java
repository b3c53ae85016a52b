package io.holdfast.sidecar.look;

import java.util.Optional;

/**
 * One thing that was looked at on an engine.
 *
 * @param subject what it is about, one or two words
 * @param text what was found
 * @param mend what to start the engine with, or to do, so that it is found better
 */
public record Finding(Status status, String subject, String text, Optional<String> mend) {
    /** Result of a check. */
    public enum Status {
        OK,
        /** Without it nothing can be followed, decided or measured. */
        MISSING,
        /** It works less well than it could. */
        WARNING,
        /** It matters and could not be told. */
        UNKNOWN,
        /** Not there, and nobody needs it. */
        NOTE
    }

    public static Finding ok(String subject, String text) {
        return new Finding(Status.OK, subject, text, Optional.empty());
    }

    static Finding missing(String subject, String text, String mend) {
        return new Finding(Status.MISSING, subject, text, Optional.of(mend));
    }

    static Finding warning(String subject, String text, String mend) {
        return new Finding(Status.WARNING, subject, text, Optional.of(mend));
    }

    static Finding unknown(String subject, String text, String mend) {
        return new Finding(Status.UNKNOWN, subject, text, Optional.of(mend));
    }

    /** One that another row's mend would tell. */
    static Finding unknown(String subject, String text) {
        return new Finding(Status.UNKNOWN, subject, text, Optional.empty());
    }

    static Finding note(String subject, String text) {
        return new Finding(Status.NOTE, subject, text, Optional.empty());
    }
}
