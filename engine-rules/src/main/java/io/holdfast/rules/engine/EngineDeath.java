package io.holdfast.rules.engine;

/** An assertion of the engine's own code failed: its scheduler is gone, and the server process with it. */
public final class EngineDeath extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public EngineDeath(String message) {
        super(message);
    }
}
