package io.holdfast.core.hash;

import static io.holdfast.core.hash.Xxh3Secret.PRIME32_1;
import static io.holdfast.core.hash.Xxh3Secret.PRIME32_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME32_3;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_1;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_2;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_3;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_4;
import static io.holdfast.core.hash.Xxh3Secret.PRIME64_5;
import static io.holdfast.core.hash.Xxh3Secret.SCRAMBLE;

import java.util.Objects;

/** The 64-bit form of {@link Xxh3} over tokens of four bytes, where they are. */
final class Xxh3Tokens {
    private static final int STRIPE = Xxh3Secret.STRIPE / Integer.BYTES;

    private Xxh3Tokens() {}

    static long hash(int[] tokens, int from, int count, long seed, byte[] secret) {
        Objects.checkFromIndexSize(from, count, tokens.length);
        if (count > Xxh3.MIDDLE / Integer.BYTES) {
            return upToAny(tokens, from, count, secret);
        }
        if (count > 32) {
            return upTo60(tokens, from, count, seed);
        }
        if (count > 4) {
            return upTo32(tokens, from, count, seed);
        }
        return upTo4(tokens, from, count, seed);
    }

    private static long upTo4(int[] tokens, int from, int count, long seed) {
        int end = from + count;
        int length = count * Integer.BYTES;
        if (count > 2) {
            return Xxh3.upTo16(word(tokens, from), word(tokens, end - 2), length, seed);
        }
        if (count > 0) {
            long first = Integer.toUnsignedLong(tokens[from]);
            return Xxh3.upTo8(first, Integer.toUnsignedLong(tokens[end - 1]), length, seed);
        }
        return Xxh3Secret.oldAvalanche(seed ^ Xxh3Secret.folded(56));
    }

    /** Straight, not a loop: the products of a block do not wait for each other. */
    private static long upTo32(int[] tokens, int from, int count, long seed) {
        int end = from + count;
        long sum = (long) count * Integer.BYTES * PRIME64_1
                + mixed(tokens, from, 0, seed)
                + mixed(tokens, end - 4, 16, seed);
        if (count > 8) {
            sum += mixed(tokens, from + 4, 32, seed) + mixed(tokens, end - 8, 48, seed);
            if (count > 16) {
                sum += mixed(tokens, from + 8, 64, seed) + mixed(tokens, end - 12, 80, seed);
                if (count > 24) {
                    sum += mixed(tokens, from + 12, 96, seed) + mixed(tokens, end - 16, 112, seed);
                }
            }
        }
        return Xxh3Secret.avalanche(sum);
    }

    private static long upTo60(int[] tokens, int from, int count, long seed) {
        long sum = (long) count * Integer.BYTES * PRIME64_1;
        for (int i = 0; i < 8; i++) {
            sum += mixed(tokens, from + i * 4, i * 16, seed);
        }
        sum = Xxh3Secret.avalanche(sum);
        for (int i = 8; i < count >> 2; i++) {
            sum += mixed(tokens, from + i * 4, (i - 8) * 16 + 3, seed);
        }
        return Xxh3Secret.avalanche(sum + mixed(tokens, from + count - 4, 119, seed));
    }

    private static long upToAny(int[] tokens, int from, int count, byte[] secret) {
        return Xxh3Secret.avalanche((long) count * Integer.BYTES * PRIME64_1
                + lanes(tokens, from, count, secret, 0, PRIME32_3, PRIME64_1)
                + lanes(tokens, from, count, secret, 16, PRIME64_2, PRIME64_3)
                + lanes(tokens, from, count, secret, 32, PRIME64_4, PRIME32_2)
                + lanes(tokens, from, count, secret, 48, PRIME64_5, PRIME32_1));
    }

    private static long lanes(
            int[] tokens, int from, int count, byte[] secret, int pair, long evenStart, long oddStart) {
        long even = evenStart;
        long odd = oddStart;
        int key = pair;
        int last = from + count - STRIPE + (pair >> 2);
        for (int at = from + (pair >> 2); at < last; at += STRIPE) {
            long first = word(tokens, at);
            long second = word(tokens, at + 2);
            even += second + Xxh3Secret.lane(first ^ Xxh3Secret.at(secret, key));
            odd += first + Xxh3Secret.lane(second ^ Xxh3Secret.at(secret, key + Long.BYTES));
            key += Long.BYTES;
            if (key == SCRAMBLE + pair) {
                even = Xxh3Secret.scrambled(even, Xxh3Secret.at(secret, key));
                odd = Xxh3Secret.scrambled(odd, Xxh3Secret.at(secret, key + Long.BYTES));
                key = pair;
            }
        }
        long first = word(tokens, last);
        long second = word(tokens, last + 2);
        even += second + Xxh3Secret.lane(first ^ Xxh3Secret.at(secret, SCRAMBLE - 7 + pair));
        odd += first + Xxh3Secret.lane(second ^ Xxh3Secret.at(secret, SCRAMBLE + 1 + pair));
        return Xxh3Secret.product(even ^ Xxh3Secret.at(secret, 11 + pair), odd ^ Xxh3Secret.at(secret, 19 + pair));
    }

    private static long mixed(int[] tokens, int at, int secret, long seed) {
        return Xxh3Secret.mixed(word(tokens, at), word(tokens, at + 2), secret, seed);
    }

    private static long word(int[] tokens, int at) {
        return Integer.toUnsignedLong(tokens[at]) | ((long) tokens[at + 1] << Integer.SIZE);
    }
}
