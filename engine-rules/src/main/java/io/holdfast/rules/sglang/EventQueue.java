package io.holdfast.rules.sglang;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The cache's events until the engine publishes them, in order.
 *
 * <p>Neighbours that say one thing become one event: removals from one tier, and a store under the last block of the store
 * before it.
 */
final class EventQueue {
    /** An event that may still grow. */
    private sealed interface Open {
        record Stored(
                Optional<BlockName> parent,
                List<BlockName> blocks,
                List<Tokens> tokens,
                Tier tier,
                String salt,
                String session)
                implements Open {}

        record Removed(List<BlockName> blocks, Tier tier) implements Open {}

        record Cleared() implements Open {}
    }

    private final int blockTokens;
    private final List<Open> events = new ArrayList<>();

    EventQueue(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    /**
     * The node's blocks are in this tier now.
     *
     * @param session of the request that brought them, empty for none
     */
    void stored(RadixNode node, Tier tier, String session) {
        RadixNode above = node.parent();
        Optional<BlockName> parent =
                above.isRoot() ? Optional.empty() : Optional.of(new BlockName.Numbered(above.lastBlock()));
        String salt = node.space.salt();
        if (!events.isEmpty()
                && events.getLast() instanceof Open.Stored tail
                && tail.tier() == tier
                && tail.salt().equals(salt)
                && tail.session().equals(session)
                && parent.equals(Optional.of(tail.blocks().getLast()))) {
            addNames(node, tail.blocks());
            tail.tokens().add(node.tokens);
            return;
        }
        List<BlockName> blocks = new ArrayList<>();
        addNames(node, blocks);
        events.add(new Open.Stored(parent, blocks, new ArrayList<>(List.of(node.tokens)), tier, salt, session));
    }

    /** The node's blocks are not in this tier any more. */
    void removed(RadixNode node, Tier tier) {
        if (!events.isEmpty() && events.getLast() instanceof Open.Removed tail && tail.tier() == tier) {
            addNames(node, tail.blocks());
            return;
        }
        List<BlockName> blocks = new ArrayList<>();
        addNames(node, blocks);
        events.add(new Open.Removed(blocks, tier));
    }

    void cleared() {
        events.add(new Open.Cleared());
    }

    /** All events since the last call. */
    List<CacheEvent> drain() {
        List<CacheEvent> batch = events.stream().map(this::closed).toList();
        events.clear();
        return batch;
    }

    private CacheEvent closed(Open event) {
        return switch (event) {
            case Open.Stored stored ->
                new CacheEvent.Stored(
                        stored.parent(),
                        stored.blocks(),
                        Tokens.joined(stored.tokens()),
                        blockTokens,
                        stored.tier(),
                        stored.salt(),
                        stored.session());
            case Open.Removed removed -> new CacheEvent.Removed(removed.blocks(), removed.tier());
            case Open.Cleared _ -> new CacheEvent.Cleared();
        };
    }

    private static void addNames(RadixNode node, List<BlockName> to) {
        for (long block : node.blocks) {
            to.add(new BlockName.Numbered(block));
        }
    }
}
