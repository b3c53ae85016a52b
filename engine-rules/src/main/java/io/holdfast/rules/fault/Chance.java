package io.holdfast.rules.fault;

import java.util.random.RandomGenerator;

/** A fault that strikes now and then. */
public interface Chance {
    /** Times that it strikes, of a hundred times that it might. */
    double percent();

    /** Returns true if it strikes this time. */
    default boolean strikes(RandomGenerator random) {
        return 100 * random.nextDouble() < percent();
    }
}
