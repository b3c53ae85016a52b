package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.events.VllmExtras.Item;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every block that real servers stored, named again from nothing but its tokens, its parents and its extras.
 *
 * <p>{@code -Dholdfast.golden=DIR} adds the recordings of a directory.
 */
final class HashRecordingsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @ParameterizedTest(name = "{0}")
    @MethodSource
    void sglang(Recording recording) throws IOException {
        Map<Long, Prompt> prompts = new HashMap<>();
        long stored = 0;
        for (JsonNode step : recording.lines()) {
            for (JsonNode frame : step.path("frames")) {
                for (JsonNode event : frame.get("events")) {
                    if (event.get("type").textValue().equals("BlockStored")) {
                        stored += renamed(event, prompts);
                    }
                }
            }
        }
        assertThat(stored).matches(recording::mayStore, "the number of stored blocks");
    }

    /** Names the blocks of one event from the prompt's first token on, and keeps the prompts that end with them. */
    private static int renamed(JsonNode event, Map<Long, Prompt> prompts) {
        JsonNode parent = event.get("parent_block_hash");
        Prompt before = parent.isNull()
                ? new Prompt(new int[0], event.path("cache_salt").asText(""))
                : Objects.requireNonNull(prompts.get(parent.longValue()), "a parent was never stored");
        int[] own = ints(event.get("token_ids"));
        int[] tokens = Arrays.copyOf(before.tokens, before.tokens.length + own.length);
        System.arraycopy(own, 0, tokens, before.tokens.length, own.length);
        int blockTokens = event.get("block_size").intValue();
        long[] names = SglangBlockNames.of(tokens, blockTokens, before.salt);
        JsonNode hashes = event.get("block_hashes");
        int first = names.length - hashes.size();
        for (int i = 0; i < hashes.size(); i++) {
            assertThat(names[first + i]).isEqualTo(hashes.get(i).longValue());
            prompts.put(
                    names[first + i], new Prompt(Arrays.copyOf(tokens, (first + i + 1) * blockTokens), before.salt));
        }
        return hashes.size();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource
    void vllm(Recording recording) throws IOException {
        List<JsonNode> lines = recording.lines();
        JsonNode server = lines.get(0);
        Algorithm algorithm = Algorithm.of(server.get("hash_algo").textValue()).orElseThrow();
        String given = server.get("hash_seed").textValue();
        assumeThat(algorithm.name().startsWith("XXHASH") && given.isEmpty())
                .as("this server drew its seed at random and told nobody")
                .isFalse();
        String seed = given.isEmpty() ? VllmHashing.UNSET_SEED : given;
        List<JsonNode> events = new ArrayList<>();
        Form form = Form.TAGGED;
        for (JsonNode line : lines) {
            if (line.get("type").textValue().equals("frame")) {
                for (JsonNode event : line.get("batch").get(1)) {
                    form = event.isArray() ? Form.PLAIN : Form.TAGGED;
                    events.add(event.isArray() ? named(event) : event);
                }
            }
        }
        VllmHashing hashing = new VllmHashing(algorithm, seed, form);
        VllmBlockNames names = new VllmBlockNames(hashing);
        Map<ByteBuffer, byte[]> digests = new HashMap<>();
        Set<ByteBuffer> opaque = new HashSet<>();
        long recomputed = 0;
        long unknown = 0;
        int detected = 0;
        for (JsonNode event : events) {
            if (!event.get("type").textValue().equals("BlockStored")) {
                continue;
            }
            int blockTokens = event.get("block_size").intValue();
            int[] tokens = ints(event.get("token_ids"));
            JsonNode parent = event.get("parent_block_hash");
            Optional<byte[]> above = parent.isNull()
                    ? Optional.of(names.root())
                    : Optional.ofNullable(digests.get(ByteBuffer.wrap(bytes(parent))));
            assertThat(above.isPresent() || opaque.contains(ByteBuffer.wrap(bytes(parent))))
                    .as("the parent was stored")
                    .isTrue();
            JsonNode hashes = event.get("block_hashes");
            for (int i = 0; i < hashes.size(); i++) {
                VllmExtras extras = extras(event, i);
                byte[] hash = bytes(hashes.get(i));
                if (parent.isNull() && i == 0 && !isForeign(extras)) {
                    VllmHashing expected = extras.isEmpty() ? new VllmHashing(algorithm, seed, Form.TAGGED) : hashing;
                    assertThat(detected(Arrays.copyOf(tokens, blockTokens), extras, hash, List.of(seed)))
                            .contains(expected);
                    detected++;
                }
                Optional<byte[]> digest = above.isEmpty()
                        ? above
                        : names.digest(above.orElseThrow(), tokens, i * blockTokens, blockTokens, extras);
                if (digest.isPresent()) {
                    byte[] whole = digest.orElseThrow();
                    assertThat(Arrays.copyOfRange(whole, whole.length - hash.length, whole.length))
                            .isEqualTo(hash);
                    digests.put(ByteBuffer.wrap(hash), whole);
                    recomputed++;
                } else {
                    assertThat(above.isEmpty() || isForeign(extras))
                            .as("nothing else is opaque")
                            .isTrue();
                    opaque.add(ByteBuffer.wrap(hash));
                    unknown++;
                }
                above = digest;
            }
        }
        assertThat(recomputed + unknown).matches(recording::mayStore, "the number of stored blocks");
        assertThat(unknown).as("no recording of ours has foreign extras").matches(recording::mayHide, "opaque blocks");
        assertThat(detected).isPositive();
    }

    private static boolean isForeign(VllmExtras extras) {
        return !extras.lora().isEmpty() || !extras.items().isEmpty();
    }

    private static Optional<VllmHashing> detected(int[] block, VllmExtras extras, byte[] hash, List<String> seeds) {
        return hash.length == Long.BYTES
                ? VllmHashing.detect(block, extras, ByteBuffer.wrap(hash).getLong(), seeds)
                : VllmHashing.detect(block, extras, hash, seeds);
    }

    private static VllmExtras extras(JsonNode event, int block) {
        String lora = event.path("lora_name").asText("");
        String adapter = "";
        String salt = "";
        List<Item> items = new ArrayList<>();
        for (JsonNode extra : event.path("extra_keys").path(block)) {
            if (extra.isArray()) {
                items.add(new Item(extra.get(0).textValue(), extra.get(1).intValue()));
            } else if (extra.textValue().equals(lora)) {
                adapter = lora;
            } else {
                salt = extra.textValue();
            }
        }
        return new VllmExtras(adapter, items, salt);
    }

    private static JsonNode named(JsonNode event) {
        List<String> fields = event.get(0).textValue().equals("BlockStored")
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
                : List.of("type");
        var named = JSON.createObjectNode();
        for (int i = 0; i < Math.min(fields.size(), event.size()); i++) {
            named.set(fields.get(i), event.get(i));
        }
        return named;
    }

    /** The bytes of a hash: a whole digest, or the eight of a number. */
    private static byte[] bytes(JsonNode hash) {
        return hash.isObject()
                ? HexFormat.of().parseHex(hash.get("hex").textValue())
                : ByteBuffer.allocate(Long.BYTES)
                        .putLong(new BigInteger(hash.asText()).longValue())
                        .array();
    }

    private static int[] ints(JsonNode list) {
        int[] ints = new int[list.size()];
        for (int i = 0; i < ints.length; i++) {
            ints[i] = (int) list.get(i).longValue();
        }
        return ints;
    }

    static List<Recording> sglang() throws IOException {
        Map<String, Integer> own = new LinkedHashMap<>();
        own.put("sglang_server_p16_lru.jsonl.gz", 206);
        own.put("sglang_server_p1_lru.jsonl.gz", 3321);
        own.put("sglang_server_p16_priority.jsonl.gz", 192);
        own.put("sglang_server_p16_lru_hicache.jsonl.gz", 394);
        own.put("sglang_long_p16_lru.jsonl.gz", 1225);
        own.put("sglang_long_p16_lru_hicache.jsonl.gz", 1480);
        own.put("sglang_long_p16_lru_hicache_small.jsonl.gz", 1782);
        own.put("sglang_long_p16_priority.jsonl.gz", 1497);
        own.put("sglang_long_p16_sessions.jsonl.gz", 1173);
        own.put("sglang_long_p1_lru.jsonl.gz", 5048);
        return recordings(own)
                .filter(recording -> recording.begins("header", "page_size") || recording.begins("op", "frames"))
                .toList();
    }

    static List<Recording> vllm() throws IOException {
        Map<String, Integer> own = new LinkedHashMap<>();
        own.put("vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz", 52);
        own.put("vllm_sha256_cbor_int_seed0.jsonl.gz", 56);
        own.put("vllm_sha256_default_int_seed0.jsonl.gz", 56);
        own.put("vllm_sha256_cbor_int_noseed.jsonl.gz", 56);
        own.put("vllm_sha256_cbor_bytes_seed0.jsonl.gz", 56);
        own.put("vllm_long_sha256_cbor_int_seed0.jsonl.gz", 1706);
        return recordings(own)
                .filter(recording -> recording.begins("hash_algo", "block_size"))
                .toList();
    }

    /** Those among the test resources, with the number of blocks each stores, and those of the directory. */
    private static Stream<Recording> recordings(Map<String, Integer> own) throws IOException {
        List<Recording> all = new ArrayList<>();
        own.forEach((name, blocks) -> all.add(new Recording(
                name,
                Objects.requireNonNull(HashRecordingsTest.class.getResource(RecordedFrames.SHARED + name), name),
                OptionalInt.of(blocks))));
        String more = System.getProperty("holdfast.golden", "");
        if (!more.isEmpty()) {
            try (Stream<Path> files = Files.walk(Path.of(more))) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    String name = file.toString();
                    if (name.endsWith(".jsonl") || name.endsWith(".jsonl.gz")) {
                        all.add(new Recording(name, file.toUri().toURL(), OptionalInt.empty()));
                    }
                }
            }
        }
        return all.stream();
    }

    /** One file of JSON lines, compressed or not. */
    record Recording(String name, URL place, OptionalInt blocks) {
        boolean mayHide(long opaque) {
            return blocks.isEmpty() || opaque == 0;
        }

        boolean mayStore(long stored) {
            return blocks.isPresent() ? stored == blocks.getAsInt() : stored > 0;
        }

        List<JsonNode> lines() throws IOException {
            List<JsonNode> lines = new ArrayList<>();
            try (BufferedReader reader = open()) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    lines.add(JSON.readTree(line));
                }
            }
            return lines;
        }

        /** Is it the session of a server whose first line has these fields? */
        boolean begins(String... fields) {
            try (BufferedReader reader = open()) {
                JsonNode first = JSON.readTree(Objects.requireNonNullElse(reader.readLine(), "null"));
                return Arrays.stream(fields).allMatch(first::has)
                        && first.path("header").asInt(1) == 1;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private BufferedReader open() throws IOException {
            InputStream bytes = place.openStream();
            InputStream text = name.endsWith(".gz") ? new GZIPInputStream(bytes) : bytes;
            return new BufferedReader(new InputStreamReader(text, StandardCharsets.UTF_8));
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** The tokens that lead to a block, and their salt. */
    private static final class Prompt {
        private final int[] tokens;
        private final String salt;

        Prompt(int[] tokens, String salt) {
            this.tokens = tokens;
            this.salt = salt;
        }
    }
}
