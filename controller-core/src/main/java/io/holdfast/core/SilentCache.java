package io.holdfast.core;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.reading.EngineReadings;
import java.util.OptionalDouble;

/** What an engine that publishes no events has in its cache, as far as requests of our own and its counters tell. */
final class SilentCache {
    /*
     * An engine has a prefix in its cache after it has served a request for it. So each answer to a request of our own is
     * told to the index as a store of its whole blocks. Nothing is ever told to be removed: whether it was there until the
     * next touch is known from how many cached tokens that touch finds, and if it was not, it is there again after it.
     *
     * The index gets it without passing what learns from events: nothing that we sent ourselves is what users share. It is
     * never certain, since it shows nothing but that.
     *
     * What the engine allocates is counted by its counters instead: prompt tokens that were not found in the cache, ours
     * among them. What answers take is missing; a touch that comes too late for it makes the next ones come earlier.
     *
     * A counter that falls is another process, whose cache is empty.
     */
    private final EngineBlocks blocks;
    private final Runnable onAnother;
    private final StoredBlocks chain = new StoredBlocks();
    private double requests;
    private OptionalDouble computed = OptionalDouble.empty();
    private double allocatedTokens;
    private double blockTokens;

    /** {@code onAnother} is told that another process answers, with an empty cache. */
    SilentCache(EngineBlocks blocks, Runnable onAnother) {
        this.blocks = blocks;
        this.onAnother = onAnother;
    }

    /** Of all requests, ours included. */
    void readings(EngineReadings readings) {
        blockTokens = readings.blockTokens().number().orElse(blockTokens);
        OptionalDouble served = readings.ttftCount().number();
        if (served.isPresent()) {
            if (served.getAsDouble() < requests) {
                computed = OptionalDouble.empty();
                onAnother.run();
            }
            requests = served.getAsDouble();
        }
        OptionalDouble prompts = readings.promptTokens().number();
        if (prompts.isPresent()) {
            double now =
                    prompts.getAsDouble() - readings.cachedTokens().number().orElse(0);
            allocatedTokens += Math.max(0, now - computed.orElse(now));
            computed = OptionalDouble.of(now);
        }
    }

    /** A request of ours for the first blocks of a prefix was answered. */
    void answered(HoldRequest prefix, int served, Outcome outcome) {
        boolean done = outcome.kind() == Outcome.Kind.ACCEPTED || outcome.kind() == Outcome.Kind.CLIPPED;
        int known = Math.min(served, blocks.match(prefix));
        if (!done || known == served || prefix.tokens().isEmpty()) {
            return;
        }
        int[] tokens = prefix.tokensOf(served);
        int perBlock = tokens.length / served;
        chain.reset().blockTokens(perBlock);
        if (known > 0) {
            chain.under(prefix.block(known - 1));
        }
        for (int block = known; block < served; block++) {
            chain.add(prefix.block(block));
        }
        for (int token = known * perBlock; token < tokens.length; token++) {
            chain.addToken(tokens[token]);
        }
        blocks.stored(chain);
        blocks.batchEnded();
    }

    /** How many blocks the engine allocated since it was seen first, ever growing. */
    long allocated() {
        return blockTokens < 1 ? 0 : (long) (allocatedTokens / blockTokens);
    }
}
