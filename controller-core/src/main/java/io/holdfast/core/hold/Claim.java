package io.holdfast.core.hold;

import java.time.Duration;

/**
 * A requester's wish for a hold.
 *
 * @param requester empty where it has no name
 * @param measured whether it lets the hold go to be measured
 * @param runs for how long it ran when its end was last set
 * @param setNanos when that was
 * @param lastNanos its end is never set beyond
 */
record Claim(
        String requester,
        Lease lease,
        int weight,
        boolean measured,
        Duration runs,
        long setNanos,
        long endNanos,
        long lastNanos) {

    static Claim of(String requester, Lease lease, int weight, boolean measured, long nowNanos) {
        return new Claim(
                requester,
                lease,
                weight,
                measured,
                lease.length(),
                nowNanos,
                nowNanos + lease.length().toNanos(),
                nowNanos + lease.atMost().toNanos());
    }

    static Claim restored(ClaimView kept, long nowNanos) {
        return new Claim(
                kept.requester(),
                kept.lease(),
                kept.weight(),
                kept.measured(),
                kept.left(),
                nowNanos,
                nowNanos + kept.left().toNanos(),
                nowNanos + kept.leftAtMost().toNanos());
    }

    /** Returns the claim after a use at that time; one from before the end was set last does not count any more. */
    Claim used(long nanos) {
        return nanos > setNanos ? usedNow(nanos) : this;
    }

    /** Returns the claim after a use now, whatever was reported about its end before. */
    Claim usedNow(long nowNanos) {
        return lease.refreshOnHit() ? runsAtLeast(lease.length(), nowNanos) : this;
    }

    /** Returns this claim with another lease from the last use on, and never with less time than it has. */
    Claim lasting(Lease other) {
        if (other.equals(lease)) {
            return this;
        }
        long last = Math.max(endNanos, lastNanos);
        long end = Math.max(endNanos, Math.min(setNanos + other.length().toNanos(), last));
        return new Claim(requester, other, weight, measured, other.length(), setNanos, end, last);
    }

    /** Asked for once more: the newest word counts, but nobody gets less than was promised. */
    Claim renewed(Lease newLease, int newWeight, boolean nowMeasured, long nowNanos) {
        Claim fresh = of(requester, newLease, newWeight, nowMeasured, nowNanos);
        return fresh.endNanos >= endNanos
                ? fresh
                : new Claim(
                        requester,
                        newLease,
                        newWeight,
                        nowMeasured,
                        runs,
                        nowNanos,
                        endNanos,
                        Math.max(fresh.lastNanos, endNanos));
    }

    /** Returns the claim with so long a lease from now on, whether that is more or less than before. */
    Claim extended(Duration length, long nowNanos) {
        return runs(length, nowNanos, Math.min(nowNanos + length.toNanos(), lastNanos));
    }

    private Claim runsAtLeast(Duration length, long nanos) {
        long end = Math.min(nanos + length.toNanos(), lastNanos);
        return end > endNanos ? runs(length, nanos, end) : this;
    }

    private Claim runs(Duration length, long nanos, long end) {
        return new Claim(requester, lease, weight, measured, length, nanos, end, lastNanos);
    }

    boolean over(long nowNanos) {
        return endNanos <= nowNanos;
    }

    boolean hasName() {
        return !requester.isEmpty();
    }

    /** Returns the reason why it is over, once it is. */
    String whyOver() {
        String whose = hasName() ? "the lease of its last requester, " + requester + "," : "its lease";
        if (endNanos == lastNanos && lease.atMost().compareTo(runs) > 0) {
            return whose + " has run for the " + lease.atMost().toSeconds() + " s that it may run in all";
        }
        return whose + " of " + runs.toSeconds() + " s is over"
                + (lease.refreshOnHit() && runs.equals(lease.length())
                        ? ", since the prefix was not used for so long"
                        : "");
    }

    ClaimView view(long nowNanos) {
        return new ClaimView(
                requester,
                lease,
                weight,
                measured,
                Duration.ofNanos(Math.max(0, endNanos - nowNanos)),
                Duration.ofNanos(Math.max(0, lastNanos - nowNanos)));
    }
}
