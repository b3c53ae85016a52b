package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.PlannedLeg;
import java.util.function.Supplier;

/**
 * Activity beside legs that is none of their requests: samplers, commands of the user's. Called from the run's thread.
 */
public interface AroundLegs {
    /** Called before anything of the leg is timed. */
    void begins(PlannedLeg leg);

    /** Called once all of the leg is over, however it ended. */
    void ended(PlannedLeg leg);

    /** Returns an activity that does nothing. */
    static AroundLegs none() {
        return new AroundLegs() {
            @Override
            public void begins(PlannedLeg leg) {}

            @Override
            public void ended(PlannedLeg leg) {}
        };
    }

    /** Begins this activity and then {@code inner}; the last one that began ends first. */
    default AroundLegs with(AroundLegs inner) {
        AroundLegs outer = this;
        return new AroundLegs() {
            @Override
            public void begins(PlannedLeg leg) {
                outer.begins(leg);
                inner.begins(leg);
            }

            @Override
            public void ended(PlannedLeg leg) {
                try {
                    inner.ended(leg);
                } finally {
                    outer.ended(leg);
                }
            }
        };
    }

    /** A leg with all of that around it. */
    default <T> T leg(PlannedLeg leg, Supplier<T> run) {
        begins(leg);
        try {
            return run.get();
        } finally {
            ended(leg);
        }
    }
}
