package io.holdfast.loadtest.sweep;

import io.holdfast.loadtest.journal.RunHeader;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Cache that a load needs, and cache that there is.
 *
 * @param shared tokens that many requests begin with
 * @param copies how often these are counted where nobody knows that they are shared
 * @param unique tokens of all that is not shared
 * @param capacity tokens of the cache, by the server where it tells, else as claimed; absent where nobody says
 * @param claimed as the level says
 */
public record Pressure(long shared, long copies, long unique, OptionalLong capacity, OptionalLong claimed) {
    /** Relative error that a claim may have, from pages and reserved slots. */
    private static final double NEAR = 0.02;

    /**
     * Returns the pressure of a prefix that lies idle under a flood: it is sent once to be held, and once to be probed.
     */
    public static Pressure of(RunHeader header, Map<String, String> level) {
        OptionalLong claimed = Stream.of("capacity", "capacity-tokens")
                .flatMap(name -> Optional.ofNullable(level.get(name)).stream())
                .flatMapToLong(
                        text -> text.matches("\\d{1,18}") ? LongStream.of(Long.parseLong(text)) : LongStream.empty())
                .findFirst();
        OptionalLong told = header.engine().capacityTokens();
        return new Pressure(
                header.workload().prefixTokens(),
                2,
                header.workload().pressureTokens(),
                told.isPresent() ? told : claimed,
                claimed);
    }

    /** Tokens where what is shared is there once. */
    public long demand() {
        return shared + unique;
    }

    /** Tokens where each request counts in full, as it is often done. */
    public long naiveDemand() {
        return copies * shared + unique;
    }

    /** Demand over capacity. */
    public OptionalDouble ratio() {
        return over(demand());
    }

    public OptionalDouble naiveRatio() {
        return over(naiveDemand());
    }

    private OptionalDouble over(long tokens) {
        return capacity.isPresent() && capacity.getAsLong() > 0
                ? OptionalDouble.of((double) tokens / capacity.getAsLong())
                : OptionalDouble.empty();
    }

    /** Returns a clause where the level claims another capacity than the server has, which then counts. */
    public Optional<String> correction() {
        return claimed.isPresent()
                        && capacity.isPresent()
                        && Math.abs(claimed.getAsLong() - capacity.getAsLong()) > NEAR * capacity.getAsLong()
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "it claims a cache of %,d tokens, and the server has %,d, which counts",
                        claimed.getAsLong(),
                        capacity.getAsLong()))
                : Optional.empty();
    }
}
