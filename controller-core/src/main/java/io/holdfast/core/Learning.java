package io.holdfast.core;

import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Carries what was learned from one process to the next, unless the engine is another one by then. */
final class Learning {
    /*
     * What an earlier process learned is taken up when the engine has answered, and not before: blocks of another size
     * have other names, and what pays depends on how much fits. Of a cache that is a tenth larger or smaller the ranks
     * and their evidence are dropped and the rest stays. Until then there is nothing to be written that the last
     * process did not write.
     *
     * What an engine that lived on repeats of its past is in there already, up to the batch that was heard last: the
     * tree needs it, and nothing is counted from it. An engine that is another one by now was born later and repeats
     * none of that.
     */
    private static final double LIKE = 0.1;

    private final EngineObservers observers;
    private Optional<Earlier> waiting = Optional.empty();

    private record Earlier(
            Learned learned, Duration away, long sinceNanos, CompletableFuture<Optional<String>> answer) {}

    /** Outcome for what an earlier process learned. */
    record Done(CompletableFuture<Optional<String>> answer, Optional<String> dropped) {}

    Learning(EngineObservers observers) {
        this.observers = observers;
    }

    void restore(Learned learned, Duration away, CompletableFuture<Optional<String>> answer, long nowNanos) {
        observers.first().learnedUntil(learned.untilMicros());
        waiting = Optional.of(new Earlier(learned, away, nowNanos, answer));
    }

    /** Fresh readings: they may tell what was waited for. */
    Optional<Done> readings(EngineReadings readings, long nowNanos) {
        int block = blockTokens(readings);
        if (waiting.isEmpty()
                || block == 0
                || readings.runningRequests().number().isEmpty()) {
            return Optional.empty();
        }
        Earlier earlier = waiting.get();
        waiting = Optional.empty();
        return Optional.of(new Done(earlier.answer, takeUp(earlier, block, capacityTokens(readings), nowNanos)));
    }

    private Optional<String> takeUp(Earlier earlier, int block, long capacity, long nowNanos) {
        Learned learned = earlier.learned;
        if (learned.blockTokens() != block) {
            return Optional.of(String.format(
                    Locale.ROOT,
                    "it is of blocks of %,d tokens, and the engine's have %,d now",
                    learned.blockTokens(),
                    block));
        }
        boolean like = Math.abs(capacity - learned.capacityTokens()) <= LIKE * learned.capacityTokens();
        boolean drops = !like && !learned.ranks().isEmpty();
        observers
                .first()
                .restore(
                        drops ? withoutRanks(learned) : learned,
                        earlier.away.toNanos() + nowNanos - earlier.sinceNanos);
        return drops
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "its ranks are of a cache of %,d tokens, and the engine's has %s now, so they are learned anew",
                        learned.capacityTokens(),
                        capacity == 0 ? "an unknown number" : String.format(Locale.ROOT, "%,d", capacity)))
                : Optional.empty();
    }

    private static Learned withoutRanks(Learned learned) {
        return new Learned(
                learned.blockTokens(),
                learned.untilMicros(),
                learned.capacityTokens(),
                learned.prefixes(),
                learned.times(),
                learned.prefill(),
                learned.prompts(),
                List.of());
    }

    Optional<Learned> learned(EngineReadings readings) {
        int block = blockTokens(readings);
        return waiting.isPresent() || block == 0
                ? Optional.empty()
                : Optional.of(observers.first().learned(block, capacityTokens(readings)));
    }

    /** Returns what is learned of holding by rank; absent while what an earlier process learned of it may still come. */
    Optional<RankedPrefixes> ranked() {
        return waiting.isPresent() ? Optional.empty() : observers.first().ranked();
    }

    /** Another model is served from now on. */
    Optional<Done> forget() {
        observers.all().forEach(EngineObserver::forgetLearned);
        Optional<Done> dropped = waiting.map(
                earlier -> new Done(earlier.answer, Optional.of("it is of another model than the engine serves now")));
        waiting = Optional.empty();
        return dropped;
    }

    /** Returns the tokens of a block as the engine tells it, or else as the events count them. */
    private int blockTokens(EngineReadings readings) {
        return (int) readings.blockTokens().number().orElse(observers.first().blockTokens());
    }

    private static long capacityTokens(EngineReadings readings) {
        return (long) readings.capacityTokens().number().orElse(0);
    }
}
