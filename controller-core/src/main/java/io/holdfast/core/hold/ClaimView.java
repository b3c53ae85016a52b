package io.holdfast.core.hold;

import java.time.Duration;

/**
 * A view of what one requester may still want of a hold.
 *
 * @param requester by the name that it gave itself; empty where it gave none
 * @param measured whether it lets the hold go now and then to be measured
 * @param left how long its lease runs from now
 * @param leftAtMost how long it can run from now, however often it is prolonged
 */
public record ClaimView(
        String requester, Lease lease, int weight, boolean measured, Duration left, Duration leftAtMost) {
    /** Creates the view of a requester that wants it held throughout. */
    public ClaimView(String requester, Lease lease, int weight, Duration left, Duration leftAtMost) {
        this(requester, lease, weight, false, left, leftAtMost);
    }
}
