package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Details;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The encoder against bytes that engines, or their serialisation library, wrote. */
final class KvEventEncoderTest {
    private static final long FIRST = 0x948a1fa5e8c9e91fL;
    private static final long SECOND = 0xd36d02ffac952d33L;

    @Test
    void sglangArrays_areTheEnginesBytes() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_ARRAYS);
        encoder.cleared();
        encoder.stored(chain(4, -3488128144981237669L)
                .addToken(1)
                .addToken(2)
                .addToken(3)
                .addToken(4));
        encoder.stored(chain(4, 5674439469042975057L)
                .under(-3488128144981237669L)
                .addToken(5)
                .addToken(6)
                .addToken(7)
                .addToken(8));
        encoder.stored(chain(4, -54982850985331377L)
                .under(-3488128144981237669L)
                .addToken(9)
                .addToken(9)
                .addToken(9)
                .addToken(9));
        encoder.removed(new long[] {5674439469042975057L}, 0, 1, Tier.GPU, 0);
        assertThat(hex(encoder.finish(1.5, 0))).isEqualTo(GoldenPayloads.SGLANG_ARRAYS);
    }

    @Test
    void vllmArrays_areTheEnginesBytes() {
        assertThat(hex(vllm(Dialect.VLLM_ARRAYS))).isEqualTo(GoldenPayloads.VLLM_G5);
    }

    @Test
    void vllmMaps_areTheEnginesBytes() {
        assertThat(hex(vllm(Dialect.VLLM_MAPS))).isEqualTo(GoldenPayloads.VLLM_G6);
    }

    @Test
    void tensorRtMaps_areTheEnginesBytes() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.TENSORRT_LLM);
        int[] tokens = IntStream.rangeClosed(1, 8).toArray();
        long[] names = TensorRtBlockNames.of(tokens, 4);
        StoredBlocks chain = chain(4, names);
        for (int token : tokens) {
            chain.addToken(token);
        }
        encoder.stored(chain);
        encoder.removed(names, 1, 2, Tier.GPU, 0);
        encoder.cleared();
        assertThat(hex(encoder.finish(1_700_000_000, 0))).isEqualTo(GoldenPayloads.TENSORRT_LLM);
    }

    @Test
    void saltAndSession_areTheEnginesBytes() {
        KvEventEncoder sglang = new KvEventEncoder(Dialect.SGLANG_MAPS);
        sglang.stored(
                chain(2, 31502315585564397L).addToken(1).addToken(2),
                new Details("tenant-a", "s1", List.of(), Optional.empty()));
        assertThat(hex(sglang.finish(1.5, 1))).isEqualTo(GoldenPayloads.SGLANG_SALT_AND_SESSION);
        KvEventEncoder vllm = new KvEventEncoder(Dialect.VLLM_MAPS);
        StoredBlocks chain = chain(4, FIRST);
        for (int token = 0; token < 4; token++) {
            chain.addToken(token);
        }
        vllm.stored(chain, new Details("tenant-a", "sess-1", List.of(), Optional.empty()));
        assertThat(hex(vllm.finish(1.5, 0))).isEqualTo(GoldenPayloads.VLLM_SALT_AND_SESSION);
    }

    @Test
    void saltedArray_isTheEnginesBytes() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_ARRAYS);
        encoder.stored(chain(2, 31502315585564397L).addToken(1).addToken(2), Details.salt("tenant-a"));
        assertThat(hex(encoder.finish(1.5, 0))).isEqualTo(GoldenPayloads.SGLANG_SALTED_ARRAY);
    }

    @Test
    void finishedFrame_startsAnEmptyOne() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        assertThat(encoder.isEmpty()).isTrue();
        encoder.cleared();
        assertThat(encoder.isEmpty()).isFalse();
        byte[] first = encoder.finish(1.5, 0);
        assertThat(encoder.isEmpty()).isTrue();
        assertThat(hex(encoder.finish(1.5, 3))).isEqualTo("93cb3ff80000000000009003");
        assertThat(hex(first)).isEqualTo("93cb3ff80000000000009181a474797065b0416c6c426c6f636b73436c656172656400");
    }

    private static byte[] vllm(Dialect dialect) {
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        StoredBlocks chain = chain(4, FIRST, SECOND);
        for (int token = 0; token < 8; token++) {
            chain.addToken(token);
        }
        encoder.stored(chain);
        encoder.removed(new long[] {SECOND}, 0, 1, Tier.GPU, 0);
        encoder.cleared();
        return encoder.finish(1700000000.5, 0);
    }

    private static StoredBlocks chain(int blockTokens, long... hashes) {
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(blockTokens);
        for (long hash : hashes) {
            chain.add(hash);
        }
        return chain;
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
