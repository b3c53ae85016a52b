package io.holdfast.emulator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.zip.GZIPInputStream;

/** A recording of a real engine among the test resources, one JSON object a line. */
final class Recording {
    static final String SALT = "salt:";

    private Recording() {}

    static List<JsonNode> read(String name) {
        ObjectMapper mapper = new ObjectMapper();
        try (InputStream file = Objects.requireNonNull(Recording.class.getResourceAsStream(name), name);
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

    static int[] ints(JsonNode list) {
        int[] values = new int[list.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = list.get(i).intValue();
        }
        return values;
    }

    static long[] longs(JsonNode list) {
        long[] values = new long[list.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = list.get(i).longValue();
        }
        return values;
    }

    static CacheEvent event(JsonNode event) {
        List<Long> blocks = new ArrayList<>();
        event.path("block_hashes").forEach(hash -> blocks.add(hash.longValue()));
        return switch (event.path("type").asText()) {
            case "AllBlocksCleared" -> new CacheEvent.Cleared();
            case "BlockRemoved" -> new CacheEvent.Removed(blocks);
            default -> {
                List<Integer> tokens = new ArrayList<>();
                event.path("token_ids").forEach(token -> tokens.add(token.intValue()));
                JsonNode parent = event.path("parent_block_hash");
                yield new CacheEvent.Stored(
                        parent.isNull() ? OptionalLong.empty() : OptionalLong.of(parent.longValue()), blocks, tokens);
            }
        };
    }

    /** Joins events as the engine's queue would have: recordings of older engines have one event a page. */
    static List<CacheEvent> joined(List<CacheEvent> events) {
        EventQueue queue = new EventQueue();
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored -> queue.stored(stored.parent(), stored.blocks(), stored.tokens());
                case CacheEvent.Removed removed -> queue.removed(removed.blocks());
                case CacheEvent.Cleared _ -> queue.cleared();
            }
        }
        return queue.drain();
    }

    /** The recorded engines' names, salted prompts included. */
    static BlockNaming naming(int page) {
        return (tokens, namespace) -> {
            try {
                MessageDigest sha = MessageDigest.getInstance("SHA-256");
                byte[] digest = new byte[0];
                if (namespace.startsWith(SALT)) {
                    String salt = "sglang-cache-salt-v1\0" + namespace.substring(SALT.length());
                    digest = sha.digest(salt.getBytes(StandardCharsets.UTF_8));
                }
                long[] names = new long[tokens.length / page];
                for (int i = 0; i < names.length; i++) {
                    ByteBuffer block = ByteBuffer.allocate(4 * page).order(ByteOrder.LITTLE_ENDIAN);
                    block.asIntBuffer().put(tokens, i * page, page);
                    sha.update(digest);
                    digest = sha.digest(block.array());
                    names[i] = ByteBuffer.wrap(digest).getLong();
                }
                return names;
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException(e);
            }
        };
    }
}
