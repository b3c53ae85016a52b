package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import java.util.function.LongSupplier;

/** Limit on calls of one kind: so many a second, and at once as many as two seconds allow; for any thread. */
final class CallRate {
    private final int perSecond;
    private final LongSupplier clock;
    private double left;
    private long lastNanos;

    CallRate(int perSecond, LongSupplier clock) {
        this.perSecond = perSecond;
        this.clock = clock;
        this.left = 2.0 * perSecond;
        this.lastNanos = clock.getAsLong();
    }

    /** @throws ApiError where there were too many; {@code what} is what is counted, for its sentence */
    synchronized void take(String what) {
        long now = clock.getAsLong();
        left = Math.min(2.0 * perSecond, left + (now - lastNanos) * 1e-9 * perSecond);
        lastNanos = now;
        if (left < 1) {
            throw new ApiError(
                    429,
                    "More than " + perSecond + " " + what
                            + " a second come, which is the most that are taken; ask again in a second, and less"
                            + " often.");
        }
        left--;
    }
}
