package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class KvEventDecoderTest {
    private static final String V1_BOTH = "[-7743341811874535137, -3211907662109921997]";
    private static final String VLLM_STORED = "stored " + V1_BOTH + " at the root [0, 1, 2, 3, 4, 5, 6, 7] by 4 in GPU";
    private static final String VLLM_REMOVED = "removed [-3211907662109921997] from GPU";

    private final KvEventDecoder decoder = new KvEventDecoder();
    private final EventLog log = new EventLog();

    @Test
    void sglangArrays_areRead() {
        assertThat(decode(GoldenPayloads.SGLANG_ARRAYS))
                .containsExactly(
                        "batch 9",
                        "cleared",
                        "stored [-3488128144981237669] at the root [1, 2, 3, 4] by 4 in GPU",
                        "stored [5674439469042975057] under -3488128144981237669 [5, 6, 7, 8] by 4 in GPU",
                        "stored [-54982850985331377] under -3488128144981237669 [9, 9, 9, 9] by 4 in GPU",
                        "removed [5674439469042975057] from GPU",
                        "end");
    }

    @Test
    void sglangSaltedArray_isNamespaced() {
        assertThat(decode(GoldenPayloads.SGLANG_SALTED_ARRAY))
                .containsExactly(
                        "batch 9", "stored [31502315585564397] at the root [1, 2] by 2 in GPU namespaced", "end");
    }

    @Test
    void sglangMaps_areRead() {
        assertThat(decode(GoldenPayloads.SGLANG_MAPS))
                .containsExactly(
                        "batch 9",
                        "cleared",
                        "stored [-3488128144981237669, 5674439469042975057] at the root"
                                + " [1, 2, 3, 4, 5, 6, 7, 8] by 4 in GPU",
                        "removed [5674439469042975057] from HOST",
                        "end");
    }

    @Test
    void vllmOldestArrays_areRead() {
        assertThat(decode(GoldenPayloads.VLLM_G0))
                .containsExactly("batch 9", VLLM_STORED, VLLM_REMOVED, "cleared", "end");
    }

    @Test
    void vllmArraysWithAdapterName_areRead() {
        assertThat(decode(GoldenPayloads.VLLM_G2))
                .containsExactly("batch 9", VLLM_STORED, VLLM_REMOVED, "cleared", "end");
    }

    @Test
    void vllmLongestArrays_areRead() {
        assertThat(decode(GoldenPayloads.VLLM_G5))
                .containsExactly("batch 9", VLLM_STORED, VLLM_REMOVED, "cleared", "end");
    }

    @Test
    void vllmMaps_areRead() {
        assertThat(decode(GoldenPayloads.VLLM_G6))
                .containsExactly("batch 9", VLLM_STORED, VLLM_REMOVED, "cleared", "end");
    }

    @Test
    void vllmByteHashes_areFoldedToTheirLastEightBytes() {
        assertThat(decode(GoldenPayloads.VLLM_BYTE_HASHES))
                .containsExactly(
                        "batch 9",
                        "stored [-7743341811874535137] under -3211907662109921997 [0, 1, 2, 3] by 4 in GPU",
                        "end");
    }

    @Test
    void vllmAdapterImageAndSalt_areNamespaced_andTokensOfEveryWidthRead() {
        assertThat(decode(GoldenPayloads.VLLM_G7))
                .containsExactly(
                        "batch 9",
                        "stored [-7743341811874535137] at the root [0, 128, 256, 65536] by 4 in GPU namespaced",
                        "end");
    }

    @Test
    void hashAboveTwoToThe63_isItsSixtyFourBits() {
        assertThat(decode("92c09192ac426c6f636b52656d6f76656493cf8000000000000000cfffffffffffffffffcf7fffffffffffffff"))
                .contains("removed [-9223372036854775808, -1, 9223372036854775807] from GPU");
    }

    @Test
    void signedHash_isItself() {
        assertThat(decode("92c09192ac426c6f636b52656d6f76656493ffd38000000000000000d2ffffff00"))
                .contains("removed [-1, -9223372036854775808, -256] from GPU");
    }

    @Test
    void bigramTokens_keepTheFirstOfEachPair() {
        // ["BlockStored", [7], nil, [[1, 2], [2, 3]], 2, nil, "GPU"]
        assertThat(decode("92c09197ab426c6f636b53746f7265649107c09292010292020302c0a3475055"))
                .contains("stored [7] at the root [1, 2] by 2 in GPU");
    }

    @Test
    void placeholderWithoutTokens_isAStore() {
        // ["BlockStored", [7], nil, [], 0, nil, "CPU"]
        assertThat(decode("92c09197ab426c6f636b53746f7265649107c09000c0a3435055"))
                .contains("stored [7] at the root [] by 0 in HOST");
    }

    @Test
    void unknownEvent_isCountedAndSkipped_theRestIsKept() {
        // [["Surprise", [1]], {"type": "Other", "block_hashes": 5}, ["AllBlocksCleared"]]
        String events = "92a853757270726973659101" + "82a474797065a54f74686572ac626c6f636b5f68617368657305"
                + "91b0416c6c426c6f636b73436c6561726564";
        assertThat(decode("92c093" + events)).containsExactly("batch 9", "cleared", "end");
        assertThat(decoder.unknownEvents()).isEqualTo(2);
    }

    @Test
    void typeAfterOtherKeys_isFound() {
        // {"block_hashes": [7], "type": "BlockRemoved"}
        assertThat(decode("92c09182ac626c6f636b5f6861736865739107a474797065ac426c6f636b52656d6f766564"))
                .containsExactly("batch 9", "removed [7] from GPU", "end");
    }

    @Test
    void outerMapAndLongMapHeaders_areRead() {
        // map16 {"ts": 1, "events": array32 [map32 {"type": "AllBlocksCleared"}], "data_parallel_rank": 0}
        assertThat(decode("de0003a2747301a66576656e7473dd00000001df00000001a474797065b0416c6c426c6f636b73436c6561726564"
                        + "b2646174615f706172616c6c656c5f72616e6b00"))
                .containsExactly("batch 9", "cleared", "end");
    }

    @ParameterizedTest
    @CsvSource({
        "GPU, GPU",
        "CPU, HOST",
        "CPU_PINNED, HOST",
        "CPU_TIER1, HOST",
        "CPU_TIER2, DISK",
        "DISK, DISK",
        "STORAGE, DISK",
        "EXTERNAL, EXTERNAL",
        "SOMEWHERE, EXTERNAL"
    })
    void medium_isATier(String medium, Tier tier) {
        String text = HexFormat.of().formatHex(medium.getBytes(StandardCharsets.US_ASCII));
        String length = HexFormat.of().toHexDigits((byte) (0xa0 | medium.length()));
        assertThat(decode("92c09193ac426c6f636b52656d6f7665649107" + length + text))
                .contains("removed [7] from " + tier);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "c0",
                "91c0",
                "80",
                "92c0c0",
                "92c091c0",
                "92c09190",
                "92c09180",
                "92c09181a474797065ac426c6f636b52656d6f766564",
                "92c09191ac426c6f636b52656d6f766564",
                "92c09192ac426c6f636b52656d6f76656491c404deadbeef",
                "92c09192ac426c6f636b52656d6f76656491a37a7a7a",
                "92c09000c0",
                "92c0dd7fffffff",
                "92c0ddffffffff",
                "92c09192ac426c6f636b52656d6f766564dd7fffffff",
                "92c09192ac426c6f636b52656d6f76656491c67fffffff",
                "92c091df7fffffff",
                "92c091dfffffffff",
                "92c091dbffffffff",
                "c1"
            })
    void whatIsNoBatch_isRefusedWithAReason(String hex) {
        assertThat(decoder.decode(HexFormat.of().parseHex(hex), 9, log)).isFalse();
        assertThat(decoder.refusal()).isNotEmpty();
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void frameWhoseLastEventIsBroken_reachesNobody_andTheNextIsRead() {
        byte[] whole = HexFormat.of().parseHex(GoldenPayloads.VLLM_G6);
        byte[] broken = Arrays.copyOf(whole, whole.length - 4);
        assertThat(decoder.decode(broken, 8, log)).isFalse();
        assertThat(log.lines()).isEmpty();
        assertThat(decode(GoldenPayloads.VLLM_G6)).hasSize(5);
        assertThat(decoder.refusal()).isEmpty();
    }

    @Test
    void deepNesting_isSkippedWithoutTheStack() {
        byte[] nested = new byte[1_000_000];
        Arrays.fill(nested, (byte) 0x91);
        nested[0] = (byte) 0x92;
        assertThat(decoder.decode(nested, 9, log)).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void blocks_costNoAllocation(Dialect dialect) {
        byte[] few = frame(dialect, 10);
        byte[] many = frame(dialect, 10_000);
        Sum sum = new Sum();
        for (int i = 0; i < 50; i++) {
            decoder.decode(few, i, sum);
            decoder.decode(many, i, sum);
        }
        long smallest = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            long before = allocated();
            decoder.decode(few, i, sum);
            long between = allocated();
            decoder.decode(many, i, sum);
            smallest = Math.min(smallest, allocated() - between - (between - before));
        }
        assertThat(sum.hashes).isNotZero();
        assertThat(smallest).isLessThan(1000);
    }

    private static byte[] frame(Dialect dialect, int blocks) {
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(2).under(-3);
        long[] gone = new long[blocks];
        for (int i = 0; i < blocks; i++) {
            gone[i] = (i + 1) * 0x9e3779b97f4a7c15L;
            chain.add(gone[i]).addToken(i).addToken(i * 77_777);
        }
        encoder.stored(chain);
        encoder.removed(gone, 0, blocks, Tier.GPU, 0);
        return encoder.finish(1.5, 0);
    }

    private static long allocated() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    private List<String> decode(String hex) {
        assertThat(decoder.decode(HexFormat.of().parseHex(hex), 9, log))
                .as(decoder.refusal())
                .isTrue();
        return log.lines();
    }

    private static final class Sum implements KvEventSink {
        private long hashes;

        @Override
        public void batchStarted(long sequence, long stampMicros) {}

        @Override
        public void stored(StoredBlocks chain) {
            for (int i = 0; i < chain.count(); i++) {
                hashes += chain.hash(i);
            }
        }

        @Override
        public void removed(long[] removed, int from, int to, Tier tier, int group) {
            hashes ^= removed[to - 1];
        }

        @Override
        public void cleared() {}

        @Override
        public void batchEnded() {}

        @Override
        public void gap(Gap gap) {}

        @Override
        public void restarted(long seen) {}
    }
}
