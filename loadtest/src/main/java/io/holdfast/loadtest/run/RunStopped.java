package io.holdfast.loadtest.run;

/** A run ended because it was asked to; what it measured is in its journal. */
public final class RunStopped extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RunStopped(Throwable cause) {
        super("The load test was stopped.", cause);
    }
}
