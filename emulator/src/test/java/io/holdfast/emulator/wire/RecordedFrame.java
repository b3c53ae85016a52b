package io.holdfast.emulator.wire;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayList;
import java.util.List;

/** One frame of a recorded server: its bytes, and its events as the cache must have handed them over. */
record RecordedFrame(long sequence, String hex, List<CacheEvent> events, Dialect dialect) {
    /** Those of a recording, in order; none where it is not of a server. */
    static List<RecordedFrame> of(List<JsonNode> lines) {
        List<RecordedFrame> frames = new ArrayList<>();
        for (JsonNode line : lines) {
            if (line.path("type").asText().equals("frame")) {
                frames.add(new RecordedFrame(
                        line.get("seq").longValue(),
                        line.get("frames").get(2).textValue(),
                        events(line.get("batch").get(1)),
                        line.get("batch").get(1).get(0).isArray() ? Dialect.VLLM_ARRAYS : Dialect.VLLM_MAPS));
            } else if (!line.has("type")) {
                for (JsonNode frame : line.path("frames")) {
                    frames.add(new RecordedFrame(
                            Long.parseUnsignedLong(frame.get("seq_hex").textValue(), 16),
                            frame.get("payload_hex").textValue(),
                            events(frame.get("events")),
                            Dialect.SGLANG_MAPS));
                }
            }
        }
        return frames;
    }

    /** When the engine made it. */
    double stamp() {
        return Double.longBitsToDouble(Long.parseUnsignedLong(hex, 4, 20, 16));
    }

    private static List<CacheEvent> events(JsonNode list) {
        List<CacheEvent> events = new ArrayList<>();
        list.forEach(event -> events.add(Recording.event(event)));
        return events;
    }
}
