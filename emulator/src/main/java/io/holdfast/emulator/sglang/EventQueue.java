package io.holdfast.emulator.sglang;

import io.holdfast.core.index.Tier;
import io.holdfast.emulator.engine.BlockName;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Tokens;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * The cache's events until the engine publishes them, in order.
 *
 * <p>Neighbours that say one thing become one event: removals from one tier, and a store under the last block of the store
 * before it.
 */
final class EventQueue {
    private final int blockTokens;
    private final List<CacheEvent> events = new ArrayList<>();

    EventQueue(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    /** @param parent the block before the first one, empty under a root */
    void stored(Optional<BlockName> parent, long[] blocks, Tokens tokens, Tier tier, String salt) {
        if (!events.isEmpty()
                && events.getLast() instanceof CacheEvent.Stored tail
                && tail.tier() == tier
                && tail.salt().equals(salt)
                && parent.equals(Optional.of(tail.blocks().getLast()))) {
            replaceLast(new CacheEvent.Stored(
                    tail.parent(),
                    joined(tail.blocks(), names(blocks)),
                    tail.tokens().and(tokens),
                    blockTokens,
                    tier,
                    salt));
            return;
        }
        events.add(new CacheEvent.Stored(parent, names(blocks), tokens, blockTokens, tier, salt));
    }

    void removed(long[] blocks, Tier tier) {
        if (!events.isEmpty() && events.getLast() instanceof CacheEvent.Removed tail && tail.tier() == tier) {
            replaceLast(new CacheEvent.Removed(joined(tail.blocks(), names(blocks)), tier));
            return;
        }
        events.add(new CacheEvent.Removed(names(blocks), tier));
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

    private void replaceLast(CacheEvent event) {
        events.set(events.size() - 1, event);
    }

    private static List<BlockName> names(long[] blocks) {
        return LongStream.of(blocks)
                .<BlockName>mapToObj(BlockName.Numbered::new)
                .toList();
    }

    private static List<BlockName> joined(List<BlockName> head, List<BlockName> tail) {
        List<BlockName> all = new ArrayList<>(head);
        all.addAll(tail);
        return all;
    }
}
