package io.holdfast.workbench.replay;

import io.holdfast.loadtest.trace.Trace;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;

/** Serves requests as an engine does, in steps: prompts in chunks, answers block by block or at their end. */
final class SteppedEngine {
    /*
     * Time
     * ----
     * One step takes so many tokens of the prompts that wait, the first come first, and cuts the last of them where
     * they are more; the rest of that one comes first in the next step. Answers are generated beside that at a constant
     * pace. It is a fast engine, one that keeps up with the hours of a whole cluster that public traces are, since a
     * queue would say nothing of a cache.
     *
     * What is announced when
     * ----------------------
     * SGLang stores what a step computed when the step is over, and an answer when its request ends; vLLM stores what a
     * step will compute when it begins, and each block of an answer when it is full. What a store pushes out is
     * announced in the same batch, before it.
     *
     * What is not modelled: of two that bring the same prompt in one step SGLang keeps the first one's blocks, and so
     * does this; neither engine's own rules of who is served first.
     */
    private static final int STEP_TOKENS = 8_192;
    private static final double STEP_SECONDS = 0.01;
    private static final double PREFILL_TOKENS_PER_SECOND = 160_000;
    private static final double SECONDS_PER_OUTPUT_TOKEN = 0.03;
    private static final double NANOS = 1e9;

    /** Listener to what the engine does, in its order. */
    interface Listener {
        /** The blocks of a path from one depth up to before another entered the cache. */
        void stored(int[] path, int from, int to);

        /** Called when everything since the last call is published, if anything happened. */
        void published(long nanos);

        /** All of a prompt is computed. */
        void prefilled(Served request, long nanos);

        void finished(Served request, long nanos);
    }

    /** A request in the engine. */
    static final class Served {
        final int number;
        /** Its prompt's full blocks, and after them those that its answer fills. */
        final int[] path;

        final int promptBlocks;
        final int promptTokens;
        final int outputTokens;
        int hits = -1;
        private int computedTokens;
        /** Number of blocks of its path that it stored or found. */
        int stored;

        private boolean cutShort;
        private int taken;

        private Served(int number, int[] path, int promptBlocks, int promptTokens, int outputTokens) {
            this.number = number;
            this.path = path;
            this.promptBlocks = promptBlocks;
            this.promptTokens = promptTokens;
            this.outputTokens = outputTokens;
        }
    }

    private record Moment(long nanos, long order, Runnable happens) {}

    private record Part(Served request, int tokens) {}

    private final int blockTokens;
    private final boolean eachBlock;
    private final boolean held;
    private final EngineMemory memory;
    private final Listener listener;
    private final PriorityQueue<Moment> moments = new PriorityQueue<>(
            (a, b) -> a.nanos != b.nanos ? Long.compare(a.nanos, b.nanos) : Long.compare(a.order, b.order));
    private final Deque<Served> waiting = new ArrayDeque<>();
    private final List<Runnable> withStep = new ArrayList<>();
    private boolean busy;
    private long order;
    private long nowNanos;
    private long hits;

    /**
     * @param eachBlock whether blocks are stored as vLLM does
     * @param held whether running requests hold their blocks
     */
    SteppedEngine(int blockTokens, boolean eachBlock, boolean held, EngineMemory memory, Listener listener) {
        this.blockTokens = blockTokens;
        this.eachBlock = eachBlock;
        this.held = held;
        this.memory = memory;
        this.listener = listener;
    }

    /** Returns the number of full blocks that an answer fills beyond those of its prompt. */
    static int answerBlocks(int promptTokens, int outputTokens, int blockTokens) {
        // The last token of an answer is computed by nobody.
        return (promptTokens + Math.max(0, outputTokens - 1)) / blockTokens - promptTokens / blockTokens;
    }

    long nowNanos() {
        return nowNanos;
    }

    /** Blocks of prompts that were found so far. */
    long hits() {
        return hits;
    }

    /** Does what happens up to this moment. */
    void advance(long nanos) {
        for (Moment next = moments.peek(); next != null && next.nanos <= nanos; next = moments.peek()) {
            moments.remove();
            nowNanos = next.nanos;
            next.happens.run();
        }
        nowNanos = nanos;
    }

    /** Does all that is left to do. */
    void finish() {
        while (!moments.isEmpty()) {
            advance(moments.element().nanos);
        }
    }

    /** A request comes now. */
    void submit(int number, int[] path, int promptBlocks, int promptTokens, int outputTokens) {
        waiting.add(new Served(number, path, promptBlocks, promptTokens, outputTokens));
        step();
    }

    private void at(long nanos, Runnable happens) {
        moments.add(new Moment(nanos, order++, happens));
    }

    /** Runs what is due at a moment with the step that runs then. */
    private void due(long nanos, Runnable happens) {
        at(nanos, () -> {
            if (busy) {
                withStep.add(happens);
            } else {
                happens.run();
                listener.published(nowNanos);
            }
        });
    }

    private void step() {
        if (busy || waiting.isEmpty()) {
            return;
        }
        busy = true;
        int left = STEP_TOKENS;
        List<Part> parts = new ArrayList<>();
        while (left > 0 && !waiting.isEmpty()) {
            Served first = waiting.element();
            if (first.hits < 0) {
                admit(first);
            }
            // Even of a prompt that is all there the last token is computed.
            int tokens = Math.clamp(first.promptTokens - (long) first.computedTokens, 1, left);
            left -= tokens;
            first.computedTokens = Math.min(first.promptTokens, first.computedTokens + tokens);
            parts.add(new Part(first, first.computedTokens));
            if (first.computedTokens == first.promptTokens) {
                waiting.remove();
            }
        }
        if (eachBlock) {
            parts.forEach(this::store);
        }
        listener.published(nowNanos);
        double seconds = STEP_SECONDS + (STEP_TOKENS - left) / PREFILL_TOKENS_PER_SECOND;
        at(nowNanos + (long) (seconds * NANOS), () -> stepped(parts));
    }

    private void admit(Served request) {
        request.hits = memory.hits(request.path, request.promptBlocks);
        hits += request.hits;
        request.stored = request.hits;
        request.computedTokens = request.hits * blockTokens;
        memory.use(request.path, request.hits, nowNanos);
        if (held) {
            memory.hold(request.path, 0, request.hits);
            request.taken = request.path.length - request.promptBlocks + 1;
            memory.take(request.taken);
        }
    }

    private void stepped(List<Part> parts) {
        busy = false;
        withStep.forEach(Runnable::run);
        withStep.clear();
        if (!eachBlock) {
            parts.forEach(this::store);
        }
        for (Part part : parts) {
            Served request = part.request;
            if (part.tokens == request.promptTokens) {
                listener.prefilled(request, nowNanos);
                answer(request);
            }
        }
        step();
        if (!busy) {
            listener.published(nowNanos);
        }
    }

    private void answer(Served request) {
        if (eachBlock) {
            for (int block = request.promptBlocks; block < request.path.length; block++) {
                int blocks = block + 1;
                long tokens = (long) blocks * blockTokens - request.promptTokens;
                due(
                        nowNanos + (long) (tokens * SECONDS_PER_OUTPUT_TOKEN * NANOS),
                        () -> storeAnswer(request, blocks, 1));
            }
        }
        due(nowNanos + (long) (request.outputTokens * SECONDS_PER_OUTPUT_TOKEN * NANOS), () -> end(request));
    }

    private void end(Served request) {
        if (!eachBlock) {
            storeAnswer(request, request.path.length, request.path.length - request.promptBlocks);
        }
        listener.finished(request, nowNanos);
        if (held) {
            memory.take(-request.taken);
            memory.letGo(request.path, request.stored);
        }
    }

    private void storeAnswer(Served request, int blocks, int freed) {
        if (held && !request.cutShort) {
            request.taken -= freed;
            memory.take(-freed);
        }
        store(request, blocks);
    }

    private void store(Part part) {
        store(part.request, Math.min(part.tokens / blockTokens, part.request.promptBlocks));
    }

    private void store(Served request, int blocks) {
        int before = request.stored;
        // Without its begin nothing of a path can be found again, and what does not fit is left out.
        if (request.cutShort || blocks <= before || memory.hits(request.path, before) < before) {
            request.cutShort |= blocks > before;
            return;
        }
        int there = memory.hits(request.path, blocks);
        int stored = held ? memory.store(request.path, blocks, nowNanos) : memory.use(request.path, blocks, nowNanos);
        if (held) {
            memory.hold(request.path, before, stored);
        }
        request.stored = stored;
        request.cutShort = stored < blocks;
        if (stored > there) {
            listener.stored(request.path, there, stored);
        }
    }

    /** The path of a request whose answer's blocks have numbers of their own. */
    static int[] path(Trace trace, int request, int firstOfAnswer) {
        int prompt = trace.fullBlocks(request);
        int answer = answerBlocks(trace.inputTokens(request), trace.outputTokens(request), trace.blockTokens());
        int[] path = new int[prompt + answer];
        for (int depth = 0; depth < prompt; depth++) {
            path[depth] = trace.block(request, depth);
        }
        Arrays.setAll(path, depth -> depth < prompt ? path[depth] : firstOfAnswer + depth - prompt);
        return path;
    }
}
