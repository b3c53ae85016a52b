package io.holdfast.benchmarks.index;

/** A fault that the person at the terminal can mend: its message is the one sentence that they see. */
final class BenchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    BenchException(String sentence) {
        super(sentence);
    }

    BenchException(String sentence, Throwable cause) {
        super(sentence, cause);
    }
}
