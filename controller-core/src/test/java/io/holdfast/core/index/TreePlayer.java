package io.holdfast.core.index;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Plays scripts to a {@link BlockTree}. */
final class TreePlayer {
    final Map<Integer, Cache> caches = new TreeMap<>();
    private final BlockTree tree;
    private final StoredBlocks chain = new StoredBlocks();
    private long sequence;
    /** How many views were taken over. */
    int reloads;

    TreePlayer(BlockTree tree) {
        this.tree = tree;
    }

    void play(Script.Step step) {
        switch (step) {
            case Script.Add add -> caches.computeIfAbsent(add.place(), place -> tree.addCache(add.traits()));
            case Script.Drop drop ->
                Optional.ofNullable(caches.remove(drop.place())).ifPresent(tree::dropCache);
            case Script.Lost lost -> cache(lost.place()).ifPresent(cache -> cache.gap(lost.gap()));
            case Script.Restart restart -> cache(restart.place()).ifPresent(cache -> cache.restarted(restart.seen()));
            case Script.Reload reload -> cache(reload.place()).ifPresent(cache -> reload(cache, reload.afterAll()));
            case Script.Batch batch ->
                cache(batch.place()).ifPresent(cache -> {
                    cache.batchStarted(sequence++, 0);
                    batch.events().forEach(event -> play(cache, event));
                    cache.batchEnded();
                });
        }
    }

    private void reload(Cache cache, boolean afterAll) {
        StreamPosition at = new StreamPosition(1, sequence, 3);
        cache.snapshot(at).ifPresent(snapshot -> {
            byte[] written = snapshot.encode();
            if (afterAll) {
                cache.restarted(7);
            } else {
                cache.gap(new Gap(Gap.Cause.JOINED_LATE, 0, 7));
            }
            cache.become(ViewSnapshot.decode(written));
            reloads++;
            Cache fresh = new BlockTree(tree.naming()).addCache(cache.traits());
            fresh.become(snapshot);
            if (!tiers(fresh).equals(tiers(cache)) || fresh.unplaced() != cache.unplaced()) {
                throw new AssertionError("a fresh cache that took the view over has another");
            }
        });
    }

    private static Map<Long, Integer> tiers(Cache cache) {
        Map<Long, Integer> tiers = new TreeMap<>();
        cache.forEachHash(tiers::put);
        return tiers;
    }

    private Optional<Cache> cache(int place) {
        return Optional.ofNullable(caches.get(place));
    }

    private void play(Cache cache, Script.Event event) {
        switch (event) {
            case Script.Store store -> cache.stored(store.show(chain));
            case Script.Remove remove -> {
                long[] padded = new long[remove.hashes().size() + 2];
                for (int i = 0; i < remove.hashes().size(); i++) {
                    padded[i + 1] = remove.hashes().get(i);
                }
                cache.removed(padded, 1, padded.length - 1, remove.tier(), remove.group());
            }
            case Script.Clear clear -> cache.cleared();
        }
    }
}
