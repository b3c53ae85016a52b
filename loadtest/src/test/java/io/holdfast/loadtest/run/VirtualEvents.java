package io.holdfast.loadtest.run;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.fault.EventFault;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/** The stream of what an engine's cache tells of itself: some of it is lost on the way, and all of it can be asked for again. */
final class VirtualEvents {
    private final Optional<EventFault.EventLoss> loss;
    private final SplittableRandom chances;
    private final List<CacheEvent> published = new ArrayList<>();
    private final List<CacheEvent> arrived = new ArrayList<>();
    private int lost;

    VirtualEvents(Optional<EventFault.EventLoss> loss, SplittableRandom chances) {
        this.loss = loss;
        this.chances = chances;
    }

    /** Another process publishes from here on. */
    void begin() {
        published.clear();
        arrived.clear();
    }

    void published(List<CacheEvent> batch) {
        published.addAll(batch);
        if (loss.isPresent() && loss.get().strikes(chances)) {
            lost++;
        } else {
            arrived.addAll(batch);
        }
    }

    /** What came over the wire by itself. */
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
