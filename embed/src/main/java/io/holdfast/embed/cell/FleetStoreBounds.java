package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.Map;

/** Bounds of what a {@link FleetStore} takes, which are the same in each; for whoever writes one. */
public final class FleetStoreBounds {
    /** Amounts beyond it would make sums that are no numbers any more. */
    private static final double MOST_AMOUNT = 1e15;

    private FleetStoreBounds() {}

    /**
     * Returns a value.
     *
     * @throws FleetStoreException with one sentence, where it is none for a store
     */
    public static byte[] value(byte[] value) {
        if (value.length == 0 || value.length > FleetStore.MOST_BYTES) {
            throw new FleetStoreException("A value for a fleet's store has 1 to " + FleetStore.MOST_BYTES
                    + " bytes, not " + value.length + "; leave out of it what matters least.");
        }
        return value;
    }

    /**
     * Returns the whole milliseconds of a time to live.
     *
     * @throws FleetStoreException with one sentence, where it is none for a store
     */
    public static long millis(Duration ttl) {
        if (ttl.compareTo(Duration.ofMillis(1)) < 0 || ttl.compareTo(FleetStore.LONGEST_TTL) > 0) {
            throw new FleetStoreException("Anything in a fleet's store stays for 1 ms to "
                    + FleetStore.LONGEST_TTL.toDays() + " days, not for " + ttl + "; put it again before its end.");
        }
        return ttl.toMillis();
    }

    /**
     * Returns amounts.
     *
     * @throws FleetStoreException with one sentence, where they are too many, or one of them is none for a sum
     */
    public static Map<Long, Double> amounts(Map<Long, Double> amounts) {
        if (amounts.size() > FleetStore.MOST_SUMS) {
            throw new FleetStoreException("One call adds at most " + FleetStore.MOST_SUMS + " amounts to a window, not "
                    + amounts.size() + "; add the largest.");
        }
        amounts.values().forEach(amount -> {
            if (!(Math.abs(amount) <= MOST_AMOUNT)) {
                throw new FleetStoreException(
                        "An amount for a window is a number up to 1e15, not " + amount + "; leave it out.");
            }
        });
        return amounts;
    }

    /**
     * Returns an owner.
     *
     * @throws FleetStoreException with one sentence, where it is no name
     */
    public static String owner(String owner) {
        if (!FleetStore.Key.isName(owner)) {
            throw new FleetStoreException("An owner in a fleet's store has 1 to " + FleetStore.LONGEST_NAME
                    + " letters, digits, dots, colons and dashes; give it such a name.");
        }
        return owner;
    }
}
