package io.holdfast.sidecar.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.kvcached.ByteSize;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Form of a value in YAML, by the type of the component that takes it.
 *
 * @param unit usual unit of such values, or what kind of text they are
 * @param wanted the form in words, for a value of another one
 * @param read reads a value; absent where it has another form
 */
record Form(String unit, String wanted, Function<JsonNode, Optional<?>> read) {
    private static final Form WHOLE = new Form(
            "number",
            "a whole number below 2147483648",
            node -> given(node.isIntegralNumber() && node.canConvertToInt(), node.intValue()));

    /** Forms by type; a duration is a whole number of its unit. */
    private static final Map<Class<?>, Form> ALL = Map.ofEntries(
            Map.entry(String.class, new Form("text", "text (in quotes)", Form::text)),
            Map.entry(
                    Path.class,
                    new Form("file", "the path of a file", node -> text(node).flatMap(Form::path))),
            Map.entry(
                    URI.class,
                    new Form("URL", EngineConfig.ADDRESS, node -> text(node).flatMap(Form::uri))),
            Map.entry(
                    boolean.class,
                    new Form("true or false", "true or false", node -> given(node.isBoolean(), node.booleanValue()))),
            Map.entry(int.class, WHOLE),
            Map.entry(Duration.class, WHOLE),
            Map.entry(double.class, new Form("number", "a number", node -> given(node.isNumber(), node.doubleValue()))),
            Map.entry(
                    long.class,
                    new Form("bytes", "a number of bytes, or a size such as 8G, 512M or 1.5g", Form::bytes)),
            Map.entry(
                    Integer.class,
                    new Form(
                            "token id",
                            "a token id, 0 to 4294967295",
                            node -> given(
                                    node.isIntegralNumber() && node.canConvertToLong() && node.longValue() >>> 32 == 0,
                                    (int) node.longValue()))),
            Map.entry(ObjectNode.class, new Form("mapping", "a mapping", node -> given(node.isObject(), node))));

    /** Returns the form of the values of a type. */
    static Form of(Class<?> type) {
        return Optional.ofNullable(ALL.get(type))
                .orElseThrow(() -> new IllegalStateException("No key is read as " + type + "."));
    }

    private static <T> Optional<T> given(boolean has, T value) {
        return has ? Optional.of(value) : Optional.empty();
    }

    private static Optional<String> text(JsonNode node) {
        return node.isTextual() ? Optional.of(node.textValue()) : Optional.empty();
    }

    private static Optional<Path> path(String text) {
        try {
            return Optional.of(Path.of(text));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static Optional<URI> uri(String text) {
        try {
            return Optional.of(new URI(text));
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }

    private static Optional<Long> bytes(JsonNode node) {
        return (node.isIntegralNumber() && node.canConvertToLong()
                        ? Optional.of(node.longValue())
                        : text(node)
                                .flatMap(size ->
                                        ByteSize.parse(size).stream().boxed().findFirst()))
                .filter(bytes -> bytes >= 0);
    }
}
