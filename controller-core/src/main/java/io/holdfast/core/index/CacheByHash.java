package io.holdfast.core.index;

/** A cache in a tree that is named by its engine's hashes. */
final class CacheByHash extends Cache {
    /** The position of the block removed last; it may be another block's by now. */
    private int removed;

    /* Blocks of a snapshot that were looked for at once. */
    private int approached;
    private int approachedTo;

    CacheByHash(BlockTree tree, int id, CacheTraits traits) {
        super(tree, id, traits);
    }

    @Override
    public int blocks() {
        return placed();
    }

    @Override
    public int unplaced() {
        return 0;
    }

    @Override
    public void forEachHash(HashVisitor visitor) {
        forEachPlaced((hash, position) -> visitor.visit(hash, presentIn(position)));
    }

    @Override
    void forEachPlaced(HashTable.Visitor visitor) {
        for (int strip = 1; strip < tree.strips.used(); strip++) {
            int length = tree.strips.length(strip);
            for (int offset = 0; offset < length; offset++) {
                int position = strip << Strips.OFFSET_BITS | offset;
                if (presentIn(position) != 0) {
                    visitor.visit(tree.strips.name(position), position);
                }
            }
        }
    }

    @Override
    void leaveAllBut(ViewSnapshot view) {
        if (placed() == 0) {
            return;
        }
        LongToLongMap wanted = new LongToLongMap();
        for (int block = 0; block < view.blocks(); block++) {
            if (view.tiers(block) != 0) {
                wanted.put(view.names[block], view.tiers(block));
            }
        }
        forEachPlaced((hash, position) -> {
            int gone = presentIn(position) & ~(int) wanted.get(hash);
            for (Tier tier : Tier.values()) {
                if ((gone & tier.bit) != 0) {
                    letGo(position, tier);
                }
            }
        });
    }

    @Override
    void approach(ViewSnapshot view, int block, int length) {
        approached = block;
        approachedTo = length == 1 ? block : block + Math.min(AHEAD, length);
        if (length > 1) {
            tree.table().findAll(view.names, block, approachedTo - block);
        }
    }

    @Override
    int place(ViewSnapshot view, int block, int above) {
        int known = block < approachedTo
                ? tree.table().found(block - approached, view.names[block])
                : tree.find(view.names[block]);
        return above == Strips.ORPHAN && known == 0
                ? tree.placeOrphan(view.names[block])
                : above == Strips.ORPHAN ? known : tree.placeByHash(above, view.names[block], known);
    }

    @Override
    void countUnplaced(ViewSnapshot.Counts counts) {}

    @Override
    void holdUnplaced(long hash, Tier tier, int count) {}

    @Override
    void store(StoredBlocks stores, Tier tier) {
        int above = Strips.ROOT;
        if (!stores.rooted()) {
            above = last(stores.parent());
            if (above == 0) {
                above = tree.find(stores.parent());
            }
            if (above == 0) {
                above = tree.placeOrphan(stores.parent());
            }
            tree.overlay().continued(above, tier);
        }
        PositionTable table = tree.table();
        int count = stores.count();
        for (int i = 0; i < count; i++) {
            int ahead = i % AHEAD;
            if (ahead == 0 && count > 1) {
                table.findAll(stores.hashArray(), stores.hashFrom() + i, Math.min(AHEAD, count - i));
            }
            long hash = stores.hash(i);
            above = tree.placeByHash(above, hash, count > 1 ? table.found(ahead, hash) : table.find(hash));
            hold(above, tier);
        }
        storedUpTo(stores.hash(count - 1), above);
    }

    @Override
    void remove(long[] hashes, int from, int to, Tier tier) {
        PositionTable table = tree.table();
        for (int i = from; i < to; i++) {
            int position = table.findBeside(removed, hashes, from, i - from, to - from);
            if (position == 0) {
                unknownRemoval();
                continue;
            }
            removed = position;
            if (!takeCopy(position, tier)) {
                letGo(position, tier);
            }
        }
    }

    @Override
    boolean held(long hash, Tier tier) {
        int position = tree.find(hash);
        return position != 0 && present(position, tier);
    }

    @Override
    void forgetPlaced(int bits, boolean sparing) {
        for (int strip = 1; strip < tree.strips.used(); strip++) {
            if (tree.strips.length(strip) > 0) {
                forgetStrip(strip, bits, sparing);
            }
        }
    }
}
