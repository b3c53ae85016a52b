package io.holdfast.core.hash;

import static io.holdfast.core.hash.Xxh3Secret.PRIME32_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_1;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_4;
import static io.holdfast.core.hash.Xxh3Secret.PRIME_MX2;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The 128-bit form of {@link Xxh3}: other mixing up to 240 bytes, the same lanes merged twice beyond. */
final class Xxh3Wide {
    static final int BYTES = 16;

    private static final VarHandle OUTPUT = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private Xxh3Wide() {}

    static void hash(byte[] input, int from, int length, long seed, byte[] secret, byte[] digest) {
        if (length > Xxh3.MIDDLE) {
            long low = Xxh3.merged(input, from, length, secret, 11, length * PRIME64_1);
            int last = Xxh3Secret.LENGTH - 64 - 11;
            long high = Xxh3.merged(input, from, length, secret, last, ~(length * PRIME64_2));
            write(low, high, digest);
        } else if (length > 128) {
            upTo240(input, from, length, seed, digest);
        } else if (length > 16) {
            upTo128(input, from, length, seed, digest);
        } else if (length > 8) {
            upTo16(Xxh3.word(input, from), Xxh3.word(input, from + length - 8), length, seed, digest);
        } else if (length >= 4) {
            long first = Xxh3.half(input, from);
            long last = Xxh3.half(input, from + length - 4);
            upTo8(first + (last << 32), length, seed, digest);
        } else if (length > 0) {
            upTo3(Xxh3.combined(input, from, length), seed, digest);
        } else {
            write(
                    Xxh3Secret.oldAvalanche(seed ^ Xxh3Secret.folded(64)),
                    Xxh3Secret.oldAvalanche(seed ^ Xxh3Secret.folded(80)),
                    digest);
        }
    }

    private static void upTo3(int combined, long seed, byte[] digest) {
        int reversed = Integer.rotateLeft(Integer.reverseBytes(combined), 13);
        int lowFlip = (int) (Xxh3Secret.at(0) ^ (Xxh3Secret.at(0) >>> 32));
        int highFlip = (int) (Xxh3Secret.at(8) ^ (Xxh3Secret.at(8) >>> 32));
        write(
                Xxh3Secret.oldAvalanche(Integer.toUnsignedLong(combined) ^ (Integer.toUnsignedLong(lowFlip) + seed)),
                Xxh3Secret.oldAvalanche(Integer.toUnsignedLong(reversed) ^ (Integer.toUnsignedLong(highFlip) - seed)),
                digest);
    }

    private static void upTo8(long both, int length, long seed, byte[] digest) {
        long keyed = both ^ (Xxh3Secret.folded(16) + Xxh3.widened(seed));
        long factor = PRIME64_1 + (length << 2);
        long low = keyed * factor;
        long high = Math.unsignedMultiplyHigh(keyed, factor) + (low << 1);
        low ^= high >>> 3;
        low = (low ^ (low >>> 35)) * PRIME_MX2;
        low ^= low >>> 28;
        write(low, Xxh3Secret.avalanche(high), digest);
    }

    private static void upTo16(long first, long last, int length, long seed, byte[] digest) {
        long keyed = first ^ last ^ (Xxh3Secret.folded(32) - seed);
        long flipped = last ^ (Xxh3Secret.folded(48) + seed);
        long low = keyed * PRIME64_1 + ((long) (length - 1) << 54);
        long high = Math.unsignedMultiplyHigh(keyed, PRIME64_1) + flipped + (flipped & 0xFFFFFFFFL) * (PRIME32_2 - 1);
        low ^= Long.reverseBytes(high);
        write(
                Xxh3Secret.avalanche(low * PRIME64_2),
                Xxh3Secret.avalanche(Math.unsignedMultiplyHigh(low, PRIME64_2) + high * PRIME64_2),
                digest);
    }

    private static void upTo128(byte[] input, int from, int length, long seed, byte[] digest) {
        long low = length * PRIME64_1;
        long high = 0;
        for (int i = (length - 1) >> 5; i >= 0; i--) {
            int front = from + i * 16;
            int back = from + length - (i + 1) * 16;
            low = mixed(low, input, front, back, i * 32, seed);
            high = mixed(high, input, back, front, i * 32 + 16, seed);
        }
        finish(low, high, length, seed, digest);
    }

    private static void upTo240(byte[] input, int from, int length, long seed, byte[] digest) {
        long low = length * PRIME64_1;
        long high = 0;
        for (int i = 0; i < 128; i += 32) {
            low = mixed(low, input, from + i, from + i + 16, i, seed);
            high = mixed(high, input, from + i + 16, from + i, i + 16, seed);
        }
        low = Xxh3Secret.avalanche(low);
        high = Xxh3Secret.avalanche(high);
        for (int i = 128; i + 32 <= length; i += 32) {
            low = mixed(low, input, from + i, from + i + 16, i - 125, seed);
            high = mixed(high, input, from + i + 16, from + i, i - 109, seed);
        }
        int last = from + length - 16;
        low = mixed(low, input, last, last - 16, 103, -seed);
        high = mixed(high, input, last - 16, last, 119, -seed);
        finish(low, high, length, seed, digest);
    }

    /** One half's step: sixteen bytes of input are mixed in, sixteen others laid over. */
    private static long mixed(long half, byte[] input, int own, int other, int secret, long seed) {
        long mixed = half + Xxh3.mixed(input, own, secret, seed);
        return mixed ^ (Xxh3.word(input, other) + Xxh3.word(input, other + Long.BYTES));
    }

    private static void finish(long low, long high, int length, long seed, byte[] digest) {
        long mixed = low * PRIME64_1 + high * PRIME64_4 + (length - seed) * PRIME64_2;
        write(Xxh3Secret.avalanche(low + high), -Xxh3Secret.avalanche(mixed), digest);
    }

    private static void write(long low, long high, byte[] digest) {
        OUTPUT.set(digest, 0, high);
        OUTPUT.set(digest, Long.BYTES, low);
    }
}
