package io.holdfast.core.look;

import java.util.Optional;

/**
 * One thing that was looked at, on an engine or on the machine beside it.
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
        /** It matters and could not be determined. */
        UNKNOWN,
        /** It is not there, and nobody needs it. */
        NOTE
    }

    /** Returns a finding of something that is as it should be. */
    public static Finding ok(String subject, String text) {
        return new Finding(Status.OK, subject, text, Optional.empty());
    }

    /** Returns a finding of something that is needed and not there. */
    public static Finding missing(String subject, String text, String mend) {
        return new Finding(Status.MISSING, subject, text, Optional.of(mend));
    }

    /** Returns a finding of something that could be better. */
    public static Finding warning(String subject, String text, String mend) {
        return new Finding(Status.WARNING, subject, text, Optional.of(mend));
    }

    /** Returns a finding of something that could not be determined. */
    public static Finding unknown(String subject, String text, String mend) {
        return new Finding(Status.UNKNOWN, subject, text, Optional.of(mend));
    }

    /** Returns a finding of something that can be determined once another finding is mended. */
    public static Finding unknown(String subject, String text) {
        return new Finding(Status.UNKNOWN, subject, text, Optional.empty());
    }

    /** Returns a finding of something that is not there and that nobody needs. */
    public static Finding note(String subject, String text) {
        return new Finding(Status.NOTE, subject, text, Optional.empty());
    }
}
