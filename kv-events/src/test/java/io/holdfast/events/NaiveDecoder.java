package io.holdfast.events;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.Tier;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.msgpack.core.ExtensionTypeHeader;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;

/**
 * Reads frames the plain way: by the serialisation library, into a tree of values first, and then field by field. What it
 * makes of a frame, as lines, is what {@link KvEventDecoder} must make of it.
 */
final class NaiveDecoder {
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String why) {
            super(why);
        }
    }

    /** A frame that is nested too deep for a reader that recurses. */
    static final class TooDeep extends Exception {
        private static final long serialVersionUID = 1;
    }

    private static final int DEEPEST = 100;
    private static final List<String> STORED_ORDER = List.of(
            "block_hashes",
            "parent_block_hash",
            "token_ids",
            "block_size",
            "lora_id",
            "medium",
            "lora_name",
            "extra_keys",
            "group_idx",
            "kv_cache_spec_kind");
    private static final List<String> REMOVED_ORDER = List.of("block_hashes", "medium", "group_idx");

    /** A value and where it stands. */
    private record Node(Object value, int from, int to) {}

    private record Text(String bytes) {}

    private record Bytes(String bytes) {
        byte[] array() {
            return bytes.getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    private record Entry(Node key, Node value) {}

    private record Entries(List<Entry> list) {}

    /** Pages of SGLang's earlier form, each announced by itself, that are one chain. */
    private record Pages(
            List<Long> hashes, Optional<Long> parent, List<Integer> tokens, int blockTokens, Tier tier, String apart) {
        boolean goOn(Pages page) {
            return page.parent.equals(Optional.of(hashes.getLast()))
                    && page.blockTokens == blockTokens
                    && page.tier == tier
                    && page.apart.equals(apart);
        }

        Pages with(Pages page) {
            List<Long> all = new ArrayList<>(hashes);
            all.addAll(page.hashes);
            List<Integer> text = new ArrayList<>(tokens);
            text.addAll(page.tokens);
            return new Pages(all, parent, text, blockTokens, tier, apart);
        }

        String line() {
            long[] array = hashes.stream().mapToLong(Long::longValue).toArray();
            return stored(array, parent, tokens, blockTokens, tier, 0, false) + apart;
        }
    }

    private enum Plain {
        NIL,
        OTHER
    }

    private final byte[] frame;
    private final List<String> lines = new ArrayList<>();
    /** The pages that the last line tells of, where another may follow. */
    private Optional<Pages> pages = Optional.empty();

    int rank = -1;
    int unknown;

    NaiveDecoder(byte[] frame) {
        this.frame = frame;
    }

    /** What a sink hears of the frame. */
    List<String> lines() throws Refused, TooDeep {
        lines.add("");
        long stamp = batch(tree());
        lines.set(0, "batch at " + stamp);
        lines.add("end");
        return lines;
    }

    private Node tree() throws Refused, TooDeep {
        try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(frame)) {
            Node root = value(unpacker, 0);
            if (root.to != frame.length) {
                throw new Refused("bytes follow");
            }
            return root;
        } catch (MessageInsufficientBufferException e) {
            throw new Refused("cut short");
        } catch (MessagePackException | IOException e) {
            throw new Refused(e.toString());
        }
    }

    private Node value(MessageUnpacker unpacker, int depth) throws IOException, Refused, TooDeep {
        if (depth > DEEPEST) {
            throw new TooDeep();
        }
        int from = (int) unpacker.getTotalReadBytes();
        if (from < frame.length && frame[from] == (byte) 0xc1) {
            throw new Refused("no value begins so");
        }
        Object value = switch (unpacker.getNextFormat().getValueType()) {
            case NIL -> {
                unpacker.unpackNil();
                yield Plain.NIL;
            }
            case INTEGER -> unpacker.unpackBigInteger();
            case FLOAT -> unpacker.unpackDouble();
            case STRING ->
                new Text(new String(payload(unpacker, unpacker.unpackRawStringHeader()), StandardCharsets.ISO_8859_1));
            case BINARY ->
                new Bytes(new String(payload(unpacker, unpacker.unpackBinaryHeader()), StandardCharsets.ISO_8859_1));
            case ARRAY -> {
                int size = fitting(unpacker, unpacker.unpackArrayHeader());
                List<Node> list = new ArrayList<>();
                for (int i = 0; i < size; i++) {
                    list.add(value(unpacker, depth + 1));
                }
                yield list;
            }
            case MAP -> {
                int size = fitting(unpacker, unpacker.unpackMapHeader());
                List<Entry> list = new ArrayList<>();
                for (int i = 0; i < size; i++) {
                    Node key = value(unpacker, depth + 1);
                    list.add(new Entry(key, value(unpacker, depth + 1)));
                }
                yield new Entries(list);
            }
            case BOOLEAN -> {
                unpacker.unpackBoolean();
                yield Plain.OTHER;
            }
            case EXTENSION -> {
                ExtensionTypeHeader header = unpacker.unpackExtensionTypeHeader();
                payload(unpacker, header.getLength());
                yield Plain.OTHER;
            }
        };
        return new Node(value, from, (int) unpacker.getTotalReadBytes());
    }

    private byte[] payload(MessageUnpacker unpacker, int length) throws IOException, Refused {
        return unpacker.readPayload(fitting(unpacker, length));
    }

    private int fitting(MessageUnpacker unpacker, int size) throws Refused {
        if (size > frame.length - unpacker.getTotalReadBytes()) {
            throw new Refused("declares too much");
        }
        return size;
    }

    private long batch(Node root) throws Refused {
        long stamp = 0;
        Optional<Node> events = Optional.empty();
        if (root.value instanceof List<?> list) {
            if (list.size() < 2) {
                throw new Refused("no events");
            }
            stamp = micros((Node) list.get(0));
            events = Optional.of((Node) list.get(1));
            if (list.size() > 2) {
                rank = rank((Node) list.get(2));
            }
        } else if (root.value instanceof Entries entries) {
            for (Entry entry : entries.list) {
                switch (text(entry.key).orElse("")) {
                    case "events" -> {
                        if (events.isPresent()) {
                            throw new Refused("events twice");
                        }
                        events = Optional.of(entry.value);
                    }
                    case "ts" -> stamp = micros(entry.value);
                    case "data_parallel_rank", "attn_dp_rank" -> rank = rank(entry.value);
                    default -> {}
                }
            }
        }
        for (Node event : list(events.orElseThrow(() -> new Refused("no batch")))) {
            event(event);
        }
        return stamp;
    }

    private void event(Node event) throws Refused {
        List<Entry> fields = new ArrayList<>();
        Optional<String> type = Optional.empty();
        if (event.value instanceof Entries entries) {
            Entry typed = entries.list.stream()
                    .filter(entry -> text(entry.key).equals(Optional.of("type")))
                    .findFirst()
                    .orElseThrow(() -> new Refused("no type"));
            type = text(typed.value);
            fields.addAll(entries.list);
        } else {
            List<Node> list = list(event);
            if (list.isEmpty()) {
                throw new Refused("no type");
            }
            type = text(list.get(0));
            List<String> order = type.equals(Optional.of("BlockStored")) ? STORED_ORDER : REMOVED_ORDER;
            for (int i = 1; i < Math.min(list.size(), order.size() + 1); i++) {
                fields.add(new Entry(new Node(new Text(order.get(i - 1)), 0, 0), list.get(i)));
            }
        }
        switch (type.orElse("")) {
            case "BlockStored" -> stored(fields, event.value instanceof List<?> list ? list.size() : 0);
            case "BlockRemoved" -> removed(fields);
            case "AllBlocksCleared" -> {
                pages = Optional.empty();
                lines.add("cleared");
            }
            default -> unknown++;
        }
    }

    private void removed(List<Entry> fields) throws Refused {
        pages = Optional.empty();
        Tier tier = tier(fields);
        int group = count(last(fields, "group_idx"));
        long[] hashes = hashes(fields);
        if (hashes.length > 0) {
            lines.add("removed " + Arrays.toString(hashes) + " from " + tier + " of " + group);
        }
    }

    private void stored(List<Entry> fields, int elements) throws Refused {
        long[] hashes = hashes(fields);
        Optional<Long> parent = Optional.empty();
        for (Entry field : all(fields, "parent_block_hash")) {
            if (field.value.value != Plain.NIL) {
                parent = Optional.of(hash(field.value));
            }
        }
        List<Integer> tokens = new ArrayList<>();
        for (Node token : once(fields, "token_ids")
                .map(NaiveDecoder::listOrNil)
                .orElse(Optional.of(List.of()))
                .orElseThrow(() -> new Refused("tokens are no list"))) {
            Node first = token;
            if (token.value instanceof List<?> pair) {
                if (pair.isEmpty()) {
                    throw new Refused("empty token");
                }
                first = (Node) pair.get(0);
            }
            tokens.add((int) integer(first));
        }
        int blockTokens = 0;
        for (Entry field : all(fields, "block_size")) {
            blockTokens = count(Optional.of(field.value));
        }
        boolean windowed = last(fields, "kv_cache_spec_kind")
                .map(kind -> kind.value != Plain.NIL
                        && !List.of("unknown", "full_attention", "mla_attention", "sink_full_attention")
                                .contains(text(kind).orElse("")))
                .orElse(false);
        int group = count(last(fields, "group_idx"));
        Tier tier = tier(fields);
        long[] numbers = new long[hashes.length];
        String apart = apart(fields, elements > 0, parent.isEmpty(), numbers);
        if (elements == 7 && hashes.length == 1 && tokens.size() == blockTokens) {
            Pages page = new Pages(List.of(hashes[0]), parent, tokens, blockTokens, tier, apart);
            boolean follows = pages.isPresent() && pages.get().goOn(page);
            pages = Optional.of(follows ? pages.get().with(page) : page);
            if (follows) {
                lines.removeLast();
            }
            lines.add(pages.get().line());
            return;
        }
        pages = Optional.empty();
        if (hashes.length > 0) {
            lines.add(stored(hashes, parent, tokens, blockTokens, tier, group, windowed) + apart);
        }
    }

    static String stored(
            long[] hashes,
            Optional<Long> parent,
            List<Integer> tokens,
            int blockTokens,
            Tier tier,
            int group,
            boolean windowed) {
        return "stored " + Arrays.toString(hashes) + " under " + parent + " " + tokens + " by " + blockTokens + " in "
                + tier + " of " + group + (windowed ? " windowed" : "");
    }

    static String apart(boolean namespaced, long namespace, long[] extras) {
        return (namespaced ? " namespaced " + namespace : "")
                + (Arrays.stream(extras).anyMatch(extra -> extra != 0) ? " with " + Arrays.toString(extras) : "");
    }

    private String apart(List<Entry> fields, boolean positional, boolean rooted, long[] extras) {
        long number = last(fields, "lora_id").map(this::identity).orElse(0L);
        long salt = last(fields, "cache_salt").map(this::identity).orElse(0L);
        long name = 0;
        Optional<Node> named = last(fields, "lora_name");
        if (positional && named.isPresent() && named.get().value instanceof Entries metadata) {
            salt = last(metadata.list, "cache_salt").map(this::identity).orElse(0L);
        } else {
            name = named.map(this::identity).orElse(0L);
        }
        boolean namespaced = false;
        Optional<Node> keys = Optional.empty();
        for (Entry field : all(fields, "extra_keys")) {
            if (!(field.value.value == Plain.NIL
                    || (field.value.value instanceof List<?> list
                            && list.stream().allMatch(node -> ((Node) node).value == Plain.NIL)))) {
                keys = Optional.of(field.value);
            }
        }
        if (keys.isPresent()) {
            namespaced = true;
            List<Node> blocks = listOrNil(keys.get()).orElse(List.of());
            for (int i = 0; i < blocks.size(); i++) {
                List<Long> joined = new ArrayList<>();
                if (blocks.get(i).value instanceof List<?> own) {
                    long text = 0;
                    int textAt = 0;
                    for (Object object : own) {
                        Node key = (Node) object;
                        long identity = identity(firstOf(key));
                        if (key.value instanceof Text) {
                            if (identity == name) {
                                continue;
                            }
                            if (identity != 0) {
                                textAt = joined.size();
                                text = identity;
                            }
                        }
                        joined.add(identity);
                    }
                    if (text != 0 && i == 0 && rooted) {
                        joined.remove(textAt);
                        salt = text;
                    }
                } else {
                    joined.add(identity(blocks.get(i)));
                }
                if (i < extras.length) {
                    extras[i] = joined.stream()
                            .filter(key -> key != 0)
                            .reduce(ContentNames::with)
                            .orElse(0L);
                }
            }
        }
        long namespace = ContentNames.namespace(salt, name == 0 ? number : name);
        return apart(namespaced || namespace != 0, namespace, extras);
    }

    private static Node firstOf(Node key) {
        if (key.value instanceof List<?> pair) {
            return pair.isEmpty() ? new Node(Plain.NIL, 0, 0) : (Node) pair.get(0);
        }
        return key;
    }

    private long identity(Node node) {
        byte[] bytes = switch (node.value) {
            case Text text -> text.bytes.getBytes(StandardCharsets.ISO_8859_1);
            case Bytes own -> own.array();
            case Plain plain when plain == Plain.NIL -> new byte[0];
            default -> Arrays.copyOfRange(frame, node.from, node.to);
        };
        return bytes.length == 0 ? 0 : ContentNames.extra(bytes, 0, bytes.length);
    }

    private static Tier tier(List<Entry> fields) {
        boolean remote = all(fields, "locality").stream()
                .anyMatch(field -> text(field.value).equals(Optional.of("REMOTE")));
        Optional<Node> medium = last(fields, "medium");
        if (remote) {
            return Tier.EXTERNAL;
        }
        if (medium.isEmpty() || medium.get().value == Plain.NIL) {
            return Tier.GPU;
        }
        return switch (text(medium.get()).orElse("")) {
            case "GPU" -> Tier.GPU;
            case "CPU", "CPU_PINNED", "CPU_TIER1" -> Tier.HOST;
            case "CPU_TIER2", "DISK", "STORAGE" -> Tier.DISK;
            default -> Tier.EXTERNAL;
        };
    }

    private static long[] hashes(List<Entry> fields) throws Refused {
        List<Node> list = list(once(fields, "block_hashes").orElseThrow(() -> new Refused("no blocks")));
        long[] hashes = new long[list.size()];
        for (int i = 0; i < hashes.length; i++) {
            hashes[i] = hash(list.get(i));
        }
        for (Entry field : all(fields, "group_idx")) {
            if (count(Optional.of(field.value)) > 255) {
                throw new Refused("no group");
            }
        }
        return hashes;
    }

    private static long hash(Node node) throws Refused {
        if (!(node.value instanceof Bytes digest)) {
            return integer(node);
        }
        if (digest.bytes.length() < 8 || digest.bytes.length() > 1024) {
            throw new Refused("no digest");
        }
        return new BigInteger(digest.array()).longValue();
    }

    private static long integer(Node node) throws Refused {
        if (node.value instanceof BigInteger number) {
            return number.longValue();
        }
        throw new Refused("no integer");
    }

    private static int count(Optional<Node> node) throws Refused {
        if (node.isEmpty() || node.get().value == Plain.NIL) {
            return 0;
        }
        if (node.get().value instanceof BigInteger number && number.signum() >= 0 && number.bitLength() < 32) {
            return number.intValue();
        }
        throw new Refused("no count");
    }

    private static int rank(Node node) {
        return node.value instanceof BigInteger number && number.signum() >= 0 && number.bitLength() < 32
                ? number.intValue()
                : -1;
    }

    private static long micros(Node node) {
        double seconds = switch (node.value) {
            case Double number -> number;
            case BigInteger number -> number.longValue();
            default -> 0;
        };
        return seconds > 0 && seconds < 1e12 ? Math.round(seconds * 1e6) : 0;
    }

    private static Optional<String> text(Node node) {
        return node.value instanceof Text text ? Optional.of(text.bytes) : Optional.empty();
    }

    @SuppressWarnings("unchecked")
    private static List<Node> list(Node node) throws Refused {
        if (node.value instanceof List<?> list) {
            return (List<Node>) list;
        }
        throw new Refused("no list");
    }

    @SuppressWarnings("unchecked")
    private static Optional<List<Node>> listOrNil(Node node) {
        if (node.value == Plain.NIL) {
            return Optional.of(List.of());
        }
        return node.value instanceof List<?> list ? Optional.of((List<Node>) list) : Optional.empty();
    }

    private static List<Entry> all(List<Entry> fields, String name) {
        return fields.stream()
                .filter(field -> text(field.key).equals(Optional.of(name)))
                .toList();
    }

    private static Optional<Node> last(List<Entry> fields, String name) {
        List<Entry> all = all(fields, name);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast().value);
    }

    private static Optional<Node> once(List<Entry> fields, String name) throws Refused {
        List<Entry> all = all(fields, name);
        if (all.size() > 1) {
            throw new Refused(name + " twice");
        }
        return all.stream().map(Entry::value).findFirst();
    }
}
