package io.holdfast.workbench.replay;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Sends a trace through an engine's real rules in virtual time, and lets what decides hear its events and use its
 * levers.
 */
final class RulesReplay {
    /*
     * Time
     * ----
     * A pass of the engine is one step of its rules: what it does to the cache is done when the pass begins, and its
     * events and tokens are told when it ends, which is when the clock jumps. Who arrives meanwhile is looked at in the
     * next pass. Between two passes those decide who are asked each 100 ms, as in a sidecar. The engine is as fast as
     * the one of `--emit`, since public traces are those of a cluster.
     *
     * Tokens
     * ------
     * Rules know tokens, a trace has numbers of blocks. A block's first token is its number and the others count on, so
     * that two blocks are the same where their numbers are. What follows a prompt's full blocks, and its answer, begins
     * with a number that nobody else has. A prompt's tokens live as long as its request.
     */
    private static final Speed SPEED = new Speed(6.25, 10_000, 30_000, 1);

    private static final int MOST_RUNNING = 1_024;
    private static final int CHUNK_TOKENS = 8_192;
    private static final long PLAN_NANOS = 100_000_000;
    /** Time of a pass in which nothing was computed. */
    private static final long EMPTY_PASS_NANOS = 50_000;

    private static final int LEAST_TOKENS = 64;
    private static final int MOST_TOKENS = 1 << 30;

    private static final class Clock implements EngineClock {
        private long now;

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public double unixSeconds() {
            return now / 1e9;
        }

        @Override
        public void await(long deadlineNanos) {
            now = Math.max(now, deadlineNanos);
        }
    }

    private final Trace trace;
    private final int page;
    private final int capacityTokens;
    private final int largestTokens;
    private final Clock clock = new Clock();
    private final Engine engine;
    private final Optional<RulesHolds> holds;
    private final byte[] hints;
    private final int capacity;
    private int nextOwn;
    private long hits;
    private int refused;
    private int unanswered;
    private long plannedNanos;

    private RulesReplay(Trace trace, ReplaySettings settings, Announced announced, int capacity) {
        this.trace = trace;
        this.capacity = capacity;
        page = trace.blockTokens();
        check(trace, capacity);
        capacityTokens = capacity * page;
        largestTokens = Math.min(largest(trace), capacityTokens);
        nextOwn = trace.uniqueBlocks();
        hints = settings.hints().map(asked -> Replay.hints(trace, asked)).orElseGet(() -> new byte[trace.requests()]);
        clock.now = trace.nanos(0);
        Gpu gpu = new Gpu(SPEED, Faults.none(), clock, () -> false);
        Model model = request -> request.answered() == 0 ? nextOwn++ : request.answered();
        if (announced.form() == Form.VLLM) {
            holds = Optional.empty();
            engine = new VllmEngine(
                    VllmSettings.defaults()
                            .withSizes(capacity + 1, page, largestTokens)
                            .withBatch(MOST_RUNNING, CHUNK_TOKENS),
                    Faults.none(),
                    clock,
                    gpu,
                    model,
                    events -> {},
                    ElasticPool.OWN);
        } else {
            Optional<RulesHolds> deciding = settings.pins()
                    ? Optional.of(new RulesHolds(announced, settings.rank(), capacity, page, guarded()))
                    : Optional.empty();
            Consumer<List<CacheEvent>> publisher = deciding.<Consumer<List<CacheEvent>>>map(
                            deciders -> events -> deciders.published(events, clock.now))
                    .orElse(events -> {});
            SglangEngine sglang =
                    new SglangEngine(sglang(announced), Faults.none(), clock, gpu, model, publisher, ElasticPool.OWN);
            deciding.ifPresent(deciders -> deciders.use(sglang));
            holds = deciding;
            engine = sglang;
        }
    }

    /** Refuses sizes that no engine's cache has. */
    static void check(Trace trace, int capacity) {
        int page = trace.blockTokens();
        long tokens = (long) capacity * page;
        if (tokens < Math.max(LEAST_TOKENS, 4L * page) || tokens > MOST_TOKENS) {
            throw new LoadTestException("The engine's rules take a cache of " + LEAST_TOKENS + " to " + MOST_TOKENS
                    + " tokens and at least 4 blocks, and " + capacity + " blocks of " + page
                    + " tokens are not that; choose another capacity.");
        }
    }

    static ReplayResult run(Trace trace, ReplaySettings settings, Announced announced, int capacity) {
        return new RulesReplay(trace, settings, announced, capacity).run();
    }

    private SglangSettings sglang(Announced announced) {
        boolean sessions = announced.backend().filter(Lever.SESSION::equals).isPresent();
        return SglangSettings.defaults()
                .withSizes(capacityTokens, page, largestTokens)
                .withMaxRunning(MOST_RUNNING)
                .withChunkedPrefillTokens(Math.max(1, CHUNK_TOKENS / page) * page)
                .withVariant(sessions ? Variant.STOCK : Variant.PIN_GPU)
                .withSessions(sessions);
    }

    /** Blocks that the largest request leaves. */
    private int guarded() {
        return Math.max(0, (capacityTokens - largestTokens) / page);
    }

    /** Tokens of the largest prompt and its answer, and what admission adds to them. */
    private static int largest(Trace trace) {
        long largest = SglangSettings.LEAST_CONTEXT;
        for (int request = 0; request < trace.requests(); request++) {
            largest = Math.max(largest, (long) trace.inputTokens(request) + Math.max(1, trace.outputTokens(request)));
        }
        return (int) Math.min(Integer.MAX_VALUE / 2, largest + 2L * trace.blockTokens() + 8);
    }

    private ReplayResult run() {
        try {
            for (int request = 0; request < trace.requests(); request++) {
                passUntil(trace.nanos(request));
                submit(request);
            }
            boolean worked = true;
            while (worked) {
                worked = pass();
            }
        } catch (EngineDeath death) {
            throw new LoadTestException("A request ended the engine: " + death.getMessage() + ".", death);
        }
        long span = clock.now - trace.nanos(0);
        return new ReplayResult(
                capacity,
                hits,
                trace.references(),
                holds.map(RulesHolds::pinOperations).orElse(0L),
                holds.map(made -> OptionalLong.of(made.holdOperations())).orElseGet(OptionalLong::empty),
                holds.map(RulesHolds::givenUp).orElse(0),
                holds.map(RulesHolds::gateChanges).orElse(0),
                holds.map(made -> made.openShare(span)).orElse(0.0),
                Optional.of(new ReplayResult.Refused(
                        refused + unanswered, holds.map(RulesHolds::refused).orElse(0))));
    }

    private void passUntil(long nanos) {
        while (clock.now < nanos) {
            if (!pass()) {
                clock.now = nanos;
            }
        }
    }

    private boolean pass() {
        long before = clock.now;
        boolean worked = engine.step();
        if (worked && clock.now == before) {
            clock.now += EMPTY_PASS_NANOS;
        }
        if (clock.now - plannedNanos >= PLAN_NANOS) {
            plannedNanos = clock.now;
            holds.ifPresent(deciding -> deciding.choose(clock.now));
        }
        return worked;
    }

    private void submit(int request) {
        int length = Math.max(1, trace.inputTokens(request));
        if (length + 1L + 2L * page > largestTokens) {
            refused++;
            return;
        }
        int full = trace.fullBlocks(request);
        int[] prompt = prompt(request, length, full);
        Generation generation = new Generation(
                prompt,
                RequestOptions.of(Math.max(1, trace.outputTokens(request))),
                false,
                clock.now,
                new TokenListener() {
                    @Override
                    public void token(int token, int count, int cachedTokens, boolean last) {
                        if (count == 1) {
                            hits += Math.min(full, cachedTokens / page);
                        }
                        if (last) {
                            unanswered--;
                            hint(request, prompt);
                        }
                    }

                    @Override
                    public void failed(String message) {
                        // It stays unanswered.
                    }
                });
        generation.limitAnswer(Math.max(1, largestTokens - length - page));
        unanswered++;
        engine.submit(generation);
    }

    private int[] prompt(int request, int length, int full) {
        int[] prompt = new int[length];
        for (int at = 0; at < length; at++) {
            prompt[at] = at % page;
        }
        for (int depth = 0; depth < full; depth++) {
            prompt[depth * page] = trace.block(request, depth);
        }
        if (full * page < length) {
            prompt[full * page] = nextOwn++;
        }
        return prompt;
    }

    private void hint(int request, int[] prompt) {
        if (hints[request] != 0) {
            holds.ifPresent(
                    deciding -> deciding.hint(SglangBlockNames.of(prompt, page), hints[request] == Replay.GOES_ON));
        }
    }
}
