package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Engines whose caches are asked to hold prompts, and that write what they announce: first what goes, then what comes, the
 * prompt in long stores and each decoded block in one of its own.
 */
final class Engines {
    private static final int MOST_STORED_AT_ONCE = 512;

    /** The blocks of one engine, by name. */
    private interface Blocks {
        boolean holds(long name);

        /** Used now; taken up where it was not held. */
        void use(long name);

        /** Gives one up, never one of these. */
        long evict(Set<Long> running);

        int count();
    }

    private final WorkloadWriter out;
    private final int capacity;
    private final boolean holes;
    private final SplittableRandom random;
    private final List<Blocks> caches = new ArrayList<>();

    Engines(WorkloadWriter out, int engines, int capacity, boolean holes, long seed) {
        this.out = out;
        this.capacity = capacity;
        this.holes = holes;
        random = new SplittableRandom(~seed);
        for (int i = 0; i < engines; i++) {
            caches.add(empty());
        }
    }

    /** Blocks that all of them hold. */
    long held() {
        return caches.stream().mapToLong(Blocks::count).sum();
    }

    /** A prompt, of which the last blocks were decoded. */
    void request(int engine, PromptPath path, int decoded) throws IOException {
        Blocks cache = caches.get(engine);
        int known = 0;
        while (known < path.blocks() && cache.holds(path.name(known))) {
            known++;
        }
        // From the end: of two blocks of a path the deeper one was used less recently, and goes first.
        for (int i = path.blocks() - 1; i >= 0; i--) {
            cache.use(path.name(i));
        }
        evict(engine, cache, path);
        int prompt = Math.max(known, path.blocks() - decoded);
        for (int from = known; from < prompt; from += MOST_STORED_AT_ONCE) {
            out.stored(engine, path, from, Math.min(prompt, from + MOST_STORED_AT_ONCE));
        }
        for (int block = prompt; block < path.blocks(); block++) {
            out.stored(engine, path, block, block + 1);
        }
    }

    /** The engine loses everything. */
    void clear(int engine) throws IOException {
        caches.set(engine, empty());
        out.cleared(engine);
    }

    private void evict(int engine, Blocks cache, PromptPath path) throws IOException {
        if (cache.count() <= capacity) {
            return;
        }
        Set<Long> running = new HashSet<>();
        for (int i = 0; holes && i < path.blocks(); i++) {
            running.add(path.name(i));
        }
        List<Long> gone = new ArrayList<>();
        while (cache.count() > capacity) {
            gone.add(cache.evict(running));
        }
        out.removed(engine, gone);
    }

    private Blocks empty() {
        return holes ? new Scattered(random.split()) : new LeastRecent();
    }

    /** Gives up what was used least recently. */
    private static final class LeastRecent implements Blocks {
        private final Map<Long, Boolean> inOrder = new LinkedHashMap<>(16, 0.75f, true);

        @Override
        public boolean holds(long name) {
            return inOrder.containsKey(name);
        }

        @Override
        public void use(long name) {
            inOrder.put(name, true);
        }

        @Override
        public long evict(Set<Long> running) {
            var eldest = inOrder.keySet().iterator();
            long name = eldest.next();
            eldest.remove();
            return name;
        }

        @Override
        public int count() {
            return inOrder.size();
        }
    }

    /** Gives up any block, so that paths get holes. */
    private static final class Scattered implements Blocks {
        private final SplittableRandom random;
        private final Map<Long, Integer> places = new HashMap<>();
        private final List<Long> names = new ArrayList<>();

        Scattered(SplittableRandom random) {
            this.random = random;
        }

        @Override
        public boolean holds(long name) {
            return places.containsKey(name);
        }

        @Override
        public void use(long name) {
            if (places.putIfAbsent(name, names.size()) == null) {
                names.add(name);
            }
        }

        @Override
        public long evict(Set<Long> running) {
            int place = random.nextInt(names.size());
            while (running.contains(names.get(place))) {
                place = random.nextInt(names.size());
            }
            long name = names.get(place);
            long last = names.removeLast();
            places.remove(name);
            if (last != name) {
                names.set(place, last);
                places.put(last, place);
            }
            return name;
        }

        @Override
        public int count() {
            return names.size();
        }
    }
}
