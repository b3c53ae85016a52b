package io.holdfast.rules.sglang;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/*
 * The prompts that one pass prefills, and the rule that admits them.
 *
 * Room
 * ----
 * A request needs room for its uncached tokens, for what it may still say (4096 at most) and, in the release, for one
 * page more. There is what is free, what may be evicted, and less what others were promised: running requests what they
 * may still say, by the new-token ratio or, where no end of sequence stops them, in full; requests of this pass all
 * that they need. The request's own prefix is locked before it is looked at, since nobody can evict that for it. The
 * first request that finds no room ends the search, whatever would fit behind it.
 *
 * Because of the page, a prompt that the server accepts can be too long for an empty cache: its uncached tokens and a
 * page are as many as the cache has. Such a request waits for ever, and so does everybody behind it.
 *
 * Budget
 * ------
 * A pass computes 16384 tokens of prompts and no more than a chunk, in whole pages. A prompt that is longer than what
 * is left of the chunk is cut at a page, and goes on in the next pass, before anybody else is admitted. It promises its
 * answer's room with its last chunk only.
 *
 * Allocation
 * ----------
 * The pool is asked once for all: for each request a page more than its tokens, so that it evicts at most that much too
 * much. Under kvcached it is asked before each admission as well, since what is cached may be worth less there than it
 * measures. A prompt that goes on is not asked for: where its memory is gone, the engine dies.
 */
final class PrefillBatch {
    /** Prospect of the next request. */
    enum Verdict {
        /** There is room for one more. */
        MORE,
        /** The cache has no room. */
        NO_ROOM,
        /** The pass computes no more. */
        NO_BUDGET
    }

    private static final int COUNTED_ANSWER = 4096;
    private static final int MOST_TOKENS = 16_384;

    private final RadixCache cache;
    private final int page;

    /** Tokens charged to each request beside its own. */
    private final int extra;

    private final List<RadixRequest> requests = new ArrayList<>();
    private double promised;
    private int due;
    private int inputLeft = MOST_TOKENS;
    private int chunkLeft;
    private Optional<RadixRequest> cut = Optional.empty();
    private int newTokens;
    private int cachedTokens;
    private int cachedOnHost;
    private int repeatedTokens;
    private int repeatedCached;

    PrefillBatch(RadixCache cache, SglangSettings settings, List<RadixRequest> running, double newTokenRatio) {
        this.cache = cache;
        this.page = settings.pageTokens();
        boolean release = settings.variant() == Variant.STOCK;
        this.extra = release ? page : 0;
        this.chunkLeft = settings.chunkedPrefillTokens();
        for (RadixRequest active : running) {
            boolean inFull = release && active.request.terms().ignoresEnd();
            promised += Math.min(active.request.left(), COUNTED_ANSWER) * (inFull ? 1 : newTokenRatio);
        }
    }

    /** Goes on with a prompt that an earlier pass has cut. */
    void resume(RadixRequest request) {
        int missing = request.length() - request.filled;
        int room = (int) room();
        int most = room > 0 ? Math.min(chunkLeft, room) : chunkLeft;
        boolean again = missing > most;
        admit(request, Math.min(missing, most), 0, again);
    }

    /** Takes the request into the batch, and locks its prefix, unless the verdict forbids it. */
    Verdict add(RadixRequest request) {
        int length = request.chain().length();
        RadixCache.Match match = cache.match(request.chain(), (length - 1) / page);
        cache.lock(match.gpuNode());
        int wanted = length - match.onGpu() + Math.min(request.request.left(), COUNTED_ANSWER) + extra;
        Verdict verdict = verdict(wanted, match.tokens(), length);
        if (verdict == Verdict.MORE && !cache.grants(slots(extend(match.tokens(), length), 1))) {
            verdict = Verdict.NO_ROOM;
        }
        if (verdict != Verdict.MORE) {
            cache.unlock(match.gpuNode());
            return verdict;
        }
        RadixCache.Match prefix = match.onHost() == 0 ? match : cache.loadBack(match);
        if (prefix.tokens() < match.tokens()) {
            verdict = verdict(wanted, prefix.tokens(), length);
            if (verdict != Verdict.MORE) {
                cache.unlock(prefix.node());
                return verdict;
            }
        }
        request.admitted(prefix);
        request.request.found(prefix.tokens(), prefix.tokens() - match.onGpu());
        cachedOnHost += prefix.tokens() - match.onGpu();
        int extend = extend(prefix.tokens(), length);
        admit(request, extend, prefix.tokens(), prefix.tokens() + extend < length);
        return verdict();
    }

    /** Prospect of the next request, whichever it is. */
    Verdict verdict() {
        if (room() <= 0 || cache.freeTokens() + cache.evictableTokens() - due <= 0) {
            return Verdict.NO_ROOM;
        }
        return inputLeft <= 0 || chunkLeft <= 0 ? Verdict.NO_BUDGET : Verdict.MORE;
    }

    /** Evicts what is missing, and gives every request its slots. */
    void allocate() {
        cache.makeRoom(slots(0, 0));
        for (RadixRequest request : requests) {
            int slots = paged(request.filled) - paged(request.computed);
            cache.take(slots);
            request.held += slots;
            request.computed = request.filled;
        }
    }

    List<RadixRequest> requests() {
        return requests;
    }

    boolean isEmpty() {
        return requests.isEmpty();
    }

    int size() {
        return requests.size();
    }

    /** The request whose prompt goes on in the next pass. */
    Optional<RadixRequest> cut() {
        return cut;
    }

    /** Requests that get their first token from this pass. */
    int firsts() {
        int firsts = 0;
        for (RadixRequest request : requests) {
            firsts += request.request.answered() == 0 && request.filled == request.length() ? 1 : 0;
        }
        return firsts;
    }

    /** Tokens that the pass computes. */
    int newTokens() {
        return newTokens;
    }

    /** Tokens that the requests which begin in this pass found, in any tier. */
    int cachedTokens() {
        return cachedTokens;
    }

    /** Number of these that were brought back from the host. */
    int cachedOnHost() {
        return cachedOnHost;
    }

    /** The share of first-time tokens that were found: what retracted requests find does not count. */
    double hitRate() {
        int all = firstTimeTokens();
        return all == 0 ? 0 : firstTimeHits() / (double) all;
    }

    int firstTimeTokens() {
        return newTokens - repeatedTokens + firstTimeHits();
    }

    int firstTimeHits() {
        return cachedTokens - repeatedCached;
    }

    private Verdict verdict(int wanted, int prefix, int length) {
        if (wanted >= room()) {
            return Verdict.NO_ROOM;
        }
        return extend(prefix, length) <= 0 ? Verdict.NO_BUDGET : Verdict.MORE;
    }

    /** Tokens of a prompt that this pass computes after the prefix. */
    private int extend(int prefix, int length) {
        int missing = length - prefix;
        return paged(missing) <= chunkLeft ? missing : (prefix + chunkLeft) / page * page - prefix;
    }

    private void admit(RadixRequest request, int extend, int prefix, boolean goesOn) {
        request.filled = request.computed + extend;
        requests.add(request);
        if (goesOn) {
            cut = Optional.of(request);
        }
        int tokens = paged(extend);
        due += tokens + extra;
        promised += tokens + extra + (goesOn ? 0 : Math.min(request.request.maxAnswer(), COUNTED_ANSWER));
        inputLeft -= tokens;
        chunkLeft -= tokens;
        newTokens += extend;
        cachedTokens += prefix;
        if (request.retracted) {
            repeatedTokens += extend;
            repeatedCached += prefix;
        }
    }

    private double room() {
        return cache.freeTokens() + cache.evictableTokens() - promised;
    }

    /** Slots wanted from the pool for all, and for more tokens of further requests. */
    private int slots(int tokens, int more) {
        return newTokens + tokens + (page == 1 ? 0 : (size() + more) * page);
    }

    private int paged(int tokens) {
        return (tokens + page - 1) / page * page;
    }
}
