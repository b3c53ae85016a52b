package io.holdfast.workbench.table;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Tokens that the requests under way need in the cache.
 *
 * @param shared tokens that all of them begin with, which the cache has once
 * @param unique tokens that each has of its own
 * @param underWay requests at a time
 * @param capacity of the cache, where it is known
 */
record Demand(double shared, double unique, double underWay, OptionalDouble capacity) {
    /** That of a place which tells its tokens and its concurrency. */
    static Optional<Demand> of(Place place) {
        OptionalDouble shared = place.level(Column.SHARED_TOKENS);
        OptionalDouble unique = place.level(Column.UNIQUE_TOKENS);
        OptionalDouble underWay = place.level(Column.CONCURRENCY);
        return shared.isPresent() && unique.isPresent() && underWay.isPresent()
                ? Optional.of(new Demand(
                        shared.getAsDouble(),
                        unique.getAsDouble(),
                        underWay.getAsDouble(),
                        place.level(Column.CAPACITY)))
                : Optional.empty();
    }

    double tokens() {
        return shared + underWay * unique;
    }

    /** Returns the demand if the shared tokens are counted for every request. */
    double countedEachTime() {
        return underWay * (shared + unique);
    }

    /** Demand over capacity. */
    OptionalDouble pressure() {
        return capacity.isPresent() ? OptionalDouble.of(tokens() / capacity.getAsDouble()) : OptionalDouble.empty();
    }

    String text() {
        String both = String.format(
                Locale.ROOT,
                "%,.0f requests under way need %,.0f tokens with the shared prefix counted once (%,.0f if it is"
                        + " counted for each)",
                underWay,
                tokens(),
                countedEachTime());
        return capacity.isEmpty()
                ? both + "."
                : String.format(
                        Locale.ROOT,
                        "%s; the cache has %,.0f, so the pressure is %.2f.",
                        both,
                        capacity.getAsDouble(),
                        tokens() / capacity.getAsDouble());
    }
}
