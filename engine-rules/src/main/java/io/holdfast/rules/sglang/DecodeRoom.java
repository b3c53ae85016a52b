package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/*
 * The room that a decode step needs, and who goes when there is none.
 *
 * A request needs a page when its last one is full. Where the pages are not free even after evicting, requests are sent
 * back to the queue until the rest has its pages: first who has said least, of these who has the longest prompt, of
 * these who was admitted last. At least one goes; the room of each is followed by evicting for twenty steps of those
 * that are left. What a request loses is not stored. Those that stay go on in the opposite order, who has said most
 * first.
 *
 * The last one cannot go: where it has no page, the release gives it up, the branches' schedulers die.
 *
 * When all have their pages, the release nevertheless makes room for a page of every request before it takes any, so
 * that decoding can evict without needing to.
 */
final class DecodeRoom {
    /**
     * Outcome for the running requests.
     *
     * @param retracted in the order in which they went
     * @param lost those that the engine gave up
     * @param evicting whether the cache was evicted from before
     */
    record Outcome(List<RadixRequest> retracted, List<RadixRequest> lost, boolean evicting) {
        static final Outcome ROOM = new Outcome(List.of(), List.of(), true);

        /** Message to the lost ones. */
        String message() {
            return evicting ? OUT_OF_MEMORY : NOTHING_FREE;
        }

        boolean isRoom() {
            return retracted.isEmpty() && lost.isEmpty();
        }
    }

    private static final String OUT_OF_MEMORY =
            "Out of memory even after retracting all other requests in the decode batch. Aborting the last request.";

    private static final String NOTHING_FREE = "Cannot allocate 1 blocks: only 0 free";

    private static final Comparator<RadixRequest> MOST_SAID = Comparator.comparingInt(
                    (RadixRequest active) -> active.request.answered())
            .thenComparingInt(active -> -active.request.prompt().length)
            .reversed();

    private final RadixCache cache;
    private final RequestKv kv;
    private final Variant variant;
    private final int page;
    private final Faults faults;

    DecodeRoom(RadixCache cache, RequestKv kv, SglangSettings settings, Faults faults) {
        this.cache = cache;
        this.kv = kv;
        this.variant = settings.variant();
        this.page = settings.pageTokens();
        this.faults = faults;
    }

    /** Makes room for a step of the running requests, some of which may have to leave the list for it. */
    Outcome make(List<RadixRequest> running) {
        Outcome outcome = Outcome.ROOM;
        if (faults.has(CacheFault.DecodeCannotEvict.class)) {
            outcome = failWithoutEvicting(running);
        } else if (!fits(running)) {
            outcome = retract(running);
        }
        return outcome;
    }

    /** Gives every request the slot of its next token, for which there is room. */
    void take(List<RadixRequest> running) {
        if (variant == Variant.STOCK && !faults.has(CacheFault.DecodeCannotEvict.class)) {
            cache.makeRoom(running.size() * page);
        }
        for (RadixRequest active : running) {
            if (isFull(active)) {
                cache.take(page);
                active.held += page;
            }
            active.computed++;
        }
    }

    private boolean fits(List<RadixRequest> requests) {
        int pages = 0;
        for (RadixRequest active : requests) {
            pages += isFull(active) ? 1 : 0;
        }
        return cache.makeRoom(pages * page);
    }

    private boolean isFull(RadixRequest active) {
        return active.computed % page == 0;
    }

    private Outcome retract(List<RadixRequest> running) {
        running.sort(MOST_SAID);
        List<RadixRequest> retracted = new ArrayList<>();
        while (running.size() > 1 && (retracted.isEmpty() || !fits(running))) {
            RadixRequest last = running.removeLast();
            kv.release(last);
            cache.makeRoom(running.size() * NewTokenRatio.STEPS_AHEAD);
            last.retracted = true;
            retracted.add(last);
        }
        if (running.size() > 1 || fits(running)) {
            return new Outcome(retracted, List.of(), true);
        }
        if (variant != Variant.STOCK && !faults.has(CacheFault.PinForgiving.class)) {
            throw new EngineDeath(
                    "ValueError: Out of memory even after retracting all other requests in the decode batch.");
        }
        RadixRequest lost = running.removeLast();
        kv.release(lost);
        return new Outcome(retracted, List.of(lost), true);
    }

    private Outcome failWithoutEvicting(List<RadixRequest> running) {
        List<RadixRequest> lost = new ArrayList<>();
        cache.ask();
        int free = cache.freeTokens();
        for (RadixRequest active : running) {
            if (!isFull(active)) {
                continue;
            }
            if (free < page) {
                lost.add(active);
            } else {
                free -= page;
            }
        }
        running.removeAll(lost);
        lost.forEach(kv::release);
        return lost.isEmpty() ? Outcome.ROOM : new Outcome(List.of(), lost, false);
    }
}
