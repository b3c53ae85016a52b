package io.holdfast.loadtest.trace;

/** Understands the lines of one form of trace. */
interface TraceLines {
    /**
     * Takes the next line.
     *
     * @throws BadLineException when this is no line of the form, or does not follow those before it
     */
    void line(String text);

    /** Returns the number of requests. */
    int requests();

    Trace trace();

    /** A problem of a line, as the rest of a sentence that begins with the line's number. */
    final class BadLineException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final String what;

        BadLineException(String what) {
            super(what);
            this.what = what;
        }

        BadLineException(String what, Throwable cause) {
            super(what, cause);
            this.what = what;
        }

        String what() {
            return what;
        }
    }
}
