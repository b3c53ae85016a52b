package io.holdfast.rules.fault;

import java.util.List;

/** A fault of the cache, or of what an engine does to keep a prefix in it. */
public sealed interface CacheFault extends Fault {
    /** The pool becomes smaller once the server is warm. */
    record CapacityFalls(double percent, int requests) implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "capacity-falls",
                List.of(
                        Argument.number("PERCENT", 0, 90).or("25"),
                        Argument.whole("REQUESTS", 0, 1_000_000).or("8")),
                "After REQUESTS finished requests the cache holds PERCENT fewer tokens, and says so where it tells its"
                        + " capacity.",
                "Capturing CUDA graphs took memory after the start, most where there was least: a capacity that was"
                        + " read before the warm-up was too large.",
                values -> new CapacityFalls(values.number(0), values.whole(1)));

        public CapacityFalls {
            KIND.check(percent, requests);
        }
    }

    /** Only prefills evict; a decode step that finds no free block fails its request. */
    record DecodeCannotEvict() implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "decode-cannot-evict",
                List.of(),
                "A decode step that needs a block takes free ones only and evicts nothing; a request that finds none"
                        + " fails with \"Cannot allocate 1 blocks: only 0 free\".",
                "The first run of a prefix cache in which 46 of 48 requests failed with that sentence, because decode"
                        + " allocation did not evict from the tree.",
                _ -> new DecodeCannotEvict());
    }

    /** The engine releases all pins on its own. */
    record AutoUnpin(int requests) implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "auto-unpin",
                List.of(Argument.whole("REQUESTS", 1, 1_000_000).or("100")),
                "At every REQUESTS-th request the engine takes one pin off every block on its own and reports nothing.",
                "The scheduler of SGLang's pin branch, which does this once when a waiting request does not fit, with"
                        + " no word to whoever pinned.",
                values -> new AutoUnpin(values.whole(0)));

        public AutoUnpin {
            KIND.check(requests);
        }
    }

    /** Pins are answered as if they held, and nothing is locked. */
    record PinIgnored() implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "pin-ignored",
                List.of(),
                "Pins are answered as if they held, and nothing is locked.",
                "A benchmark that claimed 76 % less time to the first token for pins of blocks which its load never"
                        + " asked for: the pins could not have done anything.",
                _ -> new PinIgnored());
    }

    /** The pin branch without what kills it: the opposite of a fault. */
    record PinForgiving() implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "pin-forgiving",
                List.of(),
                "Where the scheduler of the pin branch would die of a pin, the emulated one goes on.",
                "Takes back what kills SGLang's pin branch (\"parent does not have child key\", in 21 of 24 random"
                        + " sessions that pinned shared prefixes), as a mended branch would.",
                _ -> new PinForgiving());
    }

    /** A hold of any kind (pin, session, priority) that was accepted and is not kept. */
    record HoldLost(double percent) implements CacheFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "hold-lost",
                List.of(Argument.percent().or("50")),
                "Of the holds that were accepted (pins, sessions, priorities), PERCENT are released right after"
                        + " the answer, without any report.",
                "SGLang v0.5.10rc0, whose pin_prefix dropped an accepted pin with a warning in its log when the host"
                        + " pool was full.",
                values -> new HoldLost(values.number(0)));

        public HoldLost {
            KIND.check(percent);
        }
    }

    /** The cache will not be emptied at first. */
    record FlushRefused(int times) implements CacheFault {
        static final FaultKind KIND = new FaultKind(
                "flush-refused",
                List.of(Argument.whole("TIMES", 1, 1_000_000).or("3")),
                "The first TIMES requests to flush or reset the cache are refused as if requests were running.",
                "SGLang with a host tier written through, whose /flush_cache answers 400 for seconds after the last"
                        + " request; a pin benchmark had to ask up to 60 times.",
                values -> new FlushRefused(values.whole(0)));

        public FlushRefused {
            KIND.check(times);
        }
    }
}
