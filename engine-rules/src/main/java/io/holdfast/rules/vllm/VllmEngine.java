package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.Pass;
import io.holdfast.rules.engine.RequestTally;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.vllm.VllmSettings.Policy;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * vLLM's scheduler. One thread calls it; a call of step() is one pass and takes as long as the GPU would.
 *
 * A pass
 * ------
 * There is no prefill and no decode, only tokens that a request has and that are not computed yet: many of a new
 * prompt, one of a request that just said a token. Running requests come first, in the order of their admission, then
 * waiting ones, until the pass has its tokens; a prompt that does not fit goes on in the next pass, as a running
 * request. Then the GPU computes all of it at once, and each request whose last token was computed says another.
 *
 * Room
 * ----
 * A waiting request is admitted when all that it has so far would fit, with the hits that would leave the queue of free
 * blocks; if the first one is not, nobody behind it is looked at. A running one gets its blocks as it needs them. Where
 * there are none, the request admitted last loses all of its own and goes back to the front of the queue, with what it
 * said; then the next one, until the request at hand has its blocks or has lost them itself. What they lose keeps its
 * names, so they find much of it again. In a pass with a preemption nobody is admitted.
 *
 * Nothing else is evicted for anybody, and no room is kept for what requests will say: admission is generous, and
 * preemption pays for it.
 *
 * Events
 * ------
 * What a pass did leaves in one frame when it is over, before its tokens are told. A clear is queued like any event, so
 * that an idle engine does not tell of it before the next request; but an engine makes one more empty pass after a
 * request has ended.
 *
 * Holds
 * -----
 * A connector holds blocks for requests, see HeldBlocks. An engine that could schedule nothing for a while, though a
 * request waits for blocks that are held, gets them from Holdfast's, and from NIXL when a lease is over.
 *
 * Not followed: asynchronous scheduling, which has the next pass scheduled before this one's tokens are known. Blocks
 * and names are the same with it, but a block that an answer filled is named one pass later.
 */
public final class VllmEngine implements Engine {
    private static final Logger log = LoggerFactory.getLogger(VllmEngine.class);

    private final VllmSettings settings;
    private final Faults faults;
    private final EngineClock clock;
    private final Gpu gpu;
    private final Model model;
    private final Consumer<List<CacheEvent>> publisher;
    private final PagedCache cache;
    private final HeldBlocks holds;
    private final StageRules stage;
    private final WaitingLine waiting;
    private final List<VllmRequest> running = new ArrayList<>();

    /** Requests that this pass computes, in order. */
    private final List<VllmRequest> batch = new ArrayList<>();

    private Pass pass = Pass.decode(0);
    private boolean ended;
    private int limit = Integer.MAX_VALUE;
    private int refusedResets;
    private long prefixQueries;
    private long prefixHits;
    private long preemptions;
    private long aborted;
    private long failed;
    private long promptTokens;
    private long cachedTokens;
    private long generatedTokens;
    private long passes;
    private RequestTally answered = VllmTimes.NO_REQUESTS;
    private VllmTimes times = VllmTimes.NONE;
    private volatile VllmStats stats;

    /**
     * @param clock measures what the engine says of its own times
     * @param memory of the cache's blocks
     */
    public VllmEngine(
            VllmSettings settings,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher,
            ElasticPool memory) {
        this.settings = settings;
        this.faults = faults;
        this.clock = clock;
        this.gpu = gpu;
        this.model = model;
        this.publisher = publisher;
        this.cache = new PagedCache(settings, memory);
        this.holds = new HeldBlocks(settings, cache.pool(), clock, faults);
        this.stage = new StageRules(settings.stage(), gpu);
        this.waiting = new WaitingLine(settings.policy());
        this.stats = snapshot();
    }

    @Override
    public void submit(Generation request) {
        VllmRequest arrived = cache.request(request);
        holds.arrived(arrived);
        waiting.add(arrived);
    }

    @Override
    public void abort(Generation request) {
        Optional<VllmRequest> found = Stream.concat(running.stream(), waiting.inOrder().stream())
                .filter(one -> one.generation == request)
                .findFirst();
        if (found.isPresent()) {
            if (running.remove(found.get())) {
                cache.release(found.get());
            } else {
                waiting.remove(found.get());
            }
            aborted++;
            ended = true;
        }
    }

    /**
     * Empties the cache; refused while a request has blocks.
     *
     * @param alsoRunning preempts what runs first, so that none has
     */
    public boolean resetPrefixCache(boolean alsoRunning) {
        if (refusedResets
                < faults.find(CacheFault.FlushRefused.class)
                        .map(CacheFault.FlushRefused::times)
                        .orElse(0)) {
            refusedResets++;
            return false;
        }
        while (alsoRunning && !running.isEmpty()) {
            preempt(running.removeLast());
        }
        holds.beforeReset();
        if (cache.clear()) {
            gpu.cacheEmptied();
            log.info("Successfully reset prefix cache");
            return true;
        }
        log.warn(
                "Failed to reset prefix cache because some blocks ({}) are not freed yet",
                cache.pool().inUse());
        return false;
    }

    /** Makes the cache as if it had so many blocks that can be used, or lets it have all that it has. */
    public void limitBlocks(int most) {
        limit = most;
        applyLimit();
    }

    @Override
    public boolean step() {
        if (!stage.isReady()) {
            stage.capture();
            applyLimit();
            stats = snapshot();
            return true;
        }
        if (running.isEmpty() && waiting.isEmpty()) {
            stage.idle();
            if (!ended && !holds.leased()) {
                return false;
            }
        } else if (stage.gathers(running.isEmpty())) {
            return true;
        }
        boolean lastOne = ended;
        ended = false;
        applyLimit();
        holds.sweep();
        schedule();
        while (isStalled() && holds.givesWay()) {
            admit(settings.maxBatchedTokens());
        }
        if (!isStalled()) {
            holds.moves();
        }
        pass = scheduled();
        if (!batch.isEmpty() && !stage.run(pass, batch)) {
            return true;
        }
        List<VllmRequest> told = say();
        List<CacheEvent> events = cache.drainEvents();
        if (!events.isEmpty() && !settings.is(Profile.RESTORE)) {
            publisher.accept(events);
        }
        stats = snapshot();
        told.forEach(request -> request.generation.tell());
        if (isStalled() ? holds.any() : batch.isEmpty() && holds.leased()) {
            clock.await(holds.nextNanos());
            return true;
        }
        return lastOne || !batch.isEmpty() || !events.isEmpty();
    }

    @Override
    public long answered() {
        return stats.answered().requests();
    }

    /** From any thread: the numbers after the last pass. */
    public VllmStats stats() {
        return stats;
    }

    /** The work of the last pass; engine thread only. */
    Pass pass() {
        return pass;
    }

    /** Engine thread only, for those who look into it. */
    PagedCache cache() {
        return cache;
    }

    /** In the order of their admission; engine thread only. */
    List<VllmRequest> running() {
        return running;
    }

    /** In the order in which they will be looked at; engine thread only. */
    List<VllmRequest> waiting() {
        return waiting.inOrder();
    }

    /** Returns the blocks that the connector holds, by the name of the hold. */
    public Map<String, Set<Long>> held() {
        return holds.hashes();
    }

    /** Returns true if nothing was scheduled though a request waits. */
    private boolean isStalled() {
        return batch.isEmpty() && !waiting.isEmpty();
    }

    private void applyLimit() {
        int usable = settings.blocks() - 1 - stage.graphBlocks();
        int fallen = faults.find(CacheFault.CapacityFalls.class)
                .filter(fault -> answered.requests() >= fault.requests())
                .map(fault -> (int) Math.round(usable * (1 - fault.percent() / 100)))
                .orElse(usable);
        if (Math.min(limit, fallen) != cache.pool().capacity()) {
            cache.pool().limit(Math.min(limit, fallen));
        }
    }

    private void schedule() {
        batch.clear();
        long preemptedBefore = preemptions;
        int left = continueRunning();
        if (preemptions == preemptedBefore) {
            admit(left);
        }
    }

    /** Schedules running requests; the tokens that the pass has left. */
    private int continueRunning() {
        int left = settings.maxBatchedTokens();
        int next = 0;
        while (next < running.size() && left > 0) {
            VllmRequest request = running.get(next);
            int uncached = request.generation.prompt().length - request.cached;
            int tokens = stage.share(request.length() - request.computed, uncached, left, batch);
            if (tokens == 0) {
                next++;
                continue;
            }
            if (tokens == 1
                    && request.generation.answered() > 0
                    && faults.has(CacheFault.DecodeCannotEvict.class)
                    && !cache.extendsWithoutEviction(request, tokens)) {
                giveUp(request);
                continue;
            }
            while (!cache.extend(request, tokens)) {
                VllmRequest victim = victim();
                next -= running.indexOf(victim) < next ? 1 : 0;
                running.remove(victim);
                left += batch.remove(victim) ? victim.scheduled : 0;
                preempt(victim);
                if (victim == request) {
                    return left;
                }
            }
            schedule(request, tokens);
            left -= tokens;
            next++;
        }
        return left;
    }

    private void admit(int budget) {
        int left = budget;
        boolean admits = stage.admits(running.isEmpty());
        while (admits && left > 0 && running.size() < settings.maxRunning()) {
            Optional<VllmRequest> first = waiting.first();
            if (first.isEmpty()) {
                return;
            }
            VllmRequest request = first.get();
            int hits = cache.find(request);
            int hitTokens = hits * settings.blockTokens() + request.restored;
            int missing = request.length() - hitTokens;
            int tokens = stage.share(missing, missing, left, batch);
            if (tokens == 0) {
                return;
            }
            int promised = settings.stage().isPresent() ? cache.promised(running, request) : 0;
            boolean fits = cache.admit(request, hits, tokens, promised);
            if (!request.preempted && (fits || settings.release() == Release.V0_22)) {
                prefixQueries += request.length();
                prefixHits += hitTokens;
            }
            if (!fits) {
                return;
            }
            waiting.remove(request);
            running.add(request);
            if (!request.preempted) {
                request.admittedNanos = clock.nanos();
            }
            if (!request.preempted || settings.release() == Release.V0_22) {
                request.cached = hitTokens;
            }
            schedule(request, tokens);
            left -= tokens;
        }
    }

    private void schedule(VllmRequest request, int tokens) {
        request.scheduled = tokens;
        batch.add(request);
    }

    private VllmRequest victim() {
        return settings.policy() == Policy.PRIORITY
                ? running.stream().max(WaitingLine.BY_PRIORITY).orElseThrow()
                : running.getLast();
    }

    private void preempt(VllmRequest request) {
        cache.release(request);
        request.preempted = true;
        preemptions++;
        waiting.putBack(request);
    }

    private void giveUp(VllmRequest request) {
        running.remove(request);
        cache.release(request);
        ended = true;
        failed++;
        request.generation.fail("Cannot allocate 1 blocks: only 0 free");
    }

    private Pass scheduled() {
        int prefillTokens = 0;
        int prefills = 0;
        int firsts = 0;
        for (VllmRequest request : batch) {
            boolean first = request.generation.answered() == 0;
            if (request.isRead()) {
                prefillTokens += request.scheduled;
                prefills++;
                firsts += first && request.computed == request.length() ? 1 : 0;
            }
        }
        return new Pass(prefillTokens, prefills, firsts, batch.size() - prefills, 0);
    }

    /** Has every request that is computed say a token; those that did. */
    private List<VllmRequest> say() {
        List<VllmRequest> told = new ArrayList<>(batch.size());
        long now = clock.nanos();
        for (VllmRequest request : batch) {
            if (request.computed == request.length()) {
                request.generation.found(request.cached, request.restored);
                request.generation.answer(model.next(request.generation));
                count(request, now);
                told.add(request);
                if (request.generation.done()) {
                    holds.finished(request, settings.blockTokens());
                    cache.release(request);
                    ended = true;
                }
            }
        }
        running.removeIf(request -> request.generation.done());
        passes += told.isEmpty() ? 0 : 1;
        return told;
    }

    private void count(VllmRequest request, long now) {
        Generation generation = request.generation;
        int promptLength = generation.prompt().length;
        generatedTokens++;
        if (generation.answered() == 1) {
            request.firstTokenNanos = now;
            promptTokens += promptLength;
            cachedTokens += generation.cachedTokens();
            answered = answered.firstToken(VllmTimes.seconds(generation.arrivalNanos(), now));
        } else {
            times = times.token(VllmTimes.seconds(request.lastTokenNanos, now));
        }
        request.lastTokenNanos = now;
        if (generation.done()) {
            answered = answered.answered(promptLength, generation.answered());
            times = times.answered(
                    generation.arrivalNanos(),
                    request.admittedNanos,
                    request.firstTokenNanos,
                    now,
                    generation.answered());
        }
    }

    private VllmStats snapshot() {
        return new VllmStats(
                stage.isReady(),
                running.size(),
                waiting.size(),
                cache.pool().capacity(),
                cache.pool().free(),
                prefixQueries,
                prefixHits,
                preemptions,
                aborted,
                failed,
                promptTokens,
                cachedTokens,
                generatedTokens,
                passes,
                holds.expired(),
                answered,
                times);
    }
}
