package io.holdfast.core;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.Optional;

/** Newest numbers of the engine, as far as they agree with what its events told. */
final class NewestReadings {
    private final EngineObservers observers;
    private EngineReadings newest = EngineReadings.unknown("the engine was not asked yet");
    private double requests;
    private double prompts;
    /** When the newest counters were read. */
    private Optional<Long> lookedAt = Optional.empty();

    NewestReadings(EngineObservers observers) {
        this.observers = observers;
    }

    void take(EngineReadings readings) {
        newest = readings;
    }

    /**
     * Returns true if the engine's counters fell since they were last looked at, which they do in no process's life.
     * Numbers that are older than those tell nothing.
     */
    boolean areOfAnotherProcess(EngineReadings asked) {
        if (isOld(asked.ttftCount()) || isOld(asked.promptTokens())) {
            return false;
        }
        double served = asked.ttftCount().number().orElse(requests);
        double read = asked.promptTokens().number().orElse(prompts);
        boolean fell = served < requests || read < prompts;
        requests = served;
        prompts = read;
        lookedAt(asked.ttftCount());
        lookedAt(asked.promptTokens());
        return fell;
    }

    private boolean isOld(Reading counter) {
        return counter instanceof Reading.Known known
                && lookedAt.filter(last -> known.atNanos() - last < 0).isPresent();
    }

    private void lookedAt(Reading counter) {
        if (counter instanceof Reading.Known known && !isOld(counter)) {
            lookedAt = Optional.of(known.atNanos());
        }
    }

    /** Returns the numbers as the engine told them, without requests of our own. */
    EngineReadings asTold() {
        return newest;
    }

    /** Returns the numbers without those that cannot be true of what is known to be cached. */
    EngineReadings plausible() {
        return plausible(newest);
    }

    /** Returns the plausible numbers, with the block size of the events where the engine's own is unknown. */
    EngineReadings effective(long clockNanos) {
        EngineReadings readings = plausible();
        int told = observers.first().blockTokens();
        if (told == 0 || readings.blockTokens().number().isPresent()) {
            return readings;
        }
        return plausible(readings.but()
                .blockTokens(Reading.known(told, "KV events", clockNanos))
                .build());
    }

    private EngineReadings plausible(EngineReadings readings) {
        // What is known of a silent engine is never told to be gone.
        return readings.plausible(
                observers.silent().isPresent() ? 0 : observers.trees().size());
    }

    /** Returns the numbers of one cache of the engine. */
    EngineReadings ofRank(EngineReadings readings, int rank) {
        return observers.trees().several()
                ? readings.ofRank(rank).plausible(observers.trees().rank(rank).size())
                : readings;
    }

    /** Returns the tokens in a block, 0 while the engine has not told. */
    long blockTokens() {
        return blockTokens(newest);
    }

    static long blockTokens(EngineReadings readings) {
        return (long) readings.blockTokens().number().orElse(0);
    }
}
