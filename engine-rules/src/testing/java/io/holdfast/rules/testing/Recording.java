package io.holdfast.rules.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** A recording of a real engine among the test resources, one JSON object a line. */
public final class Recording {
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

    private Recording() {}

    /**
     * Recordings to compare with: those of the names, and each in the directory that {@code -Dholdfast.golden} names whose
     * first line is of the kind.
     */
    public static Stream<String> all(Predicate<JsonNode> kind, String... names) {
        String directory = System.getProperty("holdfast.golden", "");
        if (directory.isEmpty()) {
            return Stream.of(names);
        }
        try (Stream<Path> files = Files.walk(Path.of(directory))) {
            List<String> others = files.filter(Files::isRegularFile)
                    .map(Path::toString)
                    .filter(name -> name.endsWith(".jsonl") || name.endsWith(".jsonl.gz"))
                    .filter(name -> kind.test(read(name).getFirst()))
                    .sorted()
                    .toList();
            return Stream.concat(Stream.of(names), others.stream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All lines of a recording among the test resources, or of a file. */
    public static List<JsonNode> read(String name) {
        ObjectMapper mapper = new ObjectMapper();
        try (InputStream file = open(name);
                BufferedReader lines = new BufferedReader(new InputStreamReader(file, StandardCharsets.UTF_8))) {
            List<JsonNode> all = new ArrayList<>();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                all.add(mapper.readTree(line));
            }
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static InputStream open(String name) throws IOException {
        InputStream file = name.contains("/")
                ? Files.newInputStream(Path.of(name))
                : Objects.requireNonNull(
                        Recording.class.getResourceAsStream("/io/holdfast/rules/recordings/" + name), name);
        return name.endsWith(".gz") ? new GZIPInputStream(file) : file;
    }

    /** A page of text among the recordings. */
    public static String text(String name) {
        try (InputStream file = Objects.requireNonNull(
                        Recording.class.getResourceAsStream("/io/holdfast/rules/recordings/" + name), name);
                GZIPInputStream page = new GZIPInputStream(file)) {
            return new String(page.readAllBytes(), StandardCharsets.UTF_8);
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

    /** An event of a recording, in any engine's form, as a map or as an array. */
    public static CacheEvent event(JsonNode event) {
        Tier tier = field(event, "medium").asText("GPU").equals("GPU") ? Tier.GPU : Tier.HOST;
        List<BlockName> blocks = new ArrayList<>();
        field(event, "block_hashes").forEach(hash -> blocks.add(name(hash)));
        return switch (field(event, "type").asText()) {
            case "AllBlocksCleared" -> new CacheEvent.Cleared();
            case "BlockRemoved" -> new CacheEvent.Removed(blocks, tier);
            default -> {
                JsonNode parent = field(event, "parent_block_hash");
                yield new CacheEvent.Stored(
                        parent.isNull() ? Optional.empty() : Optional.of(name(parent)),
                        blocks,
                        Tokens.of(ints(field(event, "token_ids"))),
                        field(event, "block_size").intValue(),
                        tier,
                        salt(event),
                        field(event, "session_id").asText(""));
            }
        };
    }

    private static JsonNode field(JsonNode event, String name) {
        if (!event.isArray()) {
            return event.path(name);
        }
        List<String> fields = event.path(0).asText().equals("BlockStored") ? STORED : REMOVED;
        return event.path(fields.contains(name) ? fields.indexOf(name) : event.size());
    }

    /** SGLang says it as it is; vLLM among the keys of a prompt's first block, where it says nothing else without adapters. */
    private static String salt(JsonNode event) {
        return field(event, "cache_salt")
                .asText(field(event, "extra_keys").path(0).path(0).asText(""));
    }

    private static BlockName name(JsonNode hash) {
        return hash.has("hex")
                ? new BlockName.Digest(HexFormat.of().parseHex(hash.path("hex").asText()))
                : new BlockName.Numbered(hash.longValue());
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
                                + stored.salt() + " session " + stored.session() + " "
                                + Tokens.between(tokens, i * size, (i + 1) * size));
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
