package io.holdfast.rules.phases;

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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * The scheduler of the seven profiles. A step admits, prefills, decodes, in this order; each of the two passes takes the time
 * that the model's rates give it.
 *
 * Prefill
 * -------
 * Up to PAGED, all requests that were admitted in a step are prefilled in it, filled up on the right to the longest of them:
 * the pass costs requests times longest. Decoding waits. A padded prefill over blocks whose attention is larger than the
 * model's headroom leaves the GPU's memory over-committed, and all passes slow, until nobody runs or waits; the log saw ten
 * times less throughput there and gave no cause that holds, so this one is ours. From CHUNKED on, a step prefills at most a chunk, of one or
 * several requests in their order, and decodes beside it. RESTORE cuts long prompts only, one request at a time.
 *
 * Decode
 * ------
 * Each request that is prefilled gets a token. In slots, each costs as much as the one with the longest context; a drained
 * batch costs its first size up to its end. Captured steps cost their graph's time, see Rates.
 *
 * A gathered batch
 * ----------------
 * STATIC waits a little for others once a request comes: the log has 50 ms more to the first token of a single request there
 * than in the next stage, for each of three models.
 *
 * Events
 * ------
 * Only a profile that shares prefixes has any: stores and removals of blocks, named by their content as SGLang does it, one
 * frame a step.
 */
public final class PhaseEngine implements Engine {
    private static final Logger log = LoggerFactory.getLogger(PhaseEngine.class);

    private static final double GATHER_NANOS = 50e6;
    private static final double CAPTURE_NANOS = 1_500e6;
    private static final int STEPS_KEPT = 4096;

    private final PhaseSettings settings;
    private final Profile profile;
    private final Rates rates;
    private final Faults faults;
    private final EngineClock clock;
    private final Gpu gpu;
    private final Model model;
    private final Consumer<List<CacheEvent>> publisher;
    private final CacheMemory memory;
    private final Deque<PhaseRequest> waiting = new ArrayDeque<>();
    private final List<PhaseRequest> running = new ArrayList<>();
    private final Deque<PhaseStep> steps = new ArrayDeque<>();

    private int servedBlocks;
    private int captured;
    private boolean gathered;
    private boolean overcommitted;
    private PhaseStep step = new PhaseStep(0, 0, 0, 0, 0, 0, 0, 0);
    private long foundTokens;
    private long finished;
    private long aborted;
    private long failed;
    private RequestTally whole = RequestTally.NONE;
    private RequestTally streamed = RequestTally.NONE;
    private volatile PhaseStats stats;

    /** @param clock stamps what the engine says of its own times */
    public PhaseEngine(
            PhaseSettings settings,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher) {
        this.settings = settings;
        this.profile = settings.profile();
        this.rates = settings.rates();
        this.faults = faults;
        this.clock = clock;
        this.gpu = gpu;
        this.model = model;
        this.publisher = publisher;
        this.memory = new CacheMemory(settings);
        this.servedBlocks = settings.blocks();
        this.stats = snapshot();
    }

    @Override
    public void submit(Generation request) {
        int tokens = request.prompt().length + request.left();
        if (tokens > settings.contextTokens()) {
            failed++;
            request.fail("The prompt of " + request.prompt().length + " tokens and " + request.left()
                    + " more exceed the context of " + settings.contextTokens() + " tokens.");
        } else {
            waiting.add(memory.request(request));
        }
        stats = snapshot();
    }

    @Override
    public void abort(Generation request) {
        Optional<PhaseRequest> active =
                running.stream().filter(one -> one.request == request).findFirst();
        if (waiting.removeIf(one -> one.request == request)) {
            aborted++;
        } else if (active.isPresent() && !request.done()) {
            running.remove(active.get());
            memory.release(active.get(), false);
            aborted++;
        }
        stats = snapshot();
    }

    @Override
    public boolean step() {
        publish();
        if (profile == Profile.GRAPH && captured < Rates.BUCKETS.size()) {
            capture();
            return true;
        }
        if (waiting.isEmpty() && running.isEmpty()) {
            overcommitted = false;
            gathered = false;
            stats = snapshot();
            return false;
        }
        if (profile.drains() && running.isEmpty() && !gathered) {
            gathered = true;
            gpu.run(Pass.decode(0), GATHER_NANOS);
            return true;
        }
        step = new PhaseStep(step.number() + 1, 0, 0, 0, 0, 0, 0, 0);
        admit();
        if (prefill() && decode()) {
            endBatch();
            note();
        }
        publish();
        stats = snapshot();
        return true;
    }

    @Override
    public long answered() {
        PhaseStats now = stats;
        return now.whole().requests() + now.streamed().requests();
    }

    /** From any thread: the numbers after the last change. */
    public PhaseStats stats() {
        return stats;
    }

    /** The step log's last lines, the oldest first. Engine thread only. */
    public List<PhaseStep> steps() {
        return List.copyOf(steps);
    }

    /** Engine thread only, for those who look into it. */
    CacheMemory memory() {
        return memory;
    }

    /** Captures the next size; the server is ready after the last one, with less memory than before. */
    private void capture() {
        int bucket = Rates.BUCKETS.get(captured);
        if (!gpu.run(Pass.decode(bucket), CAPTURE_NANOS)) {
            return;
        }
        captured++;
        log.info("Captured the decode graph for {} requests.", bucket);
        if (captured == Rates.BUCKETS.size()) {
            servedBlocks -= rates.graphBlocks();
            memory.resize(servedBlocks);
        }
        stats = snapshot();
    }

    private void admit() {
        if (profile.drains() && !running.isEmpty()) {
            return;
        }
        faults.find(CacheFault.CapacityFalls.class)
                .filter(falls -> finished >= falls.requests())
                .ifPresent(falls -> memory.resize((int) (servedBlocks * (1 - falls.percent() / 100))));
        while (!waiting.isEmpty() && running.size() < settings.running() && memory.admit(waiting.element())) {
            PhaseRequest next = waiting.remove();
            next.request.found(next.computed, next.restoring);
            foundTokens += next.computed;
            running.add(next);
        }
    }

    /** False when the server is being stopped. */
    private boolean prefill() {
        List<PhaseRequest> parts = new ArrayList<>();
        int tokens = 0;
        int longest = 0;
        int restored = 0;
        int firsts = 0;
        int room = profile.pads() ? Integer.MAX_VALUE : settings.chunkTokens();
        for (PhaseRequest one : running) {
            int left = one.promptTokens() - one.computed;
            if (left == 0 || tokens >= room) {
                continue;
            }
            boolean cut = !profile.pads() && one.uncached > settings.chunkAbove();
            int part = cut ? Math.min(left, room - tokens) : left;
            parts.add(one);
            tokens += part;
            longest = Math.max(longest, part);
            restored += one.restoring;
            one.restoring = 0;
            one.computed += part;
            firsts += one.prefilled() ? 1 : 0;
            if (profile == Profile.RESTORE) {
                break;
            }
        }
        if (parts.isEmpty()) {
            return true;
        }
        int computed = profile.pads() ? longest * parts.size() : tokens;
        if (profile == Profile.PAGED && (long) computed * longest > rates.headroomScores() && !overcommitted) {
            overcommitted = true;
            log.warn("A padded prefill of {} tokens exceeds the GPU's memory; all passes will be slow now.", computed);
        }
        step = new PhaseStep(step.number(), tokens, computed, parts.size(), restored, 0, 0, 0);
        double nanos = rates.prefillNanos(computed) + rates.restoreNanos(restored);
        if (!gpu.run(Pass.prefill(tokens, parts.size(), firsts), slowed(nanos))) {
            return false;
        }
        parts.stream().filter(PhaseRequest::prefilled).forEach(this::firstToken);
        return true;
    }

    private void firstToken(PhaseRequest one) {
        Generation request = one.request;
        memory.prefilled(one);
        request.answer(model.next(request));
        double seconds = (clock.nanos() - request.arrivalNanos()) / 1e9;
        if (request.streamed()) {
            streamed = streamed.firstToken(seconds);
        } else {
            whole = whole.firstToken(seconds);
        }
        finishIfDone(one);
        request.tell();
    }

    /** False when the server is being stopped. */
    private boolean decode() {
        List<PhaseRequest> batch = List.copyOf(running).stream()
                .filter(one -> one.request.answered() > 0 && !one.request.done())
                .filter(this::grows)
                .toList();
        if (batch.isEmpty()) {
            return true;
        }
        if (!gpu.run(Pass.decode(batch.size()), slowed(decodeNanos(batch)))) {
            return false;
        }
        step = new PhaseStep(
                step.number(),
                step.prefillTokens(),
                step.computedTokens(),
                step.prefills(),
                step.restoredTokens(),
                batch.size(),
                0,
                0);
        for (PhaseRequest one : batch) {
            one.request.answer(model.next(one.request));
            finishIfDone(one);
        }
        batch.forEach(one -> one.request.tell());
        return true;
    }

    private double decodeNanos(List<PhaseRequest> batch) {
        if (profile.inSlots()) {
            int slots = profile.drains() ? running.size() : batch.size();
            int longest =
                    running.stream().mapToInt(one -> one.request.length()).max().orElse(0);
            return rates.eagerNanos(profile, slots, (long) slots * longest);
        }
        long context = batch.stream().mapToLong(one -> one.request.length()).sum();
        return profile == Profile.GRAPH
                ? rates.graphNanos(batch.size(), context)
                : rates.eagerNanos(profile, batch.size(), context);
    }

    private double slowed(double nanos) {
        return overcommitted ? nanos * rates.overcommit() : nanos;
    }

    /** Has the block for its next token, or has failed for want of one. */
    private boolean grows(PhaseRequest one) {
        if (memory.grow(one, !faults.has(CacheFault.DecodeCannotEvict.class))) {
            return true;
        }
        running.remove(one);
        memory.release(one, true);
        failed++;
        one.request.fail("Cannot allocate 1 blocks: only 0 free");
        return false;
    }

    private void finishIfDone(PhaseRequest one) {
        Generation request = one.request;
        if (!request.done()) {
            return;
        }
        if (request.streamed()) {
            streamed = streamed.answered(one.promptTokens(), request.answered());
        } else {
            whole = whole.answered(one.promptTokens(), request.answered());
        }
        finished++;
        if (!profile.drains()) {
            running.remove(one);
            memory.release(one, true);
        }
    }

    private void endBatch() {
        if (profile.drains() && running.stream().allMatch(one -> one.request.done())) {
            running.forEach(one -> memory.release(one, true));
            running.clear();
            gathered = false;
        }
    }

    private void note() {
        step = new PhaseStep(
                step.number(),
                step.prefillTokens(),
                step.computedTokens(),
                step.prefills(),
                step.restoredTokens(),
                step.decodes(),
                running.size(),
                waiting.size());
        log.debug("{}", step);
        steps.add(step);
        if (steps.size() > STEPS_KEPT) {
            steps.remove();
        }
    }

    private void publish() {
        List<CacheEvent> batch = memory.drainEvents();
        if (!batch.isEmpty()) {
            publisher.accept(batch);
        }
    }

    private PhaseStats snapshot() {
        return new PhaseStats(
                profile != Profile.GRAPH || captured == Rates.BUCKETS.size(),
                running.size(),
                waiting.size(),
                memory.capacityTokens(),
                memory.freeTokens(),
                memory.cachedTokens(),
                foundTokens,
                memory.evictedTokens(),
                step.number(),
                aborted,
                failed,
                whole,
                streamed);
    }
}
