package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Engines that a member sees, each alive for two periods after what it says changed last, by the member's clock.
 *
 * <p>A process counts its signs, so that an old one that somebody puts again, or that a dead store repeats, changes
 * nothing. The process before the last one is remembered too: another that took over does not revive it.
 */
final class Roll {
    private final Map<String, Seen> seen = new HashMap<>();

    private static final class Seen {
        private Presence newest;
        private long earlierProcess;
        private long earlierCount = -1;
        private long changed;

        Seen(Presence first, long now) {
            this.newest = first;
            this.changed = now;
        }

        void read(Presence value, long now) {
            boolean earlier = earlierCount >= 0 && value.process() == earlierProcess;
            long known = value.process() == newest.process() ? newest.count() : earlier ? earlierCount : -1;
            if (value.count() <= known) {
                return;
            }
            if (value.process() != newest.process()) {
                earlierProcess = newest.process();
                earlierCount = newest.count();
            }
            newest = value;
            changed = now;
        }

        boolean alive(long now) {
            return now - changed <= CellMember.TWO_PERIODS.toNanos();
        }
    }

    /** Learns the signs that a store has. */
    void read(Map<String, Presence> signs, long now) {
        signs.forEach((engine, sign) ->
                seen.computeIfAbsent(engine, name -> new Seen(sign, now)).read(sign, now));
        // What the store still has is remembered, so that it does not look new the next time.
        seen.entrySet().removeIf(each -> !each.getValue().alive(now) && !signs.containsKey(each.getKey()));
    }

    /** The newest sign of each engine that is alive, but for one. */
    Map<String, Presence> alive(String but, long now) {
        Map<String, Presence> alive = new HashMap<>();
        seen.forEach((engine, each) -> {
            if (each.alive(now) && !engine.equals(but)) {
                alive.put(engine, each.newest);
            }
        });
        return alive;
    }

    /** The engines that are alive, but for one. */
    List<CellEngine> engines(String but, long now) {
        List<CellEngine> engines = new ArrayList<>();
        alive(but, now)
                .forEach((engine, sign) -> engines.add(
                        new CellEngine(engine, sign.address(), Duration.ofNanos(now - seen.get(engine).changed))));
        return engines;
    }
}
