package io.holdfast.core;

import io.holdfast.core.EngineView.Counters;
import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.prefix.WantedPrefixes;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Observers of all data-parallel ranks of one engine, each rank with a cache of its own. What requests share, and what
 * is worth an automatic hold, is learned from the first.
 */
final class EngineObservers implements WantedPrefixes {
    private final RequestRules rules;
    private final Predicate<VisibleRequest> own;
    private final boolean keepTokens;
    private final MemoryBudget memory;
    private final IntConsumer onEmptied;
    /** Observers by rank. */
    private final List<EngineObserver> ranks = new ArrayList<>();

    private final HeldUse heldUse = new HeldUse(this);
    private Optional<UnstableHeads> heads = Optional.empty();
    private Optional<SilentCache> silent = Optional.empty();

    private final EngineCaches trees;
    private long nowNanos;
    private long certainLife;
    private long certainSinceNanos;

    /**
     * Creates the observers of an engine with one rank so far.
     *
     * @param own tells requests of our own, which teach nothing
     * @param keepTokens whether anybody may want to send what is in the cache
     * @param memory budget of what all of them remember beside their caches
     * @param onEmptied takes a rank whose cache was emptied
     */
    EngineObservers(
            RequestRules rules,
            Predicate<VisibleRequest> own,
            boolean keepTokens,
            MemoryBudget memory,
            IntConsumer onEmptied) {
        this.rules = rules;
        this.own = own;
        this.keepTokens = keepTokens;
        this.memory = memory;
        this.onEmptied = onEmptied;
        trees = new EngineCaches(observeNext().tree());
    }

    private EngineObserver observeNext() {
        int rank = ranks.size();
        EngineObserver next = new EngineObserver(rules, own, heldUse, keepTokens, memory, () -> onEmptied.accept(rank));
        next.now(nowNanos);
        heads.ifPresent(next::watch);
        ranks.add(next);
        return next;
    }

    /** Looks from now on for requests that differ early; whichever rank computes them. */
    void watch(UnstableHeads unstable) {
        heads = Optional.of(unstable);
        ranks.forEach(rank -> rank.watch(unstable));
    }

    /** Returns what users' prompts have of held prefixes. */
    HeldUse heldUse() {
        return heldUse;
    }

    Optional<UnstableHeads> heads() {
        return heads;
    }

    /** Takes what the engine has from this cache, since it publishes no events. */
    void followBy(SilentCache cache) {
        silent = Optional.of(cache);
    }

    /** Returns the cache of an engine that publishes no events; absent for one that does. */
    Optional<SilentCache> silent() {
        return silent;
    }

    /** Follows one rank more. */
    EngineObserver add() {
        EngineObserver next = observeNext();
        trees.add(next.tree());
        return next;
    }

    void now(long nanos) {
        nowNanos = nanos;
        ranks.forEach(rank -> rank.now(nanos));
        silent.ifPresent(cache -> cache.now(nanos));
    }

    /** Takes in readings, which are the sum of all ranks. */
    void readings(EngineReadings readings, long originNanos) {
        first().readings(readings, originNanos, ranks.subList(1, ranks.size()));
    }

    int count() {
        return ranks.size();
    }

    EngineObserver first() {
        return ranks.getFirst();
    }

    EngineObserver rank(int rank) {
        return ranks.get(rank);
    }

    Stream<EngineObserver> all() {
        return ranks.stream();
    }

    /** Their caches, as decisions see them together. */
    EngineCaches trees() {
        return trees;
    }

    long batches() {
        return all().mapToLong(EngineObserver::batches).sum();
    }

    /** Restarts of the engine, each counted once a rank. */
    long restarts() {
        return all().mapToLong(rank -> rank.counters().restarts()).sum();
    }

    /** Returns what is remembered beside the caches, in bytes. */
    MemoryBudget.Used memory() {
        return memory.used();
    }

    Counters counters() {
        return all().map(EngineObserver::counters).reduce(Counters::plus).orElseThrow();
    }

    boolean certain() {
        return all().allMatch(EngineObserver::certain);
    }

    /** The first that is not certain speaks. */
    String certainty() {
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (!ranks.get(rank).certain()) {
                return (rank == 0 ? "" : "of data-parallel rank " + rank + ": ")
                        + ranks.get(rank).certainty();
            }
        }
        return first().certainty();
    }

    /** Returns how long every event since the caches were empty has been seen; negative while that is not so. */
    long certainForNanos() {
        if (!certain()) {
            certainLife = 0;
            return -1;
        }
        long life = all().mapToLong(EngineObserver::incarnation).sum();
        if (certainLife != life) {
            certainLife = life;
            certainSinceNanos = nowNanos;
        }
        return nowNanos - certainSinceNanos;
    }

    /** Followed in every cache. */
    @Override
    public void want(long lastBlock, int blocks) {
        ranks.forEach(rank -> rank.prefixes().want(lastBlock, blocks));
    }

    @Override
    public void unwant(long lastBlock) {
        ranks.forEach(rank -> rank.prefixes().unwant(lastBlock));
    }

    @Override
    public long lastPassed(long lastBlock) {
        return all().mapToLong(rank -> rank.prefixes().lastPassed(lastBlock))
                .max()
                .orElseThrow();
    }

    @Override
    public long lastHit(long lastBlock) {
        return all().mapToLong(rank -> rank.prefixes().lastHit(lastBlock)).max().orElseThrow();
    }
}
