package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Holds of the fleet that one member knows, its own and those of others, with their ends by its own clock.
 *
 * <p>A value says how much of a lease was left when it was written, which was before it was read: each reading bounds
 * the end from above. A value that was read before says nothing new, or one that stays in a store would prolong itself.
 */
final class HoldBook {
    private static final long MILLI = 1_000_000;
    /** By how much later an end must be for a renewal; less is the time between writing and reading. */
    private static final long SLACK = 15_000 * MILLI;
    /** Time for which the sign that a hold is over is put. */
    static final long RELEASED_NANOS = 45_000 * MILLI;

    private final Map<String, Entry> holds = new TreeMap<>();
    private final Map<String, Over> over = new TreeMap<>();

    private static final class Entry {
        private FleetHold said;
        private long end;
        private long seen;
        private boolean ours;
        private boolean unsent;

        Entry(FleetHold said, long now) {
            this.said = said;
            this.end = now + said.leaseMillis() * MILLI;
            this.seen = now;
        }

        FleetHold at(long now) {
            return said.withLease(Math.max(0, (end - now) / MILLI));
        }
    }

    private static final class Over {
        private final FleetHold sign;
        private final boolean ours;
        private final long end;
        private long putUntil;
        private boolean unsent;

        Over(FleetHold sign, boolean ours, long now) {
            this.sign = sign;
            this.ours = ours;
            this.unsent = ours;
            this.putUntil = now + RELEASED_NANOS;
            // Nobody puts the hold after its own end.
            this.end = Math.max(putUntil, now + sign.leaseMillis() * MILLI + SLACK);
        }
    }

    /** Takes a hold of our own, or prolongs it; false where there is no room, or it is over. */
    synchronized boolean take(FleetHold hold, long now) {
        forget(now);
        Entry known = holds.get(hold.id());
        if (hold.released()
                || over.containsKey(hold.id())
                || (known == null && holds.size() >= CellMember.MOST_HOLDS)) {
            return false;
        }
        Entry taken = new Entry(hold, now);
        if (known != null && known.ours && known.end - taken.end > 0) {
            taken = known;
        }
        taken.ours = true;
        taken.unsent = true;
        holds.put(hold.id(), taken);
        return true;
    }

    /** Ends a hold; false where there is none. */
    synchronized boolean release(String id, long now) {
        forget(now);
        Optional<Entry> known = Optional.ofNullable(holds.remove(id));
        known.ifPresent(each -> end(each.at(now).asReleased(), true, now));
        return known.isPresent();
    }

    /** What is to be put in a round: our holds, and our signs that some are over. */
    synchronized List<FleetHold> toPut(long now, boolean unsentOnly) {
        forget(now);
        List<FleetHold> values = new ArrayList<>();
        for (Over each : over.values()) {
            if (each.ours && each.putUntil - now > 0 && (each.unsent || !unsentOnly)) {
                values.add(each.sign);
                each.unsent = false;
            }
        }
        for (Entry each : holds.values()) {
            if (each.ours && (each.unsent || !unsentOnly)) {
                values.add(each.at(now));
                each.unsent = false;
            }
        }
        return values;
    }

    /** Learns what a store has; returns how many there were too many. */
    synchronized int read(Collection<FleetHold> values, long now) {
        forget(now);
        values.stream().filter(FleetHold::released).forEach(sign -> {
            Optional<Entry> known = Optional.ofNullable(holds.remove(sign.id()));
            // Remembered no longer than what it ends could have lasted, whatever it says: it may be a lie.
            long longest = known.map(each -> Math.max(0, each.end - now)).orElse(RELEASED_NANOS) / MILLI;
            if (!over.containsKey(sign.id())) {
                end(sign.withLease(Math.min(sign.leaseMillis(), longest)), false, now);
            }
        });
        int tooMany = 0;
        for (FleetHold value : values.stream()
                .filter(value -> !value.released())
                .sorted(Comparator.comparing(FleetHold::id))
                .toList()) {
            Over ended = over.get(value.id());
            if (ended != null) {
                // Somebody has not heard of it yet, perhaps because the store was parted.
                ended.putUntil = now + RELEASED_NANOS;
            } else if (holds.containsKey(value.id()) || holds.size() < CellMember.MOST_HOLDS) {
                merge(value, now);
            } else {
                tooMany++;
            }
        }
        return tooMany;
    }

    /** All that are not over, with what is left of their leases. */
    synchronized Map<FleetHold, Boolean> all(long now) {
        forget(now);
        Map<FleetHold, Boolean> all = new TreeMap<>(Comparator.comparing(FleetHold::id));
        holds.values().forEach(each -> all.put(each.at(now), each.ours));
        return all;
    }

    private void merge(FleetHold value, long now) {
        Entry read = new Entry(value, now);
        Entry known = holds.computeIfAbsent(value.id(), id -> read);
        if (known == read || known.ours || value.equals(known.said)) {
            // Of what this process took it knows the end itself: a store could prolong it for longer than it is there.
            known.seen = now;
            return;
        }
        long later = read.end - known.end;
        if (later >= -SLACK) {
            known.said = value;
            known.end = later > SLACK ? read.end : Math.min(known.end, read.end);
            known.seen = now;
        }
        // Otherwise another took it for a shorter time, or made it up: what was known stays while it is seen as well.
    }

    private void end(FleetHold sign, boolean ours, long now) {
        if (over.size() >= 2 * CellMember.MOST_HOLDS) {
            over.values().stream()
                    .min(Comparator.comparingLong(each -> each.end - now))
                    .ifPresent(first -> over.remove(first.sign.id()));
        }
        over.put(sign.id(), new Over(sign, ours, now));
    }

    private void forget(long now) {
        holds.values()
                .removeIf(each ->
                        each.end - now <= 0 || (!each.ours && now - each.seen > CellMember.TWO_PERIODS.toNanos()));
        over.values().removeIf(each -> each.end - now <= 0);
    }
}
