package io.holdfast.workbench.replay;

import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.SteppedEngine.Served;
import java.util.Optional;

/**
 * Sends a trace through an engine that serves it step by step, and lets what decides see of that what it sees of
 * engines.
 */
final class SteppedReplay implements SteppedEngine.Listener {
    private final Trace trace;
    private final ReplaySettings settings;
    private final int capacity;
    private final EngineMemory memory;
    private final SteppedEngine engine;
    private final Decides decides;
    private final byte[] hints;
    /** Number of decisions that want each block; {@code pinned} is true where the engine was made to keep it. */
    private final int[] wanted;

    private final boolean[] pinned;
    private boolean evictedOnce;
    private long pinOperations;
    private long openNanos;
    private long chosenNanos;

    private SteppedReplay(Trace trace, ReplaySettings settings, Announced announced, int capacity) {
        this.trace = trace;
        this.settings = settings;
        this.capacity = capacity;
        int blocks = trace.uniqueBlocks();
        for (int request = 0; request < trace.requests(); request++) {
            blocks += SteppedEngine.answerBlocks(
                    trace.inputTokens(request), trace.outputTokens(request), trace.blockTokens());
        }
        wanted = new int[blocks];
        pinned = new boolean[blocks];
        memory = new EngineMemory(blocks, settings.cache(blocks, capacity, this::evicted), this::unpinned);
        engine = new SteppedEngine(trace.blockTokens(), announced.form() == Form.VLLM, settings.held(), memory, this);
        decides = decides(announced);
        hints = settings.hints().map(asked -> Replay.hints(trace, asked)).orElseGet(() -> new byte[trace.requests()]);
        chosenNanos = trace.nanos(0);
    }

    private Decides decides(Announced announced) {
        if (!settings.pins()) {
            return Decides.NOTHING;
        }
        Decides.Lever lever = new Decides.Lever() {
            @Override
            public void pin(int block) {
                want(block);
            }

            @Override
            public void unpin(int block) {
                leave(block);
            }
        };
        boolean byStores = settings.without().contains(Part.REQUESTS);
        return settings.everyTouch() || byStores
                ? new DecidesByBlocks(settings.rank(), capacity, trace, byStores, lever)
                : new DecidesByEvents(announced, settings.rank(), capacity, trace.blockTokens(), lever);
    }

    static ReplayResult run(Trace trace, ReplaySettings settings, Announced announced, int capacity) {
        return new SteppedReplay(trace, settings, announced, capacity).run();
    }

    private ReplayResult run() {
        int nextAnswer = trace.uniqueBlocks();
        for (int request = 0; request < trace.requests(); request++) {
            engine.advance(trace.nanos(request));
            choose(engine.nowNanos());
            int[] path = SteppedEngine.path(trace, request, nextAnswer);
            nextAnswer += path.length - trace.fullBlocks(request);
            engine.submit(
                    request, path, trace.fullBlocks(request), trace.inputTokens(request), trace.outputTokens(request));
        }
        engine.finish();
        long span = engine.nowNanos() - trace.nanos(0);
        return new ReplayResult(
                capacity,
                engine.hits(),
                trace.references(),
                pinOperations,
                decides.holdOperations(),
                memory.givenUp(),
                decides.gateChanges(),
                span == 0 ? 0 : (double) openNanos / span,
                Optional.empty());
    }

    private void choose(long nanos) {
        openNanos += decides.isOpen() ? nanos - chosenNanos : 0;
        chosenNanos = nanos;
        decides.choose(settings.held() && evictedOnce ? memory.size() : 0, memory.runningBlocks(), nanos);
    }

    @Override
    public void stored(int[] path, int from, int to) {
        decides.stored(path, from, to, engine.nowNanos());
    }

    @Override
    public void published(long nanos) {
        decides.published(nanos);
        choose(nanos);
    }

    @Override
    public void prefilled(Served request, long nanos) {
        decides.prefilled(request, hints[request.number], nanos);
    }

    @Override
    public void finished(Served request, long nanos) {
        decides.finished(request, hints[request.number], nanos);
    }

    private void evicted(int block) {
        evictedOnce = true;
        decides.removed(block, engine.nowNanos());
    }

    /** Called when the engine gave it up, even though a hold wants it. */
    private void unpinned(int block) {
        pinned[block] = false;
        decides.unpinned(block);
    }

    private void want(int block) {
        if (wanted[block]++ == 0 && memory.has(block)) {
            pinned[block] = true;
            pinOperations++;
            memory.pin(block);
        }
    }

    private void leave(int block) {
        if (--wanted[block] == 0 && pinned[block]) {
            pinned[block] = false;
            pinOperations++;
            memory.unpin(block);
        }
    }
}
