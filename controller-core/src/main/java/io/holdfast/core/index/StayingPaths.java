package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;

/** Parts of certain paths that have stayed in one cache since a moment of its engine's clock. */
final class StayingPaths {
    /*
     * Whoever cannot take back what protects a path has to know how much of it is protected still. A block that was
     * removed and stored again is there, and not protected; so it is not enough to look at what is there. What counts
     * is the first removal of each block after the moment from which on the path is surely protected, and that moment
     * is on the engine's clock, since events are old when they come, and come all again to a process that has just
     * begun: it hears of blocks that were there long before they were protected.
     *
     * An engine stamps a batch when it publishes it. What it removed while it decoded it may publish seconds later, so
     * for that long after the moment a removal may be older than it; a clear is published at once.
     *
     * A path is known by its last block until that one is stored, and all of it from then on.
     */
    private static final long REMOVALS_LATE_MICROS = 15_000_000;
    private static final long CLEARS_LATE_MICROS = 2_000_000;

    private final LongFunction<long[]> pathOf;
    private final LongPredicate resident;
    private final List<Watched> all = new ArrayList<>();
    /** Last blocks of paths that are not known yet. */
    private final LongToLongMap awaited = new LongToLongMap();
    /** Blocks of those that are. */
    private final LongToLongMap members = new LongToLongMap();

    private boolean restarted;

    /** {@code pathOf} gives the path down to a block, empty while that is not known. */
    StayingPaths(LongFunction<long[]> pathOf, LongPredicate resident) {
        this.pathOf = pathOf;
        this.resident = resident;
    }

    private final class Watched implements StayingPath {
        private final long lastBlock;
        private final long sinceMicros;
        private long[] path = {};
        private final Map<Long, Integer> places = new HashMap<>();
        private int stayed;
        private int present;
        private boolean changed;
        private boolean over;
        private boolean lost;

        Watched(long lastBlock, long sinceMicros) {
            this.lastBlock = lastBlock;
            this.sinceMicros = sinceMicros;
            awaited.add(lastBlock, 1);
            learn();
        }

        private void learn() {
            long[] known = pathOf.apply(lastBlock);
            if (known.length == 0) {
                return;
            }
            awaited.take(lastBlock);
            path = known;
            for (int i = 0; i < path.length; i++) {
                places.put(path[i], i);
                members.add(path[i], 1);
            }
            stayed = path.length;
            present = path.length;
            changed = true;
        }

        private void unlearn() {
            if (path.length > 0) {
                for (long block : path) {
                    members.take(block);
                }
                places.clear();
                path = new long[0];
                awaited.add(lastBlock, 1);
            }
            lost = false;
        }

        private void removed(long block, long stampMicros) {
            Integer place = places.get(block);
            if (place != null) {
                changed = true;
                stayed = isAfter(stampMicros, REMOVALS_LATE_MICROS) ? Math.min(stayed, place) : stayed;
            }
        }

        private void cleared(long stampMicros) {
            over |= isAfter(stampMicros, CLEARS_LATE_MICROS);
            unlearn();
        }

        private boolean isAfter(long stampMicros, long lateMicros) {
            return stampMicros - lateMicros > sinceMicros;
        }

        @Override
        public boolean known() {
            if (path.length == 0 && !over && resident.test(lastBlock)) {
                learn();
            }
            return path.length > 0 || over;
        }

        @Override
        public int blocks() {
            if (over || path.length == 0) {
                return 0;
            }
            if (changed && !lost) {
                changed = false;
                present = 0;
                while (present < path.length && resident.test(path[present])) {
                    present++;
                }
            }
            return Math.min(stayed, present);
        }

        @Override
        public long block(int index) {
            return path[index];
        }

        @Override
        public void forget() {
            if (all.remove(this)) {
                unlearn();
                awaited.take(lastBlock);
            }
        }
    }

    /** Follows the path down to this block; what is removed up to that moment and is there again has stayed. */
    StayingPath follow(long lastBlock, long sinceMicros) {
        Watched path = new Watched(lastBlock, sinceMicros);
        all.add(path);
        return path;
    }

    boolean watching() {
        return !all.isEmpty();
    }

    void batchStarted(long stampMicros) {
        if (restarted) {
            restarted = false;
            cleared(stampMicros);
        }
    }

    /** After they are in the tree. */
    void stored(StoredBlocks stores) {
        for (int i = 0; i < stores.count(); i++) {
            long block = stores.hash(i);
            if (members.get(block) > 0) {
                all.forEach(path -> path.changed |= path.places.containsKey(block));
            }
            if (awaited.get(block) > 0) {
                all.forEach(path -> {
                    if (path.lastBlock == block && !path.known()) {
                        path.learn();
                    }
                });
            }
        }
    }

    /** After it left; where a second block of the same hash is there still, nobody knows which one went. */
    void removed(long block, long stampMicros) {
        if (members.get(block) > 0 && !resident.test(block)) {
            all.forEach(path -> path.removed(block, stampMicros));
        }
    }

    void cleared(long stampMicros) {
        all.forEach(path -> path.cleared(stampMicros));
    }

    /** Everything goes with the next batch's stamp. */
    void restarted() {
        restarted = true;
    }

    /** Stops trusting what is there, so that only a removal that is heard takes something away. */
    void gap() {
        all.forEach(path -> path.lost |= path.path.length > 0);
    }
}
