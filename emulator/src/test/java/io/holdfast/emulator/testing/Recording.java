package io.holdfast.emulator.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.index.Tier;
import io.holdfast.emulator.engine.BlockName;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Tokens;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/** A recording of a real engine among the test resources, one JSON object a line. */
public final class Recording {
    private Recording() {}

    public static List<JsonNode> read(String name) {
        ObjectMapper mapper = new ObjectMapper();
        try (InputStream file = Objects.requireNonNull(
                        Recording.class.getResourceAsStream("/io/holdfast/emulator/recordings/" + name), name);
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(new GZIPInputStream(file), StandardCharsets.UTF_8))) {
            List<JsonNode> all = new ArrayList<>();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                all.add(mapper.readTree(line));
            }
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static int[] ints(JsonNode list) {
        int[] values = new int[list.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = list.get(i).intValue();
        }
        return values;
    }

    public static long[] longs(JsonNode list) {
        long[] values = new long[list.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = list.get(i).longValue();
        }
        return values;
    }

    /** An event of a recording, in either engine's form as a map. */
    public static CacheEvent event(JsonNode event) {
        Tier tier = event.path("medium").asText("GPU").equals("GPU") ? Tier.GPU : Tier.HOST;
        List<BlockName> blocks = new ArrayList<>();
        event.path("block_hashes").forEach(hash -> blocks.add(name(hash)));
        return switch (event.path("type").asText()) {
            case "AllBlocksCleared" -> new CacheEvent.Cleared();
            case "BlockRemoved" -> new CacheEvent.Removed(blocks, tier);
            default -> {
                JsonNode parent = event.path("parent_block_hash");
                yield new CacheEvent.Stored(
                        parent.isNull() ? Optional.empty() : Optional.of(name(parent)),
                        blocks,
                        Tokens.of(ints(event.path("token_ids"))),
                        event.path("block_size").intValue(),
                        tier,
                        event.path("cache_salt").asText(""));
            }
        };
    }

    private static BlockName name(JsonNode hash) {
        return new BlockName.Numbered(hash.longValue());
    }

    /** One line for each block that entered or left, in order: the same however events are joined. */
    public static List<String> perBlock(List<CacheEvent> events) {
        List<String> lines = new ArrayList<>();
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored -> {
                    String parent = stored.parent().map(Object::toString).orElse("root");
                    int size = stored.blockTokens();
                    int[] tokens = stored.tokens().toArray();
                    for (int i = 0; i < stored.blocks().size(); i++) {
                        String block = stored.blocks().get(i).toString();
                        lines.add("stored " + block + " under " + parent + " in " + stored.tier() + " salt "
                                + stored.salt() + " " + Tokens.between(tokens, i * size, (i + 1) * size));
                        parent = block;
                    }
                }
                case CacheEvent.Removed removed ->
                    removed.blocks().forEach(block -> lines.add("removed " + block + " from " + removed.tier()));
                case CacheEvent.Cleared _ -> lines.add("cleared");
            }
        }
        return lines;
    }
}
