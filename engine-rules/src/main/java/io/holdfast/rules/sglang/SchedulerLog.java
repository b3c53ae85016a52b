package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.sglang.SglangWork.DecodeMoments;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler's log, in the engine's words, and what it counts of its passes.
 *
 * <p>Every prefill is logged, of decode steps each 40th since the start, or since the last flush. What is logged is
 * published at the same moments.
 */
final class SchedulerLog {
    private static final Logger log = LoggerFactory.getLogger(SglangEngine.class);

    private static final int DECODE_STEPS_BETWEEN = 40;
    private static final double NANOS = 1e9;
    static final long STALE_NANOS = 30_000_000_000L;
    private static final long HIT_RATE_NANOS = 15_000_000_000L;

    /** A decode step that takes this long tells nothing of others. */
    private static final long LONGEST_STEP_MICROS = 2_000_000;

    private enum Kind {
        IDLE,
        PREFILL,
        DECODE
    }

    private record Hits(long at, int tokens, int of) {}

    private final EngineClock clock;
    private final Deque<Hits> recent = new ArrayDeque<>();
    private long recentHits;
    private long recentTokens;
    private double hitRate;

    private Kind last = Kind.IDLE;
    private long passBegin;
    private long lastBegin;
    private long lastPrefillLog;
    private long lastDecodeLog;
    private long decodeSteps;
    private long saidSinceLog;
    private double genThroughput;

    /** Zero while the engine is known to be idle. */
    private double shownThroughput;

    private long computed;
    private long found;
    private long foundOnHost;
    private long decoded;
    private long prefillMicros;
    private DecodeMoments decodes = DecodeMoments.NONE;
    private long retracted;
    private long retractedPrompt;
    private long retractedAnswer;
    private int recentlyRetracted;

    SchedulerLog(EngineClock clock) {
        this.clock = clock;
        this.lastPrefillLog = clock.nanos();
        this.lastDecodeLog = lastPrefillLog;
    }

    /** A pass begins that computes something. */
    void begins() {
        passBegin = clock.nanos();
    }

    /**
     * A prefill is over.
     *
     * @param running requests beside it
     * @param pending tokens of prompts that wait, those of the batch's cut prompt included
     */
    void prefilled(PrefillBatch batch, int running, WaitingQueue waiting, long pending, RadixCache cache) {
        long now = clock.nanos();
        computed += batch.newTokens();
        found += batch.cachedTokens();
        foundOnHost += batch.cachedOnHost();
        prefillMicros += (now - passBegin) / 1_000;
        hitRate = batch.hitRate();
        remember(now, batch);
        refreshThroughput(now);
        if (log.isInfoEnabled()) {
            log.info(String.format(
                    Locale.ROOT,
                    "Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req:"
                            + " %d, #queue-req: %d, #pending-token: %d, cuda graph: False, input throughput (token/s):"
                            + " %.2f",
                    batch.size(),
                    batch.newTokens(),
                    batch.cachedTokens(),
                    used(cache) / (double) cache.capacityTokens(),
                    running,
                    waiting.size(),
                    pending,
                    perSecond(batch.newTokens(), now - lastPrefillLog)));
        }
        lastPrefillLog = now;
        ended(Kind.PREFILL);
    }

    /** A decode step is over; true when it is one that is logged. */
    boolean decoded(int running, WaitingQueue waiting, RadixCache cache) {
        if (last == Kind.DECODE) {
            long micros = (passBegin - lastBegin) / 1_000;
            if (micros > 0 && micros < LONGEST_STEP_MICROS) {
                decodes = decodes.step(running, micros);
            }
        }
        ended(Kind.DECODE);
        decoded += running;
        saidSinceLog += running;
        decodeSteps++;
        if (decodeSteps % DECODE_STEPS_BETWEEN != 0) {
            return false;
        }
        long now = clock.nanos();
        genThroughput = perSecond(saidSinceLog, now - lastDecodeLog);
        shownThroughput = genThroughput;
        lastDecodeLog = now;
        saidSinceLog = 0;
        if (log.isInfoEnabled()) {
            int used = used(cache);
            log.info(String.format(
                    Locale.ROOT,
                    "Decode batch, #running-req: %d, #token: %d, token usage: %.2f, cuda graph: True,"
                            + " gen throughput (token/s): %.2f, #queue-req: %d",
                    running,
                    used,
                    used / (double) cache.capacityTokens(),
                    genThroughput,
                    waiting.size()));
        }
        return true;
    }

    /** Requests were sent back to the queue, or given up, for lack of room. */
    void retracted(DecodeRoom.Outcome outcome, int gained, double before, double after) {
        for (RadixRequest request : outcome.retracted()) {
            retracted++;
            retractedPrompt += request.request.prompt().length;
            retractedAnswer += request.request.answered();
        }
        recentlyRetracted = outcome.retracted().size();
        if (log.isWarnEnabled()) {
            outcome.lost().forEach(_ -> log.warn("retract_decode: aborted last request due to OOM"));
            log.warn(String.format(
                    Locale.ROOT,
                    "KV cache pool is full. Retract requests. #retracted_reqs: %d, #new_tokens_gained: %d,"
                            + " #new_token_ratio: %.4f -> %.4f",
                    outcome.retracted().size(),
                    gained,
                    before,
                    after));
        }
    }

    void unpinned(int extend, int pinned, int total, int blocks) {
        log.warn(
                "Request unschedulable due to pinned KV cache: request needs {} tokens, but {}/{} tokens are pinned"
                        + " (only {} unpinnable). Auto-unpinned {} blocks.",
                extend,
                pinned,
                total,
                total - pinned,
                blocks);
    }

    void flushed() {
        decodeSteps = 0;
        saidSinceLog = 0;
        log.info("Cache flushed successfully!");
    }

    void notFlushed(int waiting, int running) {
        log.warn(
                "Cache not flushed because there are pending requests. #queue-req: {}, #running-req: {}",
                waiting,
                running);
    }

    /** Nothing to do in this pass. */
    void idle() {
        last = Kind.IDLE;
    }

    /** The engine is idle, and will be reported to be. */
    void idles() {
        shownThroughput = 0;
    }

    /** Numbers were reported: what is counted from one report to the next begins anew. */
    void reported() {
        recentlyRetracted = 0;
    }

    /** Hit rate of the last prefill. */
    double hitRate() {
        return hitRate;
    }

    /** Hit rate of the last 15 seconds, as of the last prefill. */
    double recentHitRate() {
        return recentTokens == 0 ? 0 : recentHits / (double) recentTokens;
    }

    SglangWork work() {
        return new SglangWork(
                computed,
                found,
                foundOnHost,
                decoded,
                prefillMicros,
                decodes,
                retracted,
                retractedPrompt,
                retractedAnswer,
                recentlyRetracted,
                shownThroughput);
    }

    private void ended(Kind kind) {
        last = kind;
        lastBegin = passBegin;
    }

    private void remember(long now, PrefillBatch batch) {
        int tokens = batch.firstTimeTokens();
        if (tokens > 0) {
            recent.add(new Hits(now, batch.firstTimeHits(), tokens));
            recentHits += batch.firstTimeHits();
            recentTokens += tokens;
        }
        while (!recent.isEmpty() && recent.peek().at() <= now - HIT_RATE_NANOS) {
            Hits old = recent.remove();
            recentHits -= old.tokens();
            recentTokens -= old.of();
        }
    }

    private void refreshThroughput(long now) {
        if (now - lastDecodeLog > STALE_NANOS) {
            genThroughput = 0;
        }
        shownThroughput = genThroughput;
    }

    private static int used(RadixCache cache) {
        return cache.capacityTokens() - cache.freeTokens() - cache.evictableTokens();
    }

    private static double perSecond(long tokens, long nanos) {
        return nanos > 0 ? tokens * NANOS / nanos : 0;
    }
}
