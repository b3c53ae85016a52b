package io.holdfast.workbench.replay;

import io.holdfast.core.rank.LruCache;

/** Blocks that an engine has, and the order in which they go. */
interface EngineCache {
    int size();

    int capacity();

    void resize(int newCapacity);

    boolean has(int block);

    /** Returns the number of blocks of a path, from its root on, that are there. */
    int hits(int[] path, int length);

    /** Uses a path and stores what is missing, as far as there is room; how much of it is there now. */
    int use(int[] path, int length, long nanos);

    /** Keeps a block that is there, once more. */
    void keep(int block);

    /** Takes one {@link #keep} back. */
    void release(int block);

    /** Returns true if one block that is there goes before another. */
    boolean isOlder(int block, int other);

    /** Order of real engines: the least recently used block goes first. */
    record Lru(LruCache cache) implements EngineCache {
        @Override
        public int size() {
            return cache.size();
        }

        @Override
        public int capacity() {
            return cache.capacity();
        }

        @Override
        public void resize(int newCapacity) {
            cache.resize(newCapacity);
        }

        @Override
        public boolean has(int block) {
            return cache.has(block);
        }

        @Override
        public int hits(int[] path, int length) {
            return cache.hits(path, length);
        }

        @Override
        public int use(int[] path, int length, long nanos) {
            return cache.use(path, length, nanos);
        }

        @Override
        public void keep(int block) {
            cache.keep(block);
        }

        @Override
        public void release(int block) {
            cache.release(block);
        }

        @Override
        public boolean isOlder(int block, int other) {
            return cache.isOlder(block, other);
        }
    }
}
