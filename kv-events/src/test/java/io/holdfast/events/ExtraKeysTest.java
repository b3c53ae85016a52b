package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What stores say of their blocks beside tokens, in the forms of both engines, as the content chain numbers it. */
final class ExtraKeysTest {
    private final KvEventDecoder decoder = new KvEventDecoder();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'type': 'BlockStored', 'block_hashes': [7], 'token_ids': [1, 2], 'block_size': 2, 'cache_salt': 'a'}",
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU', {'session_id': 's', 'cache_salt': 'a'}]",
                "['BlockStored', [7], null, [1, 2], 2, null, 'GPU', null, [['a']], 0, 'full_attention', null]",
                "{'type': 'BlockStored', 'block_hashes': [7], 'token_ids': [1, 2], 'block_size': 2, 'lora_name': null,"
                        + "'extra_keys': [['a']]}"
            })
    void salt_isTheNamespace(String event) {
        assertThat(namespace(event)).isEqualTo(ContentNames.namespace("a", ""));
        assertThat(extras(event)).containsExactly(0);
    }

    @Test
    void adapter_isTheNamespace_andNoExtra() {
        String event = "['BlockStored', [7, 8], 5, [1, 2], 1, 1, 'GPU', 'sql', [['sql'], ['sql']], 0]";
        assertThat(namespace(event)).isEqualTo(ContentNames.namespace("", "sql"));
        assertThat(extras(event)).containsExactly(0, 0);
    }

    @Test
    void adapterOfOlderEngines_isToldByItsNumber() {
        long one = namespace("['BlockStored', [7], null, [1, 2], 2, 1]");
        long two = namespace("['BlockStored', [7], null, [1, 2], 2, 2, 'GPU']");
        assertThat(one).isNotZero().isNotEqualTo(two);
        assertThat(two).isNotZero();
    }

    @Test
    void images_areExtrasOfTheirBlocks_whereverTheAdaptersNameStands() {
        String keys = "'extra_keys': [['sql', ['mm1', 2], 'tenant'], ['sql', ['mm1', -2], ['mm2', 3]], ['sql'], null]";
        String event = "{'type': 'BlockStored', %s, 'block_hashes': [1, 2, 3, 4], 'lora_name': 'sql'}".formatted(keys);
        assertThat(namespace(event)).isEqualTo(ContentNames.namespace("tenant", "sql"));
        assertThat(extras(event))
                .containsExactly(
                        ContentNames.extra("mm1"),
                        ContentNames.with(ContentNames.extra("mm1"), ContentNames.extra("mm2")),
                        0,
                        0);
        // The next event has none: nothing is left of the one before.
        assertThat(extras("['BlockStored', [5], 4, [9]]")).containsExactly(0);
    }

    @Test
    void textUnderAParent_isNoSaltButAnExtra() {
        String event = "['BlockStored', [7, 8], 5, [1, 2], 1, null, 'GPU', null, [['mm'], null], 0]";
        assertThat(namespace(event)).isZero();
        assertThat(extras(event)).containsExactly(ContentNames.extra("mm"), 0);
        assertThat(read(event).namespaced).isTrue();
    }

    @Test
    void goldenAdapterImageAndSalt_areNumbered() {
        Keys keys = new Keys();
        assertThat(decoder.decode(HexFormat.of().parseHex(GoldenPayloads.VLLM_G7), 9, keys))
                .isTrue();
        assertThat(keys.namespace).isEqualTo(ContentNames.namespace("tenant-a", "sql-lora"));
        assertThat(keys.extras).containsExactly(ContentNames.extra("mmhash01"));
        assertThat(decoder.decode(HexFormat.of().parseHex(GoldenPayloads.SGLANG_SALTED_ARRAY), 9, keys))
                .isTrue();
        assertThat(keys.namespace).isEqualTo(ContentNames.namespace("tenant-a", ""));
    }

    private long namespace(String event) {
        return read(event).namespace;
    }

    private long[] extras(String event) {
        return read(event).extras;
    }

    private Keys read(String event) {
        Keys keys = new Keys();
        assertThat(decoder.decode(Packed.json("[1.5, [%s], 0]".formatted(event)), 9, keys))
                .as(decoder.refusal())
                .isTrue();
        return keys;
    }

    /** Keeps what sets the blocks of the last store apart. */
    private static final class Keys implements KvEventSink {
        private boolean namespaced;
        private long namespace;
        private long[] extras = {};

        @Override
        public void stored(StoredBlocks chain) {
            namespaced = chain.namespaced();
            namespace = chain.namespace();
            extras = IntStream.range(0, chain.count()).mapToLong(chain::extra).toArray();
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {}

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {}

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
