package io.holdfast.embed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The engines of a fleet at one moment, in the order in which they were added, and which of the tree's caches are
 * theirs.
 */
final class Roster {
    static final Roster EMPTY = new Roster(List.of(), Map.of());

    private static final int[] NONE = {};

    private final List<Engine> engines;
    /** Ids by rank. */
    private final Map<Engine, int[]> caches;

    private Roster(List<Engine> engines, Map<Engine, int[]> caches) {
        this.engines = engines;
        this.caches = caches;
    }

    List<Engine> engines() {
        return engines;
    }

    int size() {
        return engines.size();
    }

    Engine engine(int index) {
        return engines.get(index);
    }

    Optional<Engine> named(String id) {
        return engines.stream().filter(engine -> engine.id().equals(id)).findFirst();
    }

    boolean has(Engine engine) {
        return caches.containsKey(engine);
    }

    int[] cachesOf(Engine engine) {
        return caches.getOrDefault(engine, NONE);
    }

    Roster with(Engine engine) {
        List<Engine> more = new ArrayList<>(engines);
        more.add(engine);
        return new Roster(List.copyOf(more), with(engine, NONE));
    }

    /** Returns this roster with one more cache of an engine, which is that of its next rank. */
    Roster withCache(Engine engine, int id) {
        int[] before = cachesOf(engine);
        int[] more = Arrays.copyOf(before, before.length + 1);
        more[before.length] = id;
        return new Roster(engines, with(engine, more));
    }

    Roster without(Engine engine) {
        Map<Engine, int[]> fewer = new HashMap<>(caches);
        fewer.remove(engine);
        return new Roster(engines.stream().filter(each -> each != engine).toList(), fewer);
    }

    private Map<Engine, int[]> with(Engine engine, int[] ids) {
        Map<Engine, int[]> changed = new HashMap<>(caches);
        changed.put(engine, ids);
        return changed;
    }
}
