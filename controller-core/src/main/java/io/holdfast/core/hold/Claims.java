package io.holdfast.core.hold;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Claims on one hold, which ends with the last of them. Never empty, never changed. */
public final class Claims {
    static final int MOST = 64;

    private final List<Claim> all;

    private Claims(List<Claim> all) {
        this.all = List.copyOf(all);
    }

    static Claims of(HoldRequest request, long nowNanos) {
        return new Claims(List.of(
                Claim.of(request.requester(), request.lease(), request.weight(), request.measured(), nowNanos)));
    }

    static Claims restored(List<ClaimView> kept, long nowNanos) {
        return new Claims(
                kept.stream().map(claim -> Claim.restored(claim, nowNanos)).toList());
    }

    /** Returns true if a request with a name may join: requests without one are holds of their own. */
    boolean shared() {
        return all.getFirst().hasName();
    }

    boolean has(String requester) {
        return all.stream().anyMatch(claim -> claim.requester().equals(requester));
    }

    boolean full() {
        return all.size() >= MOST;
    }

    /** Returns these claims with that of the request, new or renewed. */
    Claims with(HoldRequest request, long nowNanos) {
        if (has(request.requester())) {
            return each(
                    claim -> claim.requester().equals(request.requester()),
                    claim -> claim.renewed(request.lease(), request.weight(), request.measured(), nowNanos));
        }
        List<Claim> more = new ArrayList<>(all);
        more.add(Claim.of(request.requester(), request.lease(), request.weight(), request.measured(), nowNanos));
        return new Claims(more);
    }

    Claims used(long nanos) {
        return refreshed() ? each(claim -> true, claim -> claim.used(nanos)) : this;
    }

    Claims usedNow(long nowNanos) {
        return refreshed() ? each(claim -> true, claim -> claim.usedNow(nowNanos)) : this;
    }

    /** Extends the claim of one requester, or of all where none is named. */
    Claims extended(Optional<String> requester, Duration length, long nowNanos) {
        return each(
                claim -> requester.map(claim.requester()::equals).orElse(true),
                claim -> claim.extended(length, nowNanos));
    }

    Claims lasting(Lease lease) {
        return each(claim -> true, claim -> claim.lasting(lease));
    }

    /** Without the claims that are over; empty where all are. */
    Optional<Claims> living(long nowNanos) {
        return all.stream().noneMatch(claim -> claim.over(nowNanos))
                ? Optional.of(this)
                : keeping(claim -> !claim.over(nowNanos));
    }

    /** Without this one's; empty where no other is left. */
    Optional<Claims> without(String requester) {
        return keeping(claim -> !claim.requester().equals(requester));
    }

    /** Returns true if a use prolongs any claim. */
    boolean refreshed() {
        return all.stream().anyMatch(claim -> claim.lease().refreshOnHit());
    }

    /** Returns true if all accept that the hold is released to be measured. */
    boolean measured() {
        return all.stream().allMatch(Claim::measured);
    }

    Claim last() {
        return all.stream().max(Comparator.comparingLong(Claim::endNanos)).orElseThrow();
    }

    int weight() {
        return all.stream().mapToInt(Claim::weight).max().orElseThrow();
    }

    List<ClaimView> views(long nowNanos) {
        return all.stream().map(claim -> claim.view(nowNanos)).toList();
    }

    private Optional<Claims> keeping(Predicate<Claim> which) {
        List<Claim> kept = all.stream().filter(which).toList();
        return kept.isEmpty() ? Optional.empty() : Optional.of(new Claims(kept));
    }

    private Claims each(Predicate<Claim> which, UnaryOperator<Claim> change) {
        List<Claim> changed = all.stream()
                .map(claim -> which.test(claim) ? change.apply(claim) : claim)
                .toList();
        return changed.equals(all) ? this : new Claims(changed);
    }
}
