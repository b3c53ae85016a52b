package io.holdfast.core;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.reading.EngineReadings;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Model of what an engine that publishes no events has in its cache, as far as requests of our own and its counters
 * tell.
 */
final class SilentCache {
    /*
     * An engine has a prefix in its cache after it has served a request for it. So each answer to a request of our own
     * is told to the index as a store of its whole blocks. While it is held nothing is told to be removed: whether it
     * was there until the next touch is known from how many cached tokens that touch finds, and if it was not, it is
     * there again after it. What is held no more is told to be gone, since nobody looks any more whether it is there.
     *
     * The index gets it past whatever learns from requests: nothing that we sent ourselves is what users share. It is
     * never certain, since it shows nothing but that.
     *
     * What the engine allocates is counted by its counters instead: prompt tokens that were not found in the cache,
     * ours among them. What answers take is missing; a touch that comes too late for it makes the next ones come
     * earlier.
     *
     * A counter that falls is another process, whose cache is empty.
     */
    /** Time between the answer and the pin. */
    private static final long MOMENT_NANOS = 10_000_000_000L;

    private final EngineBlocks blocks;
    private final Runnable onAnother;
    private final StoredBlocks chain = new StoredBlocks();
    /** Prefixes that answers told of, by the last block of the whole prefix. */
    private final Map<Long, Told> told = new HashMap<>();

    private long nowNanos;
    private boolean counted;
    private double requests;
    private double prompts;
    private OptionalDouble computed = OptionalDouble.empty();
    private double allocatedTokens;
    private double blockTokens;

    /** {@code onAnother} is told that another process answers, with an empty cache. */
    SilentCache(EngineBlocks blocks, Runnable onAnother) {
        this.blocks = blocks;
        this.onAnother = onAnother;
    }

    private record Told(HoldRequest prefix, int blocks, long nanos) {}

    void now(long nanos) {
        nowNanos = nanos;
    }

    /** Returns true if the engine told the counters by which alone its cache is followed. */
    boolean counted() {
        return counted;
    }

    /** Takes in readings of all requests, ours included. */
    void readings(EngineReadings readings) {
        blockTokens = readings.blockTokens().number().orElse(blockTokens);
        OptionalDouble served = readings.ttftCount().number();
        OptionalDouble asked = readings.promptTokens().number();
        if (served.orElse(requests) < requests || asked.orElse(prompts) < prompts) {
            computed = OptionalDouble.empty();
            told.clear();
            onAnother.run();
        }
        requests = served.orElse(requests);
        prompts = asked.orElse(prompts);
        counted |= served.isPresent() && asked.isPresent();
        if (asked.isPresent()) {
            double now = asked.getAsDouble() - readings.cachedTokens().number().orElse(0);
            allocatedTokens += Math.max(0, now - computed.orElse(now));
            computed = OptionalDouble.of(now);
        }
    }

    /** A request of ours for the first blocks of a prefix was answered. */
    void answered(HoldRequest prefix, int served, Outcome outcome) {
        boolean done = outcome.kind() == Outcome.Kind.ACCEPTED || outcome.kind() == Outcome.Kind.CLIPPED;
        if (!done || prefix.tokens().isEmpty()) {
            return;
        }
        told.put(prefix.block(prefix.blocks() - 1), new Told(prefix, served, nowNanos));
        int known = Math.min(served, blocks.match(prefix));
        if (known == served) {
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

    /** Has prefixes that are not held, by their last block, be gone, unless they were told of a moment ago. */
    void keepOnly(Set<Long> held) {
        List<Told> others = told.entrySet().stream()
                .filter(each -> !held.contains(each.getKey()) && each.getValue().nanos() + MOMENT_NANOS <= nowNanos)
                .map(Map.Entry::getValue)
                .toList();
        if (others.isEmpty()) {
            return;
        }
        told.values().removeAll(others);
        Set<Long> still = new HashSet<>();
        told.values().forEach(each -> still.addAll(path(each)));
        long[] gone = others.stream()
                .flatMap(each -> path(each).reversed().stream())
                .distinct()
                .filter(block -> !still.contains(block) && blocks.resident(block))
                .mapToLong(Long::longValue)
                .toArray();
        blocks.removed(gone, 0, gone.length, Tier.GPU, 0);
        blocks.batchEnded();
    }

    private static List<Long> path(Told each) {
        return IntStream.range(0, each.blocks()).mapToObj(each.prefix()::block).toList();
    }

    /** Returns the number of blocks that the engine allocated since it was seen first, ever growing. */
    long allocated() {
        return blockTokens < 1 ? 0 : (long) (allocatedTokens / blockTokens);
    }
}
