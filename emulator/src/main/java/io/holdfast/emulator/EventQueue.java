package io.holdfast.emulator;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The cache's events until the engine publishes them, in order.
 *
 * <p>Neighbours that say one thing become one event: removals, and a store under the last block of the store before it.
 */
final class EventQueue {
    private final List<CacheEvent> events = new ArrayList<>();

    void stored(OptionalLong parent, List<Long> blocks, List<Integer> tokens) {
        if (!events.isEmpty()
                && events.getLast() instanceof CacheEvent.Stored tail
                && parent.equals(OptionalLong.of(tail.blocks().getLast()))) {
            tail.blocks().addAll(blocks);
            tail.tokens().addAll(tokens);
            return;
        }
        events.add(new CacheEvent.Stored(parent, new ArrayList<>(blocks), new ArrayList<>(tokens)));
    }

    void removed(List<Long> blocks) {
        if (!events.isEmpty() && events.getLast() instanceof CacheEvent.Removed tail) {
            tail.blocks().addAll(blocks);
            return;
        }
        events.add(new CacheEvent.Removed(new ArrayList<>(blocks)));
    }

    void cleared() {
        events.add(new CacheEvent.Cleared());
    }

    /** All events since the last call. */
    List<CacheEvent> drain() {
        List<CacheEvent> batch = List.copyOf(events);
        events.clear();
        return batch;
    }
}
