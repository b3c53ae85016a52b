package io.holdfast.examples.router;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition by looking again and again. */
final class Eventually {
    private static final int MOST_LOOKS = 20_000;
    private static final long PAUSE_NANOS = Duration.ofMillis(2).toNanos();

    private Eventually() {}

    static void see(String what, BooleanSupplier condition) {
        boolean seen = condition.getAsBoolean();
        for (int i = 0; i < MOST_LOOKS && !seen; i++) {
            LockSupport.parkNanos(PAUSE_NANOS);
            seen = condition.getAsBoolean();
        }
        if (!seen) {
            throw new AssertionError("Never came: " + what);
        }
    }
}
