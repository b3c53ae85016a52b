package io.holdfast.core.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The vectors come from the reference library; what else there is must agree with the hash of a range of bytes. */
final class Xxh3Test {
    private static final long[] SEEDS = {0, 1337, 0xFEDCBA9876543210L};

    @Test
    void everyLengthClassAndSeed_matchesTheReferenceLibrary() throws IOException {
        byte[] input = new byte[10_007];
        long state = 0x1234567;
        for (int i = 0; i < input.length; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            input[i] = (byte) (state >>> 56);
        }
        int vectors = 0;
        byte[] digest = new byte[16];
        for (String line : vectors()) {
            String[] fields = line.split(" ", -1);
            int length = Integer.parseInt(fields[0]);
            for (int i = 0; i < SEEDS.length; i++) {
                Xxh3 hash = Xxh3.seeded(SEEDS[i]);
                assertThat(HexFormat.of().toHexDigits(hash.hash64(input, 0, length)))
                        .as("64 bits of %d bytes, seed %x", length, SEEDS[i])
                        .isEqualTo(fields[1 + 2 * i]);
                hash.hash128(input, 0, length, digest);
                assertThat(HexFormat.of().formatHex(digest))
                        .as("128 bits of %d bytes, seed %x", length, SEEDS[i])
                        .isEqualTo(fields[2 + 2 * i]);
                vectors++;
            }
        }
        assertThat(vectors).isEqualTo(879);
    }

    @Test
    void bytesAroundARange_areNotRead() {
        SplittableRandom random = new SplittableRandom(1);
        Xxh3 hash = Xxh3.seeded(random.nextLong());
        for (int i = 0; i < rounds(); i++) {
            byte[] input = new byte[random.nextInt(2_500)];
            random.nextBytes(input);
            int from = random.nextInt(input.length + 1);
            int length = random.nextInt(input.length - from + 1);
            byte[] range = Arrays.copyOfRange(input, from, from + length);
            assertThat(hash.hash64(input, from, length)).isEqualTo(hash.hash64(range, 0, length));
            assertThat(wide(hash, input, from, length)).isEqualTo(wide(hash, range, 0, length));
        }
    }

    @Test
    void tokens_hashAsFourBytesEach() {
        SplittableRandom random = new SplittableRandom(2);
        for (int i = 0; i < rounds(); i++) {
            int[] tokens = random.ints(random.nextInt(i % 2 == 0 ? 80 : 1_200)).toArray();
            int from = random.nextInt(tokens.length + 1);
            int count = random.nextInt(tokens.length - from + 1);
            ByteBuffer bytes =
                    ByteBuffer.allocate(tokens.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            bytes.asIntBuffer().put(tokens);
            Xxh3 hash = Xxh3.seeded(random.nextLong());
            assertThat(hash.hash64(tokens, from, count))
                    .as("%d tokens", count)
                    .isEqualTo(hash.hash64(bytes.array(), from * Integer.BYTES, count * Integer.BYTES));
        }
    }

    @Test
    void twoNumbers_hashAsTheirSixteenBytes() {
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < rounds(); i++) {
            long first = random.nextLong();
            long second = random.nextLong();
            byte[] bytes = ByteBuffer.allocate(16)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(first)
                    .putLong(second)
                    .array();
            Xxh3 hash = Xxh3.seeded(random.nextLong());
            assertThat(hash.hash64(first, second)).isEqualTo(hash.hash64(bytes, 0, 16));
        }
    }

    @Test
    void rangeOutsideItsArray_isRefused() {
        Xxh3 hash = Xxh3.seeded(0);
        assertThatThrownBy(() -> hash.hash64(new byte[8], 4, 5)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> hash.hash64(new int[8], 4, 5)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> hash.hash128(new byte[8], 4, 5, new byte[16]))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> hash.hash128(new byte[8], 0, 8, new byte[15]))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    private static byte[] wide(Xxh3 hash, byte[] input, int from, int length) {
        byte[] digest = new byte[16];
        hash.hash128(input, from, length, digest);
        return digest;
    }

    private static int rounds() {
        return System.getProperty("holdfast.scale", "slice").equals("deep") ? 1_000_000 : 5_000;
    }

    private static List<String> vectors() throws IOException {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(Xxh3Test.class.getResourceAsStream("xxh3.txt")), StandardCharsets.UTF_8))) {
            return reader.lines().filter(line -> !line.startsWith("#")).toList();
        }
    }
}
