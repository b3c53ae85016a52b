package io.holdfast.app.cli;

/** A fault that the person at the terminal can mend: its message is the one sentence that they see. */
public final class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CommandException(String sentence) {
        super(sentence);
    }

    /** For a fault whose message is already the sentence. */
    public CommandException(IllegalArgumentException cause) {
        super(String.valueOf(cause.getMessage()), cause);
    }
}
