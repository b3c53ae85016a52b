package io.holdfast.sidecar.store;

import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import java.time.Duration;
import java.time.Instant;

/**
 * One requester's claim on a hold, by the wall clock.
 *
 * @param requester empty for somebody without a name
 * @param measured whether it lets the hold go now and then to be measured
 * @param until when its lease ends
 * @param last it is never prolonged beyond
 */
public record KeptClaim(String requester, Lease lease, int weight, boolean measured, Instant until, Instant last) {
    private static final Duration LEAST_GRAIN = Duration.ofSeconds(1);
    private static final Duration MOST_GRAIN = Duration.ofSeconds(60);
    private static final int GRAINS_A_LEASE = 20;

    /** Returns a claim without a requester, of which only its end is known. */
    static KeptClaim until(Instant end) {
        return until(end, false);
    }

    /** Returns such a claim that may be measured. */
    public static KeptClaim until(Instant end, boolean measured) {
        return new KeptClaim("", Lease.absolute(Lease.LONGEST), 1, measured, end, end.plus(Lease.LONGEST));
    }

    /** Returns the claim that a request makes, counted from now. */
    public static KeptClaim of(HoldRequest asked, Instant now) {
        return new KeptClaim(
                asked.requester(),
                asked.lease(),
                asked.weight(),
                asked.measured(),
                now.plus(asked.lease().length()),
                now.plus(asked.lease().atMost()));
    }

    public static KeptClaim of(ClaimView claim, Instant now) {
        return new KeptClaim(
                claim.requester(),
                claim.lease(),
                claim.weight(),
                claim.measured(),
                now.plus(claim.left()),
                now.plus(claim.leftAtMost()));
    }

    /** Returns the claim as it is if a lease can last so long from now; else cut to the longest lease. */
    KeptClaim within(Instant now) {
        Instant end = earlier(until, now.plus(Lease.LONGEST));
        Instant cap = earlier(last.isBefore(end) ? end : last, end.plus(Lease.LONGEST));
        return new KeptClaim(requester, lease, weight, measured, end, cap);
    }

    /** Returns the claim moved back with the wall clock, so that it ends no later than was promised. */
    KeptClaim setBack(Duration by) {
        return new KeptClaim(requester, lease, weight, measured, until.minus(by), last.minus(by));
    }

    private static Instant earlier(Instant one, Instant other) {
        return one.isBefore(other) ? one : other;
    }

    public ClaimView left(Instant now) {
        return new ClaimView(
                requester, lease, weight, measured, Duration.between(now, until), Duration.between(now, last));
    }

    /**
     * Returns true if this claim need not be written again now that it has become the given one. What is used all the
     * time is prolonged all the time, and a disk is no place for that: after a crash a lease may end so much too
     * early.
     */
    public boolean isAbout(KeptClaim other) {
        Duration grain = lease.length().dividedBy(GRAINS_A_LEASE);
        Duration least = grain.compareTo(LEAST_GRAIN) < 0 ? LEAST_GRAIN : grain;
        Duration far = least.compareTo(MOST_GRAIN) > 0 ? MOST_GRAIN : least;
        return requester.equals(other.requester)
                && lease.equals(other.lease)
                && weight == other.weight
                && measured == other.measured
                && Duration.between(until, other.until).abs().compareTo(far) <= 0
                && Duration.between(last, other.last).abs().compareTo(MOST_GRAIN) <= 0;
    }
}
