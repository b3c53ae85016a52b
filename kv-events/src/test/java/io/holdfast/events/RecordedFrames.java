package io.holdfast.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/** What real servers sent, frame by frame, with what an independent reader made of it. */
final class RecordedFrames {
    /** Recordings among the test resources, of every form that a server at hand could be made to speak. */
    static final List<String> NAMES = List.of(
            "sglang_p16_lru.jsonl",
            "sglang_p1_lru.jsonl",
            "sglang_server_p16_lru_hicache.jsonl.gz",
            "sglang_long_p16_lru.jsonl.gz",
            "sglang_long_p16_lru_hicache_small.jsonl.gz",
            "vllm_maps.jsonl",
            "vllm_arrays.jsonl",
            "vllm_sha256_cbor_bytes_seed0.jsonl.gz",
            "vllm_long_sha256_cbor_int_seed0.jsonl.gz");

    private static final ObjectMapper JSON = new ObjectMapper();

    /** One frame; the events are those that the recorder's own library read. */
    record Frame(long sequence, String hex, JsonNode events) {
        byte[] payload() {
            return HexFormat.of().parseHex(hex);
        }
    }

    private RecordedFrames() {}

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
        try (InputStream file = Objects.requireNonNull(RecordedFrames.class.getResourceAsStream(recording), recording);
                BufferedReader reader = new BufferedReader(new InputStreamReader(
                        recording.endsWith(".gz") ? new GZIPInputStream(file) : file, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(JSON.readTree(line));
            }
        }
        return lines;
    }
}
