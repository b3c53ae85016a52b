package io.holdfast.emulator.wire;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.index.Tier;
import io.holdfast.emulator.engine.BlockName;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Tokens;
import io.holdfast.emulator.testing.Recording;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** One frame of a recorded server: its bytes, and its events as the cache must have handed them over. */
record RecordedFrame(long sequence, String hex, List<CacheEvent> events, Dialect dialect) {
    private static final List<String> STORED = List.of(
            "type",
            "block_hashes",
            "parent_block_hash",
            "token_ids",
            "block_size",
            "lora_id",
            "medium",
            "lora_name",
            "extra_keys");
    private static final List<String> REMOVED = List.of("type", "block_hashes", "medium");

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
        list.forEach(event -> events.add(event(event)));
        return events;
    }

    private static CacheEvent event(JsonNode event) {
        Tier tier = field(event, "medium").asText("GPU").equals("GPU") ? Tier.GPU : Tier.HOST;
        List<BlockName> blocks = new ArrayList<>();
        field(event, "block_hashes").forEach(hash -> blocks.add(name(hash)));
        return switch (field(event, "type").asText()) {
            case "AllBlocksCleared" -> new CacheEvent.Cleared();
            case "BlockRemoved" -> new CacheEvent.Removed(blocks, tier);
            default ->
                new CacheEvent.Stored(
                        Optional.of(field(event, "parent_block_hash"))
                                .filter(hash -> !hash.isNull())
                                .map(RecordedFrame::name),
                        blocks,
                        Tokens.of(Recording.ints(field(event, "token_ids"))),
                        field(event, "block_size").intValue(),
                        tier,
                        field(event, "cache_salt")
                                .asText(field(event, "extra_keys")
                                        .path(0)
                                        .path(0)
                                        .asText("")),
                        field(event, "session_id").asText(""));
        };
    }

    private static JsonNode field(JsonNode event, String name) {
        if (event.isObject()) {
            return event.path(name);
        }
        List<String> fields = event.path(0).asText().equals("BlockStored") ? STORED : REMOVED;
        return event.path(fields.contains(name) ? fields.indexOf(name) : event.size());
    }

    private static BlockName name(JsonNode hash) {
        return hash.has("hex")
                ? new BlockName.Digest(HexFormat.of().parseHex(hash.get("hex").textValue()))
                : new BlockName.Numbered(hash.longValue());
    }
}
