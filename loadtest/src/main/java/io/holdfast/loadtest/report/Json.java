package io.holdfast.loadtest.report;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.holdfast.evidence.Interval;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object as commands print it. Values are texts, numbers, enums, lists, maps and records of them, whose
 * components are fields of the same name. An empty optional is null, an interval is an array of its ends, and a time
 * span is its seconds.
 */
public final class Json {
    private static final ObjectMapper MAPPER = mapper();

    private final ObjectNode node;

    private Json(ObjectNode node) {
        this.node = node;
    }

    private static ObjectMapper mapper() {
        SimpleModule module = new SimpleModule("values")
                .addSerializer(as(Optional.class, value -> value.isPresent() ? value.get() : null))
                .addSerializer(as(OptionalInt.class, value -> value.isPresent() ? value.getAsInt() : null))
                .addSerializer(as(OptionalLong.class, value -> value.isPresent() ? value.getAsLong() : null))
                .addSerializer(as(OptionalDouble.class, value -> value.isPresent() ? value.getAsDouble() : null))
                .addSerializer(as(Interval.class, value -> List.of(value.low(), value.high())))
                .addSerializer(as(Duration.class, value -> value.toMillis() / 1e3));
        return new ObjectMapper()
                .registerModule(module)
                .setVisibility(PropertyAccessor.GETTER, Visibility.NONE)
                .setVisibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
                .setVisibility(PropertyAccessor.FIELD, Visibility.ANY);
    }

    private static <T> StdSerializer<T> as(Class<T> type, Function<T, @Nullable Object> plain) {
        return new StdSerializer<>(type) {
            @Override
            public void serialize(T value, JsonGenerator out, SerializerProvider provider) throws IOException {
                provider.defaultSerializeValue(plain.apply(value), out);
            }
        };
    }

    /** Returns an object without fields. */
    public static Json object() {
        return new Json(MAPPER.createObjectNode());
    }

    /** Returns an object with a field for each component of a record. */
    public static Json of(Record record) {
        return new Json(MAPPER.valueToTree(record));
    }

    /** Puts a field, which is null where its value is unknown. */
    public Json put(String name, Object value) {
        node.set(name, MAPPER.valueToTree(value));
        return this;
    }

    /** Puts a field, unless its value is unknown. */
    public Json known(String name, Object value) {
        JsonNode its = MAPPER.valueToTree(value);
        if (!its.isNull()) {
            node.set(name, its);
        }
        return this;
    }

    /** Puts all fields of another object. */
    public Json all(Json other) {
        node.setAll(other.node);
        return this;
    }

    /** Gives a field another name. */
    public Json renamed(String name, String other) {
        node.set(other, node.remove(name));
        return this;
    }

    /** Leaves out what a record has and the document has not. */
    public Json without(String... names) {
        node.remove(List.of(names));
        return this;
    }

    /** Leaves out each field whose value is unknown. */
    public Json withoutUnknown() {
        node.properties().removeIf(field -> field.getValue().isNull());
        return this;
    }

    /** Returns the object as a tree. */
    @JsonValue
    public ObjectNode tree() {
        return node;
    }

    /** Returns the text of a document, indented. */
    public String text() {
        return node.toPrettyString();
    }

    /** Returns the object as one line. */
    public String line() {
        return node.toString();
    }
}
