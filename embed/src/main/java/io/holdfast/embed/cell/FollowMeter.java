package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measure of how far touches go to engines that have their prefix.
 *
 * <h2>What is compared</h2>
 *
 * Touches make a prefix resident, so that an engine with a prefix has had touches of it wherever they go: today's rates
 * beside today's caches prove nothing. What counts is where the <em>next</em> touch comes, beside the caches before it.
 * It shows as a rate that rose from one digest of an engine to a later one. A prefix that no engine had, or all had,
 * tells nothing. Of the others, the share of touches that came to engines which had the prefix is compared with the
 * share of all traffic that these engines have: that much would come to them by chance.
 *
 * <h2>What is not seen</h2>
 *
 * A digest has the hottest ends only. An engine counts as one to which a touch might have come where the digest has the
 * prefix, or would have had it after that touch; the others are left out, on both sides. Rates that are high fall as
 * often as they rise, so that touches of the hottest prefixes are counted less than others. Both errors make the result
 * smaller, and with 0 every engine decides as if it were alone.
 *
 * <h2>When it counts</h2>
 *
 * Evidence fades within minutes. Less than {@link #LEAST_EVIDENCE} touches, or an excess that chance makes once in a
 * thousand times, are 0; what is published has hysteresis.
 */
final class FollowMeter {
    private static final double KEPT = 0.95;
    private static final double LEAST_EVIDENCE = 24;
    private static final double SIGMAS = 3;
    private static final double BEGINS = 0.2;
    private static final double ENDS = 0.1;
    private static final double STEP = 0.05;
    private static final double SMALLEST_RISE = 0.001;

    private Map<String, Digest> before = Map.of();
    private double touches;
    private double found;
    private double byChance;
    private double variance;
    private double follows;

    /** The last digests of engines that could be compared, and what each had. */
    private record Engine(Digest earlier, Digest later, Map<Long, HotEnd> had, double traffic, double cutoff) {
        static Engine of(Digest earlier, Digest later) {
            Map<Long, HotEnd> had = new HashMap<>();
            double traffic = 0;
            double least = Double.POSITIVE_INFINITY;
            for (HotEnd end : earlier.hot().ends()) {
                had.put(end.name(), end);
                traffic += end.touchesAnHour();
                least = Math.min(least, end.touchesAnHour());
            }
            boolean full = had.size() == Hot.MOST_ENDS;
            return new Engine(earlier, later, had, traffic, full ? least : 0);
        }

        boolean is(Engine other) {
            return later.engine().equals(other.later.engine());
        }

        /** Returns by how much a rate rose, at the least. */
        double rise(HotEnd now) {
            HotEnd then = had.get(now.name());
            double from = then == null ? cutoff : then.touchesAnHour();
            double rise = now.touchesAnHour() - from;
            return rise > SMALLEST_RISE * Math.max(1, from) ? rise : 0;
        }
    }

    /** Learns from the newest digests of all engines that are there. */
    void observe(Map<String, Digest> now) {
        touches *= KEPT;
        found *= KEPT;
        byChance *= KEPT;
        variance *= KEPT * KEPT;
        List<Engine> engines = new ArrayList<>();
        now.forEach((name, later) -> {
            Digest earlier = before.get(name);
            if (earlier != null && earlier.process() == later.process() && earlier.count() < later.count()) {
                engines.add(Engine.of(earlier, later));
            }
        });
        for (Engine engine : engines) {
            for (HotEnd end : engine.later().hot().ends()) {
                double rise = engine.rise(end);
                if (rise > 0) {
                    learn(engines, engine, end.name(), rise);
                }
            }
        }
        before = Map.copyOf(now);
        publish();
    }

    /** Forgets what was measured, for digests are not read any more. */
    void clear() {
        before = Map.of();
        touches = 0;
        found = 0;
        byChance = 0;
        variance = 0;
        follows = 0;
    }

    double follows() {
        return follows;
    }

    private void learn(List<Engine> engines, Engine came, long name, double rise) {
        double having = 0;
        double all = 0;
        boolean cameFound = false;
        for (Engine engine : engines) {
            HotEnd then = engine.had().get(name);
            if (then == null && !engine.is(came) && rise <= engine.cutoff()) {
                continue;
            }
            // Without the prefix itself: its own touches make it resident. One more, so that an idle engine is
            // possible.
            double traffic = 1 + engine.traffic() - (then == null ? 0 : then.touchesAnHour());
            all += traffic;
            if (then != null && then.resident()) {
                having += traffic;
                cameFound |= engine.is(came);
            }
        }
        double chance = having / all;
        if (chance > 0 && chance < 1) {
            touches++;
            found += cameFound ? 1 : 0;
            byChance += chance;
            variance += chance * (1 - chance);
        }
    }

    private void publish() {
        double excess = found - byChance;
        double possible = touches - byChance;
        boolean seen = touches >= LEAST_EVIDENCE && excess > SIGMAS * Math.sqrt(variance);
        double measured = seen ? Math.min(1, excess / possible) : 0;
        if (measured < (follows > 0 ? ENDS : BEGINS)) {
            follows = 0;
        } else if (Math.abs(measured - follows) >= STEP || measured == 1) {
            follows = measured;
        }
    }
}
