package io.holdfast.core.index;

/**
 * A layer over the positions of a {@link BlockTree} that one cache fills; it is notified of what becomes of them.
 *
 * <p>Called by the tree's writer, a strip at a time where several blocks of one change alike; sets of offsets are bits.
 */
interface Overlay {
    /** Over a tree that nobody learns from. */
    Overlay NONE = new Overlay() {
        @Override
        public void continued(int position, Tier tier) {}

        @Override
        public void held(int strip, Tier tier, int offsets, int twice, int elsewhere) {}

        @Override
        public void left(int strip, Tier tier, int offsets, int elsewhere, boolean evicted) {}

        @Override
        public void hung(int position, int above) {}

        @Override
        public void died(int strip, int from, int to) {}

        @Override
        public int kept(int strip) {
            return 0;
        }
    };

    /** A chain of stores in this tier goes on from this block. */
    void continued(int position, Tier tier);

    /**
     * Blocks were stored: {@code twice} of them were in the tier already, {@code elsewhere} are offsets in other tiers.
     */
    void held(int strip, Tier tier, int offsets, int twice, int elsewhere);

    /**
     * The last copies of blocks left the tier, and {@code elsewhere} are offsets in other tiers.
     *
     * @param evicted whether the engine removed them; otherwise the cache was emptied, or is not known any more
     */
    void left(int strip, Tier tier, int offsets, int elsewhere, boolean evicted);

    /** The first block of an orphaned strip was hung under another, or a root. */
    void hung(int position, int above);

    /** The offsets of a strip from {@code from} up to before {@code to} have no blocks any more. */
    void died(int strip, int from, int to);

    /** Places whose blocks stand for more than one of the engine's. */
    default int ambiguousIn(int strip) {
        return 0;
    }

    /** A snapshot says that this block, which is held, stands for more than one of the engine's. */
    default void ambiguousAt(int position) {}

    /** Places whose blocks stay in the tree though nobody holds them, and in the cache though events were lost. */
    int kept(int strip);
}
