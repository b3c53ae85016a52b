package io.holdfast.core.index;

import io.holdfast.core.index.NaiveForest.NaiveCache;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Plays scripts to a {@link NaiveForest}. */
final class ForestPlayer {
    final Map<Integer, NaiveCache> caches = new TreeMap<>();
    private final NaiveForest forest;
    private final StoredBlocks chain = new StoredBlocks();

    ForestPlayer(NaiveForest forest) {
        this.forest = forest;
    }

    /** Answers the step without the events whose outcome is left open, which are not played. */
    Script.Step play(Script.Step step) {
        switch (step) {
            case Script.Add add -> caches.computeIfAbsent(add.place(), place -> forest.addCache(add.traits()));
            case Script.Drop drop ->
                Optional.ofNullable(caches.remove(drop.place())).ifPresent(forest::dropCache);
            case Script.Lost lost -> cache(lost.place()).ifPresent(cache -> forest.gap(cache, lost.gap()));
            case Script.Restart restart ->
                cache(restart.place()).ifPresent(cache -> forest.restarted(cache, restart.seen()));
            case Script.Reload reload -> {
                // What is taken over is what it was.
            }
            case Script.Batch batch -> {
                return cache(batch.place()).map(cache -> play(batch, cache)).orElse(batch);
            }
        }
        return step;
    }

    private Optional<NaiveCache> cache(int place) {
        return Optional.ofNullable(caches.get(place));
    }

    private Script.Step play(Script.Batch batch, NaiveCache cache) {
        List<Script.Event> events = new ArrayList<>();
        forest.batchStarted(cache);
        for (Script.Event event : batch.events()) {
            if (play(cache, event)) {
                events.add(event);
            }
        }
        forest.batchEnded();
        return new Script.Batch(batch.place(), events);
    }

    private boolean play(NaiveCache cache, Script.Event event) {
        switch (event) {
            case Script.Store store -> {
                if (forest.open(cache, store.show(chain))) {
                    return false;
                }
                forest.stored(cache, chain);
            }
            case Script.Remove remove -> {
                for (long hash : remove.hashes()) {
                    forest.removed(cache, hash, remove.tier(), remove.group());
                }
            }
            case Script.Clear clear -> forest.cleared(cache);
        }
        return true;
    }
}
