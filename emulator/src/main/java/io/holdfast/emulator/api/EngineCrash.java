package io.holdfast.emulator.api;

/** A request that the real server's process dies of; the emulated one cuts the connection and lives. */
public final class EngineCrash extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public EngineCrash() {
        super("The real engine dies of this request.", null, false, false);
    }
}
