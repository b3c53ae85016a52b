package io.holdfast.core.hash;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** The algorithm's 192 secret bytes, as they are and as a seed changes them, with the mixing steps that use them. */
final class Xxh3Secret {
    static final int LENGTH = 192;
    static final int STRIPE = 64;

    /** Start of the secret's last stripe: sixteen stripes of input, a word of the secret each, lead there. */
    static final int SCRAMBLE = LENGTH - STRIPE;

    static final long PRIME32_1 = 0x9E3779B1L;
    static final long PRIME32_2 = 0x85EBCA77L;
    static final long PRIME32_3 = 0xC2B2AE3DL;
    static final long PRIME64_1 = 0x9E3779B185EBCA87L;
    static final long PRIME64_2 = 0xC2B2AE3D27D4EB4FL;
    static final long PRIME64_3 = 0x165667B19E3779F9L;
    static final long PRIME64_4 = 0x85EBCA77C2B2AE63L;
    static final long PRIME64_5 = 0x27D4EB2F165667C5L;
    static final long PRIME_MX1 = 0x165667919E3779F9L;
    static final long PRIME_MX2 = 0x9FB21C651E98DF25L;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private static final byte[] SECRET = HexFormat.of()
            .parseHex("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
                    + "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
                    + "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
                    + "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
                    + "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
                    + "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e");

    private Xxh3Secret() {}

    /** Eight bytes of the secret. */
    static long at(int offset) {
        return (long) LONGS.get(SECRET, offset);
    }

    /** Two eight-byte halves of the secret, one over the other. */
    static long folded(int offset) {
        return at(offset) ^ at(offset + Long.BYTES);
    }

    /**
     * The secret of a seed, for the long form: the seed is added to every even word and subtracted from every odd one.
     */
    static byte[] seeded(long seed) {
        byte[] seeded = new byte[LENGTH];
        for (int i = 0; i < LENGTH; i += 2 * Long.BYTES) {
            LONGS.set(seeded, i, at(i) + seed);
            LONGS.set(seeded, i + Long.BYTES, at(i + Long.BYTES) - seed);
        }
        return seeded;
    }

    /** Eight bytes of the secret of a seed. */
    static long at(byte[] seeded, int offset) {
        return (long) LONGS.get(seeded, offset);
    }

    /** The mixing step of inputs up to 240 bytes: sixteen bytes of input against sixteen of the secret. */
    static long mixed(long low, long high, int offset, long seed) {
        return product(low ^ (at(offset) + seed), high ^ (at(offset + Long.BYTES) - seed));
    }

    /** The 128-bit product of two numbers, its halves one over the other. */
    static long product(long left, long right) {
        return (left * right) ^ Math.unsignedMultiplyHigh(left, right);
    }

    static long lane(long keyed) {
        return (keyed & 0xFFFFFFFFL) * (keyed >>> 32);
    }

    static long scrambled(long lane, long key) {
        return (lane ^ (lane >>> 47) ^ key) * PRIME32_1;
    }

    static long avalanche(long hash) {
        long mixed = (hash ^ (hash >>> 37)) * PRIME_MX1;
        return mixed ^ (mixed >>> 32);
    }

    /** The stronger ending, of the older 64-bit algorithm, for inputs up to three bytes. */
    static long oldAvalanche(long hash) {
        long mixed = (hash ^ (hash >>> 33)) * PRIME64_2;
        mixed = (mixed ^ (mixed >>> 29)) * PRIME64_3;
        return mixed ^ (mixed >>> 32);
    }
}
