package io.holdfast.sidecar.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Text of configuration files. */
public final class Yaml {
    private static final long MOST_BYTES = 1 << 20;

    private Yaml() {}

    /** Returns a tree as YAML that {@link #parsed} reads as the same tree. */
    public static String printed(JsonNode tree) {
        try {
            return mapper().writeValueAsString(tree);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @throws ConfigException with the place in the text, where it is no YAML or is empty */
    static JsonNode parsed(String yaml) {
        try {
            JsonNode tree = mapper().readTree(yaml);
            boolean empty = tree.isMissingNode()
                    || tree.isNull()
                    || (tree.isTextual() && tree.textValue().isEmpty());
            if (empty) {
                throw new ConfigException("", "is empty; start from the example configuration");
            }
            return tree;
        } catch (JsonProcessingException e) {
            var at = e.getLocation();
            String problem = e.getOriginalMessage().lines().findFirst().orElse("it ends too early");
            throw new ConfigException(
                    "",
                    "is not valid YAML"
                            + (at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr())
                            + " (" + ConfigException.shown(problem) + "); mend the text there");
        }
    }

    static JsonParser parser(String yaml) throws IOException {
        return mapper().createParser(yaml);
    }

    private static YAMLMapper mapper() {
        return YAMLMapper.builder(YAMLFactory.builder()
                        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                        .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
                        .enable(YAMLGenerator.Feature.MINIMIZE_QUOTES)
                        .enable(YAMLGenerator.Feature.ALWAYS_QUOTE_NUMBERS_AS_STRINGS)
                        .disable(YAMLGenerator.Feature.SPLIT_LINES)
                        .build())
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build();
    }

    /** @throws ConfigException with the name of the file, where it cannot be read as text */
    static String text(Path file) {
        if (Files.isDirectory(file)) {
            throw unreadable(file, "is a directory; name the configuration file in it");
        }
        if (!Files.exists(file)) {
            throw unreadable(file, "does not exist; give the path of a configuration file");
        }
        try {
            if (Files.size(file) > MOST_BYTES) {
                throw unreadable(file, "is larger than 1 MiB; that is no configuration file");
            }
            byte[] bytes = Files.readAllBytes(file);
            for (byte b : bytes) {
                if (b == 0) {
                    throw unreadable(file, "is a binary file; give the path of a YAML file");
                }
            }
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw unreadable(file, "is not UTF-8 text; save it as UTF-8 or give the path of a YAML file");
        } catch (IOException e) {
            throw unreadable(file, "cannot be read (" + e + "); check its permissions");
        }
    }

    private static ConfigException unreadable(Path file, String fault) {
        return new ConfigException("", file + " " + fault);
    }
}
