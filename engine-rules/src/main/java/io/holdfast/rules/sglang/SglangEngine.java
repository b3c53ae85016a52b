package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.Pass;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.RequestTally;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.PrefillBatch.Verdict;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/*
 * SGLang's scheduler, without overlap of passes. One thread calls it; a call of step() is one pass of the engine's loop and
 * takes as long as the GPU would.
 *
 * A pass
 * ------
 * Prefill goes before decode. A pass prefills as many waiting requests as PrefillBatch admits, in the order of the queue, and
 * each says its first token; if there is none, every running request says one more, for which DecodeRoom finds the room or
 * sends some of them back to the queue. A prompt that is longer than a chunk goes on in the next pass, and until it is through
 * nobody decodes. What a chunk computed enters the tree when the next pass begins.
 *
 * The full flag
 * -------------
 * Where the batch has no room for a request, nobody looks at the queue again before a request leaves the batch, by its end, a
 * retraction, or as a chunk; but the flag belongs to the running batch, and is lost when the prompts of a pass become one
 * while nothing else runs. With nothing running at all the release looks in every pass: a request for which an empty cache
 * has no room waits for ever, and so do those behind it. The branches that pin set the flag then as well (but not with a host tier),
 * and nothing clears it: with pins that leave no room the server has stopped for good. The safety net of the branches releases
 * all pins once when what is pinned leaves no room for the prompt; it does not count the answer, and does not clear the flag.
 *
 * Two engines
 * -----------
 * The release evicts what is missing, wants a free page per running request in each decode step, and stores prompt and
 * answer (all but the last token) when a request ends. The branches evict the whole amount when less is free, want pages
 * only where one is full, and but for the release candidate store prompts only. With one token to say, a prompt is stored
 * once, at the end.
 *
 * Events leave after each prefill, at every 40th decode step since the start, and when there is nothing to do: what decoding stores
 * and evicts waits for one of these, whoever ends meanwhile.
 *
 * Ends
 * ----
 * A request whose client goes away while it waits is dropped. One that runs says a token more and is stored like any other; one
 * whose prompt is being cut into chunks is dropped, and what its chunks computed stays in the tree.
 *
 * Not followed: the overlapped loop, which has a pass under way while the results of the one before are looked at. Blocks and
 * names are the same with it, but requests end a pass later.
 */
public final class SglangEngine implements Engine {
    private final SglangSettings settings;
    private final Variant variant;
    private final Faults faults;
    private final EngineClock clock;
    private final Gpu gpu;
    private final Model model;
    private final Consumer<List<CacheEvent>> publisher;
    private final RadixCache cache;
    private final RequestKv kv;
    private final DecodeRoom room;
    private final WaitingQueue waiting;
    private final StreamingSessions streaming;
    private final SchedulerLog log;
    private RequestTally answered = RequestTally.NONE;
    private long cachedTokens;
    private final NewTokenRatio ratio = new NewTokenRatio();
    private final List<RadixRequest> running = new ArrayList<>();

    /** The request whose prompt is being prefilled in chunks. */
    private Optional<RadixRequest> cut = Optional.empty();

    private boolean batchFull;
    private int limit = Integer.MAX_VALUE;
    private int refusedFlushes;
    private long submitted;
    private long aborted;
    private volatile SglangStats stats;
    private volatile SglangStats reported;
    private long reportedNanos;

    /**
     * @param clock stamps what the engine says of its own times
     * @param memory of the cache's blocks
     */
    public SglangEngine(
            SglangSettings settings,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher,
            ElasticPool memory) {
        this.settings = settings;
        this.variant = settings.variant();
        this.faults = faults;
        this.clock = clock;
        this.gpu = gpu;
        this.model = model;
        this.publisher = publisher;
        this.cache = new RadixCache(settings, faults, memory);
        this.kv = new RequestKv(cache, settings);
        this.room = new DecodeRoom(cache, kv, settings, faults);
        this.waiting = new WaitingQueue(settings);
        this.streaming = new StreamingSessions(cache);
        this.log = new SchedulerLog(clock);
        this.stats = snapshot(0);
        this.reported = stats;
    }

    @Override
    public void submit(Generation request) {
        RequestOptions terms = request.terms();
        if (settings.streaming() && !terms.session().isEmpty()) {
            Optional<String> refusal = streaming.arrived(terms.session(), request, clock.nanos());
            if (refusal.isPresent()) {
                request.refuse(refusal.get());
                return;
            }
        }
        request.limitAnswer(settings.maxAnswerTokens(request.prompt().length));
        String session = settings.sessions() ? terms.session() : "";
        Namespace space = variant == Variant.STOCK ? Namespace.of(terms) : Namespace.unsalted(terms);
        waiting.add(new RadixRequest(
                request,
                session.isEmpty()
                        ? Optional.empty()
                        : Optional.of(cache.sessions().arrived(session)),
                new TokenChain(space, settings.streaming() ? "" : terms.session(), settings.pageTokens()),
                terms.priority() == 0 || cache.holdFaults().keepsHold() ? terms.priority() : 0));
        submitted++;
        if (faults.find(CacheFault.AutoUnpin.class)
                .filter(fault -> submitted % fault.requests() == 0)
                .isPresent()) {
            cache.pins().unpinAll();
        }
        stats = snapshot(0);
    }

    @Override
    public void abort(Generation request) {
        boolean here = waiting.remove(request);
        for (RadixRequest active : running) {
            if (active.request == request && !active.aborted) {
                active.aborted = true;
                here = true;
            }
        }
        if (cut.isPresent() && cut.get().request == request) {
            kv.release(cut.get());
            cache.settle();
            cut = Optional.empty();
            here = true;
        }
        aborted += here ? 1 : 0;
        if (running.stream().noneMatch(active -> active.request == request)) {
            streaming.dropped(request);
        }
        stats = snapshot(0);
    }

    /** Empties the cache, pins included; refused while a request runs or waits. */
    public boolean flush() {
        if (!isIdle() || refusesFlush()) {
            log.notFlushed(waiting.size(), running.size());
            return false;
        }
        if (variant == Variant.PIN_HOST && !cache.pins().isEmpty()) {
            cache.evictAll();
        } else {
            cache.clear();
            streaming.cleared();
        }
        gpu.cacheEmptied();
        publish();
        stats = snapshot(0);
        log.flushed();
        return true;
    }

    /** Pins each block once more, where the variant pins blocks. */
    public PinAnswer pin(long[] blocks) {
        PinAnswer answer = cache.pins().pin(blocks);
        stats = snapshot(0);
        return answer;
    }

    /** Takes one pin from each block, where the variant pins blocks. */
    public PinAnswer unpin(long[] blocks) {
        PinAnswer answer = cache.pins().unpin(blocks);
        stats = snapshot(0);
        return answer;
    }

    /**
     * Opens a streaming session; false where one of that id is open.
     *
     * @param time so long after its last request it ends; absent: it does not
     */
    public boolean openSession(String session, Optional<Duration> time) {
        return streaming.open(session, time, clock.nanos());
    }

    /** Gives up what the session refers to or locks; one that is not open is none. */
    public void closeSession(String session) {
        cache.sessions().close(session);
        streaming.close(session);
        stats = snapshot(0);
    }

    /** Makes the cache as if it could hold no more than so many tokens, or lets it have all that it has. */
    public void limitTokens(int most) {
        limit = Math.max(0, most);
        applyLimit();
        stats = snapshot(0);
    }

    @Override
    public boolean step() {
        applyLimit();
        streaming.look(clock.nanos());
        cut.ifPresent(kv::keep);
        if (prefill() || decode()) {
            return true;
        }
        log.idle();
        if (isIdle()) {
            publish();
            ratio.reset();
            if (reported.running() > 0 || clock.nanos() - reportedNanos > SchedulerLog.STALE_NANOS) {
                log.idles();
                report(0);
            }
        }
        stats = snapshot(0);
        OptionalLong next = waiting.isEmpty() ? OptionalLong.empty() : streaming.nextLookNanos(clock.nanos());
        next.ifPresent(clock::await);
        return next.isPresent();
    }

    @Override
    public long answered() {
        return stats.answered().requests();
    }

    /** From any thread: the numbers after the last change. */
    public SglangStats stats() {
        return stats;
    }

    /** From any thread: the numbers when a batch was last logged, as the engine's gauges show them. */
    public SglangStats reported() {
        return reported;
    }

    /** Engine thread only, for those who look into it. */
    StreamingSessions streaming() {
        return streaming;
    }

    /** Engine thread only, for those who look into it. */
    RadixCache cache() {
        return cache;
    }

    private boolean isIdle() {
        return running.isEmpty() && waiting.isEmpty() && cut.isEmpty();
    }

    private boolean prefill() {
        if (running.isEmpty() && variant == Variant.STOCK) {
            batchFull = false;
        }
        if (cut.isEmpty() && !looksAtQueue()) {
            return false;
        }
        cache.ask();
        waiting.arrange(cache);
        PrefillBatch batch = new PrefillBatch(cache, settings, running, ratio.current());
        cut.ifPresent(batch::resume);
        admit(batch);
        if (batch.isEmpty()) {
            unpinForRoom();
            return false;
        }
        cut = batch.cut();
        log.begins();
        batch.allocate();
        stats = snapshot(batch.size());
        if (gpu.run(
                Pass.prefill(batch.newTokens(), batch.size(), batch.firsts()).holding(idleHolds()))) {
            prefilled(batch);
        }
        return true;
    }

    private boolean looksAtQueue() {
        batchFull |= !waiting.isEmpty() && running.size() >= settings.maxRunning();
        return !batchFull && !waiting.isEmpty();
    }

    private void admit(PrefillBatch batch) {
        Verdict verdict = batch.verdict();
        if (verdict == Verdict.NO_BUDGET) {
            return;
        }
        do {
            Optional<RadixRequest> next = waiting.first();
            if (next.isEmpty()) {
                return;
            }
            batchFull |= batch.size() >= settings.maxRunning() - running.size();
            if (batchFull) {
                return;
            }
            int before = batch.size();
            verdict = batch.add(next.get());
            if (batch.size() > before) {
                waiting.removeFirst();
            }
        } while (verdict == Verdict.MORE);
        if (verdict == Verdict.NO_ROOM) {
            boolean always = variant != Variant.STOCK && settings.hostRatio() == 0;
            batchFull = always || !batch.isEmpty() || !running.isEmpty();
        }
    }

    private void unpinForRoom() {
        Optional<RadixRequest> first = waiting.first();
        if (variant.pinsBlocks() && running.isEmpty() && first.isPresent()) {
            TokenChain chain = first.get().chain();
            int extend = chain.length()
                    - cache.match(chain, (chain.length() - 1) / settings.pageTokens())
                            .onGpu();
            int pinned = cache.protectedTokens();
            int total = cache.capacityTokens();
            if (pinned > total - extend) {
                log.unpinned(extend, pinned, total, cache.pins().unpinAll());
            }
        }
    }

    private void prefilled(PrefillBatch batch) {
        int before = running.size();
        batchFull &= before > 0;
        List<RadixRequest> told = new ArrayList<>(batch.size());
        for (RadixRequest active : batch.requests()) {
            if (cut.isPresent() && cut.get() == active) {
                batchFull = false;
                continue;
            }
            active.request.answer(model.next(active.request));
            if (active.request.answered() == 1) {
                answered = answered.firstToken((clock.nanos() - active.request.arrivalNanos()) / 1e9);
            }
            if (active.ends()) {
                batchFull = false;
                finish(active);
            } else {
                kv.keep(active);
                running.add(active);
            }
            told.add(active);
        }
        long pending = waiting.tokens() + cutTokens();
        log.prefilled(batch, before, waiting, pending, cache);
        report(before);
        publish();
        stats = snapshot(0);
        tell(told);
    }

    private boolean decode() {
        if (running.isEmpty()) {
            return false;
        }
        log.begins();
        int free = cache.freeTokens();
        DecodeRoom.Outcome outcome = room.make(running);
        if (outcome.isRoom()) {
            ratio.decay();
        } else {
            retracted(outcome, free);
        }
        if (running.isEmpty()) {
            stats = snapshot(0);
            return true;
        }
        room.take(running);
        if (gpu.run(Pass.decode(running.size()).holding(idleHolds()))) {
            decoded();
        }
        return true;
    }

    private void retracted(DecodeRoom.Outcome outcome, int freeBefore) {
        batchFull = false;
        aborted += outcome.lost().size();
        if (outcome.evicting()) {
            double before = ratio.current();
            ratio.estimate(running);
            log.retracted(outcome, cache.freeTokens() - freeBefore, before, ratio.current());
        }
        outcome.retracted().forEach(waiting::add);
        outcome.lost().forEach(lost -> {
            streaming.dropped(lost.request);
            lost.request.fail(outcome.message());
        });
    }

    private void decoded() {
        List<RadixRequest> batch = List.copyOf(running);
        for (RadixRequest active : batch) {
            active.request.answer(model.next(active.request));
            if (active.ends()) {
                batchFull = false;
                finish(active);
            }
        }
        running.removeIf(RadixRequest::ends);
        if (log.decoded(batch.size(), waiting, cache)) {
            report(batch.size());
            publish();
        }
        stats = snapshot(0);
        tell(batch);
    }

    private static void tell(List<RadixRequest> batch) {
        for (RadixRequest active : batch) {
            if (!active.aborted) {
                active.request.tell();
            }
        }
    }

    private void finish(RadixRequest active) {
        if (active.aborted || !cache.holdFaults().keepsHold() || !streaming.keeps(active)) {
            kv.finish(active);
            streaming.dropped(active.request);
        }
        if (!active.aborted) {
            cachedTokens += active.request.cachedTokens();
            answered = answered.answered(active.request.prompt().length, active.request.answered());
            active.session.ifPresent(session -> cache.sessions().finished(session, active.node));
        }
        cache.settle();
    }

    /** Tokens that pins and sessions hold, for the fault that lets them cost time; none without it. */
    private int idleHolds() {
        if (!faults.has(GpuFault.HoldsSlow.class)) {
            return 0;
        }
        int pinned = cache.protectedTokens();
        for (RadixRequest active : running) {
            pinned -= active.inTree;
        }
        return Math.max(0, pinned) + cache.sessions().heldTokens();
    }

    private boolean refusesFlush() {
        int times = faults.find(CacheFault.FlushRefused.class)
                .map(CacheFault.FlushRefused::times)
                .orElse(0);
        boolean refuses = refusedFlushes < times;
        refusedFlushes += refuses ? 1 : 0;
        return refuses;
    }

    private void applyLimit() {
        int fallen = faults.find(CacheFault.CapacityFalls.class)
                .filter(fault -> answered() >= fault.requests())
                .map(fault -> (int) Math.round(settings.capacityTokens() * (1 - fault.percent() / 100)))
                .orElse(Integer.MAX_VALUE);
        int most = Math.min(settings.capacityTokens(), Math.min(limit, fallen));
        cache.limit(most / settings.pageTokens() * settings.pageTokens());
    }

    private void publish() {
        List<CacheEvent> batch = cache.drainEvents();
        if (!batch.isEmpty()) {
            publisher.accept(batch);
        }
    }

    /** Tokens of the prompt in chunks that are still to come. */
    private long cutTokens() {
        return cut.map(request -> request.length() - request.filled).orElse(0);
    }

    private void report(int reportedRunning) {
        reported = snapshot(reportedRunning - running.size());
        reportedNanos = clock.nanos();
        log.reported();
    }

    private SglangStats snapshot(int besideRunning) {
        HostTier host = cache.host();
        return new SglangStats(
                running.size() + besideRunning,
                waiting.size(),
                cache.capacityTokens(),
                cache.freeTokens(),
                cache.evictableTokens(),
                cache.protectedTokens(),
                ratio.current(),
                log.hitRate(),
                cachedTokens,
                cache.evictedTokens(),
                aborted,
                waiting.tokens(),
                cutTokens(),
                Math.round(waiting.tokens() * (1 - log.recentHitRate())) + cutTokens(),
                host.capacityTokens(),
                host.capacityTokens() - host.freeTokens(),
                log.work(),
                answered);
    }
}
