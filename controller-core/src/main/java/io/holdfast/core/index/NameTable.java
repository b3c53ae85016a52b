package io.holdfast.core.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Leads from a block's name to its position, for one writer and any number of readers.
 *
 * <p>Open addressing with linear probing and backward-shift deletion in 256 segments, chosen by the top bits of the mixed
 * name, so that growing moves one 256th of the table. A slot is one number: 32 further bits of the mixed name, which both
 * choose its place and tell almost all strangers apart without looking at a block, above the position. Whether it is the
 * block asked for, its name in the strips decides. Position 0 is no block, so 0 is an empty slot.
 *
 * <p>A reader can miss an entry only while a deletion moves it, or if it was inserted later. The first it sees by the
 * segment's sequence; the second is the tree's business.
 */
final class NameTable {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SEGMENTS = 256;
    private static final int SMALLEST = 8;
    private static final VarHandle SEQUENCE;
    private static final VarHandle SEGMENT = MethodHandles.arrayElementVarHandle(Segment[].class);

    static {
        try {
            SEQUENCE = MethodHandles.lookup().findVarHandle(Segment.class, "sequence", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final class Segment {
        final long[] slots;
        final int shift;
        int count;
        int sequence;

        Segment(int length) {
            slots = new long[length];
            shift = Integer.numberOfLeadingZeros(length) + 1;
        }
    }

    private final Strips strips;
    private final Segment[] segments = new Segment[SEGMENTS];
    private int foundSlot;

    NameTable(Strips strips) {
        this.strips = strips;
        for (int i = 0; i < SEGMENTS; i++) {
            segments[i] = new Segment(SMALLEST);
        }
    }

    /** The writer's look: the block's position, 0 when there is none. */
    int find(long name) {
        long mixed = name * PHI;
        Segment segment = segments[(int) (mixed >>> 56)];
        int bits = (int) (mixed >>> 24);
        long[] slots = segment.slots;
        int mask = slots.length - 1;
        for (int slot = bits >>> segment.shift; ; slot = slot + 1 & mask) {
            long entry = slots[slot];
            if (entry == 0) {
                foundSlot = slot;
                return 0;
            }
            if ((int) (entry >>> 32) == bits && strips.name((int) entry) == name) {
                return (int) entry;
            }
        }
    }

    /** Inserts the block that {@link #find} has just not found. */
    void insert(long name, int position) {
        long mixed = name * PHI;
        int index = (int) (mixed >>> 56);
        Segment segment = segments[index];
        segment.slots[foundSlot] = mixed >>> 24 << 32 | position;
        if (++segment.count > segment.slots.length - (segment.slots.length >> 2) + (segment.slots.length >> 4)) {
            grow(index, segment);
        }
    }

    void remove(long name, int position) {
        long mixed = name * PHI;
        Segment segment = segments[(int) (mixed >>> 56)];
        int bits = (int) (mixed >>> 24);
        long[] slots = segment.slots;
        int mask = slots.length - 1;
        long entry = (long) bits << 32 | position;
        int hole = bits >>> segment.shift;
        while (slots[hole] != entry) {
            hole = hole + 1 & mask;
        }
        int sequence = segment.sequence;
        SEQUENCE.setOpaque(segment, sequence + 1);
        VarHandle.storeStoreFence();
        for (int next = hole + 1 & mask; slots[next] != 0; next = next + 1 & mask) {
            int home = (int) (slots[next] >>> 32) >>> segment.shift;
            // An entry may move back into the hole unless its home lies between the hole and itself.
            if ((next - home & mask) >= (next - hole & mask)) {
                slots[hole] = slots[next];
                hole = next;
            }
        }
        slots[hole] = 0;
        segment.count--;
        SEQUENCE.setRelease(segment, sequence + 2);
    }

    /** A reader's look, in the pages that it sees: a position that had the name just now, or 0 when none had. */
    int findShared(long name, Strips.Page[] pages) {
        long mixed = name * PHI;
        int index = (int) (mixed >>> 56);
        int bits = (int) (mixed >>> 24);
        while (true) {
            Segment segment = (Segment) SEGMENT.getAcquire(segments, index);
            int sequence = (int) SEQUENCE.getAcquire(segment);
            if ((sequence & 1) == 0) {
                long[] slots = segment.slots;
                int mask = slots.length - 1;
                int slot = bits >>> segment.shift;
                for (int left = slots.length; left > 0; left--, slot = slot + 1 & mask) {
                    long entry = slots[slot];
                    if (entry == 0) {
                        break;
                    }
                    int strip = (int) entry >>> Strips.PLACE_BITS;
                    if ((int) (entry >>> 32) == bits
                            && Strips.within(pages, strip)
                            && Strips.page(pages, strip).names[Strips.names(strip) + ((int) entry & Strips.PLACES - 1)]
                                    == name) {
                        return (int) entry;
                    }
                }
                VarHandle.acquireFence();
                if ((int) SEQUENCE.getOpaque(segment) == sequence) {
                    return 0;
                }
            }
            Thread.onSpinWait();
        }
    }

    private void grow(int index, Segment old) {
        Segment more = new Segment(old.slots.length << 1);
        more.count = old.count;
        int mask = more.slots.length - 1;
        for (long entry : old.slots) {
            if (entry != 0) {
                int slot = (int) (entry >>> 32) >>> more.shift;
                while (more.slots[slot] != 0) {
                    slot = slot + 1 & mask;
                }
                more.slots[slot] = entry;
            }
        }
        SEGMENT.setRelease(segments, index, more);
    }
}
