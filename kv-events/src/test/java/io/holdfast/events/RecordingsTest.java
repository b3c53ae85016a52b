package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What real servers published, request by request, and what a listener had to believe after each. */
final class RecordingsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final KvEventDecoder decoder = new KvEventDecoder();

    @ParameterizedTest
    @ValueSource(strings = {"sglang_server_p16_lru.jsonl.gz", "sglang_server_p1_lru.jsonl.gz"})
    void sglangStream_yieldsTheRecordedStateAfterEachStep(String recording) throws IOException {
        Mirror mirror = new Mirror();
        int steps = 0;
        long sequence = 0;
        for (JsonNode step : RecordedFrames.lines(recording)) {
            for (JsonNode frame : step.path("frames")) {
                assertThat(Long.parseUnsignedLong(frame.get("seq_hex").textValue(), 16))
                        .isEqualTo(sequence);
                byte[] payload =
                        HexFormat.of().parseHex(frame.get("payload_hex").textValue());
                assertThat(decoder.decode(payload, sequence++, mirror))
                        .as(decoder.refusal())
                        .isTrue();
            }
            if (step.has("state")) {
                Map<Long, Optional<Long>> state = new TreeMap<>();
                for (JsonNode block : step.get("state")) {
                    assertThat(block.get(2)).hasSize(1);
                    assertThat(block.get(2).get(0).textValue()).isEqualTo("GPU");
                    JsonNode parent = block.get(1);
                    state.put(
                            block.get(0).longValue(),
                            parent.isNull() ? Optional.empty() : Optional.of(parent.longValue()));
                }
                assertThat(mirror.blocks).as("after step %s", step.get("step")).isEqualTo(state);
                steps++;
            }
        }
        assertThat(steps).isGreaterThan(30);
        assertThat(mirror.recomputed).isGreaterThan(50);
        assertThat(decoder.unknownEvents()).isZero();
    }

    @ParameterizedTest
    @MethodSource("io.holdfast.events.RecordedFrames#names")
    void recordedFrame_isReadAsItsEngineMeantIt(String recording) throws IOException {
        int frames = 0;
        for (RecordedFrames.Frame frame : RecordedFrames.of(recording)) {
            EventLog log = new EventLog();
            assertThat(decoder.decode(frame.payload(), frame.sequence(), log))
                    .as(decoder.refusal())
                    .isTrue();
            assertThat(decoder.rank()).isZero();
            List<String> expected = new ArrayList<>();
            expected.add("batch " + frame.sequence());
            for (JsonNode event : frame.events()) {
                expected.add(event.isArray() ? text(positional(event)) : text(event));
            }
            expected.add("end");
            assertThat(log.lines()).isEqualTo(expected);
            assertRewritten(
                    frame,
                    frame.events().path(0).isArray()
                            ? Dialect.VLLM_ARRAYS
                            : recording.contains("vllm") ? Dialect.VLLM_MAPS : Dialect.SGLANG_MAPS);
            frames++;
        }
        assertThat(frames).isPositive();
        assertThat(decoder.unknownEvents()).isZero();
    }

    /** The encoder writes the engine's own bytes again. */
    private void assertRewritten(RecordedFrames.Frame frame, Dialect dialect) {
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        decoder.deliver(0, new EncoderSink(encoder, frame.events()));
        double time = ByteBuffer.wrap(frame.payload()).getDouble(2);
        assertThat(HexFormat.of().formatHex(encoder.finish(time, 0))).isEqualTo(frame.hex());
    }

    private static JsonNode positional(JsonNode event) {
        List<String> names = event.get(0).textValue().equals("BlockStored")
                ? List.of(
                        "type",
                        "block_hashes",
                        "parent_block_hash",
                        "token_ids",
                        "block_size",
                        "lora_id",
                        "medium",
                        "lora_name",
                        "extra_keys")
                : List.of("type", "block_hashes", "medium");
        var named = JSON.createObjectNode();
        for (int i = 0; i < Math.min(names.size(), event.size()); i++) {
            named.set(names.get(i), event.get(i));
        }
        return named;
    }

    private static String text(JsonNode event) {
        String tier = event.path("medium").asText("GPU").equals("GPU") ? "GPU" : "HOST";
        return switch (event.get("type").textValue()) {
            case "BlockStored" -> {
                JsonNode parent = event.get("parent_block_hash");
                boolean namespaced = event.has("cache_salt");
                for (JsonNode extra : event.path("extra_keys")) {
                    namespaced |= !extra.isNull();
                }
                yield "stored " + hashes(event)
                        + (parent.isNull() ? " at the root" : " under " + hash(parent))
                        + " " + event.get("token_ids").toString().replace(",", ", ")
                        + " by " + event.get("block_size") + " in " + tier + (namespaced ? " namespaced" : "");
            }
            case "BlockRemoved" -> "removed " + hashes(event) + " from " + tier;
            default -> "cleared";
        };
    }

    private static List<Long> hashes(JsonNode event) {
        List<Long> hashes = new ArrayList<>();
        event.get("block_hashes").forEach(hash -> hashes.add(hash(hash)));
        return hashes;
    }

    private static long hash(JsonNode number) {
        return number.has("hex")
                ? new BigInteger(number.get("hex").textValue(), 16).longValue()
                : new BigInteger(number.asText()).longValue();
    }

    /** The plainest listener that could be right; recomputes the name of every unsalted block from its tokens. */
    private static final class Mirror implements KvEventSink {
        private final Map<Long, Optional<Long>> blocks = new TreeMap<>();
        private final Map<Long, int[]> prompts = new TreeMap<>();
        private int recomputed;

        @Override
        public void stored(StoredBlocks chain) {
            assertThat(chain.tier()).isEqualTo(Tier.GPU);
            assertThat(chain.tokenCount()).isEqualTo(chain.count() * chain.blockTokens());
            Optional<Long> parent = chain.rooted() ? Optional.empty() : Optional.of(chain.parent());
            int[] prompt =
                    parent.map(hash -> prompts.getOrDefault(hash, new int[0])).orElse(new int[0]);
            int token = 0;
            for (int i = 0; i < chain.count(); i++) {
                blocks.put(chain.hash(i), parent);
                parent = Optional.of(chain.hash(i));
                prompt = Arrays.copyOf(prompt, prompt.length + chain.blockTokens());
                for (int j = prompt.length - chain.blockTokens(); j < prompt.length; j++) {
                    prompt[j] = chain.token(token++);
                }
                prompts.put(chain.hash(i), prompt);
            }
            if (!chain.namespaced()) {
                long[] names = SglangBlockNames.of(prompt, chain.blockTokens());
                for (int i = 0; i < chain.count(); i++) {
                    assertThat(names[names.length - chain.count() + i]).isEqualTo(chain.hash(i));
                    recomputed++;
                }
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            for (int i = from; i < to; i++) {
                blocks.remove(hashes[i]);
            }
        }

        @Override
        public void cleared() {
            blocks.clear();
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {}

        @Override
        public void batchEnded() {}

        @Override
        public void gap(Gap gap) {
            throw new AssertionError("no recording has a gap");
        }

        @Override
        public void restarted(long seen) {
            throw new AssertionError("no recording has a restart");
        }
    }
}
