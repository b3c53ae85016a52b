package io.holdfast.core.index;

import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.ViewSnapshot.Counts;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** The binary form of a {@link ViewSnapshot}. */
final class ViewForm {
    /*
     * Version 1, numbers little-endian:
     *
     *   8  "holdview"
     *   4  version
     *   4  1: named by content; 2: a clear empties the GPU only; 4: copies are counted; from 8 on: tiers ever used
     *   4  group that decides, -1 for none
     *  24  publisher, sequence, checksum
     *  12  number of chains, of blocks, of counts
     *   8  a chain: parent, length
     *   8  a block: its name
     *   8  a block: the engine's hash, where it is named by content
     *   1  a block: its tiers, and whether it is ambiguous
     *  16  a count: key, where, number
     *   4  CRC-32C of all that comes before
     *
     * The numbers at the beginning say how long the whole is, so nothing is allocated for more than is there.
     */
    static final int VERSION = 1;
    static final int MOST_BLOCKS = 1 << 24;

    private static final long MAGIC = ByteBuffer.wrap(new byte[] {'h', 'o', 'l', 'd', 'v', 'i', 'e', 'w'})
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    private static final int HEAD = 8 + 4 + 4 + 4 + 24 + 12;
    private static final int BY_CONTENT = 1;
    private static final int CLEARS_GPU = 2;
    private static final int COPIES = 4;
    private static final int EVER_USED_SHIFT = 3;

    private ViewForm() {}

    static byte[] encode(ViewSnapshot view) {
        boolean byContent = view.naming == Naming.CONTENT_CHAIN;
        long length = length(byContent, view.parents.length, view.names.length, view.counts.size);
        if (view.names.length > MOST_BLOCKS || length > Integer.MAX_VALUE - 16) {
            throw new IllegalStateException("A view of " + view.names.length + " blocks is more than the " + MOST_BLOCKS
                    + " that its form has room for.");
        }
        ByteBuffer out = ByteBuffer.allocate((int) length).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(MAGIC).putInt(VERSION);
        out.putInt((byContent ? BY_CONTENT : 0)
                | (view.traits.clearEmptiesGpuOnly() ? CLEARS_GPU : 0)
                | (view.traits.countsCopies() ? COPIES : 0)
                | view.everUsed << EVER_USED_SHIFT);
        out.putInt(view.mainGroup);
        out.putLong(view.position.publisher()).putLong(view.position.sequence()).putLong(view.position.checksum());
        out.putInt(view.parents.length).putInt(view.names.length).putInt(view.counts.size);
        for (int i = 0; i < view.parents.length; i++) {
            out.putInt(view.parents[i]).putInt(view.lengths[i]);
        }
        put(out, view.names);
        if (byContent) {
            put(out, view.hashes);
        }
        out.put(view.marks);
        for (int i = 0; i < view.counts.size; i++) {
            out.putLong(view.counts.keys[i]).putInt(view.counts.wheres[i]).putInt(view.counts.counts[i]);
        }
        out.putInt(checksum(out.array(), out.position()));
        return out.array();
    }

    static ViewSnapshot decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        if (bytes.length < HEAD + 4 || in.getLong() != MAGIC) {
            throw refused("it does not begin like one");
        }
        int version = in.getInt();
        if (version != VERSION) {
            throw refused("it is of version " + version + ", and this one reads " + VERSION);
        }
        if (in.getInt(bytes.length - 4) != checksum(bytes, bytes.length - 4)) {
            throw refused("its checksum is of something else");
        }
        int flags = in.getInt();
        int mainGroup = in.getInt();
        long publisher = in.getLong();
        long sequence = in.getLong();
        long checksum = in.getLong();
        int chains = in.getInt();
        int blocks = in.getInt();
        int listed = in.getInt();
        boolean byContent = (flags & BY_CONTENT) != 0;
        if (flags >>> EVER_USED_SHIFT > Tier.ALL
                || mainGroup < ViewSnapshot.NO_GROUP
                || mainGroup > StoredBlocks.LAST_GROUP
                || sequence < 0
                || chains < 0
                || blocks < 0
                || blocks > MOST_BLOCKS
                || listed < 0
                || length(byContent, chains, blocks, listed) != bytes.length) {
            throw refused("its numbers do not fit its length");
        }
        int[] parents = new int[chains];
        int[] lengths = new int[chains];
        int first = 0;
        for (int i = 0; i < chains; i++) {
            parents[i] = in.getInt();
            lengths[i] = in.getInt();
            boolean hangs = parents[i] >= ViewSnapshot.UNDER_UNKNOWN && parents[i] < first;
            if (!hangs || lengths[i] < 1 || lengths[i] > Strips.OFFSETS || first + lengths[i] > blocks) {
                throw refused("chain " + i + " hangs nowhere");
            }
            first += lengths[i];
        }
        if (first != blocks) {
            throw refused("not every block is in a chain");
        }
        long[] names = get(in, blocks);
        long[] hashes = byContent ? get(in, blocks) : names;
        byte[] marks = new byte[blocks];
        in.get(marks);
        for (byte mark : marks) {
            if ((mark & ~(Tier.ALL | ViewSnapshot.AMBIGUOUS)) != 0) {
                throw refused("a block is in a tier that is none");
            }
        }
        return new ViewSnapshot(
                new StreamPosition(publisher, sequence, checksum),
                byContent ? Naming.CONTENT_CHAIN : Naming.ENGINE_HASH,
                new CacheTraits((flags & CLEARS_GPU) != 0, (flags & COPIES) != 0),
                mainGroup,
                flags >>> EVER_USED_SHIFT,
                parents,
                lengths,
                names,
                hashes,
                marks,
                counts(in, listed, byContent, marks));
    }

    private static Counts counts(ByteBuffer in, int listed, boolean byContent, byte[] marks) {
        Counts counts = new Counts();
        for (int i = 0; i < listed; i++) {
            long key = in.getLong();
            int where = in.getInt();
            int count = in.getInt();
            counts.add(key, where >>> 2 & 3, where >>> 8, where & 3, count);
            boolean possible = switch (counts.kind(i)) {
                case ViewSnapshot.COPIES ->
                    key >= 0 && key < marks.length && (marks[(int) key] >>> counts.tier(i) & 1) != 0 && count > 1;
                case ViewSnapshot.UNPLACED -> byContent;
                case ViewSnapshot.OTHER_GROUP -> true;
                default -> false;
            };
            if (!possible || count < 1 || (where & 0xF0) != 0 || counts.group(i) > StoredBlocks.LAST_GROUP) {
                throw refused("count " + i + " is of nothing");
            }
        }
        return counts;
    }

    private static long length(boolean byContent, long chains, long blocks, long counts) {
        return HEAD + 8 * chains + (byContent ? 17 : 9) * blocks + 16 * counts + 4;
    }

    private static void put(ByteBuffer out, long[] numbers) {
        out.asLongBuffer().put(numbers);
        out.position(out.position() + 8 * numbers.length);
    }

    private static long[] get(ByteBuffer in, int count) {
        long[] numbers = new long[count];
        in.asLongBuffer().get(numbers);
        in.position(in.position() + 8 * count);
        return numbers;
    }

    private static int checksum(byte[] bytes, int length) {
        CRC32C sum = new CRC32C();
        sum.update(bytes, 0, length);
        return (int) sum.getValue();
    }

    private static IllegalArgumentException refused(String why) {
        return new IllegalArgumentException("This is no view of a cache that can be taken over: " + why + ".");
    }
}
