package io.holdfast.emulator.process;

/** The emulated server could not start; the message is one sentence for the person who started it. */
public final class EmulatorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public EmulatorException(String message) {
        super(message);
    }

    public EmulatorException(String message, Throwable cause) {
        super(message, cause);
    }
}
