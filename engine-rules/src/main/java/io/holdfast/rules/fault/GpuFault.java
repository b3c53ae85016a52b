package io.holdfast.rules.fault;

import java.time.Duration;
import java.util.List;

/** A fault of speed. Times are emulated ones: those of a server that is emulated faster pass faster. */
public sealed interface GpuFault extends Fault {
    /** The first requests after each start wait longer for their first token, as after a start without warm-up. */
    record ColdFirstWave(int requests, Duration extra) implements GpuFault {
        static final FaultKind KIND = new FaultKind(
                "cold-first-wave",
                List.of(
                        Argument.whole("REQUESTS", 1, 1_000_000).or("64"),
                        Argument.whole("EXTRA_MS", 0, 600_000).or("150")),
                "The first REQUESTS requests after each start wait EXTRA_MS longer for their first token.",
                "A load test of pinning whose first run on each server had a p99 of 95 to 130 ms at every load while"
                        + " the second had none of it: kernels compiled, scheduler and allocator settled.",
                values -> new ColdFirstWave(values.whole(0), values.millis(1)));

        public ColdFirstWave {
            KIND.check(requests, (double) extra.toMillis());
        }
    }

    /** The first requests after each start take {@link #FACTOR} times their time to the first token: caches warm up. */
    record Warming(int requests) implements GpuFault {
        public static final double FACTOR = 1.25;

        static final FaultKind KIND = new FaultKind(
                "warming",
                List.of(Argument.whole("REQUESTS", 1, 1_000_000)),
                "The first REQUESTS requests after each start take 1.25 times their time to the first token.",
                "The order effect of a load test that always ran its baseline first: whatever came second looked 20 to"
                        + " 30 % faster.",
                values -> new Warming(values.whole(0)));

        public Warming {
            KIND.check(requests);
        }
    }

    /** Everything becomes slower, or faster, evenly over some time. */
    record Drift(double percent, double seconds) implements GpuFault {
        static final FaultKind KIND = new FaultKind(
                "drift",
                List.of(
                        Argument.number("PERCENT", -90, 1_000).or("20"),
                        Argument.number("SECONDS", 0.001, 1_000_000).or("600")),
                "Over SECONDS from its beginning every pass comes to take PERCENT longer (shorter when negative),"
                        + " evenly, and stays there.",
                "A load that nothing had been done for read 62.9, 47.2 and 64.6 tokens a second in three phases of a"
                        + " server's development, which was called negligible.",
                values -> new Drift(values.number(0), values.number(1)));

        public Drift {
            KIND.check(percent, seconds);
        }
    }

    /** Work makes it slower for good: speed falls exponentially to a factor. */
    record Throttling(double factor, double seconds) implements GpuFault {
        static final FaultKind KIND = new FaultKind(
                "throttling",
                List.of(
                        Argument.number("FACTOR", 0.01, 1).or("0.84"),
                        Argument.number("SECONDS", 0.001, 1_000_000).or("60")),
                "With the seconds that it works, the speed falls to FACTOR of the full one, exponentially with the time"
                        + " constant SECONDS, and does not come back.",
                "A server of 26.3 tokens a second fell to 21 to 23 under sustained load and stayed there; a cool-down"
                        + " gate that waited for the first figure ran into its limit 114 times of 114.",
                values -> new Throttling(values.number(0), values.number(1)));

        public Throttling {
            KIND.check(factor, seconds);
        }
    }

    /** Held blocks cost the others time. */
    record HoldsSlow(double percent) implements GpuFault {
        static final FaultKind KIND = new FaultKind(
                "holds-slow",
                List.of(Argument.number("PERCENT", 0, 1_000).or("10")),
                "Every pass takes PERCENT longer for each 1,000 tokens that are held from eviction while nobody uses"
                        + " them.",
                "Stands for holds that do harm; the worst recorded is SGLang's unevictable session KV, which stopped"
                        + " the whole worker under load (sgl-project/sglang#27024, #28891).",
                values -> new HoldsSlow(values.number(0)));

        public HoldsSlow {
            KIND.check(percent);
        }
    }

    /**
     * No two of anything take equally long: neither two starts, nor two runs after an emptied cache, nor two requests.
     */
    record Noise(double starts, double legs, double requests, int seed) implements GpuFault {
        static final FaultKind KIND = new FaultKind(
                "noise",
                List.of(
                        Argument.number("STARTS", 0, 100).or("5"),
                        Argument.number("LEGS", 0, 100).or("2"),
                        Argument.number("REQUESTS", 0, 100).or("3"),
                        Argument.whole("SEED", 0, Integer.MAX_VALUE).or("0")),
                "Every pass takes a factor drawn at the start, another drawn whenever the cache was emptied, and, when"
                    + " it prefills, a third drawn for itself; their logarithms are normal, with STARTS, LEGS and"
                    + " REQUESTS percent as standard deviations, drawn from SEED, or anew at each start when that is"
                    + " 0.",
                "One configuration measured in two starts of its server read 2.2 and 2.1 % apart, which no number of"
                        + " requests to one of them would have shown.",
                values -> new Noise(values.number(0), values.number(1), values.number(2), values.whole(3)));

        public Noise {
            KIND.check(starts, legs, requests, (double) seed);
        }

        /** Returns this noise from another seed. */
        public Noise from(int another) {
            return new Noise(starts, legs, requests, another);
        }
    }
}
