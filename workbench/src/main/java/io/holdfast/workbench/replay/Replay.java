package io.holdfast.workbench.replay;

import io.holdfast.core.rank.RankedPins;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/** Sends a trace through a cache of some size, under a policy. */
public final class Replay {
    static final int GOES_ON = 1;
    private static final int OVER = 2;

    private final Trace trace;
    private final ReplaySettings settings;
    private final int capacity;
    private final EngineMemory memory;
    private final ReplayEngine engine;
    private final RankedPins pins;
    private final boolean pinning;
    private final int[] path;
    private final long[] hashes;
    private final byte[] hints;

    private long nowNanos;
    private long hits;
    private long pinOperations;
    private boolean evictedOnce;
    private long openNanos;

    private Replay(Trace trace, ReplaySettings settings, int capacity) {
        this.trace = trace;
        this.settings = settings;
        this.capacity = capacity;
        pinning = settings.pins();
        memory = new EngineMemory(
                trace.uniqueBlocks(), settings.cache(trace.uniqueBlocks(), capacity, this::evicted), this::unpinned);
        engine = new ReplayEngine(trace.blockTokens(), settings.held(), memory);
        pins = new RankedPins(settings.rank(), capacity, new RankedPins.Pins() {
            @Override
            public void pin(long hash) {
                pinOperations++;
                memory.pin((int) hash);
            }

            @Override
            public void unpin(long hash) {
                pinOperations++;
                memory.unpin((int) hash);
            }
        });
        path = new int[trace.longest()];
        hashes = new long[path.length];
        hints = settings.hints().map(wanted -> hints(trace, wanted)).orElseGet(() -> new byte[trace.requests()]);
    }

    /** Says in one sentence, before anything is replayed, what speaks against it. */
    public static void check(Trace trace, ReplaySettings settings, int capacity) {
        settings.announced().filter(Announced::byRules).ifPresent(any -> RulesReplay.check(trace, capacity));
    }

    public static ReplayResult run(Trace trace, ReplaySettings settings, int capacity) {
        if (settings.policy() == Policy.OPTIMUM) {
            return new ReplayResult(
                    capacity,
                    Optimum.hits(trace, capacity),
                    trace.references(),
                    0,
                    OptionalLong.empty(),
                    0,
                    0,
                    0,
                    Optional.empty());
        }
        if (settings.announced().isPresent()) {
            Announced announced = settings.announced().get();
            return announced.byRules()
                    ? RulesReplay.run(trace, settings, announced, capacity)
                    : SteppedReplay.run(trace, settings, announced, capacity);
        }
        return new Replay(trace, settings, capacity).run();
    }

    private ReplayResult run() {
        for (int request = 0; request < trace.requests(); request++) {
            request(request);
        }
        long span = trace.nanos(trace.requests() - 1) - trace.nanos(0);
        return new ReplayResult(
                capacity,
                hits,
                trace.references(),
                pinOperations,
                OptionalLong.empty(),
                memory.givenUp(),
                pins.gateChanges(),
                span == 0 ? 0 : (double) openNanos / span,
                Optional.empty());
    }

    private void request(int request) {
        long before = request == 0 ? trace.nanos(0) : nowNanos;
        nowNanos = trace.nanos(request);
        engine.advance(nowNanos);
        if (pinning) {
            openNanos += pins.isOpen() ? nowNanos - before : 0;
            if (settings.held()) {
                pins.running(memory.runningBlocks(), nowNanos);
            }
            pins.tick(nowNanos);
        }
        int length = trace.length(request);
        trace.copyPath(request, path);
        int found = memory.hits(path, length);
        hits += found;
        int stored = engine.run(path, length, found, trace.inputTokens(request), trace.outputTokens(request), nowNanos);
        if (pinning) {
            if (settings.held() && evictedOnce) {
                pins.capacity(memory.size());
            }
            if (stored > found || settings.everyTouch()) {
                for (int depth = 0; depth < length; depth++) {
                    hashes[depth] = path[depth];
                }
                pins.request(
                        hashes,
                        length,
                        stored,
                        trace.fullBlocks(request),
                        trace.inputTokens(request),
                        hints[request],
                        nowNanos);
            }
        }
    }

    private void evicted(int block) {
        if (pinning) {
            evictedOnce = true;
            pins.removed(block, nowNanos);
        }
    }

    private void unpinned(int block) {
        if (pinning) {
            pins.unpinned(block);
        }
    }

    /** Returns the hint that the owner of each request gives. */
    static byte[] hints(Trace trace, Hints wanted) {
        int[] lastUse = new int[trace.uniqueBlocks()];
        Arrays.fill(lastUse, -1);
        for (int request = 0; request < trace.requests(); request++) {
            for (int depth = 0; depth < trace.length(request); depth++) {
                lastUse[trace.block(request, depth)] = request;
            }
        }
        SplittableRandom random = new SplittableRandom(wanted.seed());
        byte[] hints = new byte[trace.requests()];
        for (int request = 0; request < hints.length; request++) {
            int full = trace.fullBlocks(request);
            boolean goesOn = full > 0 && lastUse[trace.block(request, full - 1)] > request;
            boolean lies = trace.nanos(request) >= wanted.lyingFromNanos();
            boolean right = random.nextDouble() < wanted.right() != lies;
            hints[request] = (byte) (goesOn == right ? GOES_ON : OVER);
        }
        return hints;
    }
}
