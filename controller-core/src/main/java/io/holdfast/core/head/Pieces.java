package io.holdfast.core.head;

/**
 * Cuts tokens into pieces at places that the tokens themselves tell.
 *
 * <p>Where a piece ends depends on its last eight tokens, so that after a token which was changed, added or left out
 * the cuts are soon the same again, and so are the pieces: equal content has equal pieces, wherever it stands. A piece
 * has 8 to 128 tokens, about 24 on average. What is left at the end belongs to a piece that has not ended.
 */
final class Pieces {
    static final int LEAST = 8;
    static final int MOST = 128;
    /** One place in sixteen is a cut. */
    private static final int CUT_BITS = 4;

    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;
    private static final long CHAIN = 0xD6E8_FEB8_6659_FD93L;

    private int[] tokens = {};
    private int start;
    private int end;
    private long hash;

    /** Begins with the tokens from here on. */
    void open(int[] all, int from) {
        tokens = all;
        start = from;
        end = from;
    }

    /** Goes to the next piece; false where none ends any more. */
    boolean next() {
        start = end;
        long window = 0;
        long chain = SPREAD;
        int most = Math.min(tokens.length, start + MOST);
        for (int at = start; at < most; at++) {
            long spread = tokens[at] * SPREAD;
            spread ^= spread >>> 29;
            // Each token moves the earlier ones up by eight bits, so that the ninth before it has left.
            window = (window << 8) + spread;
            chain = (chain ^ spread) * CHAIN;
            int size = at + 1 - start;
            if ((size >= LEAST && window >>> (Long.SIZE - CUT_BITS) == 0) || size == MOST) {
                end = at + 1;
                hash = finished(chain);
                return true;
            }
        }
        return false;
    }

    int start() {
        return start;
    }

    /** The token after its last. */
    int end() {
        return end;
    }

    /** Returns the hash of its tokens alone. */
    long hash() {
        return hash;
    }

    /** Spreads each bit of a number over all. */
    static long finished(long number) {
        long spread = (number ^ (number >>> 32)) * SPREAD;
        return spread ^ (spread >>> 29);
    }
}
