package io.holdfast.core.pin;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.StayingPath;
import io.holdfast.core.pin.Pin.State;
import java.util.Locale;
import java.util.Optional;

/** Kind of a pin by how it ends, which decides what follows from what becomes of it. */
abstract sealed class PinKind {
    /** Part of a path that a pin still protects; nothing is left where it has no blocks. */
    record Rest(long block, int blocks) {}

    /** Kinds of the pins of one engine. */
    static final class Kinds {
        private final PinKind counted = new Counted();
        private final PinKind soft = new Soft();
        private final PinKind staying;
        private final PinKind ending;
        private final PinKind leased;

        Kinds(PinTable table, EngineCaches tree, Renewals<Pin> renewals) {
            staying = new Staying(table, tree);
            ending = new Ending(renewals);
            leased = new Leased(renewals);
        }

        /** Returns the kind of pins that have these traits. */
        PinKind of(BackendTraits traits) {
            if (traits.endsInTime()) {
                return traits.releasable() ? leased : ending;
            }
            if (!traits.releasable()) {
                return staying;
            }
            return traits.unpinsOnce() ? counted : soft;
        }
    }

    /** Returns true if a call takes it back. */
    boolean releasable() {
        return false;
    }

    /** Returns true if its time has run out, whatever became of its unpin. */
    boolean hasRunOut(Pin pin) {
        return false;
    }

    /** Returns true if it ends a known time after its last renewal. */
    boolean endsInTime() {
        return false;
    }

    /** Takes in that a call is about to be made. */
    void onPlanned(Pin pin) {}

    /** Takes in that it was taken over from the ledger. */
    void onTakenOver(Pin pin) {}

    /** Takes in that it was made. */
    void onMade(Pin pin) {}

    /** Takes in that its call had no clear answer, and may arrive for some time. */
    void onUnclear(Pin pin) {}

    /** Returns true if something of it is there although its last call was refused. */
    boolean outlivesRefusal(Pin pin) {
        return false;
    }

    /** Returns what is left of a pin that nobody needs, where that is less than was counted. */
    Optional<Rest> rest(Pin pin, long certainForNanos) {
        return Optional.empty();
    }

    /** Returns the reason why it stays though nobody needs it. */
    String whyItStays(Pin pin, long blockTokens) {
        return pin.trouble.isEmpty() ? "its unpin was requested a moment ago" : pin.trouble;
    }

    /** Returns how it ended, where no unpin ended it. */
    Optional<String> howItEnded(Pin pin) {
        return Optional.empty();
    }

    private static String amount(Pin pin, long blockTokens) {
        return String.format(
                Locale.ROOT, "%,d %s", pin.blocks * Math.max(1, blockTokens), blockTokens > 0 ? "tokens" : "blocks");
    }

    /** A pin that the engine counts for everybody: it is unpinned once, and never a second time in doubt. */
    static final class Counted extends PinKind {
        @Override
        boolean releasable() {
            return true;
        }
    }

    /** A pin under a name that nobody else has, so that a second unpin does no harm. */
    static final class Soft extends PinKind {
        @Override
        boolean releasable() {
            return true;
        }
    }

    /** A pin under a name that nobody else has, which a call takes back, and which ends in time without one. */
    static final class Leased extends PinKind {
        private final Renewals<Pin> renewals;

        Leased(Renewals<Pin> renewals) {
            this.renewals = renewals;
        }

        @Override
        boolean releasable() {
            return true;
        }

        @Override
        boolean endsInTime() {
            return true;
        }

        /** While an unpin is under way its answer is awaited: it comes, if only as a time-out. */
        @Override
        boolean hasRunOut(Pin pin) {
            return pin.leaving() && pin.state != State.UNPINNING && !renewals.mayLast(pin);
        }
    }

    /** A pin that no call takes back: it is over when nothing of its path has stayed since it was made. */
    static final class Staying extends PinKind {
        private static final String OVER =
                "nothing of it is protected any more: the engine has evicted it, cleared its cache or restarted";

        private final PinTable table;
        private final EngineCaches tree;

        Staying(PinTable table, EngineCaches tree) {
            this.table = table;
            this.tree = tree;
        }

        /** Whenever the call may arrive, what the ledger says of it counts from then on at the latest. */
        @Override
        void onPlanned(Pin pin) {
            pin.sinceMicros = moment(Pins.ARRIVAL_NANOS);
        }

        @Override
        void onTakenOver(Pin pin) {
            follow(pin);
        }

        @Override
        void onMade(Pin pin) {
            pin.sinceMicros = moment(0);
            follow(pin);
        }

        @Override
        void onUnclear(Pin pin) {
            pin.sinceMicros = moment(Pins.ARRIVAL_NANOS);
            follow(pin);
        }

        private long moment(long arrivalNanos) {
            long stamp = tree.engineMicros();
            return stamp == 0 ? Long.MAX_VALUE : stamp + arrivalNanos / 1_000;
        }

        /** Follows from now on what leaves of its path. */
        private void follow(Pin pin) {
            pin.left.ifPresent(StayingPath::forget);
            pin.left = Optional.of(tree.follow(pin.block, pin.sinceMicros));
        }

        @Override
        boolean outlivesRefusal(Pin pin) {
            return pin.left.isPresent();
        }

        @Override
        Optional<Rest> rest(Pin pin, long certainForNanos) {
            boolean heard = table.nowNanos >= pin.mayArriveUntilNanos
                    && table.nowNanos - pin.pinnedNanos >= PinDoubts.ON_THE_WAY_NANOS;
            if (pin.state != State.KEPT || pin.left.isEmpty() || !heard) {
                return Optional.empty();
            }
            StayingPath path = pin.left.get();
            if (!path.known() && certainForNanos < PinDoubts.ON_THE_WAY_NANOS) {
                return Optional.empty();
            }
            int left = path.blocks();
            if (left == 0) {
                return Optional.of(new Rest(pin.block, 0));
            }
            long end = path.block(left - 1);
            return left < pin.blocks || (!pin.counted && tree.depth(end) == left)
                    ? Optional.of(new Rest(end, left))
                    : Optional.empty();
        }

        @Override
        String whyItStays(Pin pin, long blockTokens) {
            return "cannot be released, " + amount(pin, blockTokens)
                    + ": the engine has no call that takes them back, so they count until it evicts them, clears its"
                    + " cache or restarts";
        }

        @Override
        Optional<String> howItEnded(Pin pin) {
            return pin.left.map(path -> OVER);
        }
    }

    /** A pin that no call takes back, and that ends a known time after its last renewal. */
    static final class Ending extends PinKind {
        private final Renewals<Pin> renewals;

        Ending(Renewals<Pin> renewals) {
            this.renewals = renewals;
        }

        @Override
        boolean endsInTime() {
            return true;
        }

        @Override
        boolean outlivesRefusal(Pin pin) {
            return renewals.mayLast(pin);
        }

        @Override
        Optional<Rest> rest(Pin pin, long certainForNanos) {
            return pin.state == State.KEPT && !renewals.mayLast(pin)
                    ? Optional.of(new Rest(pin.block, 0))
                    : Optional.empty();
        }

        @Override
        String whyItStays(Pin pin, long blockTokens) {
            return "cannot be released before its time runs out, "
                    + pin.backend.traits().endsAfter().toSeconds()
                    + " s after its last renewal: the engine has no call that takes a pin back, so its "
                    + amount(pin, blockTokens) + " count until then";
        }

        @Override
        Optional<String> howItEnded(Pin pin) {
            return Optional.of("its time has run out");
        }
    }
}
