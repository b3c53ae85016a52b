package io.holdfast.benchmarks.index;

/**
 * Requests of engines whose caches fill up and then stay full, for ever.
 *
 * <p>A cache is divided into places for one prompt each: {@value #OWN} blocks of its own under one of
 * {@value #SHARED_PREFIXES} shared prefixes of {@value #SHARED} blocks, which never leave. A request stores one prompt; once
 * all places are taken it first removes the one that has the place, deepest block first. Places go by an order that scatters.
 */
final class Requests {
    static final int OWN = 128;
    static final int EVENTS = 2;

    private static final int SHARED = 32;
    private static final int SHARED_PREFIXES = 64;
    private static final long SCATTER = 0x9E3779B97F4A7C15L;

    private final int engines;
    private final int places;
    private final int mask;
    private long next;

    Requests(int engines, int blocks) {
        this.engines = engines;
        places = Math.max(engines, blocks / OWN);
        mask = (Integer.highestOneBit(Math.max(1, places - 1)) << 1) - 1;
    }

    /** Requests until all places are taken. */
    int places() {
        return places;
    }

    /** The shared prefixes, at each engine. */
    void shared(Events into) {
        for (int engine = 0; engine < engines; engine++) {
            for (int prefix = 0; prefix < SHARED_PREFIXES; prefix++) {
                into.add(WorkloadFile.STORE, engine, 0);
                for (int i = 0; i < SHARED; i++) {
                    into.addBlock(shared(prefix, i));
                }
            }
        }
    }

    /** The next request: a removal, empty while there is room, and a store. */
    void next(Events into) {
        int place = (int) (next % places);
        if (next >= places) {
            place = scattered(place);
        }
        int engine = place % engines;
        long generation = next / places;
        into.add(WorkloadFile.REMOVE, engine, 0);
        for (int i = OWN - 1; generation > 0 && i >= 0; i--) {
            into.addBlock(own(place, generation - 1, i));
        }
        into.add(WorkloadFile.STORE, engine, shared(place % SHARED_PREFIXES, SHARED - 1));
        for (int i = 0; i < OWN; i++) {
            into.addBlock(own(place, generation, i));
        }
        next++;
    }

    /** A permutation of the places: an odd step meets each number below a power of two once, and what is none is skipped. */
    private int scattered(int turn) {
        int place = turn;
        do {
            place = (int) (place * SCATTER) & mask;
        } while (place >= places);
        return place;
    }

    private static long shared(int prefix, int block) {
        return Mix.of(1 + (long) prefix * SHARED + block);
    }

    private static long own(int place, long generation, int block) {
        return Mix.of((1L << 62) + (generation << 40) + (long) place * OWN + block);
    }
}
