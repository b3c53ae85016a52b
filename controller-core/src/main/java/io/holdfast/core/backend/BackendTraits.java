package io.holdfast.core.backend;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Traits of a backend, whatever engine it meets: data that planner, pins and ledger apply.
 *
 * <p>Built by name: {@code BackendTraits.hard().needing(Need.INSERTION_END)}.
 *
 * @param needs what a prefix must have before it can be pinned
 * @param qualities what a pin and its end are
 * @param renewedEvery how often a pin is renewed while it is needed; zero: never
 * @param endsAfter how long after its last renewal a pin ends automatically; zero: it does not
 * @param blocksBeside how many blocks a pin may take beside those of its path, such as the end of a request that was
 *     sent for it
 */
public record BackendTraits(
        Set<Need> needs, Set<Quality> qualities, Duration renewedEvery, Duration endsAfter, int blocksBeside) {
    public BackendTraits {
        needs = Set.copyOf(needs);
        qualities = Set.copyOf(qualities);
    }

    /** Needs that a backend may have of a prefix. */
    public enum Need {
        /** A pin must name a block that ended an insertion. */
        INSERTION_END,
        /** A pin and its unpin name a hash, so two blocks under one hash could be mixed up. */
        UNAMBIGUOUS_HASH,
        /** A pin is made by sending the prefix, so its tokens have to be known. */
        TOKENS
    }

    /** Qualities of every pin of a backend. */
    public enum Quality {
        /** It takes memory from the engine for good, so that the hard guard applies. */
        TAKES_MEMORY,
        /** It stays until it is unpinned, also when this process has ended. */
        LASTING,
        /**
         * It can be taken back. Where not, it ends when the engine evicts its blocks or empties its cache, or when its
         * time has run out, and all pins together stay within the operator's share.
         */
        RELEASABLE,
        /** An unpin's answer says whether the pin was there; where not, any answer only says that it is gone now. */
        RELEASE_TELLS,
        /** An unpin names what nobody else has, so that it does no harm a second time. */
        RELEASE_REPEATABLE,
        /** It is worth nothing once the cache was filled again since, so it is made again before that. */
        FADING
    }

    /** Pins take memory for good; they last, and an unpin tells. */
    public static BackendTraits hard() {
        return soft().with(Quality.TAKES_MEMORY);
    }

    /** The engine may evict what is pinned when it must; pins last, and an unpin tells. */
    public static BackendTraits soft() {
        return new BackendTraits(
                Set.of(),
                Set.of(Quality.LASTING, Quality.RELEASABLE, Quality.RELEASE_TELLS),
                Duration.ZERO,
                Duration.ZERO,
                0);
    }

    /** Returns these traits with these needs and no others. */
    public BackendTraits needing(Need... these) {
        return new BackendTraits(Set.of(these), qualities, renewedEvery, endsAfter, blocksBeside);
    }

    /** Returns these traits with pins that end without an unpin, or were never made. */
    public BackendTraits endingByThemselves() {
        return without(Quality.LASTING);
    }

    /** Returns these traits with unpins that do not tell whether there was a pin, and can be made twice. */
    public BackendTraits withSilentRelease() {
        return without(Quality.RELEASE_TELLS).with(Quality.RELEASE_REPEATABLE);
    }

    /** Returns these traits with pins that end automatically when they are not made again in time. */
    public BackendTraits thatFade() {
        return without(Quality.LASTING).with(Quality.FADING);
    }

    /** Returns these traits with pins that cannot be taken back, so that they are never asked to. */
    public BackendTraits withoutUnpin() {
        return without(Quality.RELEASABLE);
    }

    /**
     * Returns these traits with pins that are renewed so often while they are needed, and end automatically so long
     * after that; they cannot be taken back.
     */
    public BackendTraits endingAfter(Duration time, Duration renewed) {
        return without(Quality.LASTING).without(Quality.RELEASABLE).timed(time, renewed);
    }

    /**
     * Returns these traits with pins that are renewed so often while they are needed, and end automatically so long
     * after that; a call takes them back before, and does no harm a second time.
     */
    public BackendTraits leasedFor(Duration time, Duration renewed) {
        return without(Quality.LASTING).withSilentRelease().timed(time, renewed);
    }

    private BackendTraits timed(Duration time, Duration renewed) {
        return new BackendTraits(needs, qualities, renewed, time, blocksBeside);
    }

    /** Returns these traits with pins that take so many blocks beside those of their path. */
    public BackendTraits withBlocksBeside(int blocks) {
        return new BackendTraits(needs, qualities, renewedEvery, endsAfter, blocks);
    }

    /** Returns these traits as they are while there are pins that take memory for good. */
    public BackendTraits besideHardPins() {
        return with(Quality.TAKES_MEMORY);
    }

    private BackendTraits with(Quality more) {
        EnumSet<Quality> all = EnumSet.of(more);
        all.addAll(qualities);
        return new BackendTraits(needs, all, renewedEvery, endsAfter, blocksBeside);
    }

    private BackendTraits without(Quality one) {
        Set<Quality> left = qualities.stream().filter(quality -> quality != one).collect(Collectors.toSet());
        return new BackendTraits(needs, left, renewedEvery, endsAfter, blocksBeside);
    }

    public boolean needs(Need need) {
        return needs.contains(need);
    }

    public boolean takesMemory() {
        return qualities.contains(Quality.TAKES_MEMORY);
    }

    public boolean lasting() {
        return qualities.contains(Quality.LASTING);
    }

    public boolean releasable() {
        return qualities.contains(Quality.RELEASABLE);
    }

    public boolean releaseTells() {
        return qualities.contains(Quality.RELEASE_TELLS);
    }

    public boolean fading() {
        return qualities.contains(Quality.FADING);
    }

    /**
     * Returns true if an unpin without a clear answer is not made again, since a second one could take a pin of
     * somebody else's.
     */
    public boolean unpinsOnce() {
        return !qualities.contains(Quality.RELEASE_REPEATABLE);
    }

    /**
     * Returns true if a pin is a request of the prefix, which the engine computes and which shows among its requests.
     */
    public boolean sendsPrefix() {
        return needs(Need.TOKENS);
    }

    /** Returns true if a pin that is not renewed ends at a known time. */
    public boolean endsInTime() {
        return endsAfter.isPositive();
    }

    /** Returns true if no call takes a pin back, and it ends when it is not renewed. */
    public boolean onlyRunsOut() {
        return endsInTime() && !releasable();
    }

    /** Returns true if what nobody needs is not pinned for ever. */
    public boolean letsGo() {
        return releasable() || endsInTime();
    }

    /** Returns true if a pin is written ahead, so that a later process can take it back, or at least count it. */
    public boolean needsLedger() {
        return lasting();
    }

    /** Returns true if what an earlier process left in the ledger is unpinned, and before anything is pinned. */
    public boolean needsReleaseAtStart() {
        return lasting() && releasable();
    }

    /** Returns true if no other sidecar of the machine may pin at the engine meanwhile. */
    public boolean needsEngineLock() {
        return lasting();
    }
}
