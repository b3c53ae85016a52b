package io.holdfast.core;

import io.holdfast.core.effect.PrefixUse;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.prefix.WantedPrefixes;
import io.holdfast.core.requests.VisibleRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Counts the prompts that go over prefixes which are held when holds are on, and what of these they found. */
final class HeldUse {
    /*
     * A held prefix is there because it was used a moment ago, and a released one may be held again by another request
     * or never. Counted for what is held at the moment, holds would seem to help whatever they do. So the prefixes are
     * chosen before a round of windows begins, by what was held in the round before, and are the same with holds on and
     * off.
     */
    private static final int MOST = 256;

    private final WantedPrefixes followed;
    /** Blocks of each, by its last one. */
    private final Map<Long, Integer> counted = new HashMap<>();

    private final Map<Long, Integer> next = new HashMap<>();
    private long round;
    private int requests;
    private int users;
    private long promptTokens;
    private long foundTokens;

    HeldUse(WantedPrefixes followed) {
        this.followed = followed;
    }

    /** These are held now, in this round. */
    void holding(List<Hold> held, long now) {
        if (now != round) {
            round = now;
            counted.keySet().stream().filter(end -> !next.containsKey(end)).forEach(followed::unwant);
            counted.clear();
            counted.putAll(next);
            next.clear();
        }
        for (Hold hold : held) {
            int blocks = hold.request().blocks();
            if (next.size() < MOST
                    && next.putIfAbsent(hold.end(), blocks) == null
                    && !counted.containsKey(hold.end())) {
                followed.want(hold.end(), blocks);
            }
        }
    }

    /** A user's request showed its prompt, {@code before} blocks of it in an earlier call. */
    void prompt(VisibleRequest request, int before, EngineBlocks tree) {
        requests += before == 0 ? 1 : 0;
        if (counted.isEmpty() || request.blocks() == 0) {
            return;
        }
        int[] shown = new int[2];
        tree.watchedOn(request.lastBlock(), block -> {
            int blocks = counted.getOrDefault(block, Integer.MAX_VALUE);
            if (blocks <= request.promptBlocks()) {
                shown[0] = Math.max(shown[0], blocks);
            }
            if (blocks <= before) {
                shown[1] = Math.max(shown[1], blocks);
            }
        });
        if (shown[0] > 0) {
            boolean first = shown[1] == 0;
            users += first ? 1 : 0;
            promptTokens += (long) (request.promptBlocks() - (first ? 0 : before)) * request.blockTokens();
            foundTokens += (long) (Math.min(shown[0], request.hits()) - Math.min(shown[1], request.hits()))
                    * request.blockTokens();
        }
    }

    /** Returns what was seen since the last call. */
    PrefixUse take() {
        PrefixUse seen = new PrefixUse(requests, users, promptTokens, foundTokens);
        requests = 0;
        users = 0;
        promptTokens = 0;
        foundTokens = 0;
        return seen;
    }
}
