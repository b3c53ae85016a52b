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
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void sglangArrays_areRead() {
        assertThat(decode(GoldenPayloads.SGLANG_ARRAYS))
                .containsExactly(
                        "batch 9",
                        "cleared",
                        "stored [-3488128144981237669, 5674439469042975057] at the root"
                                + " [1, 2, 3, 4, 5, 6, 7, 8] by 4 in GPU",
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
    void tensorRtMaps_areRead() {
        assertThat(decode(GoldenPayloads.TENSORRT_LLM))
                .containsExactly(
                        "batch 9",
                        "stored [-2003500929019345749, 8460888372051954880] at the root [1, 2, 3, 4, 5, 6, 7, 8] by 4"
                                + " in GPU",
                        "removed [8460888372051954880] from GPU",
                        "cleared",
                        "end");
    }

    /** Its events name no salt; the names of blocks show it to whoever knows the rule. */
    @Test
    void tensorRtSalt_showsByTheNameOfTheFirstBlock() {
        assertThat(decoder.decode(
                        HexFormat.of().parseHex(GoldenPayloads.TENSORRT_LLM_SALTED),
                        9,
                        BlockNaming.tensorRt().listening(log)))
                .isTrue();
        assertThat(log.lines())
                .containsExactly(
                        "batch 9",
                        "stored [8844936961183559918] at the root [1, 2, 3, 4] by 4 in GPU namespaced",
                        "end");
        assertThat(decoder.rank()).isEqualTo(2);

        EventLog plain = new EventLog();
        assertThat(decoder.decode(
                        HexFormat.of().parseHex(GoldenPayloads.TENSORRT_LLM),
                        9,
                        BlockNaming.tensorRt().listening(plain)))
                .isTrue();
        assertThat(plain.lines()).isEqualTo(decode(GoldenPayloads.TENSORRT_LLM));
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
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU', null, null, 2, 'sliding_window', 128]",
                "{'type': 'BlockStored', 'block_hashes': [7], 'parent_block_hash': null, 'token_ids': [1, 2],"
                        + "'block_size': 2, 'lora_id': null, 'medium': 'GPU', 'lora_name': null, 'extra_keys': [null],"
                        + "'group_idx': 2, 'kv_cache_spec_kind': 'sliding_window', 'kv_cache_spec_sliding_window': 128}"
            })
    void groupOfAStore_isToldWithItsWindow(String event) {
        assertThat(decodeEvents(event)).contains("stored [7] at the root [1, 2] by 2 in GPU of group 2 windowed");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "['BlockRemoved', [7], 'CPU', 2]",
                "{'type': 'BlockRemoved', 'block_hashes': [7], 'medium': 'CPU', 'group_idx': 2}"
            })
    void groupOfARemoval_isTold(String event) {
        assertThat(decodeEvents(event)).contains("removed [7] from HOST of group 2");
    }

    @ParameterizedTest
    @CsvSource({
        "full_attention, false",
        "mla_attention, false",
        "sink_full_attention, false",
        "unknown, false",
        "sliding_window, true",
        "sliding_window_mla, true",
        "chunked_local_attention, true",
        "mamba, true",
        "something_of_next_year, true"
    })
    void kindOfAGroup_saysWhetherItsLayersAttendToAll(String kind, boolean windowed) {
        assertThat(decodeEvents("{'type': 'BlockStored', 'block_hashes': [7], 'kv_cache_spec_kind': '" + kind + "'}"))
                .contains("stored [7] at the root [] by 0 in GPU" + (windowed ? " windowed" : ""));
    }

    @Test
    void sparseGroup_isToldAsItIs() {
        // Three blocks' tokens, the middle block left out.
        assertThat(decodeEvents("['BlockStored', [7, 9], 5, [1, 2, 3, 4, 5, 6], 2, null, 'GPU', null, null, 1]"))
                .contains("stored [7, 9] under 5 [1, 2, 3, 4, 5, 6] by 2 in GPU of group 1");
    }

    @Test
    void missingTokens_areNone() {
        assertThat(decodeEvents("['BlockStored', [7], 5, null, null]")).contains("stored [7] under 5 [] by 0 in GPU");
        assertThat(decodeEvents("{'type': 'BlockStored', 'block_hashes': [7]}"))
                .contains("stored [7] at the root [] by 0 in GPU");
    }

    /** One insertion, as SGLang 0.5.17 and those before it announce it. */
    @Test
    void pagesAnnouncedApart_areTheirChain() {
        assertThat(decodeEvents("['BlockStored', [7], null, [1, 2], 2, null, 'GPU'],"
                        + "['BlockStored', [8], 7, [3, 4], 2, null, 'GPU'],"
                        + "['BlockStored', [9], 8, [5, 6], 2, null, 'GPU'],"
                        + "['BlockStored', [5], 7, [7, 8], 2, null, 'GPU'],"
                        + "['BlockStored', [6], 5, [9, 9], 2, null, 'GPU']"))
                .containsExactly(
                        "batch 9",
                        "stored [7, 8, 9] at the root [1, 2, 3, 4, 5, 6] by 2 in GPU",
                        "stored [5, 6] under 7 [7, 8, 9, 9] by 2 in GPU",
                        "end");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                // In another place.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockStored', [8], 7, [3, 4], 2, null, 'CPU']",
                // Of another size.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockStored', [8], 7, [3], 1, null, 'GPU']",
                // Without its tokens.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockStored', [8], 7, [], 2, null, 'GPU']",
                // Of an adapter.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockStored', [8], 7, [3, 4], 2, 4, 'GPU']",
                // Of another's root.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockStored', [8], null, [3, 4], 2, null,"
                        + " 'GPU']",
                // With something in between.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'], ['BlockRemoved', [3], 'GPU'],"
                        + "['BlockStored', [8], 7, [3, 4], 2, null, 'GPU']",
                // From a release that joins pages itself, of two sessions.
                "{'type': 'BlockStored', 'block_hashes': [7], 'token_ids': [1, 2], 'block_size': 2},"
                        + "{'type': 'BlockStored', 'block_hashes': [8], 'parent_block_hash': 7, 'token_ids': [3, 4],"
                        + "'block_size': 2, 'session_id': 'a'}",
                // Two chains, not pages.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU'],"
                        + "['BlockStored', [8, 9], 7, [3, 4, 5, 6], 2, null, 'GPU']",
                "['BlockStored', [6, 7], null, [0, 0, 1, 2], 2, null, 'GPU'],"
                        + "['BlockStored', [8], 7, [3, 4], 2, null, 'GPU']",
                // Of vLLM, where a second store in a step is another request.
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU', null],"
                        + "['BlockStored', [8], 7, [3, 4], 2, null, 'GPU', null]"
            })
    void storesThatAreNotPagesOfAChain_stayApart(String events) {
        assertThat(decodeEvents(events))
                .filteredOn(line -> line.startsWith("stored"))
                .hasSize(2);
    }

    @Test
    void storeOfNoBlocks_isNotTold() {
        assertThat(decodeEvents("['BlockStored', [], null, [], 2], ['BlockRemoved', []]"))
                .containsExactly("batch 9", "end");
    }

    @Test
    void blocksKeptByAnotherEngine_areExternal() {
        assertThat(decodeEvents("{'type': 'BlockStored', 'locality': 'REMOTE', 'block_hashes': [7], 'medium': 'CPU'},"
                        + "{'type': 'BlockRemoved', 'block_hashes': [7], 'medium': 'CPU', 'locality': 'REMOTE'},"
                        + "{'type': 'BlockRemoved', 'block_hashes': [7], 'medium': 'CPU', 'locality': 'LOCAL'}"))
                .containsExactly(
                        "batch 9",
                        "stored [7] at the root [] by 0 in EXTERNAL",
                        "removed [7] from EXTERNAL",
                        "removed [7] from HOST",
                        "end");
    }

    @Test
    void fieldsThatNobodyKnows_areSkippedWhateverTheyAre() {
        // A map of 16 entries, long header; among them a float, an extension, bytes, a map in a list, a text of 300
        // bytes.
        String unknown = "a161ca3fc00000" + "a162d5010203" + "a163c403010203" + "a1649181a1659101" + "a165da012c"
                + "20".repeat(300) + "a166c3" + "a167c7030a010203" + "a168cb3ff8000000000000" + "a169d1ff00"
                + "a16adc0000"
                + "a16bde0000" + "a16cd8" + "00".repeat(17) + "07c0" + "90c2";
        String known = "a474797065ac426c6f636b52656d6f766564" + "ac626c6f636b5f6861736865739107";
        assertThat(decode("92c091de0010" + unknown + known)).containsExactly("batch 9", "removed [7] from GPU", "end");
    }

    @Test
    void tokensOfEveryWidth_areReadUpToTheLastByte() {
        // The events come last in a map, so the last token ends the frame.
        String[] tokens = {"05", "cc85", "cd8586", "ce85868788", "cf0000000085868788", "d005", "d10505", "d205050505"};
        int[] values = {0x05, 0x85, 0x8586, 0x85868788, 0x85868788, 0x05, 0x0505, 0x05050505};
        String start = "81a66576656e74739193ab426c6f636b53746f7265649107c0";
        for (int last = 0; last < tokens.length; last++) {
            String frame = start.replace("9193ab", "9194ab") + "92" + tokens[2] + tokens[last];
            assertThat(decode(frame))
                    .contains("stored [7] at the root [34182, %d] by 0 in GPU".formatted(values[last]));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[1] | the batch has no events",
                "{'ts': 1} | the batch has no events",
                "{'events': [], 'events_': 1, 'ts': 1.5} | ",
                "5 | it is neither a list nor a map",
                "[1, [5]] | an event is neither a list nor a map",
                "[1, [[]]] | an event has no type",
                "[1, [{'block_hashes': [1]}]] | an event has no type",
                "[1, [['BlockStored']]] | an event names no blocks",
                "[1, [{'type': 'BlockRemoved'}]] | an event names no blocks",
                "[1, [['BlockRemoved', null]]] | a value is of another type than its place calls for",
                "[1, [['BlockRemoved', [1.5]]]] | a value is of another type than its place calls for",
                "[1, [['BlockStored', [1], null, [[]]]]] | a token is an empty list",
                "[1, [['BlockStored', [1], null, [], -3]]] | a block size of 18446744073709551613 cannot be",
                "[1, [['BlockRemoved', [1], null, 2147483648]]] | a group of 2147483648 cannot be",
                "[1, [['BlockRemoved', [1], null, 256]]] | a KV cache group has the number 256; none is above 255"
            })
    void refusal_saysWhy(String batch, String why) {
        assertThat(decoder.read(Packed.json(batch))).isEqualTo(why == null);
        assertThat(decoder.refusal()).isEqualTo(why == null ? "" : why);
    }

    @Test
    void keyThatComesTwice_isRefused() {
        // {"type": "BlockRemoved", "block_hashes": [7], "block_hashes": [8]}
        String removed = "a474797065ac426c6f636b52656d6f766564";
        String hashes = "ac626c6f636b5f6861736865739107";
        assertThat(decoder.read(HexFormat.of().parseHex("92c09183" + removed + hashes + hashes)))
                .isFalse();
        assertThat(decoder.refusal()).isEqualTo("an event names its blocks twice");
        String stored = "a474797065ab426c6f636b53746f726564";
        String tokens = "a9746f6b656e5f6964739107";
        assertThat(decoder.read(HexFormat.of().parseHex("92c09184" + stored + hashes + tokens + tokens)))
                .isFalse();
        assertThat(decoder.refusal()).isEqualTo("an event names its tokens twice");
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

    @Test
    void deepNestingInAFieldThatNobodyKnows_isSkippedWithoutTheStack() {
        // {"deep": [[[...nil...]]], "type": "BlockRemoved", "block_hashes": [7]}
        String deep = "a464656570" + "91".repeat(100_000) + "c0";
        String known = "a474797065ac426c6f636b52656d6f766564" + "ac626c6f636b5f6861736865739107";
        assertThat(decode("92c09183" + deep + known)).containsExactly("batch 9", "removed [7] from GPU", "end");
    }

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void frames_costNoAllocation(Dialect dialect) {
        byte[] few = frame(dialect, 10);
        byte[] many = frame(dialect, 10_000);
        assertSteady(few, many);
    }

    @Test
    void saltsAdaptersAndImages_costNoAllocation() {
        assertSteady(
                HexFormat.of().parseHex(GoldenPayloads.VLLM_G7),
                HexFormat.of().parseHex(GoldenPayloads.SGLANG_SALTED_ARRAY));
    }

    @Test
    void pagesAnnouncedApart_costNoAllocation() {
        assertSteady(pages(10), pages(10_000));
    }

    private static byte[] pages(int blocks) {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_ARRAYS);
        for (int i = 0; i < blocks; i++) {
            StoredBlocks page =
                    new StoredBlocks().blockTokens(2).add(i + 1).addToken(i).addToken(i);
            encoder.stored(i == 0 ? page : page.under(i));
        }
        return encoder.finish(1.5, 0);
    }

    private void assertSteady(byte[] one, byte[] other) {
        Sum sum = new Sum();
        long smallest = Long.MAX_VALUE;
        for (int i = 0; i < 50; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            decoder.decode(one, i, sum);
            decoder.decode(other, i, sum);
            smallest = Math.min(smallest, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(sum.hashes).isNotZero();
        assertThat(smallest).isZero();
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

    private List<String> decodeEvents(String events) {
        EventLog fresh = new EventLog();
        assertThat(decoder.decode(Packed.json("[1.5, [%s], 0]".formatted(events)), 9, fresh))
                .as(decoder.refusal())
                .isTrue();
        return fresh.lines();
    }

    private List<String> decode(String hex) {
        EventLog fresh = new EventLog();
        assertThat(decoder.decode(HexFormat.of().parseHex(hex), 9, fresh))
                .as(decoder.refusal())
                .isTrue();
        return fresh.lines();
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
