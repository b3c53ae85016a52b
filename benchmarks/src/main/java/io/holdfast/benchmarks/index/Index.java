package io.holdfast.benchmarks.index;

/** Object of the measurement: an index of several engines' blocks, with one writer and any number of readers. */
interface Index {
    /** Applies one event as a batch of its own; for the writer. */
    void apply(Events events, int event);

    /** Applies events from the first up to before the last; for the writer. */
    default void apply(Events events, int from, int to) {
        for (int i = from; i < to; i++) {
            apply(events, i);
        }
    }

    /** Events that named what the index did not know; for the writer. */
    long errors();

    /** For one more reading thread. */
    Reader reader();

    /** The answers that one thread requests, one after the other. */
    interface Reader {
        /**
         * Asks for a path; the answer is how many engines hold at least its first block, and stays until the next call.
         */
        int match(long[] names, int from, int blocks);

        /** One of these engines. */
        int engine(int i);

        /** Number of leading blocks of the path that it holds. */
        int depth(int i);

        default int match(Queries queries, int query) {
            return match(queries.names(), queries.from(query), queries.blocks(query));
        }
    }
}
