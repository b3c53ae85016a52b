package io.holdfast.core.rank;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * An engine that evicts the least recently used leaf which nothing pins, with users whose conversations go on among prompts
 * that come once; it says what it stores and removes, as engines do.
 */
public final class EvictingEngine {
    private static final int BLOCKS_OF_A_TURN = 8;
    private static final int MOST_TURNS = 6;

    private final int capacity;
    /** How many blocks stand for one. */
    private final int times;

    private final KvEventSink events;
    /** The last block of each conversation that goes on, by its number. */
    private final Map<Integer, Long> conversations = new LinkedHashMap<>();

    private final Map<Long, Long> parents = new LinkedHashMap<>();
    private final Map<Long, Integer> children = new LinkedHashMap<>();
    private final LinkedHashMap<Long, Boolean> leastRecent = new LinkedHashMap<>(16, 0.75f, true);
    private final SplittableRandom random = new SplittableRandom(3);
    private final Deque<Integer> goOn = new ArrayDeque<>();
    private Set<Long> pinned = Set.of();
    private long nextBlock = 1;
    private int nextConversation;
    private int seconds;
    private long batch;
    private long stampMicros;
    /** What every conversation begins with. */
    private long beginning;
    /** How far above its end a turn is gone on from. */
    private int rewritten;

    public EvictingEngine(int capacity, int times, KvEventSink events) {
        this.capacity = capacity;
        this.times = times;
        this.events = events;
    }

    /** What its clock says from now on. */
    public void now(long nanos) {
        stampMicros = nanos / 1_000;
    }

    /** Nothing above these blocks is evicted, nor they themselves. */
    public void pin(Set<Long> lastBlocks) {
        Set<Long> paths = new HashSet<>();
        for (long last : lastBlocks) {
            for (long at = last; at != 0; at = above(at)) {
                paths.add(at);
            }
        }
        pinned = paths;
    }

    /** Where conversations have come to. */
    public Set<Long> conversations() {
        return Set.copyOf(conversations.values());
    }

    /** What ends here is in the cache, and was sent once. */
    public Set<Long> sentOnce() {
        return leastRecent.keySet().stream()
                .filter(block -> children.getOrDefault(block, 0) == 0 && !conversations.containsValue(block))
                .collect(Collectors.toSet());
    }

    public boolean has(long block) {
        return leastRecent.containsKey(block);
    }

    /** All blocks down to this one. */
    public long[] path(long last) {
        return LongStream.iterate(last, block -> block != 0, this::above)
                .boxed()
                .sorted(Comparator.comparingInt(this::depth))
                .mapToLong(Long::longValue)
                .toArray();
    }

    /** The block above, 0 above the first of a path. */
    public long above(long block) {
        return parents.getOrDefault(block, 0L);
    }

    /** Every conversation that begins from now on begins with this many blocks. */
    public void sharesFrom(int blocks) {
        beginning = send(0, blocks);
    }

    /** The last blocks of each turn are others when the conversation goes on, as where a template drops what was thought. */
    public void rewrites(int blocks) {
        rewritten = blocks;
    }

    /** The one request of a second: of each minute so many go on with a conversation, of which there are as many. */
    public void request(int conversing) {
        if (seconds++ % 10 > 0 || conversing == 0) {
            send(0, random.nextInt(14, 26) * times);
            return;
        }
        int number = goOn.size() < conversing ? nextConversation++ : goOn.removeFirst();
        goOn.addLast(number);
        long under = conversations.getOrDefault(number, beginning);
        if (depth(under) > depth(beginning) + MOST_TURNS * BLOCKS_OF_A_TURN * times) {
            conversations.remove(number);
            goOn.removeLast();
            under = beginning;
            number = nextConversation++;
            goOn.addLast(number);
        }
        for (int i = 0; i < rewritten && under != beginning; i++) {
            under = above(under);
        }
        conversations.put(number, send(under, BLOCKS_OF_A_TURN * times));
    }

    /** Its cache is emptied, as by a flush. */
    public void empty() {
        events.batchStarted(batch++, stampMicros);
        events.cleared();
        events.batchEnded();
        leastRecent.clear();
        children.clear();
    }

    private int depth(long block) {
        int depth = 0;
        for (long at = block; at != 0; at = above(at)) {
            depth++;
        }
        return depth;
    }

    /** A request whose path goes on under a block, with all of the path that is gone stored anew. */
    private long send(long under, int fresh) {
        Deque<Long> path = new ArrayDeque<>();
        for (int i = 0; i < fresh; i++) {
            parents.put(nextBlock, i == 0 ? under : nextBlock - 1);
            path.addLast(nextBlock++);
        }
        for (long at = under; at != 0; at = above(at)) {
            path.addFirst(at);
        }
        List<Long> missing =
                path.stream().filter(block -> !leastRecent.containsKey(block)).toList();
        path.forEach(leastRecent::get);
        events.batchStarted(batch++, stampMicros);
        evict(missing.size(), new HashSet<>(path));
        StoredBlocks stores = new StoredBlocks().blockTokens(16);
        missing.forEach(stores::add);
        long above = above(missing.getFirst());
        if (above != 0) {
            stores.under(above);
        }
        missing.forEach(block -> {
            leastRecent.put(block, true);
            children.merge(above(block), 1, Integer::sum);
        });
        events.stored(stores);
        events.batchEnded();
        return path.getLast();
    }

    private void evict(int room, Set<Long> used) {
        Set<Long> gone = new LinkedHashSet<>();
        while (leastRecent.size() - gone.size() + room > capacity) {
            long leaf = leastRecent.keySet().stream()
                    .filter(block -> mayGo(block, used) && !gone.contains(block))
                    .findFirst()
                    .orElseThrow();
            for (long at = leaf;
                    at != 0 && mayGo(at, used) && leastRecent.size() - gone.size() + room > capacity;
                    at = above(at)) {
                gone.add(at);
                children.merge(above(at), -1, Integer::sum);
            }
        }
        gone.forEach(leastRecent::remove);
        if (!gone.isEmpty()) {
            long[] hashes = gone.stream().mapToLong(Long::longValue).toArray();
            events.removed(hashes, 0, hashes.length, Tier.GPU, 0);
        }
    }

    private boolean mayGo(long block, Set<Long> used) {
        return children.getOrDefault(block, 0) == 0 && !used.contains(block) && !pinned.contains(block);
    }
}
