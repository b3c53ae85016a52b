package io.holdfast.emulator;

import io.holdfast.emulator.EmulatorSettings.Variant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * The emulated GPU and the scheduler in front of it. One thread calls it; a call of step() is one pass of the engine's loop
 * and takes as long as the GPU would.
 *
 * A pass
 * ------
 * Prefill goes before decode. The head of the queue is admitted when extend + min(what it may still say, 4096) is less than
 * free + evictable - what running requests are expected to say, looked at before and after locking its own prefix; if not,
 * nobody behind it is looked at. One pass prefills one request (a real one batches; the GPU's time is the same sum). A
 * decode step gives each running request a token.
 *
 * The full flag
 * -------------
 * A refusal sets batchFull, and only a request that ends or is retracted clears it. So a refusal while nothing runs is for
 * good: later passes do not look at the queue, whatever becomes of the cache. Stock engines cannot get there, because the
 * largest request they accept fits into an idle cache; with pins the room shrinks. The pin branch's safety net releases all
 * pins once when what is pinned leaves no room for the prompt; it does not count the answer, and does not clear the flag.
 *
 * Two engines
 * -----------
 * The release evicts what is missing, wants a free page per running request in each decode step, and stores prompt and
 * answer (all but the last token) when a request ends. The branch evicts the whole amount when less is free, wants pages
 * only where one is full, and stores prompts only. With one token to say, a prompt is stored once, at the end.
 *
 * Events leave after each prefill, when a request ends and when the engine runs idle, on the branch every 40 decode steps as
 * well; what decoding evicts waits for one of these.
 */
final class Scheduler {
    private static final Logger log = LoggerFactory.getLogger(Scheduler.class);

    /** Admission counts no more than this of what a request may say. */
    private static final int COUNTED_ANSWER = 4096;

    private static final double FIRST_RATIO = 0.7;
    private static final double LAST_RATIO = 0.14 * FIRST_RATIO;
    private static final double RATIO_STEP = (FIRST_RATIO - LAST_RATIO) / 600;
    private static final int RETRACTION_STEPS = 20;
    private static final int DECODE_LOG_INTERVAL = 40;

    private final EmulatorSettings settings;
    private final boolean pinBranch;
    private final int page;
    private final EngineClock clock;
    private final BlockNaming naming;
    private final ToyModel.Sampler model;
    private final Consumer<List<CacheEvent>> publisher;
    private final BooleanSupplier stopping;
    private final RadixCache cache;
    private final Deque<Generation> waiting = new ArrayDeque<>();
    private final List<Generation> running = new ArrayList<>();

    private boolean batchFull;
    private double newTokenRatio = FIRST_RATIO;
    private int prefills;
    private long decodeSteps;
    private double cacheHitRate;
    private long cachedTokens;
    private long aborted;
    private long retracted;
    private RequestTally whole = RequestTally.NONE;
    private RequestTally streamed = RequestTally.NONE;
    private volatile EngineStats stats;

    /** @param stopping ends waiting for the GPU early when true; the thread is unparked for it */
    Scheduler(
            EmulatorSettings settings,
            EngineClock clock,
            BlockNaming naming,
            ToyModel.Sampler model,
            Consumer<List<CacheEvent>> publisher,
            BooleanSupplier stopping) {
        this.settings = settings;
        this.pinBranch = settings.variant() == Variant.PIN_GPU;
        this.page = settings.pageTokens();
        this.clock = clock;
        this.naming = naming;
        this.model = model;
        this.publisher = publisher;
        this.stopping = stopping;
        boolean pinsLock = settings.faults().stream().noneMatch(Fault.PinIgnored.class::isInstance);
        this.cache = new RadixCache(settings.capacityTokens(), page, pinsLock);
        this.stats = snapshot(0);
    }

    void submit(Generation request) {
        waiting.add(request);
        stats = snapshot(0);
    }

    /** The client went away: the request is dropped, or ends with what it has. */
    void abort(Generation request) {
        if (waiting.remove(request)) {
            aborted++;
        } else if (running.remove(request)) {
            aborted++;
            batchFull = false;
            end(request);
            publish();
        }
        stats = snapshot(0);
    }

    /** Empties the cache, pins included; refused while a request runs or waits. */
    boolean flush() {
        if (!running.isEmpty() || !waiting.isEmpty()) {
            log.info(
                    "Cache not flushed because there are pending requests. #queue-req: {}, #running-req: {}",
                    waiting.size(),
                    running.size());
            return false;
        }
        cache.clear();
        publish();
        stats = snapshot(0);
        log.info("Cache flushed successfully!");
        return true;
    }

    int pin(long[] blocks) {
        int pinned = cache.pin(blocks);
        stats = snapshot(0);
        return pinned;
    }

    int unpin(long[] blocks) {
        int unpinned = cache.unpin(blocks);
        stats = snapshot(0);
        return unpinned;
    }

    /** One pass; false when there was nothing that could be done. */
    boolean step() {
        if (prefillNext() || decodeAll()) {
            return true;
        }
        newTokenRatio = FIRST_RATIO;
        publish();
        stats = snapshot(0);
        return false;
    }

    /** From any thread: the numbers after the last change. */
    EngineStats stats() {
        return stats;
    }

    RadixCache cache() {
        return cache;
    }

    private boolean prefillNext() {
        Generation next = waiting.peek();
        if (next == null || batchFull) {
            return false;
        }
        if (running.size() >= settings.maxRunning()) {
            batchFull = true;
            return false;
        }
        int[] tokens = next.tokens();
        RadixCache.Match match =
                cache.match(next.namespace, naming.names(tokens, next.namespace), (tokens.length - 1) / page);
        int extend = tokens.length - match.tokens();
        if (!admit(extend + Math.min(next.left(), COUNTED_ANSWER), match.node())) {
            batchFull = true;
            if (pinBranch && running.isEmpty()) {
                unpinForRoom(extend);
            }
            return false;
        }
        waiting.remove();
        makeRoom(page == 1 ? extend : extend + page);
        int slots = pagesOf(extend) * page;
        cache.take(slots);
        next.admitted(match, tokens.length, slots);
        cacheHitRate = match.tokens() / (double) tokens.length;
        stats = snapshot(1);
        busyFor(prefillNanos(extend));
        if (!stopping.getAsBoolean()) {
            firstToken(next);
        }
        return true;
    }

    private void firstToken(Generation request) {
        boolean first = request.answered() == 0;
        request.answer(model.token(request.prompt, request.answered()));
        if (first) {
            double seconds = (clock.nanos() - request.arrivalNanos) / 1e9;
            if (request.streamed) {
                streamed = streamed.firstToken(seconds);
            } else {
                whole = whole.firstToken(seconds);
            }
        }
        if (request.done()) {
            finish(request);
        } else {
            store(request, request.filled);
            running.add(request);
        }
        publish();
        stats = snapshot(0);
        tell(request);
    }

    private boolean decodeAll() {
        if (running.isEmpty()) {
            return false;
        }
        makeRoom((pinBranch ? fullPages() : running.size()) * page);
        if (!retractUntilItFits()) {
            return true;
        }
        for (Generation request : running) {
            if (request.computed % page == 0) {
                cache.take(page);
                request.held += page;
            }
            request.computed++;
        }
        busyFor(settings.decodeMillis() * 1_000_000);
        if (stopping.getAsBoolean()) {
            return true;
        }
        newTokenRatio = Math.max(newTokenRatio - RATIO_STEP, LAST_RATIO);
        List<Generation> batch = List.copyOf(running);
        for (Generation request : batch) {
            request.answer(model.token(request.prompt, request.answered()));
            if (request.done()) {
                running.remove(request);
                finish(request);
            }
        }
        decodeSteps++;
        if (running.size() < batch.size()) {
            batchFull = false;
            publish();
        } else if (pinBranch && decodeSteps % DECODE_LOG_INTERVAL == 0) {
            publish();
        }
        stats = snapshot(0);
        batch.forEach(Scheduler::tell);
        return true;
    }

    /** Sends requests back to the queue until the rest has its pages; false when the last one cannot have its page. */
    private boolean retractUntilItFits() {
        int before = running.size();
        while (cache.freeTokens() < fullPages() * page) {
            if (running.size() == 1) {
                if (pinBranch) {
                    throw new EngineDeath("ValueError: Out of memory even after retracting all other requests");
                }
                Generation last = running.removeFirst();
                end(last);
                aborted++;
                batchFull = false;
                publish();
                stats = snapshot(0);
                last.listener.failed("Out of memory even after retracting all other requests in the decode batch.");
                return false;
            }
            Generation victim = running.stream()
                    .min(Comparator.comparingInt(Generation::answered).thenComparingInt(r -> -r.prompt.length))
                    .orElseThrow();
            running.remove(victim);
            cache.giveBack(victim.held);
            cache.unlock(victim.node);
            waiting.add(victim);
            retracted++;
            makeRoom(fullPages() * page);
        }
        if (running.size() < before) {
            batchFull = false;
            int said = running.stream().mapToInt(Generation::answered).sum();
            int may = running.stream().mapToInt(request -> request.maxNew).sum();
            newTokenRatio = Math.min(1, (said + RETRACTION_STEPS * running.size()) / (double) (may + 1));
            log.info(
                    "KV cache pool is full. Retract requests. #retracted_reqs: {}, #new_token_ratio: {}",
                    before - running.size(),
                    newTokenRatio);
        }
        return true;
    }

    /** Whether the wanted tokens fit beside what runs; if so, the prefix is locked. */
    private boolean admit(int wanted, RadixNode prefix) {
        if (wanted >= room()) {
            return false;
        }
        cache.lock(prefix);
        if (wanted < room()) {
            return true;
        }
        cache.unlock(prefix);
        return false;
    }

    private double room() {
        double room = cache.freeTokens() + cache.evictableTokens();
        for (Generation request : running) {
            room -= Math.min(request.left(), COUNTED_ANSWER) * newTokenRatio;
        }
        return room;
    }

    private void unpinForRoom(int extend) {
        int pinned = cache.protectedTokens();
        int total = cache.capacityTokens();
        if (pinned > total - extend) {
            int unpinned = cache.unpinAll();
            log.warn(
                    "Request unschedulable due to pinned KV cache: request needs {} tokens, but {}/{} tokens are pinned"
                            + " (only {} unpinnable). Auto-unpinned {} blocks.",
                    extend,
                    pinned,
                    total,
                    total - pinned,
                    unpinned);
        }
    }

    private void makeRoom(int tokens) {
        int missing = tokens - cache.freeTokens();
        if (missing > 0) {
            cache.evict(pinBranch ? tokens : missing);
        }
    }

    private int fullPages() {
        return (int)
                running.stream().filter(request -> request.computed % page == 0).count();
    }

    private int pagesOf(int tokens) {
        return (tokens + page - 1) / page;
    }

    private void finish(Generation request) {
        cachedTokens += request.cachedTokens();
        if (request.streamed) {
            streamed = streamed.answered(request.prompt.length, request.answered());
        } else {
            whole = whole.answered(request.prompt.length, request.answered());
        }
        end(request);
    }

    private void end(Generation request) {
        store(request, pinBranch ? request.filled : request.computed);
        cache.giveBack(request.held);
        cache.unlock(request.node);
    }

    /** Puts the first tokens of the request into the tree and moves its lock there; its copies of known blocks are freed. */
    private void store(Generation request, int length) {
        int[] tokens = request.tokens();
        RadixCache.Insertion stored =
                cache.insert(request.namespace, naming.names(tokens, request.namespace), length / page, tokens);
        int inTree = length / page * page;
        cache.giveBack(Math.max(0, stored.present() - request.inTree));
        request.held -= inTree - request.inTree;
        request.inTree = inTree;
        cache.lock(stored.node());
        cache.unlock(request.node);
        request.node = stored.node();
    }

    private void publish() {
        List<CacheEvent> batch = cache.drainEvents();
        if (!batch.isEmpty()) {
            publisher.accept(batch);
        }
    }

    private static void tell(Generation request) {
        request.listener.token(request.lastToken(), request.answered(), request.cachedTokens(), request.done());
    }

    /** The GPU's time for one prefill, faults of this server life included. */
    private long prefillNanos(int uncached) {
        double nanos = 1e3 * (settings.firstTokenMicros() + (double) settings.prefillMicrosPerToken() * uncached);
        double factor = 1;
        long extra = 0;
        prefills++;
        for (Fault fault : settings.faults()) {
            switch (fault) {
                case Fault.Warming warming -> factor *= prefills <= warming.requests() ? Fault.Warming.FACTOR : 1;
                case Fault.ColdFirstWave wave ->
                    extra += prefills <= wave.requests() ? wave.extra().toNanos() : 0;
                case Fault.PinIgnored _ -> {}
            }
        }
        return Math.round(nanos * factor) + extra;
    }

    private void busyFor(long nanos) {
        long deadline = clock.nanos() + nanos;
        while (!stopping.getAsBoolean() && clock.nanos() - deadline < 0) {
            clock.await(deadline);
        }
    }

    private EngineStats snapshot(int inPrefill) {
        return new EngineStats(
                running.size() + inPrefill,
                waiting.size(),
                cache.capacityTokens(),
                cache.freeTokens(),
                cache.evictableTokens(),
                cache.protectedTokens(),
                newTokenRatio,
                cacheHitRate,
                cachedTokens,
                cache.evictedTokens(),
                aborted,
                retracted,
                whole,
                streamed);
    }
}
