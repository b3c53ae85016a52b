package io.holdfast.app;

/** A fault that the person at the terminal can mend: its message is the one sentence that they see. */
final class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandException(String sentence) {
        super(sentence);
    }

    /** For a fault whose message is already the sentence. */
    CommandException(IllegalArgumentException cause) {
        super(String.valueOf(cause.getMessage()), cause);
    }
}
