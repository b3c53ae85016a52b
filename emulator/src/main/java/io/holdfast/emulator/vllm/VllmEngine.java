package io.holdfast.emulator.vllm;

import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Engine;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.Generation;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.engine.Model;
import io.holdfast.emulator.engine.RequestTally;
import io.holdfast.emulator.fault.Faults;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

/** vLLM's scheduler over its pool of blocks. One thread calls it. */
public final class VllmEngine implements Engine {
    private final VllmSettings settings;
    private final Deque<Generation> waiting = new ArrayDeque<>();
    private int limit = Integer.MAX_VALUE;
    private volatile VllmStats stats;

    /** @param clock measures what the engine says of its own times */
    public VllmEngine(
            VllmSettings settings,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher) {
        this.settings = settings;
        this.stats = snapshot();
    }

    @Override
    public void submit(Generation request) {
        waiting.add(request);
    }

    @Override
    public void abort(Generation request) {
        waiting.remove(request);
    }

    @Override
    public boolean step() {
        return false;
    }

    /**
     * Empties the cache; refused while any block is in use.
     *
     * @param alsoRunning preempts what runs first, so that nothing is
     */
    public boolean resetPrefixCache(boolean alsoRunning) {
        return waiting.isEmpty() || alsoRunning;
    }

    /** Lets requests use no more than so many blocks together from now on; who has them keeps them. */
    public void limitBlocks(int most) {
        limit = most;
    }

    /** From any thread: the numbers after the last change. */
    public VllmStats stats() {
        return stats;
    }

    private VllmStats snapshot() {
        return new VllmStats(
                0,
                waiting.size(),
                settings.blocks() - 1,
                Math.min(limit, settings.blocks() - 1),
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                RequestTally.NONE,
                RequestTally.NONE,
                VllmTimes.NONE);
    }
}
