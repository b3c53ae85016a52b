package io.holdfast.app;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.holdfast.app.loadtest.ResultJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;

/** Holds documents against the schemas that the project ships. A field that a schema does not name is refused as well. */
final class JsonSchemas {
    static final String JOURNAL = "loadtest-journal.schema.json";
    static final String CONTROL = "loadtest-control.schema.json";
    static final String SWEEP = "loadtest-sweep.schema.json";
    static final String SUITE = "loadtest-suite.schema.json";

    private static final ObjectMapper JSON = new ObjectMapper();

    private JsonSchemas() {}

    /** Where the result of a load test is not what its schema says. */
    static List<String> complaints(JsonNode document) {
        return complaints(ResultJson.SCHEMA, document);
    }

    /** Where a document is not what the schema of that name says, a line each. */
    static List<String> complaints(String schema, JsonNode document) {
        return schema(schema).validate(document).stream().map(Error::toString).toList();
    }

    /** The same of every line of a file. */
    static List<String> complaintsOfLines(String schema, List<String> lines) {
        Schema its = schema(schema);
        return lines.stream()
                .flatMap(line -> its.validate(tree(line)).stream())
                .map(Error::toString)
                .toList();
    }

    private static Schema schema(String name) {
        try (InputStream in = Objects.requireNonNull(ResultJson.class.getResourceAsStream(name), name)) {
            return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                    .getSchema(JSON.readTree(in));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static JsonNode tree(String line) {
        try {
            return JSON.readTree(line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
