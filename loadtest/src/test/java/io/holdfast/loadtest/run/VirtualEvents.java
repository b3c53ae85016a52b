package io.holdfast.loadtest.run;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.fault.EventFault;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * The stream of what an engine's cache tells of itself: some of it is lost on the way, and all of it can be asked for again.
 * Batches are numbered, so whoever hears one after a lost one knows that, and believes nothing from before it: what was lost may
 * have been a removal, or that the cache was emptied.
 */
final class VirtualEvents {
    private final Optional<EventFault.EventLoss> loss;
    private final SplittableRandom chances;
    private final List<CacheEvent> published = new ArrayList<>();
    private final List<CacheEvent> arrived = new ArrayList<>();
    private int lost;
    private boolean gap;

    VirtualEvents(Optional<EventFault.EventLoss> loss, SplittableRandom chances) {
        this.loss = loss;
        this.chances = chances;
    }

    /** Another process publishes from here on. */
    void begin() {
        published.clear();
        arrived.clear();
        gap = false;
    }

    void published(List<CacheEvent> batch) {
        published.addAll(batch);
        if (loss.isPresent() && loss.get().strikes(chances)) {
            lost++;
            gap = true;
        } else {
            if (gap) {
                arrived.clear();
                gap = false;
            }
            arrived.addAll(batch);
        }
    }

    /** What came over the wire by itself since the last gap that was heard of. */
    List<CacheEvent> arrived() {
        return List.copyOf(arrived);
    }

    /** What the engine has kept for whoever missed some. */
    List<CacheEvent> replayed() {
        return List.copyOf(published);
    }

    int lost() {
        return lost;
    }
}
