package io.holdfast.events;

import java.util.ArrayDeque;
import java.util.Optional;

/** Live batches that wait, in their order, until those before them were requested. */
final class PendingBatches {
    static final int MOST = 4096;
    static final int MOST_BYTES = 16 << 20;

    private final ArrayDeque<Message> batches = new ArrayDeque<>();
    private long bytes;

    /** False when there is no room left for it. */
    boolean add(Message batch) {
        if (batches.size() == MOST || bytes + batch.payload.length > MOST_BYTES) {
            return false;
        }
        batches.addLast(batch);
        bytes += batch.payload.length;
        return true;
    }

    void putBack(Message first) {
        batches.addFirst(first);
        bytes += first.payload.length;
    }

    Optional<Message> poll() {
        Optional<Message> first = Optional.ofNullable(batches.pollFirst());
        first.ifPresent(batch -> bytes -= batch.payload.length);
        return first;
    }

    Optional<Message> peek() {
        return Optional.ofNullable(batches.peekFirst());
    }
}
