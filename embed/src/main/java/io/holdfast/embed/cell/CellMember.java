package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** One engine's part in a cell. */
public final class CellMember {
    /** Time between two rounds, a tenth more or less. */
    public static final Duration PERIOD = Duration.ofSeconds(10);
    /** Time after which what was not renewed counts no more: two periods at their longest, and a second between polls. */
    public static final Duration TWO_PERIODS = Duration.ofSeconds(23);
    /** The most holds of the fleet that a cell has. */
    public static final int MOST_HOLDS = 200;
    /** The most engines that a cell has; larger ones are parted by their namespace. */
    public static final int MOST_ENGINES = 1_000;

    /**
     * Takes part for one engine; nobody else does for it at the same time.
     *
     * @param engine its name, of letters, digits, dots, colons and dashes, which no other engine of the cell has
     * @param address where its sidecar is reached; empty where nobody may ask it
     * @param clock nanoseconds, of any origin
     * @param hot what is hot at it now; called by {@link #poll}
     * @param reports what it made of {@link #wanted}; called by {@link #poll}
     */
    public CellMember(
            FleetStore store,
            Cell cell,
            String engine,
            String address,
            LongSupplier clock,
            RandomGenerator random,
            Supplier<Hot> hot,
            Supplier<List<HeldCopy>> reports) {}

    /**
     * Does what is due. One thread calls it at least once a second, by preference not that of the engine's events; it
     * never waits.
     */
    public void poll(long nowNanos) {}

    /** What is known of the cell now; {@link CellView#NONE} after two periods without an answer. Any thread may ask. */
    public CellView view() {
        return CellView.NONE;
    }

    /**
     * Takes a hold for the fleet, which this process puts again until it ends; taking it again prolongs it.
     *
     * @return false where the cell has as many as it can, or where it was released before
     */
    public boolean hold(FleetHold hold) {
        return false;
    }

    /** Ends a hold of the fleet, whoever took it; false where there is none. */
    public boolean release(String id) {
        return false;
    }

    /** Holds of the fleet for which this engine is chosen now, with what is left of their leases. Any thread may ask. */
    public List<FleetHold> wanted() {
        return List.of();
    }

    /** All holds of the fleet, the one view of them. Any thread may ask. */
    public List<FleetHoldView> fleetHolds() {
        return List.of();
    }

    /** What it cost and what became of it. */
    public CellCounters counters() {
        return new CellCounters(0, 0, java.util.Map.of(), 0, 0, java.util.OptionalDouble.empty(), 0, false);
    }

    /** Takes the engine out of the cell: the next poll puts nothing any more, and what was put ends by itself. */
    public void leave() {}
}
