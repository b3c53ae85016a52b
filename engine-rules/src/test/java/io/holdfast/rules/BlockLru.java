package io.holdfast.rules;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * The plainest model of a prefix cache: blocks by number, the least recently used goes first, of one request the deepest.
 * Requests come one at a time and need all their blocks at once.
 */
public final class BlockLru {
    private record Entry(long lastUse, int depth, int block) {}

    private final int capacity;
    private final Map<Integer, Entry> resident = new HashMap<>();
    private final TreeSet<Entry> order = new TreeSet<>(Comparator.comparingLong(Entry::lastUse)
            .thenComparing(Comparator.comparingInt(Entry::depth).reversed())
            .thenComparingInt(Entry::block));
    private long now;

    public BlockLru(int capacity) {
        this.capacity = capacity;
    }

    /** How many leading blocks were there; all of them are afterwards, as far as they fit. */
    public int request(int[] blocks) {
        now++;
        int hits = 0;
        while (hits < blocks.length && resident.containsKey(blocks[hits])) {
            use(blocks[hits], hits);
            hits++;
        }
        while (resident.size() + blocks.length - hits > capacity
                && order.first().lastUse() < now) {
            resident.remove(order.removeFirst().block());
        }
        for (int i = hits; i < blocks.length && resident.size() < capacity; i++) {
            use(blocks[i], i);
        }
        return hits;
    }

    private void use(int block, int depth) {
        Entry entry = new Entry(now, depth, block);
        Entry before = resident.put(block, entry);
        if (before != null) {
            order.remove(before);
        }
        order.add(entry);
    }
}
