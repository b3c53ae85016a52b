package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Other engines that a member sees, each alive for two periods after what it says changed last, by the member's clock.
 *
 * <p>A process counts its signs, so that an old one that somebody puts again, or that a dead store repeats, changes
 * nothing. The process before the last one is remembered too: another that took over does not revive it.
 */
final class Roll {
    /** Signs that nobody saw, at most, and the shortest time between two: what counts faster is made up. */
    private static final long MOST_STEP = 2;

    private static final long FASTEST = CellMember.PERIOD.toNanos() / 3;
    /**
     * Time after which a dead one that the store still has may be as it is now: it was made up, or what it was before.
     * What nobody puts again is gone from a store sooner.
     */
    private static final long FORGOTTEN = 6 * CellMember.PERIOD.toNanos();

    private final Map<String, Seen> seen = new HashMap<>();

    private static final class Seen {
        private Presence newest;
        private long earlierProcess;
        private long earlierCount = -1;
        private long changed;
        /** Count of the same process that does not go on from the newest, as after one that was made up. */
        private long asideCount = -1;

        private long asideSince;

        Seen(Presence first, long now) {
            this.newest = first;
            this.changed = now;
        }

        void read(Presence value, long now) {
            boolean earlier = earlierCount >= 0 && value.process() == earlierProcess;
            long known = value.process() == newest.process() ? newest.count() : earlier ? earlierCount : -1;
            if (value.count() <= known || tooFast(known, value.count(), now - changed)) {
                if (value.process() == newest.process()) {
                    putAside(value, now);
                }
                return;
            }
            if (value.process() != newest.process()) {
                earlierProcess = newest.process();
                earlierCount = newest.count();
            }
            newest = value;
            changed = now;
            asideCount = -1;
        }

        /** One that goes on counting is there, whoever said that it had come further, or not as far. */
        private void putAside(Presence value, long now) {
            boolean goesOn = asideCount >= 0
                    && value.count() > asideCount
                    && !tooFast(asideCount, value.count(), now - asideSince);
            if (goesOn) {
                newest = value;
                changed = now;
                asideCount = -1;
            } else if (value.count() != asideCount && value.count() != newest.count()) {
                asideCount = value.count();
                asideSince = now;
            }
        }

        private static boolean tooFast(long from, long to, long nanos) {
            return from >= 0 && to - from > MOST_STEP + nanos / FASTEST;
        }

        boolean alive(long now) {
            return now - changed <= CellMember.TWO_PERIODS.toNanos();
        }
    }

    /** Learns the signs that a store has. */
    void read(Map<String, Presence> signs, long now) {
        signs.forEach((engine, sign) ->
                seen.computeIfAbsent(engine, name -> new Seen(sign, now)).read(sign, now));
        // What the store still has is remembered for a while, so that it does not look new the next time.
        seen.entrySet()
                .removeIf(each -> !each.getValue().alive(now)
                        && (!signs.containsKey(each.getKey()) || now - each.getValue().changed > FORGOTTEN));
    }

    /** How many engines are alive. */
    int size(long now) {
        int alive = 0;
        for (Seen each : seen.values()) {
            alive += each.alive(now) ? 1 : 0;
        }
        return alive;
    }

    /** The newest sign of each engine that is alive. */
    Map<String, Presence> alive(long now) {
        Map<String, Presence> alive = new HashMap<>();
        seen.forEach((engine, each) -> {
            if (each.alive(now)) {
                alive.put(engine, each.newest);
            }
        });
        return alive;
    }

    /** The engines that are alive. */
    List<CellEngine> engines(long now) {
        List<CellEngine> engines = new ArrayList<>();
        seen.forEach((engine, each) -> {
            if (each.alive(now)) {
                engines.add(new CellEngine(engine, each.newest.address(), Duration.ofNanos(now - each.changed)));
            }
        });
        return engines;
    }
}
