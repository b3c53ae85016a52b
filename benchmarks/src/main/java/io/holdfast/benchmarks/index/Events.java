package io.holdfast.benchmarks.index;

import java.util.Arrays;

/**
 * Events in flat arrays, made before any clock starts.
 *
 * <p>A lone engine's own hashes are the names. Where there are several engines each has hashes of its own, as real ones do:
 * the names, mixed again with the engine's number. An index then has to find the way from these to the names.
 */
final class Events {
    /** A store without a block above it. */
    static final int ROOT_STORE = WorkloadFile.CLEAR + 1;

    private static final long ENGINE_STEP = 0xD6E8FEB86659FD93L;

    private final boolean several;
    private byte[] kinds;
    private char[] engines;
    private int[] ends;
    private long[] parents;
    private int count;
    private long[] names;
    private long[] hashes;
    private int blocks;

    /** Room for this many to begin with. */
    Events(int engines, int events, int blocks) {
        several = engines > 1;
        kinds = new byte[events];
        this.engines = new char[events];
        ends = new int[events];
        parents = new long[events];
        names = new long[blocks];
        hashes = several ? new long[blocks] : names;
    }

    /** All events of a file. */
    static Events of(WorkloadFile file) {
        Events events = new Events(file.engines(), file.events(), file.operations());
        while (file.nextEvent()) {
            events.add(file);
        }
        return events;
    }

    void clear() {
        count = 0;
        blocks = 0;
    }

    /** Appends the event that the file read last. */
    void add(WorkloadFile file) {
        add(file.kind(), file.engine(), file.parent());
        for (int i = 0; i < file.count(); i++) {
            addBlock(file.name(i));
        }
    }

    /** Appends an event without blocks; a parent of 0 is none. */
    void add(int kind, int engine, long parent) {
        if (count == kinds.length) {
            int size = Math.max(16, count * 2);
            kinds = Arrays.copyOf(kinds, size);
            engines = Arrays.copyOf(engines, size);
            ends = Arrays.copyOf(ends, size);
            parents = Arrays.copyOf(parents, size);
        }
        kinds[count] = (byte) (kind == WorkloadFile.STORE && parent == 0 ? ROOT_STORE : kind);
        engines[count] = (char) engine;
        parents[count] = several ? hash(parent, engine) : parent;
        ends[count] = blocks;
        count++;
    }

    /** Appends a block to the last event. */
    void addBlock(long name) {
        if (blocks == names.length) {
            int size = Math.addExact(blocks, Math.max(blocks, 64));
            names = Arrays.copyOf(names, size);
            hashes = several ? Arrays.copyOf(hashes, size) : names;
        }
        names[blocks] = name;
        if (several) {
            hashes[blocks] = hash(name, engines[count - 1]);
        }
        ends[count - 1] = ++blocks;
    }

    int count() {
        return count;
    }

    /** Blocks stored and removed by the events from the first up to before the last. */
    int blocks(int from, int to) {
        return from(to) - from(from);
    }

    int kind(int event) {
        return kinds[event];
    }

    int engine(int event) {
        return engines[event];
    }

    /** The engine's hash of the block above a store that is not a {@link #ROOT_STORE}. */
    long parent(int event) {
        return parents[event];
    }

    /** The first of the event's blocks in {@link #names} and {@link #hashes}. */
    int from(int event) {
        return event == 0 ? 0 : ends[event - 1];
    }

    /** The end of the event's blocks. */
    int to(int event) {
        return ends[event];
    }

    /** The blocks' names on the content chain, of all events. */
    long[] names() {
        return names;
    }

    /** The blocks' hashes as their engine makes them, of all events. */
    long[] hashes() {
        return hashes;
    }

    /** A bijection for each engine. */
    private static long hash(long name, int engine) {
        return Mix.of(name + (engine + 1) * ENGINE_STEP);
    }
}
