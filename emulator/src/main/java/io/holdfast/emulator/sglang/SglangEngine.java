package io.holdfast.emulator.sglang;

import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Engine;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.EngineDeath;
import io.holdfast.emulator.engine.Generation;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.engine.Model;
import io.holdfast.emulator.engine.Pass;
import io.holdfast.emulator.engine.RequestTally;
import io.holdfast.emulator.engine.Terms;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.sglang.SglangSettings.Variant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
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
public final class SglangEngine implements Engine {
    private static final Logger log = LoggerFactory.getLogger(SglangEngine.class);

    /** Admission counts no more than this of what a request may say. */
    private static final int COUNTED_ANSWER = 4096;

    private static final double FIRST_RATIO = 0.7;
    private static final double LAST_RATIO = 0.14 * FIRST_RATIO;
    private static final double RATIO_STEP = (FIRST_RATIO - LAST_RATIO) / 600;
    private static final int RETRACTION_STEPS = 20;
    private static final int DECODE_LOG_INTERVAL = 40;

    private final SglangSettings settings;
    private final boolean pinBranch;
    private final int page;
    private final EngineClock clock;
    private final Gpu gpu;
    private final Model model;
    private final Consumer<List<CacheEvent>> publisher;
    private final RadixCache cache;
    private final Deque<RadixRequest> waiting = new ArrayDeque<>();
    private final List<RadixRequest> running = new ArrayList<>();

    private boolean batchFull;
    private double newTokenRatio = FIRST_RATIO;
    private long decodeSteps;
    private double cacheHitRate;
    private long cachedTokens;
    private long aborted;
    private long retracted;
    private RequestTally whole = RequestTally.NONE;
    private RequestTally streamed = RequestTally.NONE;
    private volatile SglangStats stats;

    /** @param clock stamps what the engine says of its own times */
    public SglangEngine(
            SglangSettings settings,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher) {
        this.settings = settings;
        this.pinBranch = settings.variant() != Variant.STOCK;
        this.page = settings.pageTokens();
        this.clock = clock;
        this.gpu = gpu;
        this.model = model;
        this.publisher = publisher;
        this.cache = new RadixCache(settings, faults, clock);
        this.stats = snapshot(0);
    }

    @Override
    public void submit(Generation request) {
        String session = settings.sessions() ? request.terms().session() : "";
        Terms terms = request.terms();
        waiting.add(new RadixRequest(
                request,
                session.isEmpty()
                        ? Optional.empty()
                        : Optional.of(cache.sessions().arrived(session)),
                new TokenChain(pinBranch ? Namespace.unsalted(terms) : Namespace.of(terms), terms.session(), page)));
        stats = snapshot(0);
    }

    @Override
    public void abort(Generation request) {
        Optional<RadixRequest> active =
                running.stream().filter(one -> one.request == request).findFirst();
        if (waiting.removeIf(one -> one.request == request)) {
            aborted++;
        } else if (active.isPresent()) {
            running.remove(active.get());
            aborted++;
            batchFull = false;
            end(active.get());
            publish();
        }
        stats = snapshot(0);
    }

    /** Empties the cache, pins included; refused while a request runs or waits. */
    public boolean flush() {
        if (!running.isEmpty() || !waiting.isEmpty()) {
            log.info(
                    "Cache not flushed because there are pending requests. #queue-req: {}, #running-req: {}",
                    waiting.size(),
                    running.size());
            return false;
        }
        if (settings.variant() == Variant.PIN_HOST && !cache.pins().isEmpty()) {
            cache.evictAll();
        } else {
            cache.clear();
        }
        decodeSteps = 0;
        publish();
        stats = snapshot(0);
        log.info("Cache flushed successfully!");
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

    /** Pins the nodes along the tokens for a time, where the variant pins prefixes. */
    public PinAnswer pinPrefix(int[] tokens, double ttlSeconds) {
        return cache.pinPrefix(new TokenChain(Namespace.PLAIN, "", page).grow(tokens), ttlSeconds);
    }

    /** Gives up what the session refers to; one that is not open is none. */
    public void closeSession(String session) {
        cache.sessions().close(session);
    }

    @Override
    public boolean step() {
        if (prefillNext() || decodeAll()) {
            return true;
        }
        newTokenRatio = FIRST_RATIO;
        publish();
        stats = snapshot(0);
        return false;
    }

    @Override
    public long answered() {
        SglangStats now = stats;
        return now.whole().requests() + now.streamed().requests();
    }

    /** From any thread: the numbers after the last change. */
    public SglangStats stats() {
        return stats;
    }

    /** Engine thread only, for those who look into it. */
    RadixCache cache() {
        return cache;
    }

    private boolean prefillNext() {
        RadixRequest next = waiting.peek();
        if (next == null || batchFull) {
            return false;
        }
        if (running.size() >= settings.maxRunning()) {
            batchFull = true;
            return false;
        }
        TokenChain chain = next.chain();
        RadixCache.Match match = cache.match(chain, (chain.length() - 1) / page);
        int missing = chain.length() - match.onGpu();
        if (!admit(missing + Math.min(next.request.left(), COUNTED_ANSWER), match.gpuNode())) {
            batchFull = true;
            if (settings.variant().pinsBlocks() && running.isEmpty()) {
                unpinForRoom(missing);
            }
            return false;
        }
        waiting.remove();
        RadixCache.Match prefix = match.onHost() == 0 ? match : cache.loadBack(match);
        int extend = chain.length() - prefix.tokens();
        cache.makeRoom(page == 1 ? extend : extend + page);
        int slots = pagesOf(extend) * page;
        cache.take(slots);
        next.admitted(prefix, slots);
        next.request.found(prefix.tokens(), prefix.tokens() - match.onGpu());
        cacheHitRate = prefix.tokens() / (double) chain.length();
        stats = snapshot(1);
        if (gpu.run(Pass.prefill(extend, 1, 1))) {
            firstToken(next);
        }
        return true;
    }

    private void firstToken(RadixRequest admitted) {
        Generation request = admitted.request;
        boolean first = request.answered() == 0;
        request.answer(model.next(request));
        if (first) {
            double seconds = (clock.nanos() - request.arrivalNanos()) / 1e9;
            if (request.streamed()) {
                streamed = streamed.firstToken(seconds);
            } else {
                whole = whole.firstToken(seconds);
            }
        }
        if (request.done()) {
            finish(admitted);
        } else {
            store(admitted, admitted.filled);
            running.add(admitted);
        }
        publish();
        stats = snapshot(0);
        request.tell();
    }

    private boolean decodeAll() {
        if (running.isEmpty()) {
            return false;
        }
        cache.makeRoom((pinBranch ? fullPages() : running.size()) * page);
        if (!retractUntilItFits()) {
            return true;
        }
        for (RadixRequest active : running) {
            if (active.computed % page == 0) {
                cache.take(page);
                active.held += page;
            }
            active.computed++;
        }
        if (!gpu.run(Pass.decode(running.size()))) {
            return true;
        }
        newTokenRatio = Math.max(newTokenRatio - RATIO_STEP, LAST_RATIO);
        List<RadixRequest> batch = List.copyOf(running);
        for (RadixRequest active : batch) {
            active.request.answer(model.next(active.request));
            if (active.request.done()) {
                running.remove(active);
                finish(active);
            }
        }
        decodeSteps++;
        if (running.size() < batch.size()) {
            batchFull = false;
            publish();
        } else if (decodeSteps % DECODE_LOG_INTERVAL == 0) {
            publish();
        }
        stats = snapshot(0);
        batch.forEach(active -> active.request.tell());
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
                RadixRequest last = running.removeFirst();
                end(last);
                aborted++;
                batchFull = false;
                publish();
                stats = snapshot(0);
                last.request.fail("Out of memory even after retracting all other requests in the decode batch.");
                return false;
            }
            RadixRequest victim = running.stream()
                    .min(Comparator.comparingInt((RadixRequest active) -> active.request.answered())
                            .thenComparingInt(active -> -active.request.prompt().length))
                    .orElseThrow();
            running.remove(victim);
            cache.giveBack(victim.held);
            cache.unlock(victim.node);
            waiting.add(victim);
            retracted++;
            cache.makeRoom(fullPages() * page);
        }
        if (running.size() < before) {
            batchFull = false;
            int said = running.stream()
                    .mapToInt(active -> active.request.answered())
                    .sum();
            int may = running.stream()
                    .mapToInt(active -> active.request.terms().maxNew())
                    .sum();
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
        for (RadixRequest active : running) {
            room -= Math.min(active.request.left(), COUNTED_ANSWER) * newTokenRatio;
        }
        return room;
    }

    private void unpinForRoom(int extend) {
        int pinned = cache.protectedTokens();
        int total = cache.capacityTokens();
        if (pinned > total - extend) {
            int unpinned = cache.pins().unpinAll();
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

    private int fullPages() {
        return (int)
                running.stream().filter(active -> active.computed % page == 0).count();
    }

    private int pagesOf(int tokens) {
        return (tokens + page - 1) / page;
    }

    private void finish(RadixRequest active) {
        Generation request = active.request;
        cachedTokens += request.cachedTokens();
        if (request.streamed()) {
            streamed = streamed.answered(request.prompt().length, request.answered());
        } else {
            whole = whole.answered(request.prompt().length, request.answered());
        }
        end(active);
        active.session.ifPresent(session -> cache.sessions().finished(session, active.node));
    }

    private void end(RadixRequest active) {
        store(active, settings.variant().storesAnswers() ? active.computed : active.filled);
        cache.giveBack(active.held);
        cache.unlock(active.node);
    }

    /**
     * Puts the first tokens of the request into the tree and moves its lock there; its copies of known blocks are freed. The
     * release counts a request's hits once however often it is stored, and stores its prompt once more when there are pages of
     * the answer: one priority above them, and cut off from them.
     */
    private void store(RadixRequest active, int length) {
        TokenChain chain = active.chain();
        long priority = active.request.terms().priority();
        int blocks = length / page;
        RadixCache.Insertion stored = cache.insert(chain, blocks, priority, active.counted);
        int promptBlocks = active.request.prompt().length / page;
        if (settings.variant() == Variant.STOCK) {
            active.counted = Math.max(active.counted, blocks);
            if (promptBlocks < blocks) {
                cache.insert(chain, promptBlocks, priority + 1, promptBlocks);
            }
        }
        int inTree = blocks * page;
        cache.giveBack(Math.max(0, stored.present() - active.inTree));
        active.held -= inTree - active.inTree;
        active.inTree = inTree;
        cache.lock(stored.node());
        cache.unlock(active.node);
        active.node = stored.node();
    }

    private void publish() {
        List<CacheEvent> batch = cache.drainEvents();
        if (!batch.isEmpty()) {
            publisher.accept(batch);
        }
    }

    private SglangStats snapshot(int inPrefill) {
        return new SglangStats(
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
