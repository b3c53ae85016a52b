package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Policy;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/*
 * Requests that wait for their prefill, in the order in which they will be asked.
 *
 * First come, first served: a retracted request goes to the end. So that what the waiting will want is not evicted
 * before their turn, the release touches their prefixes at every 32nd look at the queue, the head's last; only where
 * the least recently used is evicted first.
 *
 * Longest prefix first: the queue is sorted anew at every look by how much of each prompt is cached. Of several that
 * have nothing cached and begin alike, only the first keeps its place and the others go to the end, to find in the
 * cache what it will have left there. With more than 128 waiting that is too dear, and it is first come, first served.
 */
final class WaitingQueue {
    private static final int LOOKED_AT = 128;
    private static final int LOOKS_BETWEEN_TOUCHES = 32;

    /** Prompts that share so many tokens are prefilled one after the other. */
    private static final int SHARED_TOKENS = 32;

    private record Beginning(Namespace space, Tokens tokens) {}

    private record Placed(RadixRequest request, int cached) {}

    private final boolean longestFirst;
    private final boolean touches;
    private final Deque<RadixRequest> queue = new ArrayDeque<>();
    private long tokens;
    private long looks;

    WaitingQueue(SglangSettings settings) {
        longestFirst = settings.policy() == Policy.LPM;
        touches = settings.variant() == Variant.STOCK && settings.eviction() == Eviction.LRU;
    }

    void add(RadixRequest request) {
        queue.add(request);
        tokens += request.length();
    }

    Optional<RadixRequest> first() {
        return Optional.ofNullable(queue.peek());
    }

    void removeFirst() {
        tokens -= queue.remove().length();
    }

    /** False when it does not wait here. */
    boolean remove(Generation request) {
        for (Iterator<RadixRequest> all = queue.iterator(); all.hasNext(); ) {
            RadixRequest next = all.next();
            if (next.request == request) {
                all.remove();
                tokens -= next.length();
                return true;
            }
        }
        return false;
    }

    boolean isEmpty() {
        return queue.isEmpty();
    }

    int size() {
        return queue.size();
    }

    /** Tokens of all prompts, with those that were said before a retraction. */
    long tokens() {
        return tokens;
    }

    /** Before the queue is asked for a pass. */
    void arrange(RadixCache cache) {
        if (queue.isEmpty()) {
            return;
        }
        if (longestFirst && queue.size() <= LOOKED_AT) {
            sort(cache);
        } else if (touches && looks++ % LOOKS_BETWEEN_TOUCHES == 0) {
            List<RadixRequest> next = queue.stream().limit(LOOKED_AT).toList();
            next.reversed()
                    .forEach(request ->
                            cache.match(request.chain(), request.chain().blocks()));
        }
    }

    private void sort(RadixCache cache) {
        Set<Beginning> beginnings = new HashSet<>();
        List<Placed> placed = new ArrayList<>(queue.size());
        for (RadixRequest request : queue) {
            TokenChain chain = request.chain();
            RadixCache.Match match = cache.match(chain, chain.blocks());
            boolean alike = match.onGpu() <= SHARED_TOKENS
                    && chain.length() >= SHARED_TOKENS
                    && !beginnings.add(new Beginning(chain.space(), request.request.tokens(0, SHARED_TOKENS)));
            placed.add(new Placed(request, alike ? -1 : Math.min(match.tokens(), chain.length() - 1)));
        }
        placed.sort(Comparator.comparingInt(Placed::cached).reversed());
        queue.clear();
        placed.forEach(one -> queue.add(one.request()));
    }
}
