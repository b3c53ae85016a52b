package io.holdfast.events;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Details;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** Writes down again what the decoder read; texts and digests, which it does not keep, come from the recorded events. */
final class EncoderSink implements KvEventSink {
    private final KvEventEncoder encoder;
    private final JsonNode events;
    private int next;

    EncoderSink(KvEventEncoder encoder, JsonNode events) {
        this.encoder = encoder;
        this.events = events;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        JsonNode event = events.get(next++);
        JsonNode extras = part(event, "extra_keys", 8).path(0);
        String salt = event.path("cache_salt").asText(extras.path(0).asText(""));
        List<byte[]> digests = digests(part(event, "block_hashes", 1));
        Optional<byte[]> parent = Optional.of(part(event, "parent_block_hash", 2))
                .filter(hash -> hash.has("hex"))
                .map(EncoderSink::digest);
        encoder.stored(chain, new Details(salt, event.path("session_id").asText(""), digests, parent));
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        List<byte[]> digests = digests(part(events.get(next++), "block_hashes", 1));
        if (digests.isEmpty()) {
            encoder.removed(hashes, from, to, tier, group);
        } else {
            encoder.removed(digests, tier, group);
        }
    }

    @Override
    public void cleared() {
        next++;
        encoder.cleared();
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {}

    @Override
    public void restarted(long seen) {}

    private static JsonNode part(JsonNode event, String name, int place) {
        return event.isArray() ? event.path(place) : event.path(name);
    }

    private static List<byte[]> digests(JsonNode hashes) {
        List<byte[]> digests = new ArrayList<>();
        for (JsonNode hash : hashes) {
            if (hash.has("hex")) {
                digests.add(digest(hash));
            }
        }
        return digests;
    }

    private static byte[] digest(JsonNode hash) {
        return HexFormat.of().parseHex(hash.get("hex").textValue());
    }
}
