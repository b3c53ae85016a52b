package io.holdfast.core.hold;

import java.time.Duration;

/**
 * Time for which a hold is wanted.
 *
 * @param length from the request, or from the last time that it was prolonged
 * @param refreshOnHit whether each use of the prefix prolongs it
 * @param atMost the longest that it may run in all, from the request, however often it is prolonged
 */
public record Lease(Duration length, boolean refreshOnHit, Duration atMost) {
    public static final Duration LONGEST = Duration.ofDays(365);
    /**
     * The cap of a lease that uses prolong, unless another one is set: what is used all the time is requested again
     * some day.
     */
    public static final Duration REFRESHED_AT_MOST = Duration.ofHours(24);

    /** @throws IllegalArgumentException with one sentence, where no hold can last like that */
    public Lease {
        if (!length.isPositive()) {
            throw new IllegalArgumentException("The lease must be longer than zero, it is " + length + ".");
        }
        if (length.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("The lease must be at most " + LONGEST.toDays() + " days, it is "
                    + length + ": ask again before it ends.");
        }
        if (atMost.compareTo(length) < 0) {
            throw new IllegalArgumentException("The lease of " + length + " is longer than the " + atMost
                    + " that the hold may live in all: give a longer cap or a shorter lease.");
        }
        if (atMost.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("A hold may live at most " + LONGEST.toDays() + " days in all, and "
                    + atMost + " were requested: request it again before it ends.");
        }
    }

    /** One that ends when it ends, whatever becomes of the prefix. */
    public static Lease absolute(Duration length) {
        return new Lease(length, false, atLeast(length, LONGEST));
    }

    /** One that each use prolongs, for 24 hours in all or for its length where that is more. */
    public static Lease refreshed(Duration length) {
        return new Lease(length, true, atLeast(length, REFRESHED_AT_MOST));
    }

    /** Uses that come so far apart are what an automatic hold can still span, as a multiple of its least lease. */
    private static final int LONGEST_AUTOMATIC = 12;

    private static final int GAPS = 3;

    /** Returns that of an automatic hold: three of its prefix's gaps, at least and at most as {@code least} allows. */
    public static Lease automatic(Duration least, Duration gap) {
        Duration gaps = gap.multipliedBy(GAPS);
        Duration most = longestAutomatic(least);
        return new Lease(
                gaps.compareTo(least) < 0 ? least : gaps.compareTo(most) > 0 ? most : gaps, true, Lease.LONGEST);
    }

    /** Returns how long an automatic hold waits for a use at most. */
    public static Duration longestAutomatic(Duration least) {
        Duration most = least.multipliedBy(LONGEST_AUTOMATIC);
        return most.compareTo(LONGEST) > 0 ? LONGEST : most;
    }

    private static Duration atLeast(Duration least, Duration otherwise) {
        return least.compareTo(otherwise) > 0 ? least : otherwise;
    }
}
