package io.holdfast.core.backend;

import java.util.Set;

/**
 * What a backend is, whatever engine it meets: data that planner, pins and ledger apply.
 *
 * <p>Built by name: {@code BackendTraits.hard().needing(Need.INSERTION_END)}.
 *
 * @param needs what a prefix must have before it can be pinned
 * @param takesMemory a pin takes memory from the engine for good, so that the hard guard applies
 * @param lasting a pin stays until it is unpinned, also when this process has ended
 * @param releaseTells an unpin's answer says whether the pin was there; where not, any answer only says that it is gone now
 * @param fading a pin is worth nothing once the cache was filled again since, so it is made again before that
 * @param releasable a pin can be taken back; where not, it ends when the engine evicts its blocks or empties its cache, and
 *     all pins together stay within the operator's share
 */
public record BackendTraits(
        Set<Need> needs,
        boolean takesMemory,
        boolean lasting,
        boolean releaseTells,
        boolean fading,
        boolean releasable) {
    public BackendTraits {
        needs = Set.copyOf(needs);
    }

    /** What a backend may need of a prefix. */
    public enum Need {
        /** A pin must name a block that ended an insertion. */
        INSERTION_END,
        /** A pin and its unpin name a hash, so two blocks under one hash could be mixed up. */
        UNAMBIGUOUS_HASH,
        /** A pin is made by sending the prefix, so its tokens have to be known. */
        TOKENS
    }

    /** Pins take memory for good; they last, and an unpin tells. */
    public static BackendTraits hard() {
        return new BackendTraits(Set.of(), true, true, true, false, true);
    }

    /** The engine may evict what is pinned when it must; pins last, and an unpin tells. */
    public static BackendTraits soft() {
        return new BackendTraits(Set.of(), false, true, true, false, true);
    }

    /** The same with these needs and no others. */
    public BackendTraits needing(Need... these) {
        return new BackendTraits(Set.of(these), takesMemory, lasting, releaseTells, fading, releasable);
    }

    /** The same whose pins end without an unpin, or were never made. */
    public BackendTraits endingByThemselves() {
        return new BackendTraits(needs, takesMemory, false, releaseTells, fading, releasable);
    }

    /** The same whose unpins do not tell whether there was a pin. */
    public BackendTraits withSilentRelease() {
        return new BackendTraits(needs, takesMemory, lasting, false, fading, releasable);
    }

    /** The same whose pins end by themselves when they are not made again in time. */
    public BackendTraits thatFade() {
        return new BackendTraits(needs, takesMemory, false, releaseTells, true, releasable);
    }

    /** The same whose pins cannot be taken back, so that they are never asked to. */
    public BackendTraits withoutUnpin() {
        return new BackendTraits(needs, takesMemory, lasting, releaseTells, fading, false);
    }

    /** The same while pins are there that take memory for good. */
    public BackendTraits besideHardPins() {
        return new BackendTraits(needs, true, lasting, releaseTells, fading, releasable);
    }

    public boolean needs(Need need) {
        return needs.contains(need);
    }

    /** Whether a pin is written ahead, so that a later process can take it back, or at least count it. */
    public boolean needsLedger() {
        return lasting;
    }

    /** Whether what an earlier process left in the ledger is unpinned, and before anything is pinned. */
    public boolean needsReleaseAtStart() {
        return lasting && releasable;
    }

    /** Whether no other sidecar of the machine may pin at the engine meanwhile. */
    public boolean needsEngineLock() {
        return lasting;
    }
}
