package io.holdfast.sidecar;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Waits for a condition by looking again and again, and tells what was last seen when it never came. */
public final class Eventually {
    private static final int MOST_LOOKS = 6000;
    private static final long PAUSE_NANOS = Duration.ofMillis(5).toNanos();

    private Eventually() {}

    public static <T> T see(String what, Supplier<T> look, Predicate<T> wanted) {
        T seen = look.get();
        for (int i = 0; i < MOST_LOOKS && !wanted.test(seen); i++) {
            LockSupport.parkNanos(PAUSE_NANOS);
            seen = look.get();
        }
        if (!wanted.test(seen)) {
            throw new AssertionError("Never came: " + what + "; last seen: " + seen);
        }
        return seen;
    }
}
