package io.holdfast.sidecar.config;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** Prefix that the configuration asks to hold, by a text, a conversation, tokens, or a file that has a text. */
@Reload(Change.IN_PLACE)
public record DeclaredHold(
        String name,

        @Key("text that is held, as it is") Optional<String> text,

        @Key("or a file with the text") @Unit(range = "UTF-8")
        Optional<Path> file,

        @Key("or a conversation, as it is sent") @Unit("list of mappings")
        Optional<List<ObjectNode>> messages,

        @Key("tools that belong to the messages") @Unit("list of mappings")
        Optional<List<ObjectNode>> tools,

        @Key("or token ids") @Unit(value = "list", range = "0 to 4294967295")
        Optional<List<Integer>> tokens,

        @Key(name = "measure", value = "whether it may be released now and then to measure what holding it is worth")
        @Default(value = "false", why = "requested holds are kept")
        boolean measured,

        @Key("has so many engines of the fleet hold it, or all, in place of this one; fleet.store says by which store")
        @Unit(value = "engines", from = 1, to = 1_000, or = "all")
        @Default(why = "this engine holds it")
        OptionalInt copies) {
    /** As many copies as there are engines: what the word for it is read as. */
    public static final int ALL = 0;

    private static final long MOST_BYTES = 8 << 20;

    public DeclaredHold {
        EngineConfig.requireName(name);
        long ways = Stream.of(text, file, messages, tokens)
                .filter(Optional::isPresent)
                .count();
        if (ways != 1) {
            throw new ConfigException(
                    "", "has " + (ways == 0 ? "none" : "several") + " of text, file, messages and tokens; write one");
        }
        if (tools.isPresent() && messages.isEmpty()) {
            throw new ConfigException("tools", "are a part of a conversation; write messages, or leave the key out");
        }
        tokens = tokens.map(List::copyOf);
    }

    /** Returns a name for logs, which must not show prompts. */
    @Override
    public String toString() {
        return "hold " + name;
    }

    /** Returns a text that differs where something else is declared: another prefix, or another leave to measure. */
    public String digestOf(PrefixSource source) {
        return digest(source) + (measured ? " measured" : "");
    }

    /**
     * Returns what is to be held, read now where a file has it.
     *
     * @throws ApiError with one sentence where the file cannot be read
     */
    public PrefixSource source() {
        return text.<PrefixSource>map(PrefixSource.Text::new)
                .or(() -> messages.map(list -> new PrefixSource.Messages(array(list), tools.map(DeclaredHold::array))))
                .or(() -> tokens.map(ids -> new PrefixSource.Tokens(
                        ids.stream().mapToInt(Integer::intValue).toArray())))
                .orElseGet(() -> new PrefixSource.Text(text(file.orElseThrow())));
    }

    private static ArrayNode array(List<ObjectNode> nodes) {
        return JsonNodeFactory.instance.arrayNode().addAll(nodes);
    }

    private static String text(Path file) {
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                // Reading a pipe or a device may never end, and every hold of the engine would wait for it.
                throw new ApiError(409, "There is no plain file at " + file + "; write the text into one.");
            }
            if (Files.size(file) > MOST_BYTES) {
                throw new ApiError(409, "The file " + file + " has more than 8 MiB; no prefix is that long.");
            }
            String text = Files.readString(file);
            if (text.isEmpty()) {
                throw new ApiError(409, "The file " + file + " is empty; write the text into it.");
            }
            return text;
        } catch (IOException e) {
            throw new ApiError(
                    409, "The file " + file + " cannot be read (" + e + "); write its path as seen by the sidecar.");
        }
    }

    /** Returns a checksum that tells one prefix from another, and gives none away. */
    public static String digest(PrefixSource source) {
        String text = switch (source) {
            case PrefixSource.Text written -> "text:" + written.text();
            case PrefixSource.Tokens tokens -> "tokens:" + Arrays.toString(tokens.ids());
            case PrefixSource.Hashes hashes -> "hashes:" + Arrays.toString(hashes.blocks());
            case PrefixSource.Example example -> "example:" + example;
            case PrefixSource.Messages conversation ->
                "messages:" + conversation.messages()
                        + conversation.tools().map(tools -> "tools:" + tools).orElse("");
        };
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("This Java has no SHA-256, which every Java has.", e);
        }
    }
}
