package io.holdfast.core;

import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.TreeView;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** Stores a prefix that is held and gone by a request of our own, and what follows when that comes to nothing. */
final class Priming {
    private static final long AGAIN_NANOS = 60_000_000_000L;
    /** Time before a request that may have hurt the engine is sent again: never. */
    private static final long NEVER_AGAIN_NANOS = 365L * 86_400 * 1_000_000_000;

    private static final long MODEL_UNSURE_NANOS = 30_000_000_000L;

    private final OwnRequests own;
    private final Holds holds;
    private final TreeView tree;
    private final Backends backends;
    /** Holds that wait for their time to be sent again. */
    private final Set<Long> sentInVain = new HashSet<>();

    private long afterHarmNanos = NEVER_AGAIN_NANOS;
    private long restartedNanos = -MODEL_UNSURE_NANOS;

    Priming(OwnRequests own, Holds holds, TreeView tree, Backends backends) {
        this.backends = backends;
        this.own = own;
        this.holds = holds;
        this.tree = tree;
    }

    /** Assumes an engine without events, where no user's request ever shows that a prefix is there. */
    void nobodyElseTells() {
        afterHarmNanos = 10 * AGAIN_NANOS;
    }

    void engineRestarted(long nowNanos) {
        restartedNanos = nowNanos;
    }

    /** Returns the reason why no prefix is stored by a request of our own; empty when one may be. */
    Optional<String> hindrance(boolean certain, EngineReadings readings, long nowNanos) {
        Optional<String> hindrance = own.hindrance();
        if (hindrance.isPresent()) {
            return hindrance;
        }
        if (nowNanos < restartedNanos + MODEL_UNSURE_NANOS) {
            return Optional.of(
                    "the engine restarted a moment ago and may serve another model, so the sidecar does not send"
                            + " it yet");
        }
        if (!certain) {
            return Optional.of("the sidecar does not send it, since it may be in the cache unseen");
        }
        return waits(readings);
    }

    private static Optional<String> waits(EngineReadings readings) {
        return switch (readings.waitingRequests()) {
            case Reading.Unknown unknown ->
                Optional.of("the sidecar does not send it while it is unknown whether requests wait: " + unknown.why());
            case Reading.Known known ->
                known.value() > 0 ? Optional.of("the sidecar does not send it while requests wait") : Optional.empty();
        };
    }

    /**
     * Returns the reason why no prefix is stored for requests that are still to come; empty when one may be.
     *
     * @param largestToken the largest token id that the engine is known to have
     */
    Optional<String> hindrance(HoldRequest prefix, long largestToken, EngineReadings readings, long nowNanos) {
        if (own.isStoring()) {
            return Optional.of("another prefix is being stored by a request of the sidecar's own");
        }
        if (nowNanos < restartedNanos + MODEL_UNSURE_NANOS) {
            return Optional.of("the engine restarted a moment ago and may serve another model");
        }
        if (prefix.largestToken() < 0 || prefix.largestToken() > largestToken) {
            return Optional.of(
                    "the engine is not known to have its tokens, and one outside its vocabulary can end an engine");
        }
        return waits(readings);
    }

    void send(Hold hold) {
        own.store(hold.id(), hold.request());
    }

    /** Takes in what became of the last request of our own. */
    void notice(long nowNanos) {
        own.finished(this::pinnable)
                .flatMap(done -> done.trouble()
                        .flatMap(why -> holds.living(done.holdId())
                                .filter(Hold::waits)
                                .map(hold -> hold.waiting(
                                        nowNanos + (done.unclear() ? afterHarmNanos : AGAIN_NANOS),
                                        "sent by the sidecar without success: " + why))))
                .ifPresent(hold -> {
                    holds.update(hold);
                    sentInVain.add(hold.id());
                });
        sentInVain.removeIf(id -> holds.living(id).filter(Hold::waits).isEmpty());
        sentInVain.removeIf(id -> isThereMeanwhile(id, nowNanos));
    }

    /** Returns true if the prefix is in the cache, so that the chosen backend can pin it. */
    private boolean pinnable(HoldRequest prefix) {
        long last = prefix.block(prefix.blocks() - 1);
        return backends.chosen().traits().needs(Need.INSERTION_END) ? tree.endedInsertion(last) : tree.resident(last);
    }

    /**
     * Returns true if a user's request stored the prefix meanwhile. It is pinned at once then: only the next request of
     * our own has to wait.
     */
    private boolean isThereMeanwhile(long holdId, long nowNanos) {
        Hold hold = holds.living(holdId).orElseThrow();
        boolean there = tree.resident(hold.end());
        if (there) {
            holds.update(hold.waiting(nowNanos, hold.reason()));
        }
        return there;
    }
}
