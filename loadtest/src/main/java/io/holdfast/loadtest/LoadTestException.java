package io.holdfast.loadtest;

/** A load test that cannot go on; the message is one sentence for the person who started it. */
public final class LoadTestException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LoadTestException(String message) {
        super(message);
    }

    public LoadTestException(String message, Throwable cause) {
        super(message, cause);
    }
}
