package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Seeded frames in every dialect: what was written is what is read, and nothing malformed escapes. */
final class CodecRoundTripTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final Tier[] TIERS = Tier.values();

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void whatWasWritten_isRead(Dialect dialect) {
        SplittableRandom random = new SplittableRandom(20261121);
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        KvEventDecoder decoder = new KvEventDecoder();
        for (int frame = 0; frame < (DEEP ? 20_000 : 1000); frame++) {
            List<String> written = new ArrayList<>();
            written.add("batch " + frame);
            write(random, encoder, written);
            written.add("end");
            EventLog log = new EventLog();
            assertThat(decoder.decode(encoder.finish(frame, 0), frame, log))
                    .as(decoder.refusal())
                    .isTrue();
            assertThat(log.lines()).isEqualTo(written);
        }
        assertThat(decoder.unknownEvents()).isZero();
    }

    @Test
    void mutatedFrames_areReadOrRefused_andRefusedOnesReachNobody() {
        SplittableRandom random = new SplittableRandom(7);
        List<byte[]> seeds = new ArrayList<>();
        for (String golden : List.of(
                GoldenPayloads.SGLANG_ARRAYS,
                GoldenPayloads.SGLANG_SALTED_ARRAY,
                GoldenPayloads.SGLANG_MAPS,
                GoldenPayloads.VLLM_G0,
                GoldenPayloads.VLLM_G2,
                GoldenPayloads.VLLM_G5,
                GoldenPayloads.VLLM_G6,
                GoldenPayloads.VLLM_G7,
                GoldenPayloads.VLLM_BYTE_HASHES)) {
            seeds.add(HexFormat.of().parseHex(golden));
        }
        for (Dialect dialect : Dialect.values()) {
            KvEventEncoder encoder = new KvEventEncoder(dialect);
            for (int i = 0; i < 8; i++) {
                write(random, encoder, new ArrayList<>());
                seeds.add(encoder.finish(i, 0));
            }
        }
        KvEventDecoder decoder = new KvEventDecoder();
        int refused = 0;
        int read = 0;
        for (int i = 0; i < (DEEP ? 1_000_000 : 20_000); i++) {
            byte[] mutated = mutate(random, seeds.get(random.nextInt(seeds.size())));
            EventLog log = new EventLog();
            if (decoder.decode(mutated, i, log)) {
                read++;
                assertThat(log.lines()).first().isEqualTo("batch " + i);
                assertThat(log.lines()).last().isEqualTo("end");
                assertThat(decoder.refusal()).isEmpty();
            } else {
                refused++;
                assertThat(log.lines()).isEmpty();
                assertThat(decoder.refusal()).isNotEmpty();
            }
        }
        assertThat(refused).isGreaterThan(1000);
        assertThat(read).isGreaterThan(1000);
    }

    private static void write(SplittableRandom random, KvEventEncoder encoder, List<String> written) {
        for (int events = random.nextInt(6); events > 0; events--) {
            switch (random.nextInt(5)) {
                case 0 -> {
                    encoder.cleared();
                    written.add("cleared");
                }
                case 1 -> {
                    long[] gone = new long[20];
                    int count = 1 + random.nextInt(gone.length);
                    for (int i = 0; i < count; i++) {
                        gone[i] = number(random);
                    }
                    Tier tier = TIERS[random.nextInt(TIERS.length)];
                    encoder.removed(gone, 0, count, tier, 0);
                    written.add(EventLog.textOfRemoved(gone, 0, count, tier));
                }
                default -> {
                    StoredBlocks chain = chain(random);
                    encoder.stored(chain);
                    written.add(EventLog.textOfStored(chain));
                }
            }
        }
    }

    private static StoredBlocks chain(SplittableRandom random) {
        int blockTokens = random.nextInt(1, 20);
        StoredBlocks chain = new StoredBlocks()
                .reset()
                .blockTokens(blockTokens)
                .in(TIERS[random.nextInt(TIERS.length)])
                .namespaced(random.nextInt(4) == 0);
        if (random.nextBoolean()) {
            chain.under(number(random));
        }
        for (int blocks = random.nextInt(1, 40); blocks > 0; blocks--) {
            chain.add(number(random));
            for (int i = 0; i < blockTokens; i++) {
                chain.addToken((int) number(random));
            }
        }
        return chain;
    }

    /** Numbers of every width on the wire, the signed and unsigned edges more often than chance. */
    private static long number(SplittableRandom random) {
        long edge = 1L << random.nextInt(64);
        return switch (random.nextInt(4)) {
            case 0 -> edge - 1;
            case 1 -> edge;
            case 2 -> -edge;
            default -> random.nextLong();
        };
    }

    private static byte[] mutate(SplittableRandom random, byte[] seed) {
        byte[] bytes = seed.clone();
        for (int times = 1 + random.nextInt(3); times > 0 && bytes.length > 0; times--) {
            int at = random.nextInt(bytes.length);
            switch (random.nextInt(6)) {
                case 0 -> bytes[at] = (byte) random.nextInt(256);
                case 1 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                case 2 -> bytes = Arrays.copyOf(bytes, at);
                case 3 -> bytes = spliced(bytes, at, random.nextInt(1, 9), new byte[0]);
                case 4 -> bytes = spliced(bytes, at, 0, noise(random));
                default -> {
                    // A header that declares more than any frame holds.
                    byte[] header = {0, (byte) random.nextInt(256), -1, -1, -1};
                    byte[] kinds = {
                        (byte) 0xdd, (byte) 0xdf, (byte) 0xdb, (byte) 0xc6, (byte) 0xc9, (byte) 0xdc, (byte) 0xde
                    };
                    header[0] = kinds[random.nextInt(kinds.length)];
                    bytes = spliced(bytes, at, 1, header);
                }
            }
        }
        return bytes;
    }

    private static byte[] noise(SplittableRandom random) {
        byte[] noise = new byte[1 + random.nextInt(8)];
        random.nextBytes(noise);
        return noise;
    }

    private static byte[] spliced(byte[] bytes, int at, int without, byte[] with) {
        int rest = Math.min(bytes.length, at + without);
        byte[] result = new byte[at + with.length + bytes.length - rest];
        System.arraycopy(bytes, 0, result, 0, at);
        System.arraycopy(with, 0, result, at, with.length);
        System.arraycopy(bytes, rest, result, at + with.length, bytes.length - rest);
        return result;
    }
}
