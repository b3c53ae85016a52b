package io.holdfast.emulator.api;

/** A request that the engine's own code fails over. */
final class Crash extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How far the failure goes. */
    enum Reach {
        /** The request alone: the framework answers in the engine's place. */
        REQUEST,
        /** The real server's process dies of it; the emulated one cuts the connection and stays. */
        SERVER,
        /** The same, once the head of a stream has been sent. */
        SERVER_IN_STREAM
    }

    private final Reach reach;

    Crash(Reach reach) {
        super("The engine fails over a request.", null, false, false);
        this.reach = reach;
    }

    Reach reach() {
        return reach;
    }
}
