package io.holdfast.app.bench;

/** A fault that the person at the terminal can mend: its message is the one sentence that they see. */
public final class BenchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public BenchException(String sentence) {
        super(sentence);
    }

    public BenchException(String sentence, Throwable cause) {
        super(sentence, cause);
    }
}
