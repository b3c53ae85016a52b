package io.holdfast.core.requests;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.LastStore;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Puts the stores of one engine together to the requests that made them.
 *
 * <p>It is told of each event after the {@link EngineBlocks} were, which it asks what was where.
 */
public final class VisibleRequests implements KvEventSink {
    /*
     * What a request leaves in the events
     * -----------------------------------
     * Both engines store the full blocks of a prompt that were not there, in one chain under the last block that was:
     * right after the prefill (SGLang), or when it is scheduled (vLLM). A prompt that was cut into chunks leaves one
     * chain for each. What is generated follows under the end of that: one chain when the request ends (SGLang), one
     * block at a time as each fills (vLLM). So a request is a chain of stores, each under the end of the one before,
     * and it is followed by the last block of its path. A store under any other block, inside somebody's path or where
     * nobody ends, begins a request, and that needs no judgement; many requests may be open at once and mix in any
     * order.
     *
     * Blocks below the first store were hits. Not every stored block is new: a copy that comes back from another tier
     * (loaded for the hit; published in the same batch as the prefill that needed it) was there. vLLM computes the last
     * block of an aligned prompt again and keeps both copies: new, though its hash was there. In its full report mode
     * it announces hits from the root like stores; no request of it computes several blocks that are there, since a hit
     * covers them, so several leading ones in one chain are such a report. In SGLang a chain that is there already is
     * its twin in another namespace, and new. Groups other than the one that decides tell the same request again and
     * are skipped.
     *
     * Is a store under the end of a request more of it?
     * -------------------------------------------------
     * Or is it a new request which found the whole path in the cache: the next turn, or the same prompt again? Nothing
     * in the events tells, not even the tokens: a store carries them, but not whether they were sent or generated, and
     * of a prompt's last partial block nothing is published. Two streams can be equal byte for byte, one from a request
     * that generated 32 tokens, one from a request with one token and another that brought 32 more. What is left, in
     * this order:
     *   - The cache emptied, or the last block removed from the GPU: engines keep the blocks of running requests, so
     *     the request is over. Certain.
     *   - The engine was idle (idle()): whatever was open is over. Certain; ask the engine for its running requests.
     *   - The shape. vLLM fills one block at a time and stores at most once a step for one request; SGLang stores once
     *     at the end. Two blocks under an end of vLLM, a second store in the same batch, a store under the end of what
     *     SGLang finished: another request. Certain, except for the last prompt of a step that was so full that it may
     *     have been cut: its next part is in the very next batch that stores. SGLang's finish in that place is taken
     *     for it.
     *   - The time. Decoding so many tokens takes between the fastest and the slowest pace of any engine; what came
     *     sooner was not decoded, what came much later was not either. Outside the bounds it is another request.
     *   - In between it is counted to the request, and the request says that it is judged. A quick next turn that adds
     *     one block (vLLM) or a few (SGLang) to a request that stored no output, while the engine never idles, is taken
     *     for its output: this errs to few and long requests, hence to more that seem invisible, never to too many
     *     touches.
     *
     * What was sent and what was generated
     * ------------------------------------
     * The first chain of a request is taken for prompt. It holds output if the whole prompt was in the cache, or
     * shorter than a block, which events do not tell either. Where exactly one request ran between two idle moments,
     * the engine's counters do: their difference is its prompt's length. Without them the output is a lower bound, the
     * prompt an upper.
     *
     * Cannot be told apart at all: requests of one batch whose chains SGLang merged into one event (a prompt and a
     * longer one with the same beginning); requests with the same prompt whose output differs: the later ones count as
     * requests that brought it; two open requests with the same last block (copies in vLLM): the younger one goes on.
     *
     * Bounds
     * ------
     * Only open requests are kept, at most mostOpen, one small object each; nothing is allocated for a block. A request
     * that stored nothing for `longest` is complete; two places are looked at in each batch, so that time is not met to
     * the second.
     */
    private static final int LATE_TOKENS = 40;
    private static final long FINISH_SETTLES_MICROS = 2_000_000;

    private final RequestRules rules;
    private final RequestListener listener;
    private final boolean atFinish;
    private final double fastestMicros;
    private final double slowestMicros;
    private final long chunkMicros;
    private final long longestMicros;
    private final EngineBlocks blocks;
    private final OpenRequests open;
    private final List<VisibleRequest> stored = new ArrayList<>();

    private long stampMicros;
    private long batch;
    private long storingBatch;
    private long storingTokens;
    private long storingMicros;
    private long stepTokens;
    private long seen;
    private VisibleRequest youngest;

    private long seenAtIdle;
    private OptionalLong requestsAtIdle = OptionalLong.empty();
    private OptionalLong tokensAtIdle = OptionalLong.empty();

    public VisibleRequests(RequestRules rules, EngineBlocks blocks, RequestListener listener) {
        this.rules = rules;
        this.blocks = blocks;
        this.listener = listener;
        atFinish = rules.decoding() == RequestRules.Decoding.AT_FINISH;
        fastestMicros = rules.fastestToken().toNanos() / 1e3;
        slowestMicros = rules.slowestToken().toNanos() / 1e3;
        chunkMicros = rules.nextChunk().toNanos() / 1000;
        longestMicros = rules.longest().toNanos() / 1000;
        open = new OpenRequests(rules.mostOpen());
        youngest = open.nobody();
    }

    /** Returns the number of requests that were seen to begin. */
    public long seen() {
        return seen;
    }

    /**
     * The engine runs nothing and what it published so far was applied: every request is complete.
     *
     * @param requests how many requests the engine counted in its life
     * @param promptTokens how many tokens their prompts had
     */
    public void idle(OptionalLong requests, OptionalLong promptTokens) {
        if (requests.isPresent()
                && promptTokens.isPresent()
                && requestsAtIdle.isPresent()
                && tokensAtIdle.isPresent()) {
            boolean alone = requests.getAsLong() == requestsAtIdle.getAsLong() + 1 && seen == seenAtIdle + 1;
            long tokens = promptTokens.getAsLong() - tokensAtIdle.getAsLong();
            if (alone && tokens > 0 && !youngest.delivered) {
                youngest.settle(tokens);
            }
        }
        requestsAtIdle = requests;
        tokensAtIdle = promptTokens;
        flush();
    }

    /** Takes every request for complete. */
    public void flush() {
        open.forEach(this::deliver);
        open.clear();
        youngest = open.nobody();
        seenAtIdle = seen;
    }

    @Override
    public void batchStarted(long sequence, long stamp) {
        stampMicros = stamp;
        batch++;
        stepTokens = 0;
        for (int i = 0; i < 2; i++) {
            VisibleRequest request = open.next();
            if (request == open.nobody()) {
                continue;
            }
            long quiet = stamp - request.lastMicros();
            if (quiet > longestMicros) {
                complete(request);
            } else if (atFinish && request.decoding && quiet > FINISH_SETTLES_MICROS) {
                deliver(request);
            }
        }
    }

    @Override
    public void stored(StoredBlocks stores) {
        LastStore found = blocks.lastStore();
        if (!found.decides() || stores.tier() != Tier.GPU) {
            return;
        }
        VisibleRequest before = stores.rooted() ? open.nobody() : open.endingAt(stores.parent());
        int reported = atFinish || stores.count() == 1 ? 0 : found.leadingOnGpu();
        int computed = stores.count() - reported - found.fromOtherTiers();
        stepTokens += (long) computed * stores.blockTokens();
        place(stores, before, found.depth(), computed, found.fromOtherTiers() == stores.count());
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        for (int i = from; i < to; i++) {
            VisibleRequest over = open.endingAt(hashes[i]);
            if (over != open.nobody() && !blocks.resident(hashes[i])) {
                complete(over);
            }
        }
    }

    @Override
    public void cleared() {
        flush();
    }

    @Override
    public void batchEnded() {
        if (stored.isEmpty()) {
            return;
        }
        storingBatch = batch;
        // By number: an iterator would be an object for each block of a decoding vLLM.
        for (int i = 0; i < stored.size(); i++) {
            stored.get(i).cut = false;
            tell(stored.get(i));
        }
        if (isFull(stepTokens)) {
            cutLastPrompt();
        }
        storingTokens = stepTokens;
        storingMicros = stampMicros;
        stored.clear();
    }

    /**
     * Returns true if so many tokens, with those of the step before, leave no room in it: SGLang tells of the prompt
     * that it cut when it goes on with it, so after the others of its step and together with what ends in the next.
     */
    private boolean isFull(long tokens) {
        boolean follows = atFinish && stampMicros - storingMicros <= chunkMicros;
        return tokens + (follows ? storingTokens : 0) >= rules.fullStepTokens();
    }

    private boolean isToldLate(VisibleRequest request) {
        return stored.getFirst() == request && isFull((long) request.newBlocks() * request.blockTokens());
    }

    /** An answer that ended in the same batch may be told of after the prompts. */
    private void cutLastPrompt() {
        for (int i = stored.size() - 1; i >= 0; i--) {
            VisibleRequest request = stored.get(i);
            if (!request.decoding) {
                request.cut = true;
                return;
            }
        }
    }

    /**
     * Stops trusting the open requests: what was lost may have been more of any of them, and which blocks are there is
     * not known.
     */
    @Override
    public void gap(Gap gap) {
        open.forEach(VisibleRequest::judge);
        flush();
        forgetCounters();
    }

    @Override
    public void restarted(long firstSeen) {
        flush();
        forgetCounters();
    }

    private void place(StoredBlocks stores, VisibleRequest before, int depth, int computed, boolean onlyLoaded) {
        long last = stores.hash(stores.count() - 1);
        boolean judged = false;
        if (before != open.nobody()) {
            Part part = part(stores, before);
            judged = part.judged;
            if (judged) {
                before.judge();
            }
            if (part.same) {
                extend(before, last, depth, computed, part == Part.OUTPUT);
                before.onlyLoaded &= onlyLoaded;
                return;
            }
            complete(before);
        }
        begin(stores, last, depth, Math.max(0, depth - stores.count()), computed, onlyLoaded, judged);
    }

    /** Part that a store under the end of a request can be. */
    private enum Part {
        /** The prefill after the load of its hits. */
        SAME_STEP(true, false),
        /** The next part of a prompt that was cut. */
        CHUNK(true, true),
        OUTPUT(true, true),
        /** Taken for another request; it may be more of this one, or of one that was counted to this one. */
        UNSURE(false, true),
        OTHER(false, false);

        private final boolean same;
        private final boolean judged;

        Part(boolean same, boolean judged) {
            this.same = same;
            this.judged = judged;
        }
    }

    private Part part(StoredBlocks stores, VisibleRequest request) {
        long quiet = stampMicros - request.lastMicros();
        if (request.batch == batch) {
            if (!atFinish) {
                return Part.OTHER;
            }
            return request.onlyLoaded ? Part.SAME_STEP : isToldLate(request) ? Part.CHUNK : Part.UNSURE;
        }
        boolean plausible = decoded(stores, request.decoding, quiet);
        boolean oneBlockDecoded = !atFinish && plausible;
        if (request.cut && request.batch == storingBatch && !oneBlockDecoded && quiet >= 0 && quiet <= chunkMicros) {
            return Part.CHUNK;
        }
        if (atFinish && request.decoding) {
            return plausible ? Part.UNSURE : Part.OTHER;
        }
        return plausible ? Part.OUTPUT : Part.OTHER;
    }

    private boolean decoded(StoredBlocks stores, boolean decoding, long quiet) {
        int size = Math.max(1, stores.blockTokens());
        int count = stores.count();
        if (atFinish) {
            return quiet >= ((long) (count - 1) * size + 1) * fastestMicros
                    && quiet <= ((count + 1L) * size + LATE_TOKENS) * slowestMicros;
        }
        return count == 1 && quiet >= (decoding ? size - 1 : 0) * fastestMicros && quiet <= size * slowestMicros;
    }

    private void extend(VisibleRequest request, long last, int depth, int computed, boolean output) {
        long end = request.lastBlock();
        completeAt(last);
        request.extend(last, depth, computed, output, stampMicros);
        request.decoding = output;
        open.moved(request, end);
        touched(request);
    }

    private void begin(
            StoredBlocks stores, long last, int depth, int below, int computed, boolean onlyLoaded, boolean judged) {
        completeAt(last);
        if (open.full()) {
            makeRoom();
        }
        VisibleRequest request = new VisibleRequest(stampMicros, stores.blockTokens(), below);
        request.extend(last, depth, computed, false, stampMicros);
        request.onlyLoaded = onlyLoaded;
        if (judged) {
            request.judge();
        }
        open.add(request);
        seen++;
        youngest = request;
        touched(request);
    }

    private void touched(VisibleRequest request) {
        if (request.batch != batch) {
            request.batch = batch;
            stored.add(request);
        }
    }

    private void completeAt(long last) {
        VisibleRequest same = open.endingAt(last);
        if (same != open.nobody()) {
            complete(same);
        }
    }

    private void makeRoom() {
        VisibleRequest oldest = open.next();
        while (oldest == open.nobody()) {
            oldest = open.next();
        }
        complete(oldest);
    }

    private void complete(VisibleRequest request) {
        open.remove(request);
        deliver(request);
    }

    private void deliver(VisibleRequest request) {
        if (!request.delivered) {
            tell(request);
            request.delivered = true;
            listener.completed(request);
        }
    }

    private void tell(VisibleRequest request) {
        int before = request.told;
        if (request.promptBlocks() > before && !request.delivered) {
            request.told = request.promptBlocks();
            listener.prompt(request, Math.max(0, before));
        }
        if (request.blocks() > request.toldBlocks && !request.delivered) {
            request.toldBlocks = request.blocks();
            if (request.blocks() > request.promptBlocks()) {
                listener.answered(request);
            }
        }
    }

    private void forgetCounters() {
        requestsAtIdle = OptionalLong.empty();
        tokensAtIdle = OptionalLong.empty();
    }
}
