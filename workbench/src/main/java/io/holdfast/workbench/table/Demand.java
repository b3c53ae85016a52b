package io.holdfast.workbench.table;

import java.util.Locale;
import java.util.Optional;

/**
 * Tokens that the requests under way need in the cache.
 *
 * @param shared tokens that all of them begin with, which the cache has once
 * @param unique tokens that each has of its own
 * @param underWay requests at a time
 * @param capacity of the cache; NaN where it is not known
 */
record Demand(double shared, double unique, double underWay, double capacity) {
    /** Returns the demand at a place; absent where it does not tell its tokens and its concurrency. */
    static Optional<Demand> of(Place place) {
        return Optional.of(new Demand(
                        place.level(Column.SHARED_TOKENS),
                        place.level(Column.UNIQUE_TOKENS),
                        place.level(Column.CONCURRENCY),
                        place.level(Column.CAPACITY)))
                .filter(demand -> !Double.isNaN(demand.tokens()));
    }

    double tokens() {
        return shared + underWay * unique;
    }

    /** Returns the demand if the shared tokens are counted for every request. */
    double countedEachTime() {
        return underWay * (shared + unique);
    }

    /** Returns demand over capacity; NaN where that is not known. */
    double pressure() {
        return tokens() / capacity;
    }

    String text() {
        String both = String.format(
                Locale.ROOT,
                "%,.0f requests under way need %,.0f tokens with the shared prefix counted once (%,.0f if it is"
                        + " counted for each)",
                underWay,
                tokens(),
                countedEachTime());
        return Double.isNaN(capacity)
                ? both + "."
                : String.format(
                        Locale.ROOT, "%s; the cache has %,.0f, so the pressure is %.2f.", both, capacity, pressure());
    }
}
