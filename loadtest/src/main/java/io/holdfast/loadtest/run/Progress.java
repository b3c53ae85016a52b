package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Step;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A listener to a run's progress, on the thread that runs it; time spent here is taken from nothing that is measured.
 */
@FunctionalInterface
public interface Progress {
    void on(Event event);

    /** Tells nobody. */
    static Progress silent() {
        return event -> {};
    }

    /** An event that can be reported. */
    sealed interface Event {}

    /**
     * The counted part of a run begins.
     *
     * @param legs how many it has, burn-in legs included
     * @param left the time it will take, known only after a rehearsal
     */
    record RunStarted(CrossoverPlan plan, int legs, Optional<Duration> left) implements Event {}

    /**
     * A server life begins.
     *
     * @param life from 1; 0 is the rehearsal
     * @param onlyControls whether all pairs of the run are A/A
     */
    record LifeStarted(int life, int lives, PairOrder order, boolean onlyControls) implements Event {}

    record StepStarted(int life, int position, Arm arm, Step.Kind step, int cycle) implements Event {}

    /**
     * A leg is over and written down.
     *
     * @param cachedTokens median of its probes, absent when the engine did not always say
     * @param left the time that the rest of the run will take
     */
    record LegFinished(LegRecord leg, OptionalDouble probeMillis, OptionalDouble cachedTokens, Duration left)
            implements Event {}

    /**
     * A pair does not count, for what happened around it, and runs again at the end of its round.
     *
     * @param repeats pairs so far that did
     * @param most of them that were declared
     */
    record PairVoided(int life, String reason, int repeats, int most) implements Event {}

    /** A sentence that a waiting person should read now. */
    record Note(String sentence) implements Event {}

    record RunFinished(Result result) implements Event {}
}
