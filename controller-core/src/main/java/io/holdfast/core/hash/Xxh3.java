package io.holdfast.core.hash;

import static io.holdfast.core.hash.Xxh3Secret.PRIME32_1;
import static io.holdfast.core.hash.Xxh3Secret.PRIME32_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME32_3;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_1;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_3;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_4;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_5;
import static io.holdfast.core.hash.Xxh3Secret.PRIME_MX2;
import static io.holdfast.core.hash.Xxh3Secret.SCRAMBLE;
import static io.holdfast.core.hash.Xxh3Secret.STRIPE;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * The hash XXH3 with one seed, 64 and 128 bits wide, of bytes, of two numbers and of tokens.
 *
 * <p>It never changes and its functions allocate nothing, so that threads may share it. It is fast and spreads well; it
 * is no protection against somebody who looks for collisions.
 *
 * <h2>Lengths</h2>
 *
 * The algorithm is several, by the length of the input: up to 16 bytes and up to 240 bytes it mixes the input with the
 * secret and the seed directly; beyond that eight lanes run over stripes of 64 bytes, scrambled after every sixteen,
 * with a secret that the seed has changed.
 *
 * <h2>Lanes in pairs</h2>
 *
 * Of the eight lanes only neighbours exchange anything. So the long form runs over the input four times, once for each
 * pair, and keeps both lanes in local variables: nothing is allocated, and for the few stripes of a block of tokens the
 * work is the same. The secret that the seed has changed is built once, with the hash.
 *
 * <h2>Tokens</h2>
 *
 * Tokens are hashed where they are, without a copy to bytes, by a class of its own: one reader behind both would leave
 * its dispatch in the innermost loop.
 */
public final class Xxh3 {
    /** The last length that the lanes are not used for. */
    static final int MIDDLE = 240;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private final long seed;
    private final byte[] secret;

    private Xxh3(long seed) {
        this.seed = seed;
        secret = Xxh3Secret.seeded(seed);
    }

    /** The hash with a seed; zero is the seed of the unseeded form. */
    public static Xxh3 seeded(long seed) {
        return new Xxh3(seed);
    }

    /** The 64-bit hash of a range of bytes. */
    public long hash64(byte[] input, int from, int length) {
        Objects.checkFromIndexSize(from, length, input.length);
        if (length > MIDDLE) {
            return merged(input, from, length, secret, 11, length * PRIME64_1);
        }
        if (length > 128) {
            return upTo240(input, from, length, seed);
        }
        if (length > 16) {
            return upTo128(input, from, length, seed);
        }
        if (length > 8) {
            return upTo16(word(input, from), word(input, from + length - 8), length, seed);
        }
        if (length >= 4) {
            return upTo8(half(input, from), half(input, from + length - 4), length, seed);
        }
        return length > 0 ? upTo3(input, from, length, seed) : Xxh3Secret.oldAvalanche(seed ^ Xxh3Secret.folded(56));
    }

    /** The 64-bit hash of a range of tokens, four bytes each, the lowest first. */
    public long hash64(int[] tokens, int from, int count) {
        return Xxh3Tokens.hash(tokens, from, count, seed, secret);
    }

    /** The 64-bit hash of the sixteen bytes of two numbers, the lowest of each first. */
    public long hash64(long first, long second) {
        return upTo16(first, second, 16, seed);
    }

    /** Writes the 128-bit hash of a range of bytes as its canonical sixteen bytes, the highest first. */
    public void hash128(byte[] input, int from, int length, byte[] digest) {
        Objects.checkFromIndexSize(from, length, input.length);
        Objects.checkFromIndexSize(0, Xxh3Wide.BYTES, digest.length);
        Xxh3Wide.hash(input, from, length, seed, secret, digest);
    }

    private static long upTo3(byte[] input, int from, int length, long seed) {
        long flip = ((Xxh3Secret.at(0) ^ (Xxh3Secret.at(0) >>> 32)) & 0xFFFFFFFFL) + seed;
        return Xxh3Secret.oldAvalanche(Integer.toUnsignedLong(combined(input, from, length)) ^ flip);
    }

    /** The 32 bits that one to three bytes and their number make. */
    static int combined(byte[] input, int from, int length) {
        int first = Byte.toUnsignedInt(input[from]);
        int middle = Byte.toUnsignedInt(input[from + (length >> 1)]);
        int last = Byte.toUnsignedInt(input[from + length - 1]);
        return (first << 16) | (middle << 24) | last | (length << 8);
    }

    static long upTo8(long first, long last, int length, long seed) {
        long hash = (last + (first << 32)) ^ (Xxh3Secret.folded(8) - widened(seed));
        hash ^= Long.rotateLeft(hash, 49) ^ Long.rotateLeft(hash, 24);
        hash *= PRIME_MX2;
        hash ^= (hash >>> 35) + length;
        hash *= PRIME_MX2;
        return hash ^ (hash >>> 28);
    }

    /** The seed of inputs from four to eight bytes: its lower half, reversed, also changes the upper one. */
    static long widened(long seed) {
        return seed ^ ((long) Integer.reverseBytes((int) seed) << 32);
    }

    static long upTo16(long first, long last, int length, long seed) {
        long low = first ^ (Xxh3Secret.folded(24) + seed);
        long high = last ^ (Xxh3Secret.folded(40) - seed);
        return Xxh3Secret.avalanche(length + Long.reverseBytes(low) + high + Xxh3Secret.product(low, high));
    }

    private static long upTo128(byte[] input, int from, int length, long seed) {
        long sum = length * PRIME64_1;
        int end = from + length;
        for (int i = (length - 1) >> 5; i >= 0; i--) {
            sum += mixed(input, from + i * 16, i * 32, seed);
            sum += mixed(input, end - (i + 1) * 16, i * 32 + 16, seed);
        }
        return Xxh3Secret.avalanche(sum);
    }

    private static long upTo240(byte[] input, int from, int length, long seed) {
        long sum = length * PRIME64_1;
        for (int i = 0; i < 8; i++) {
            sum += mixed(input, from + i * 16, i * 16, seed);
        }
        sum = Xxh3Secret.avalanche(sum);
        for (int i = 8; i < length >> 4; i++) {
            sum += mixed(input, from + i * 16, (i - 8) * 16 + 3, seed);
        }
        return Xxh3Secret.avalanche(sum + mixed(input, from + length - 16, 119, seed));
    }

    static long mixed(byte[] input, int at, int secret, long seed) {
        return Xxh3Secret.mixed(word(input, at), word(input, at + Long.BYTES), secret, seed);
    }

    /** The long form: all eight lanes, merged with the secret from an offset on. */
    static long merged(byte[] input, int from, int length, byte[] secret, int mergeAt, long start) {
        return Xxh3Secret.avalanche(start
                + lanes(input, from, length, secret, 0, PRIME32_3, PRIME64_1, mergeAt)
                + lanes(input, from, length, secret, 16, PRIME64_2, PRIME64_3, mergeAt)
                + lanes(input, from, length, secret, 32, PRIME64_4, PRIME32_2, mergeAt)
                + lanes(input, from, length, secret, 48, PRIME64_5, PRIME32_1, mergeAt));
    }

    /** Returns what one pair of lanes, given by its offset in a stripe, adds to the long form's sum. */
    private static long lanes(
            byte[] input, int from, int length, byte[] secret, int pair, long evenStart, long oddStart, int mergeAt) {
        long even = evenStart;
        long odd = oddStart;
        int key = pair;
        int last = from + length - STRIPE + pair;
        for (int at = from + pair; at < last; at += STRIPE) {
            long first = word(input, at);
            long second = word(input, at + Long.BYTES);
            even += second + Xxh3Secret.lane(first ^ Xxh3Secret.at(secret, key));
            odd += first + Xxh3Secret.lane(second ^ Xxh3Secret.at(secret, key + Long.BYTES));
            key += Long.BYTES;
            if (key == SCRAMBLE + pair) {
                even = Xxh3Secret.scrambled(even, Xxh3Secret.at(secret, key));
                odd = Xxh3Secret.scrambled(odd, Xxh3Secret.at(secret, key + Long.BYTES));
                key = pair;
            }
        }
        long first = word(input, last);
        long second = word(input, last + Long.BYTES);
        even += second + Xxh3Secret.lane(first ^ Xxh3Secret.at(secret, SCRAMBLE - 7 + pair));
        odd += first + Xxh3Secret.lane(second ^ Xxh3Secret.at(secret, SCRAMBLE + 1 + pair));
        return Xxh3Secret.product(
                even ^ Xxh3Secret.at(secret, mergeAt + pair), odd ^ Xxh3Secret.at(secret, mergeAt + pair + Long.BYTES));
    }

    static long word(byte[] input, int at) {
        return (long) LONGS.get(input, at);
    }

    static long half(byte[] input, int at) {
        return Integer.toUnsignedLong((int) INTS.get(input, at));
    }
}
