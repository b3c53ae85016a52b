package io.holdfast.emulator;

/** An assertion of the engine's own code failed: its scheduler is gone, and the server process with it. */
final class EngineDeath extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EngineDeath(String message) {
        super(message);
    }
}
