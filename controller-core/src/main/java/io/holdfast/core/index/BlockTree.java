package io.holdfast.core.index;

import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The blocks that caches hold, and how they follow one another.
 *
 * <p>One thread writes: it adds caches and hands each its engine's events. Any thread reads, by {@link #match}.
 */
public final class BlockTree {
    /*
     * Layout
     * ------
     * Sixteen blocks that follow one another are a strip; a strip hangs under a block, anywhere in another strip. So a
     * fork splits nothing and a position never changes. Names, parents and holders of sixteen blocks lie side by side,
     * and a path is walked strip by strip: a lookup, a comparison of up to sixteen names, a look at who holds them.
     *
     * Names
     * -----
     * Beside one engine (or the ranks of one, which hash alike) blocks are named by the engine's own hashes, and one
     * table leads from a name to its block: events need it for every block, readers for the first of each strip. For a
     * fleet the engines' hashes differ, so blocks are named by the content chain; the table then has the first blocks
     * of strips only, and a table per cache leads from the engine's hash to the block. Names are chained: a block's
     * name stands for all that precede it. Still nothing rests on that: a match compares every name, and the parent of
     * every strip.
     *
     * What lives
     * ----------
     * A block lives while a cache holds it in any tier, or something living follows it. One that nobody holds but that
     * is followed is an exact hole: a match does not cross it, a new store heals it. Dead blocks go from the end of
     * their strip upwards, at the end of the batch, so that a block removed and stored again in one batch never moves.
     * Children are known by offset but counted by strip: a strip whose children went one by one keeps the blocks up to
     * the last child until all are gone, at most fifteen.
     *
     * A block announced under a block that nobody announced (we joined late, or lost batches) is an orphan in a tree
     * that is named by the engine: its strip begins with the unknown parent, held by nobody and without a place in the
     * tree, and is hung up where it belongs once that parent is announced. In a tree named by content such a block has
     * no name; its cache knows that it holds it, and no more. The first parent of a living block wins: a second one is
     * a collision or nonsense, and believing it could close a circle.
     *
     * Readers
     * -------
     * Readers never make the writer wait, and see each batch as a whole. Every strip has a version. The writer makes it
     * odd before it changes a strip, and even again at the end of the batch, all strips of the batch together. A reader
     * notes the version of each strip that it walks over, waits while one is odd, and compares them all again in the
     * end: equal, none of them changed between the first look and the last, so that the answer was true at one moment,
     * which was at a boundary of batches, since a strip that a batch has begun to change is odd until all of it is
     * done. Otherwise the reader starts anew, and the writer has got on.
     *
     * A walk that ends because no child follows rests on something that is not there, and no version says so. But that
     * look is its last, and between it and the comparison of versions nothing of the walk changed: the answer was true
     * at that look. Had the batch under way hung up the child before, it would have been seen, odd; a batch takes
     * strips down at its very end, when all that it changed is odd. So a prompt that all requests share gets new
     * children all the time, and those who pass it need not care. This asks of the table that it never misses what is
     * in it all the while, hence nothing in it ever moves.
     *
     * Reading too late shows anything: strips that were reused, lists that were moved. A reader believes no number that
     * it could not use safely, takes at least one block further with each step, and finds out in the end.
     */

    /** Names that blocks go by. */
    public enum Naming {
        /** The engine's own hashes: for one engine, or for caches that hash alike. */
        ENGINE_HASH,
        /** The content chain: for caches whose hashes differ. */
        CONTENT_CHAIN
    }

    private static final int PATIENCE = 64;

    final Strips strips = new Strips();
    final Holders holders = new Holders(strips);

    private final Naming naming;
    private final PositionTable table;
    private final List<Optional<Cache>> caches = new ArrayList<>();
    private final Deque<Integer> freeIds = new ArrayDeque<>();
    private volatile int idLimit;
    private volatile int deepestTier;

    private Overlay overlay = Overlay.NONE;
    private int[] trimCandidate = new int[64];
    private int thinnedCount;
    private int blocks;

    public BlockTree(Naming naming) {
        this.naming = naming;
        this.table = new PositionTable(strips);
    }

    public Naming naming() {
        return naming;
    }

    /** Lays this over the tree, which is empty as yet. */
    void under(Overlay over) {
        overlay = over;
    }

    Overlay overlay() {
        return overlay;
    }

    /** A cache that is empty as yet. */
    public Cache addCache(CacheTraits traits) {
        Integer freed = freeIds.poll();
        int id = freed == null ? caches.size() : freed;
        if (id << Holders.TIER_BITS >= Holders.MOST) {
            throw new IllegalStateException("A tree has room for " + (Holders.MOST >> Holders.TIER_BITS)
                    + " caches; drop one before the next is added.");
        }
        Cache cache =
                naming == Naming.ENGINE_HASH ? new CacheByHash(this, id, traits) : new CacheByContent(this, id, traits);
        if (freed == null) {
            caches.add(Optional.of(cache));
            idLimit = caches.size();
        } else {
            caches.set(id, Optional.of(cache));
        }
        return cache;
    }

    /** Forgets a cache and what it holds; its id may be given out again. */
    public void dropCache(Cache cache) {
        int id = cache.id();
        if (id >= caches.size()
                || caches.get(id).filter(known -> known == cache).isEmpty()) {
            throw new IllegalArgumentException("Cache " + id + " is not one of this tree, or not any more.");
        }
        cache.drop();
        caches.set(id, Optional.empty());
        freeIds.add(id);
    }

    /** Returns the number of distinct blocks that a cache holds or that living ones follow. The writer's. */
    public int blocks() {
        return blocks;
    }

    /**
     * Finds out how much of a path each cache holds. Any thread.
     *
     * @param path names of blocks from a root on, of which {@code count} from {@code from} on are the path
     */
    public void match(long[] path, int from, int count, Matches into) {
        Objects.checkFromIndexSize(from, count, path.length);
        while (true) {
            into.begin(deepestTier, idLimit);
            if (walk(path, from, count, into) && unchanged(into)) {
                return;
            }
            Thread.onSpinWait();
        }
    }

    private boolean walk(long[] path, int from, int count, Matches into) {
        Strips.Page[] pages = strips.pages();
        int[][] lists = holders.pages();
        boolean byBit = into.deepestTier() == 0 && into.caches() <= Holders.BY_BIT;
        int above = Strips.ROOT;
        int done = 0;
        while (done < count) {
            int at = from + done;
            int strip = child(pages, above, path[at]);
            if (strip == Strips.NO_STRIP) {
                break;
            }
            Strips.Page page = Strips.page(pages, strip);
            int version = awaitStable(page, strip);
            into.visit(strip, version);
            int first = Strips.names(strip);
            int most = Math.min(Strips.length(page, strip), count - done);
            int differs = Arrays.mismatch(page.names, first, first + most, path, at, at + most);
            int same = differs < 0 ? most : differs;
            if (same <= 0 || Strips.parent(page, strip) != above) {
                return false;
            }
            int further = byBit
                    ? holdersByBit(page, strip, done, same, lists, into)
                    : holders(page, strip, done, same, lists, into);
            if (further < 0) {
                return false;
            }
            if (further == 0) {
                return true;
            }
            done += same;
            above = (strip << Strips.OFFSET_BITS) | (same - 1);
        }
        into.reached(into.along(), done);
        return true;
    }

    /** The strip that hangs under this position and begins with this name, as far as can be seen now. */
    private int child(Strips.Page[] pages, int above, long name) {
        if (above != Strips.ROOT) {
            int upper = above >>> Strips.OFFSET_BITS;
            Strips.Page page = Strips.page(pages, upper);
            if (!Strips.forks(page, upper, above & Strips.OFFSETS - 1)) {
                return Strips.NO_STRIP;
            }
            int next = Strips.next(page, upper);
            if (next > 0 && Strips.within(pages, next)) {
                Strips.Page nextPage = Strips.page(pages, next);
                if (nextPage.names[Strips.names(next)] == name && Strips.parent(nextPage, next) == above) {
                    return next;
                }
            }
        }
        int position = table.findShared(name, pages);
        int strip = position >>> Strips.OFFSET_BITS;
        boolean hangsHere = position != 0
                && (position & Strips.OFFSETS - 1) == 0
                && Strips.parent(Strips.page(pages, strip), strip) == above;
        return hangsHere ? strip : Strips.NO_STRIP;
    }

    /** The strip's version, once no batch is about to change it. */
    @SuppressWarnings(
            "ThreadPriorityCheck") // To wait for a writer that may need this very core is what a yield is for.
    private static int awaitStable(Strips.Page page, int strip) {
        for (int looks = 1; ; looks++) {
            int version = Strips.versionAcquire(page, strip);
            if ((version & 1) == 0) {
                return version;
            }
            if (looks % PATIENCE == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** Finds out for each holder how far it goes on; more than 0 if any of them holds all of it, -1 for nonsense. */
    private int holders(Strips.Page page, int strip, int done, int same, int[][] lists, Matches into) {
        int count = Strips.holderCount(page, strip);
        int list = Strips.holders(page, strip);
        int tiers = into.deepestTier();
        int caches = into.caches();
        if (count > 1 && !Holders.within(lists, list, count)) {
            return -1;
        }
        int further = 0;
        int index = 0;
        while (index < count) {
            int entry = count == 1 ? list : Holders.entry(lists, list, index);
            int cache = Holders.holderOf(entry) >>> Holders.TIER_BITS;
            if (cache >= caches || (Holders.holderOf(entry) & Holders.TIERS - 1) > tiers) {
                return -1;
            }
            if (done == 0) {
                into.makeRoom(cache);
            } else if (!into.mayHold(cache)) {
                index++;
                continue;
            }
            int presence = 0;
            for (int tier = 0; tier <= tiers; tier++) {
                int holder = cache << Holders.TIER_BITS | tier;
                if (index < count && Holders.holderOf(entry) == holder) {
                    presence |= Holders.presenceOf(entry);
                    index++;
                    if (index < count) {
                        entry = Holders.entry(lists, list, index);
                    }
                }
                if (into.advance(holder, done, same, presence)) {
                    further++;
                }
            }
            if (done == 0 && (presence & 1) != 0) {
                into.found(cache);
            }
        }
        return further;
    }

    /**
     * Does the same where there is one tier and each cache has a bit. Caches that hold all of the strip, as most do of
     * what all requests share, go on together; only the others are looked up. How far a cache goes is written when it
     * goes no further.
     */
    private static int holdersByBit(Strips.Page page, int strip, int done, int same, int[][] lists, Matches into) {
        int count = Strips.holderCount(page, strip);
        int list = Strips.holders(page, strip);
        if (count > 1 && !Holders.within(lists, list, count)) {
            return -1;
        }
        long along = done == 0 ? -1L : into.along();
        long full = count > 1 && done > 0 ? along & Strips.full(page, strip) : 0;
        long further = full;
        long open = along & ~full;
        for (int index = 0; index < count && open != 0; index++) {
            int entry = count == 1 ? list : Holders.entry(lists, list, index);
            int holder = Holders.holderOf(entry);
            int cache = holder >>> Holders.TIER_BITS;
            if (cache >= into.caches() || (holder & Holders.TIERS - 1) != Tier.GPU.rank) {
                return -1;
            }
            long bit = 1L << cache;
            if ((open & bit) == 0) {
                continue;
            }
            open &= ~bit;
            int held = Math.min(Integer.numberOfTrailingZeros(~Holders.presenceOf(entry)), same);
            if (done == 0 && held > 0) {
                into.makeRoom(cache);
                into.found(cache);
            }
            if (held == same) {
                further |= bit;
            } else if (done + held > 0) {
                into.reached(bit, done + held);
            }
        }
        if (done > 0) {
            into.reached(open, done);
        }
        into.along(further);
        return further == 0 ? 0 : 1;
    }

    private boolean unchanged(Matches seen) {
        VarHandle.acquireFence();
        Strips.Page[] pages = strips.pages();
        for (int i = 0; i < seen.visited(); i++) {
            int strip = seen.strip(i);
            if (Strips.versionAcquire(Strips.page(pages, strip), strip) != seen.version(i)) {
                return false;
            }
        }
        return true;
    }

    /* What caches do. */

    /** The position of the block that has this name, or is the first of a strip where blocks are named by content. */
    int find(long name) {
        return table.find(name);
    }

    PositionTable table() {
        return table;
    }

    /**
     * The position under a block, or under the root, of the block with this name; 0 when there is none. The writer's.
     */
    int child(int above, long name) {
        int offset = (above & Strips.OFFSETS - 1) + 1;
        if (above != Strips.ROOT
                && offset < strips.length(above >>> Strips.OFFSET_BITS)
                && strips.name(above + 1) == name) {
            return above + 1;
        }
        int position = table.find(name);
        boolean hangsHere = position != 0
                && (position & Strips.OFFSETS - 1) == 0
                && strips.parent(position >>> Strips.OFFSET_BITS) == above;
        return hangsHere ? position : 0;
    }

    /**
     * The position under a block of the block with this hash, whose position is known or 0, made and hung up if need
     * be.
     */
    int placeByHash(int above, long name, int known) {
        if (known != 0) {
            link(known, above);
            return known;
        }
        int position = append(above, name);
        table.insert(name, position);
        return position;
    }

    /** The position of the block with this name under a block, made if need be; 0 when the name is another block's. */
    int placeByContent(int above, long name) {
        int next = strips.follow(above, name);
        if (next == above + 1) {
            return next;
        }
        if (next == Strips.EXTENDED) {
            blocks++;
            return above + 1;
        }
        int known = table.find(name);
        if (known != 0) {
            return strips.parent(known >>> Strips.OFFSET_BITS) == above ? known : 0;
        }
        boolean first = !strips.canExtend(above);
        int position = append(above, name);
        if (first) {
            table.insert(name, position);
        }
        return position;
    }

    /** A block that is announced as a parent and was never announced itself. */
    int placeOrphan(long name) {
        int position = append(Strips.ORPHAN, name);
        table.insert(name, position);
        trimCandidate(position >>> Strips.OFFSET_BITS);
        return position;
    }

    private int append(int above, long name) {
        blocks++;
        if (above > 0 && strips.canExtend(above)) {
            return strips.extend(above, name);
        }
        return strips.create(above, name);
    }

    private void link(int position, int above) {
        int strip = position >>> Strips.OFFSET_BITS;
        if ((position & Strips.OFFSETS - 1) != 0 || strips.parent(strip) != Strips.ORPHAN) {
            return;
        }
        int upper = above >>> Strips.OFFSET_BITS;
        while (upper != Strips.ROOT) {
            if (upper == strip) {
                return;
            }
            int further = strips.parent(upper);
            if (further == Strips.ORPHAN) {
                break;
            }
            upper = further >>> Strips.OFFSET_BITS;
        }
        strips.touch(strip);
        strips.attach(strip, above);
        overlay.hung(position, above);
    }

    /** The strip may have nothing left that lives. */
    void trimCandidate(int strip) {
        if (thinnedCount == trimCandidate.length) {
            trimCandidate = Arrays.copyOf(trimCandidate, thinnedCount << 1);
        }
        trimCandidate[thinnedCount++] = strip;
    }

    void uses(Tier tier) {
        if (tier.rank > deepestTier) {
            deepestTier = tier.rank;
        }
    }

    /** Ends a batch: what died goes, and readers see all that changed. */
    void publish() {
        for (int i = 0; i < thinnedCount; i++) {
            trim(trimCandidate[i]);
        }
        thinnedCount = 0;
        if (trimCandidate.length > 1 << 12) {
            trimCandidate = new int[64];
        }
        strips.publish();
    }

    private void trim(int strip) {
        int length = strips.length(strip);
        if (length == 0) {
            return;
        }
        int living = 32 - Integer.numberOfLeadingZeros(holders.occupied(strip) | overlay.kept(strip));
        int keep = Math.max(living, strips.lastFork(strip) + 1);
        if (keep >= length) {
            return;
        }
        strips.touch(strip);
        overlay.died(strip, keep, length);
        while (length > keep) {
            length--;
            blocks--;
            if (naming == Naming.ENGINE_HASH || length == 0) {
                int position = strip << Strips.OFFSET_BITS | length;
                table.remove(strips.name(position), position);
            }
            strips.shorten(strip);
        }
        if (length == 0) {
            int above = strips.parent(strip);
            strips.release(strip);
            if (above > Strips.ROOT) {
                trimCandidate(above >>> Strips.OFFSET_BITS);
            }
        }
    }
}
