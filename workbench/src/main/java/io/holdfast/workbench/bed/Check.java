package io.holdfast.workbench.bed;

import java.util.Optional;

/**
 * One thing of a test bed that was looked at.
 *
 * @param subject what it is about, one or two words
 * @param text what was found
 * @param mend what to do so that it is found better
 */
public record Check(State state, String subject, String text, Optional<String> mend) {
    /** Result of a check. */
    public enum State {
        OK,
        /** Without it nothing can be measured. */
        MISSING,
        /** It measures less well than it could. */
        WARNING,
        /** It matters and could not be told. */
        UNKNOWN,
        /** Not there, and nobody needs it. */
        NOTE
    }

    static Check ok(String subject, String text) {
        return new Check(State.OK, subject, text, Optional.empty());
    }

    static Check missing(String subject, String text, String mend) {
        return new Check(State.MISSING, subject, text, Optional.of(mend));
    }

    static Check warning(String subject, String text, String mend) {
        return new Check(State.WARNING, subject, text, Optional.of(mend));
    }

    static Check unknown(String subject, String text, String mend) {
        return new Check(State.UNKNOWN, subject, text, Optional.of(mend));
    }

    static Check note(String subject, String text) {
        return new Check(State.NOTE, subject, text, Optional.empty());
    }
}
