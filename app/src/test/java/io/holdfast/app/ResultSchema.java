package io.holdfast.app;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Holds documents against the schema of a load test's result, by those words of JSON Schema that it is written in. */
final class ResultSchema {
    private static final List<String> WORDS = List.of(
            "$schema",
            "title",
            "description",
            "type",
            "enum",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "maxItems");

    private ResultSchema() {}

    /** Where a document is not what the schema says, a line each. */
    static List<String> complaints(JsonNode document) throws IOException {
        try (InputStream in = Objects.requireNonNull(ResultJson.class.getResourceAsStream(ResultJson.SCHEMA))) {
            List<String> complaints = new ArrayList<>();
            check("$", document, new ObjectMapper().readTree(in), complaints);
            return complaints;
        }
    }

    private static void check(String at, JsonNode value, JsonNode schema, List<String> complaints) {
        schema.fieldNames().forEachRemaining(word -> {
            if (!WORDS.contains(word)) {
                complaints.add(at + ": the schema has a word that is not known here, " + word);
            }
        });
        if (schema.has("type") && !types(schema.path("type")).contains(typeOf(value, schema.path("type")))) {
            complaints.add(at + " is " + value.getNodeType() + " and no " + schema.path("type"));
            return;
        }
        if (schema.has("enum") && !contains(schema.path("enum"), value)) {
            complaints.add(at + " is " + value + " and none of " + schema.path("enum"));
        }
        if (value.isObject()) {
            schema.path("required").forEach(name -> {
                if (!value.has(name.asText())) {
                    complaints.add(at + " lacks " + name.asText());
                }
            });
            for (Map.Entry<String, JsonNode> field : value.properties()) {
                String path = at + "." + field.getKey();
                JsonNode its = schema.path("properties").path(field.getKey());
                if (its.isObject()) {
                    check(path, field.getValue(), its, complaints);
                } else if (schema.path("additionalProperties").isObject()) {
                    check(path, field.getValue(), schema.path("additionalProperties"), complaints);
                } else {
                    complaints.add(path + " is not in the schema");
                }
            }
        }
        if (value.isArray()) {
            if (value.size() < schema.path("minItems").asInt(0)
                    || value.size() > schema.path("maxItems").asInt(Integer.MAX_VALUE)) {
                complaints.add(at + " has " + value.size() + " items");
            }
            for (int i = 0; i < value.size(); i++) {
                check(at + "[" + i + "]", value.get(i), schema.path("items"), complaints);
            }
        }
    }

    private static List<String> types(JsonNode type) {
        List<String> types = new ArrayList<>();
        if (type.isArray()) {
            type.forEach(one -> types.add(one.asText()));
        } else {
            types.add(type.asText());
        }
        return types;
    }

    /** A whole number is a number as well, so it is called what is asked for. */
    private static String typeOf(JsonNode value, JsonNode wanted) {
        return switch (value.getNodeType()) {
            case NUMBER -> value.isIntegralNumber() && types(wanted).contains("integer") ? "integer" : "number";
            case STRING -> "string";
            case BOOLEAN -> "boolean";
            case ARRAY -> "array";
            case OBJECT -> "object";
            default -> "null";
        };
    }

    private static boolean contains(JsonNode values, JsonNode value) {
        for (JsonNode one : values) {
            if (one.equals(value)) {
                return true;
            }
        }
        return false;
    }
}
