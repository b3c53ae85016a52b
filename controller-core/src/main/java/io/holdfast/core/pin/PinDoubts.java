package io.holdfast.core.pin;

import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.pin.Pin.State;
import java.util.HashSet;
import java.util.Set;

/** Doubts about where a pin is, and with them whether an unpin could end the engine. */
final class PinDoubts {
    /*
     * Where a pin went
     * ----------------
     * A pin keeps its block, so a block that events show to have gone while the call was under way was pinned
     * elsewhere: in another cache, or where it came back to, and there it may lie in the middle of what a request
     * stored. An unpin of that can end the engine. Among several caches another one than expected may have the pin;
     * events that were on their way when it was made will show that, so an unpin waits for them.
     */
    /** Longest time for which an event is on its way. */
    static final long ON_THE_WAY_NANOS = 15_000_000_000L;

    static final long LOOK_AGAIN_NANOS = 200_000_000L;
    /** Time after which events are here that were published before, unless they are late. */
    private static final long TOLD_AFTER_NANOS = 600_000_000L;

    /** What is to be done with a pin that nobody needs. */
    enum Answer {
        UNPIN,
        /** Its call may still arrive. */
        WAIT_FOR_ARRIVAL,
        LOOK_AGAIN,
        /** A second block has its hash, and the unpin could hit that one. */
        KEEP_FOR_TWIN,
        /** An unpin could lead to what is gone. */
        KEEP_ASTRAY
    }

    private final PinTable table;
    private final EngineCaches tree;
    /** Time at which the events last showed an emptied cache, and the counters another process. */
    private long emptiedNanos = Pin.NEVER;

    private long processNanos = Pin.NEVER;

    PinDoubts(PinTable table, EngineCaches tree) {
        this.table = table;
        this.tree = tree;
    }

    Answer mayUnpin(Pin pin) {
        if (twins(pin)) {
            return Answer.KEEP_FOR_TWIN;
        }
        if (tree.several() || pin.doubtful) {
            long sincePinned = table.nowNanos - pin.pinnedNanos;
            boolean heard = sincePinned >= ON_THE_WAY_NANOS || tree.heardSince(pin.pinnedNanos + TOLD_AFTER_NANOS);
            if (table.nowNanos < pin.mayArriveUntilNanos) {
                return Answer.WAIT_FOR_ARRIVAL;
            }
            if (!heard || (!shows(pin) && sincePinned < Pins.ARRIVAL_NANOS)) {
                return Answer.LOOK_AGAIN;
            }
            if ((pin.doubtful || !pin.counted) && !isSafe(pin)) {
                return Answer.KEEP_ASTRAY;
            }
        }
        return !pin.backend.traits().releaseTells() && table.nowNanos < pin.mayArriveUntilNanos
                ? Answer.WAIT_FOR_ARRIVAL
                : Answer.UNPIN;
    }

    /** Returns true if a pin that was kept can be unpinned after all. */
    boolean isOver(Pin pin, long certainForNanos) {
        return (pin.counted || certainForNanos >= Pins.ARRIVAL_NANOS)
                && !tree.ambiguous(pin.block)
                && (!pin.doubtful || isSafe(pin));
    }

    /**
     * Returns true if a pin whose unpin had no clear answer is gone: an engine keeps a block that is pinned, and the
     * events, of which none is missing, show that this one is not there. So it is after a restart of the engine amid the
     * unpin. Events that were numbered anew since the pin was made may be those of a cache that lives on, and what came
     * before an earlier life ended nobody can tell: there the engine's own counters have to show that another process
     * answers.
     */
    boolean isGone(Pin pin, long certainForNanos) {
        boolean heard = pin.askedNanos == Pin.NEVER
                || table.nowNanos - pin.askedNanos >= ON_THE_WAY_NANOS
                || tree.heardSince(pin.askedNanos + TOLD_AFTER_NANOS);
        boolean anotherProcess = processNanos != Pin.NEVER && processNanos >= pin.pinnedNanos;
        boolean sameNumbering = !pin.fromEarlierLife && (emptiedNanos == Pin.NEVER || emptiedNanos < pin.pinnedNanos);
        boolean believed = anotherProcess || sameNumbering;
        return certainForNanos >= 0
                && heard
                && believed
                && !pin.doubtful
                && table.nowNanos > pin.mayArriveUntilNanos
                && pin.backend.traits().takesMemory()
                && !tree.resident(pin.block);
    }

    /** Takes in that the events show an emptied cache. */
    void cacheEmptied() {
        emptiedNanos = table.nowNanos;
    }

    /** Takes in that the engine's counters fell. */
    void anotherProcess() {
        processNanos = table.nowNanos;
    }

    boolean twins(Pin pin) {
        return pin.backend.traits().needs(Need.UNAMBIGUOUS_HASH) && tree.ambiguous(pin.block);
    }

    /** Returns true if the events show every cache that counted the pin. */
    private boolean shows(Pin pin) {
        return pin.pinnedIn <= tree.ranksWith(pin.block).size();
    }

    private boolean isSafe(Pin pin) {
        return shows(pin) && tree.leadsToLife(pin.block);
    }

    /** Takes in that a cache removed blocks, and returns the holds whose pins were to keep them in several caches. */
    Set<Long> removed(int rank, Set<Long> blocks) {
        Set<Long> holds = new HashSet<>();
        for (Pin pin : table.all()) {
            if (pin.counted && blocks.contains(pin.block) && table.onRank(pin, rank)) {
                if (mayHaveComeAfter(pin)) {
                    pin.doubtful = true;
                    pin.pinnedIn = tree.several() ? tree.pinnedOn(pin.block).size() : 0;
                }
                if (tree.several()) {
                    holds.addAll(pin.holds.keySet());
                }
            }
        }
        return holds;
    }

    /** Returns true if the pin may have reached the engine after what is reported only now. */
    private boolean mayHaveComeAfter(Pin pin) {
        boolean underWay = pin.state == State.PINNING || table.nowNanos < pin.mayArriveUntilNanos;
        return tree.several()
                ? underWay || table.nowNanos - pin.pinnedNanos < ON_THE_WAY_NANOS
                : underWay && pin.backend.traits().needs(Need.INSERTION_END);
    }

    /** Has events show what becomes of the block while the call is under way. */
    void watchArrival(Pin pin) {
        if (pin.backend.traits().needs(Need.INSERTION_END)) {
            pin.arrivalWatched = true;
            tree.watchArrival(pin.block);
        }
    }

    void unwatchArrival(Pin pin) {
        if (pin.arrivalWatched) {
            pin.arrivalWatched = false;
            tree.unwatchArrival(pin.block);
        }
    }
}
