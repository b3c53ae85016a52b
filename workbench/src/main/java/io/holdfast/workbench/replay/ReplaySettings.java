package io.holdfast.workbench.replay;

import io.holdfast.core.rank.LruCache;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;

/**
 * Settings of a replay.
 *
 * @param without parts of what decides that are left out, to see what they are worth
 * @param held whether running requests hold their blocks
 * @param everyTouch whether requests that store nothing are seen as well, as by a router
 * @param announced as an engine announces what it does, or as whole requests
 */
public record ReplaySettings(
        Policy policy,
        Set<Part> without,
        boolean held,
        boolean everyTouch,
        Optional<Hints> hints,
        Optional<Announced> announced) {

    public ReplaySettings {
        without = Set.copyOf(without);
    }

    /** Policy of what is kept. */
    public enum Policy {
        /** The engine alone. */
        LRU,
        /** A cache that knows what comes. */
        OPTIMUM,
        /** The engine, and pins by the reuse rate of blocks. */
        HOLDFAST,
        /** The engine, and pins by how often blocks were used lately. */
        FREQ,
        /** No pins, and an engine that protects in its cache what was found once. */
        SLRU,
        /** No pins, and an engine that evicts what was used least often. */
        LFU
    }

    /** A part of what decides. */
    public enum Part {
        /** Pins only once the shadows show that pins help. */
        GATE,
        /** The shadow with pins; pins end once the engine itself finds less than the other one. */
        SHADOW,
        /** One share of the room whatever the traffic; it falls where blocks stay much longer than they have to. */
        SHARE,
        /** Room beside pins for long prompts. */
        RESERVE,
        /** Memory of what was removed. */
        GHOSTS,
        /** Choices that come sooner where the cache turns over fast. */
        TICK,
        /** Requests put together from what is announced of them; each announcement is taken for a request instead. */
        REQUESTS
    }

    /** Form of what an engine announces. */
    public enum Form {
        SGLANG(Dialect.SGLANG_MAPS),
        VLLM(Dialect.VLLM_MAPS);

        final Dialect dialect;

        Form(Dialect dialect) {
            this.dialect = dialect;
        }
    }

    /** Means by which prefixes are held. */
    public enum Lever {
        PIN,
        SESSION
    }

    /**
     * Chunks, answers and removals are announced as they happen, in an engine's form.
     *
     * @param backend what a sidecar would hold with, no faster than it begins holds; without one they begin as they
     *     are chosen
     * @param byRules whether the engine's own rules serve the requests, or a plain cache in steps does
     */
    public record Announced(Form form, Optional<Lever> backend, boolean byRules) {
        public Announced(Form form, boolean paced) {
            this(form, paced ? Optional.of(Lever.PIN) : Optional.empty(), false);
        }

        /** Returns true if holds begin no faster than a sidecar begins them. */
        boolean paced() {
            return backend.isPresent();
        }
    }

    /**
     * Each request says whether its conversation goes on.
     *
     * @param right how often that is right
     * @param lyingFromNanos from when on it is wrong as often as it was right before
     */
    public record Hints(double right, long lyingFromNanos, long seed) {
        public Hints(double right, long seed) {
            this(right, Long.MAX_VALUE, seed);
        }
    }

    public static ReplaySettings of(Policy policy) {
        return new ReplaySettings(policy, Set.of(), false, false, Optional.empty(), Optional.empty());
    }

    /** Returns settings in which requests hold their blocks while they run. */
    public ReplaySettings holding() {
        return new ReplaySettings(policy, without, true, everyTouch, hints, announced);
    }

    /** Returns settings in which an engine announces its steps. */
    public ReplaySettings announcing(Announced form) {
        return new ReplaySettings(policy, without, held, everyTouch, hints, Optional.of(form));
    }

    /** Returns settings with another policy. */
    public ReplaySettings with(Policy other) {
        return new ReplaySettings(other, without, held, everyTouch, hints, announced);
    }

    /** Returns true if this policy pins. */
    boolean pins() {
        return policy == Policy.HOLDFAST || policy == Policy.FREQ;
    }

    /** The engine's cache, which may have any of so many blocks. */
    EngineCache cache(int blocks, int capacity, IntConsumer evicted) {
        return switch (policy) {
            case LRU, HOLDFAST, FREQ -> new EngineCache.Lru(new LruCache(capacity, evicted));
            case SLRU -> TieredCache.segmented(blocks, capacity);
            case LFU -> TieredCache.leastFrequent(blocks, capacity);
            case OPTIMUM -> throw new IllegalStateException("What comes is not known request by request.");
        };
    }

    RankSettings rank() {
        RankSettings rank = RankSettings.defaults();
        if (policy == Policy.FREQ) {
            rank = rank.withScore(RankSettings.Score.FREQUENCY);
        }
        if (without.contains(Part.GATE)) {
            rank = rank.withLicence(RankSettings.Licence.NONE);
        }
        if (without.contains(Part.SHADOW)) {
            rank = rank.withLicence(RankSettings.Licence.ONE_SHADOW);
        }
        if (without.contains(Part.SHARE)) {
            rank = rank.withShare(RankSettings.Share.BY_RESIDENCE);
        }
        if (without.contains(Part.RESERVE)) {
            rank = rank.withFreePrompts(0);
        }
        if (without.contains(Part.GHOSTS)) {
            rank = rank.withGhosts(0);
        }
        if (without.contains(Part.TICK)) {
            rank = rank.withFixedTick();
        }
        return rank;
    }
}
