package io.holdfast.core.index;

/** A cache in a tree that is named by its engine's hashes. */
final class CacheByHash extends Cache {
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
        for (int strip = 1; strip < tree.strips.used(); strip++) {
            int length = tree.strips.length(strip);
            for (int place = 0; place < length; place++) {
                int position = strip << Strips.PLACE_BITS | place;
                int tiers = presentIn(position);
                if (tiers != 0) {
                    visitor.visit(tree.strips.name(position), tiers);
                }
            }
        }
    }

    @Override
    void store(StoredBlocks chain, Tier tier) {
        int above = Strips.ROOT;
        if (!chain.rooted()) {
            above = last(chain.parent());
            if (above == 0) {
                above = tree.find(chain.parent());
            }
            if (above == 0) {
                above = tree.placeOrphan(chain.parent());
            }
            tree.overlay().continued(above, tier);
        }
        PositionTable table = tree.table();
        int count = chain.count();
        for (int i = 0; i < count; i++) {
            int ahead = i % AHEAD;
            if (ahead == 0 && count > 1) {
                table.findAll(chain.hashArray(), chain.hashFrom() + i, Math.min(AHEAD, count - i));
            }
            long hash = chain.hash(i);
            above = tree.placeByHash(above, hash, count > 1 ? table.found(ahead, hash) : table.find(hash));
            hold(above, tier);
        }
        storedUpTo(chain.hash(count - 1), above);
    }

    @Override
    void remove(long[] hashes, int from, int to, Tier tier) {
        PositionTable table = tree.table();
        table.findAll(hashes, from, to - from);
        for (int i = from; i < to; i++) {
            int position = table.found(i - from, hashes[i]);
            if (position == 0) {
                unknownRemoval();
            } else if (!takeCopy(position, tier)) {
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
