package io.holdfast.core.index;

import io.holdfast.core.hash.ContentNames;
import java.util.Arrays;

/**
 * A cache in a tree that is named by content.
 *
 * <p>Its engine's hashes lead to blocks through a table of its own. What it stores under a block that it does not hold
 * has no name: it is counted by hash and tier, and placed when it is announced again where its place is known.
 */
final class CacheByContent extends Cache {
    private final LongToLongMap[] nowhere = new LongToLongMap[Holders.TIERS];
    private HashTable table = new HashTable();
    private boolean someNowhere;

    CacheByContent(BlockTree tree, int id, CacheTraits traits) {
        super(tree, id, traits);
        Arrays.setAll(nowhere, tier -> new LongToLongMap());
    }

    @Override
    public int blocks() {
        return table.size() + unplaced();
    }

    @Override
    public int unplaced() {
        int count = 0;
        for (int i = 0; i < nowhere.length; i++) {
            count += nowhere[i].size();
        }
        if (count == nowhere[0].size()) {
            return count;
        }
        int[] distinct = new int[1];
        forEachNowhere((hash, tiers) -> distinct[0]++);
        return distinct[0];
    }

    @Override
    public void forEachHash(HashVisitor visitor) {
        table.forEach((hash, position) -> visitor.visit(hash, presentIn(position)));
        forEachNowhere(visitor);
    }

    @Override
    void forEachPlaced(HashTable.Visitor visitor) {
        table.forEach(visitor);
    }

    @Override
    void leaveAllBut(ViewSnapshot view) {
        forgetAll();
    }

    @Override
    void approach(ViewSnapshot view, int block, int length) {
        table.approach(view.hashes, block, block + length);
    }

    @Override
    int place(ViewSnapshot view, int block, int above) {
        if (above == Strips.ORPHAN) {
            return 0;
        }
        int before = tree.blocks();
        int position = tree.placeByContent(above, view.names[block]);
        if (view.tiers(block) == 0 || position == 0) {
            return position;
        }
        long hash = view.hashes[block];
        if ((tree.blocks() == before && taken(position)) || table.find(hash) != 0) {
            tree.trimCandidate(position >>> Strips.OFFSET_BITS);
            return 0;
        }
        table.insert(hash, position);
        return position;
    }

    @Override
    void countUnplaced(ViewSnapshot.Counts counts) {
        for (Tier tier : Tier.values()) {
            nowhere[tier.rank].forEach((hash, count) -> counts.add(hash, ViewSnapshot.UNPLACED, 0, tier.rank, count));
        }
    }

    @Override
    void holdUnplaced(long hash, Tier tier, int count) {
        someNowhere = true;
        nowhere[tier.rank].add(hash, count);
    }

    @Override
    void store(StoredBlocks stores, Tier tier) {
        int above = stores.rooted() ? Strips.ROOT : last(stores.parent());
        if (!stores.rooted() && above == 0) {
            above = table.find(stores.parent());
        }
        boolean placed = stores.rooted() || above != 0;
        boolean nameable = stores.named()
                || (stores.blockTokens() > 0 && stores.tokenCount() == (long) stores.count() * stores.blockTokens());
        int count = stores.count();
        for (int i = 0; i < count; i++) {
            if (i % AHEAD == 0 && count > 1) {
                table.approach(
                        stores.hashArray(), stores.hashFrom() + i, stores.hashFrom() + Math.min(count, i + AHEAD));
            }
            long hash = stores.hash(i);
            int position = table.find(hash);
            if (position == 0 && placed && nameable) {
                int before = tree.blocks();
                position = tree.placeByContent(
                        above, stores.named() ? stores.name(i) : name(stores, i, above, tree.strips));
                if (tree.blocks() == before && position != 0 && taken(position)) {
                    // Another hash stands for this block: whichever is removed first would take it from the other.
                    position = 0;
                }
                if (position != 0) {
                    table.insert(hash, position);
                    adopt(hash, position);
                }
            }
            placed = position != 0;
            if (placed) {
                above = position;
                hold(position, tier);
            } else {
                holdNowhere(hash, tier);
            }
        }
        storedUpTo(stores.hash(count - 1), placed ? above : 0);
    }

    @Override
    void remove(long[] hashes, int from, int to, Tier tier) {
        table.approach(hashes, from, to);
        for (int i = from; i < to; i++) {
            int position = table.find(hashes[i]);
            if (position == 0) {
                if (!nowhere[tier.rank].take(hashes[i])) {
                    unknownRemoval();
                }
            } else if (!takeCopy(position, tier)) {
                boolean last = only(tier) || presentIn(position) == tier.bit;
                letGo(position, tier);
                if (last) {
                    table.removeFound(hashes[i]);
                }
            }
        }
    }

    @Override
    boolean held(long hash, Tier tier) {
        int position = table.find(hash);
        return position == 0 ? nowhere[tier.rank].get(hash) > 0 : present(position, tier);
    }

    @Override
    void forgetPlaced(int bits, boolean sparing) {
        HashTable before = table;
        table = new HashTable();
        before.forEach((hash, position) -> forgetStrip(position >>> Strips.OFFSET_BITS, bits, sparing));
        if (bits != Tier.ALL) {
            before.forEach((hash, position) -> {
                if (presentIn(position) != 0) {
                    table.find(hash);
                    table.insert(hash, position);
                }
            });
        }
        for (Tier tier : Tier.values()) {
            if ((bits & tier.bit) != 0) {
                nowhere[tier.rank].clear();
            }
        }
    }

    private static long name(StoredBlocks stores, int index, int above, Strips strips) {
        int blockTokens = stores.blockTokens();
        long local = ContentNames.local(stores.tokenArray(), stores.tokenFrom() + index * blockTokens, blockTokens);
        long extra = stores.extra(index);
        if (extra != 0) {
            local = ContentNames.with(local, extra);
        }
        return above == Strips.ROOT
                ? ContentNames.root(local, stores.namespace())
                : ContentNames.next(strips.name(above), local);
    }

    private void holdNowhere(long hash, Tier tier) {
        LongToLongMap counts = nowhere[tier.rank];
        if (countsCopies() || counts.get(hash) == 0) {
            someNowhere = true;
            counts.add(hash, 1);
        }
    }

    /** The block has a place from now on: what was counted without one is held there. */
    private void adopt(long hash, int position) {
        if (!someNowhere) {
            return;
        }
        for (Tier tier : Tier.values()) {
            LongToLongMap counts = nowhere[tier.rank];
            int count = counts.size() == 0 ? 0 : (int) counts.remove(hash);
            if (count > 0) {
                holdNow(position, tier, count);
            }
        }
    }

    private void forEachNowhere(HashVisitor visitor) {
        for (int i = 0; i < nowhere.length; i++) {
            int nearer = (1 << i) - 1;
            nowhere[i].forEach((hash, count) -> {
                int tiers = nowhereIn(hash);
                if ((tiers & nearer) == 0) {
                    visitor.visit(hash, tiers);
                }
            });
        }
    }

    private int nowhereIn(long hash) {
        int tiers = 0;
        for (Tier tier : Tier.values()) {
            if (nowhere[tier.rank].get(hash) > 0) {
                tiers |= tier.bit;
            }
        }
        return tiers;
    }
}
