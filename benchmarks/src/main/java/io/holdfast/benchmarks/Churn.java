package io.holdfast.benchmarks;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/**
 * Endless announcements of an engine with a full cache: for each block that comes another one goes.
 *
 * <p>The cache is divided into places for one prompt each. A prompt is {@value #OWN} blocks of its own under one of
 * {@value #SHARED_PREFIXES} shared prefixes of {@value #SHARED} blocks, which never leave. Each place has two prompts,
 * and each round replaces the one by the other, deepest blocks first, in an order that scatters over the places. So
 * blocks return while they are remembered, and after two rounds everything is as it was. Names and tokens are computed
 * from the seed and are never kept.
 */
final class Churn {
    static final int OWN = 256;
    static final int SHARED = 32;
    static final int SHARED_PREFIXES = 16;
    static final int BLOCKS_PER_BATCH = 32;
    static final int BLOCK_TOKENS = 16;

    private static final int VOCABULARY = 150_000;
    private static final int SCATTER = 0x9E3779B1;

    private final EventStyle style;
    private final int places;
    private final int lanes;
    private final int steps;
    private final long seed;
    private final boolean withTokens;
    private final StoredBlocks chain = new StoredBlocks();
    private final long[] removal;
    private long sequence;
    private long batch;

    /**
     * Keeps {@code blocks} blocks, a power of two, beside the shared prefixes; tokens cost more than the names and are
     * only for those who encode them.
     */
    Churn(EventStyle style, int blocks, boolean withTokens, long seed) {
        this.style = style;
        places = blocks / OWN;
        lanes = BLOCKS_PER_BATCH / style.blocksPerStore;
        steps = OWN / style.blocksPerStore;
        if (Integer.bitCount(blocks) != 1 || places < lanes) {
            throw new IllegalArgumentException(
                    "The size must be a power of two and at least " + OWN * lanes + ", it is " + blocks + ".");
        }
        this.withTokens = withTokens;
        this.seed = seed;
        removal = new long[style.blocksPerRemoval];
    }

    /** Blocks that are resident between two batches. */
    int resident() {
        return places * OWN + SHARED_PREFIXES * SHARED;
    }

    /** Batches after which everything is as it was before. */
    int period() {
        return 2 * places / lanes * steps;
    }

    int places() {
        return places;
    }

    /** Stores the shared prefixes and the first prompt of each place: everything before the first {@link #next}. */
    void fill(KvEventSink sink) {
        for (int shared = 0; shared < SHARED_PREFIXES; shared++) {
            sink.batchStarted(sequence++, 0);
            chain.reset().blockTokens(BLOCK_TOKENS);
            for (int depth = 0; depth < SHARED; depth++) {
                add(name(sharedPrefix(shared), depth));
            }
            sink.stored(chain);
            sink.batchEnded();
        }
        for (int place = 0; place < places; place++) {
            sink.batchStarted(sequence++, 0);
            for (int step = 0; step < steps; step++) {
                store(place, 0, step, sink);
            }
            sink.batchEnded();
        }
    }

    /** Makes the next batch: {@value #BLOCKS_PER_BATCH} blocks go and as many come. */
    void next(KvEventSink sink) {
        int groups = places / lanes;
        int step = (int) (batch % steps);
        long group = batch / steps;
        int first = (int) (group % groups) * lanes;
        int coming = (int) (1 + group / groups) & 1;
        batch++;
        sink.batchStarted(sequence++, 0);
        for (int lane = 0; lane < lanes; lane++) {
            int place = ((first + lane) * SCATTER) & (places - 1);
            remove(place, 1 - coming, step, sink);
            store(place, coming, step, sink);
        }
        sink.batchEnded();
    }

    /** The first blocks of the prompt that {@link #fill} and every whole {@link #period} leave in this place. */
    long[] path(int place, int blocks) {
        long[] path = new long[blocks];
        for (int i = 0; i < blocks; i++) {
            path[i] = i < SHARED ? name(sharedPrefix(place), i) : name(prompt(place, 0), i - SHARED);
        }
        return path;
    }

    private void store(int place, int generation, int step, KvEventSink sink) {
        int from = step * style.blocksPerStore;
        long prompt = prompt(place, generation);
        long above = from == 0 ? name(sharedPrefix(place), SHARED - 1) : name(prompt, from - 1);
        chain.reset().under(above).blockTokens(BLOCK_TOKENS);
        for (int depth = from; depth < from + style.blocksPerStore; depth++) {
            add(name(prompt, depth));
        }
        sink.stored(chain);
    }

    private void remove(int place, int generation, int step, KvEventSink sink) {
        long prompt = prompt(place, generation);
        int deepest = OWN - 1 - step * style.blocksPerStore;
        for (int done = 0; done < style.blocksPerStore; done += removal.length) {
            for (int i = 0; i < removal.length; i++) {
                removal[i] = name(prompt, deepest - done - i);
            }
            sink.removed(removal, 0, removal.length, Tier.GPU, 0);
        }
    }

    private void add(long block) {
        chain.add(block);
        if (withTokens) {
            for (int i = 0; i < BLOCK_TOKENS; i++) {
                chain.addToken((int) (((mix(block + i) >>> 33) * VOCABULARY) >>> 31));
            }
        }
    }

    private static long prompt(int place, int generation) {
        return SHARED_PREFIXES + 2L * place + generation;
    }

    private static long sharedPrefix(int place) {
        return place % SHARED_PREFIXES;
    }

    private long name(long prompt, int depth) {
        return mix(seed + prompt * OWN + depth);
    }

    /** A bijection, so that no two blocks share a name. */
    private static long mix(long value) {
        long mixed = (value ^ (value >>> 31)) * 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ (mixed >>> 29)) * 0xBF58476D1CE4E5B9L;
        return mixed ^ (mixed >>> 32);
    }
}
