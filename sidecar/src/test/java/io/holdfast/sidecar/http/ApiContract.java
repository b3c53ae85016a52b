package io.holdfast.sidecar.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;

/**
 * What the sidecar's OpenAPI document says, asked about what was really answered.
 *
 * <p>Schemas are read as the document uses them: type, properties, required, items, enum, $ref, oneOf, bounds of numbers,
 * lengths, and additionalProperties. In an object whose members are listed no other may be: what is answered and not
 * documented is a fault here, though the document leaves it open.
 */
public final class ApiContract {
    public static final ApiContract OF_THE_SIDECAR = new ApiContract();

    private static final Set<String> METHODS = Set.of("get", "put", "post", "delete", "patch", "head", "options");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode document;
    private final Map<String, Pattern> paths = new TreeMap<>();

    private ApiContract() {
        try {
            document = new ObjectMapper(new YAMLFactory()).readTree(DocumentRoutes.document());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        document.path("paths")
                .fieldNames()
                .forEachRemaining(path -> paths.put(
                        path,
                        Pattern.compile(path.replaceAll("\\{[^}]+}", "[^/]+").replace(".", "\\."))));
    }

    /** Shows each operation, by its method and path. */
    public void operations(BiConsumer<String, JsonNode> visitor) {
        document.path("paths")
                .properties()
                .forEach(path -> path.getValue().properties().forEach(each -> {
                    if (METHODS.contains(each.getKey())) {
                        visitor.accept(each.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey(), each.getValue());
                    }
                }));
    }

    /** Bodies of requests that an operation shows. */
    public static List<String> bodies(JsonNode operation) {
        List<String> bodies = new ArrayList<>();
        operation
                .at("/requestBody/content/application~1json/examples")
                .forEach(example -> bodies.add(example.path("value").toString()));
        return bodies;
    }

    JsonNode document() {
        return document;
    }

    /** The path of the document that a request's path is one of, a name before a parameter. */
    Optional<String> template(String path) {
        String plain = path.replaceAll("\\?.*", "");
        return document.path("paths").has(plain)
                ? Optional.of(plain)
                : paths.entrySet().stream()
                        .filter(each -> each.getValue().matcher(plain).matches())
                        .map(Map.Entry::getKey)
                        .findFirst();
    }

    /** What is wrong with an answer; nothing where the document does not know its path or method. */
    public List<String> faults(String method, String path, int status, String type, String text) {
        Optional<String> template = template(path);
        if (template.isEmpty()) {
            return List.of();
        }
        JsonNode operation = document.path("paths").path(template.get()).path(method.toLowerCase(Locale.ROOT));
        if (operation.isMissingNode()) {
            return List.of();
        }
        JsonNode responses = operation.path("responses");
        JsonNode response = resolved(
                responses.has(Integer.toString(status))
                        ? responses.path(Integer.toString(status))
                        : status >= 400 ? responses.path("default") : document.path("none"));
        if (response.isMissingNode()) {
            return List.of("status " + status + " is not documented");
        }
        String media = type.split(";", 2)[0].strip();
        JsonNode content = response.path("content").path(media);
        // Of a problem whose status has members of its own, another cause has none.
        if (content.isMissingNode() || (status >= 400 && !fits(content.path("schema"), text))) {
            content = resolved(responses.path(status >= 400 ? "default" : Integer.toString(status)))
                    .path("content")
                    .path(media);
        }
        if (content.isMissingNode()) {
            return List.of("content type '" + type + "' is not documented for status " + status);
        }
        return media.endsWith("json") ? faults(content.path("schema"), text) : List.of();
    }

    private boolean fits(JsonNode schema, String text) {
        return faults(schema, text).isEmpty();
    }

    private List<String> faults(JsonNode schema, String text) {
        try {
            List<String> faults = new ArrayList<>();
            check(schema, JSON.readTree(text), "$", faults);
            return faults;
        } catch (JsonProcessingException e) {
            return List.of("it is no JSON: " + e.getOriginalMessage());
        }
    }

    List<String> faults(JsonNode schema, JsonNode value) {
        List<String> faults = new ArrayList<>();
        check(schema, value, "$", faults);
        return faults;
    }

    JsonNode resolved(JsonNode node) {
        return node.has("$ref") ? document.at(node.path("$ref").asText().substring(1)) : node;
    }

    private void check(JsonNode reference, JsonNode value, String at, List<String> faults) {
        JsonNode schema = resolved(reference);
        if (schema.isMissingNode()) {
            faults.add(at + " has no schema");
            return;
        }
        if (schema.has("oneOf")) {
            int fitting = 0;
            for (JsonNode each : schema.path("oneOf")) {
                fitting += faults(each, value).isEmpty() ? 1 : 0;
            }
            if (fitting != 1) {
                faults.add(at + " fits " + fitting + " of the schemas that it may have: " + value);
            }
            return;
        }
        if (!typed(schema.path("type"), value)) {
            faults.add(at + " is " + value + ", which is no " + schema.path("type"));
            return;
        }
        if (schema.has("enum") && !contains(schema.path("enum"), value)) {
            faults.add(at + " is " + value + ", which is none of " + schema.path("enum"));
        }
        bounds(schema, value, at, faults);
        if (value.isArray()) {
            for (int i = 0; schema.has("items") && i < value.size(); i++) {
                check(schema.path("items"), value.path(i), at + "[" + i + "]", faults);
            }
        } else if (value.isObject()) {
            members(schema, value, at, faults);
        }
    }

    private void members(JsonNode schema, JsonNode value, String at, List<String> faults) {
        for (JsonNode name : schema.path("required")) {
            if (!value.has(name.asText())) {
                faults.add(at + " lacks " + name.asText());
            }
        }
        JsonNode others = schema.path("additionalProperties");
        value.properties().forEach(member -> {
            JsonNode known = schema.path("properties").path(member.getKey());
            if (!known.isMissingNode()) {
                check(known, member.getValue(), at + "." + member.getKey(), faults);
            } else if (others.isObject()) {
                check(others, member.getValue(), at + "." + member.getKey(), faults);
            } else if (schema.has("properties") && !others.asBoolean(false)) {
                faults.add(at + "." + member.getKey() + " is not documented");
            }
        });
    }

    private static void bounds(JsonNode schema, JsonNode value, String at, List<String> faults) {
        if (value.isNumber()
                && (value.asDouble() < schema.path("minimum").asDouble(Double.NEGATIVE_INFINITY)
                        || value.asDouble() > schema.path("maximum").asDouble(Double.POSITIVE_INFINITY))) {
            faults.add(at + " is " + value + ", out of its bounds");
        }
        int length = value.isTextual() ? value.asText().length() : value.size();
        String kind = value.isTextual() ? "Length" : "Items";
        if ((value.isTextual() || value.isArray())
                && (length < schema.path("min" + kind).asInt(0)
                        || length > schema.path("max" + kind).asInt(Integer.MAX_VALUE))) {
            faults.add(at + " is too short or too long");
        }
    }

    private static boolean contains(JsonNode all, JsonNode value) {
        for (JsonNode each : all) {
            if (each.equals(value)) {
                return true;
            }
        }
        return false;
    }

    private static boolean typed(JsonNode type, JsonNode value) {
        if (type.isMissingNode()) {
            return true;
        }
        if (type.isArray()) {
            for (JsonNode each : type) {
                if (typed(each, value)) {
                    return true;
                }
            }
            return false;
        }
        return switch (type.asText()) {
            case "object" -> value.isObject();
            case "array" -> value.isArray();
            case "string" -> value.isTextual();
            case "boolean" -> value.isBoolean();
            case "null" -> value.isNull();
            case "number" -> value.isNumber();
            case "integer" -> value.isIntegralNumber();
            default -> throw new IllegalArgumentException("The document has a type " + type + ", which is none.");
        };
    }
}
