package io.holdfast.sidecar.http;

import java.util.concurrent.atomic.AtomicLong;

/** A number of bytes that many may use parts of; any thread. */
final class ByteQuota {
    private final long most;
    private final AtomicLong used = new AtomicLong();

    ByteQuota(long most) {
        this.most = most;
    }

    boolean take(long bytes) {
        while (true) {
            long now = used.get();
            if (bytes > most - now) {
                return false;
            }
            if (used.compareAndSet(now, now + bytes)) {
                return true;
            }
        }
    }

    void give(long bytes) {
        used.addAndGet(-bytes);
    }

    long used() {
        return used.get();
    }
}
