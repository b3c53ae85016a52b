package io.holdfast.workbench.replay;

import io.holdfast.workbench.replay.SteppedEngine.Served;
import java.util.OptionalLong;

/** Decides what an engine is to keep, by what it is told of it. */
interface Decides {
    /** Actions on the engine. */
    interface Lever {
        void pin(int block);

        void unpin(int block);
    }

    /** Decides nothing. */
    Decides NOTHING = new Decides() {
        @Override
        public void choose(int size, int running, long nanos) {
            // There is nothing to choose from.
        }

        @Override
        public boolean isOpen() {
            return false;
        }

        @Override
        public int gateChanges() {
            return 0;
        }
    };

    /** The blocks of a path from one depth up to before another entered the cache. */
    default void stored(int[] path, int from, int to, long nanos) {}

    default void removed(int block, long nanos) {}

    /** Called when everything since the last call is published. */
    default void published(long nanos) {}

    /** All of a prompt is computed; {@code hint} is what its owner says will come. */
    default void prefilled(Served request, int hint, long nanos) {}

    default void finished(Served request, int hint, long nanos) {}

    /** The engine gave a pin up. */
    default void unpinned(int block) {}

    /**
     * Chooses anew where it is time to.
     *
     * @param size of the cache that is full, 0 before it is
     * @param running blocks that running requests hold
     */
    void choose(int size, int running, long nanos);

    boolean isOpen();

    int gateChanges();

    /** Holds begun and ended, where it decides by prefixes. */
    default OptionalLong holdOperations() {
        return OptionalLong.empty();
    }
}
