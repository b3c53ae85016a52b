package io.holdfast.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** What real servers sent, frame by frame, with what an independent reader made of it. */
final class RecordedFrames {
    /** Recordings among the test resources that between them have every form that a server at hand could be made to speak. */
    static final List<String> FORMS = List.of(
            "sglang_server_p16_lru.jsonl.gz",
            "sglang_server_p1_lru.jsonl.gz",
            "sglang_server_p16_lru_hicache.jsonl.gz",
            "sglang_long_p16_lru.jsonl.gz",
            "sglang_long_p16_lru_hicache_small.jsonl.gz",
            "vllm_sha256_cbor_int_seed0.jsonl.gz",
            "vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz",
            "vllm_sha256_cbor_bytes_seed0.jsonl.gz",
            "vllm_long_sha256_cbor_int_seed0.jsonl.gz");

    /** All of them. */
    static final List<String> NAMES = Stream.concat(
                    FORMS.stream(),
                    Stream.of(
                            "sglang_server_p16_priority.jsonl.gz",
                            "sglang_long_p1_lru.jsonl.gz",
                            "sglang_long_p16_priority.jsonl.gz",
                            "sglang_long_p16_sessions.jsonl.gz",
                            "sglang_long_p16_lru_hicache.jsonl.gz",
                            "vllm_sha256_cbor_int_noseed.jsonl.gz",
                            "vllm_sha256_default_int_seed0.jsonl.gz"))
            .toList();

    /** Recordings stand once, beside the engine rules that they judge. */
    static final String SHARED = "/io/holdfast/rules/recordings/";

    private static final ObjectMapper JSON = new ObjectMapper();

    /** One frame; the events are those that the recorder's own library read. */
    record Frame(long sequence, String hex, JsonNode events) {
        byte[] payload() {
            return HexFormat.of().parseHex(hex);
        }
    }

    private RecordedFrames() {}

    /** The recordings among the test resources and, with {@code -Dholdfast.golden=DIR}, those of that directory. */
    static List<String> names() throws IOException {
        List<String> names = new ArrayList<>(NAMES);
        String more = System.getProperty("holdfast.golden", "");
        if (!more.isEmpty()) {
            try (Stream<Path> files = Files.walk(Path.of(more))) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    String name = file.toString();
                    if (name.matches(".*\\.jsonl(\\.gz)?") && !of(name).isEmpty()) {
                        names.add(name);
                    }
                }
            }
        }
        return names;
    }

    static List<Frame> of(String recording) throws IOException {
        List<Frame> frames = new ArrayList<>();
        for (JsonNode line : lines(recording)) {
            if (line.path("type").asText().equals("frame")) {
                frames.add(new Frame(
                        line.get("seq").longValue(),
                        line.get("frames").get(2).textValue(),
                        line.get("batch").get(1)));
            } else if (!line.has("type")) {
                for (JsonNode frame : line.path("frames")) {
                    frames.add(new Frame(
                            Long.parseUnsignedLong(frame.get("seq_hex").textValue(), 16),
                            frame.get("payload_hex").textValue(),
                            frame.get("events")));
                }
            }
        }
        return frames;
    }

    static List<JsonNode> lines(String recording) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        try (InputStream file = open(recording);
                BufferedReader reader = new BufferedReader(new InputStreamReader(
                        recording.endsWith(".gz") ? new GZIPInputStream(file) : file, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(JSON.readTree(line));
            }
        }
        return lines;
    }

    private static InputStream open(String recording) throws IOException {
        return NAMES.contains(recording)
                ? Objects.requireNonNull(RecordedFrames.class.getResourceAsStream(SHARED + recording), recording)
                : Files.newInputStream(Path.of(recording));
    }
}
