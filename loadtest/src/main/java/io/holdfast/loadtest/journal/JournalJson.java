package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.ContextualDeserializer;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** The JSON of a journal's lines: records by their components, an absent value as null. */
final class JournalJson {
    static final String RUN = "run";
    static final String LEG = "leg";
    static final String VOIDED = "voided";
    static final String RESUMED = "resumed";
    private static final String OF = "of";

    private static final JsonMapper MAPPER = JsonMapper.builder()
            .visibility(PropertyAccessor.GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.FIELD, Visibility.ANY)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .addModule(new SimpleModule("absent values")
                    .addSerializer(new ValueWriter())
                    .addSerializer(new IntWriter())
                    .addSerializer(new LongWriter())
                    .addDeserializer(Optional.class, new ValueReader(String.class))
                    .addDeserializer(OptionalInt.class, new IntReader())
                    .addDeserializer(OptionalLong.class, new LongReader()))
            .build();

    private JournalJson() {}

    /** The line that a run begins with. */
    static String head(RunHeader header) {
        return text(Map.of(RUN, header));
    }

    /** A line of the run with this id. */
    static String line(String kind, Object content, String run) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put(kind, content);
        line.put(OF, run);
        return text(line);
    }

    static String text(Object line) {
        try {
            return MAPPER.writeValueAsString(line);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    static <T> T read(String line, Class<T> type) throws IOException {
        return MAPPER.readValue(line, type);
    }

    /** A line, whatever kind it is of. */
    static Line read(String text) throws IOException {
        JsonNode line = MAPPER.readTree(text);
        String kind = Stream.of(RUN, LEG, VOIDED, RESUMED)
                .filter(name -> line.path(name).isObject())
                .findFirst()
                .orElseThrow(() -> new IOException("it is no line of a journal"));
        return new Line(kind, line.path(kind), line.path(OF).asText());
    }

    /**
     * A line that was read.
     *
     * @param of the id of its run; empty in the line that a run begins with
     */
    record Line(String kind, JsonNode content, String of) {
        <T> T as(Class<T> type) throws IOException {
            return MAPPER.treeToValue(content, type);
        }

        /** The head of a journal of that format; an older one was of a run that repeated nothing. */
        RunHeader header(int format) throws IOException {
            if (format < RunHeader.FORMAT && content instanceof ObjectNode header) {
                header.putIfAbsent("repeatPairs", header.numberNode(0));
                header.putIfAbsent("slotAdapts", header.booleanNode(false));
            }
            if (content.path("plan") instanceof ObjectNode plan) {
                // Came without a format of its own: before it a run was looked at once, when it was over.
                plan.putIfAbsent("looks", plan.arrayNode());
            }
            if (content.path("workload") instanceof ObjectNode workload) {
                // Came without a format of its own: before it there was nothing else.
                workload.putIfAbsent("arrivals", workload.textNode(Arrivals.CLOSED));
            }
            return as(RunHeader.class);
        }

        Journal.Voiding voiding(int format) throws IOException {
            if (format < RunHeader.FORMAT && content instanceof ObjectNode voiding) {
                voiding.putIfAbsent("bySurroundings", voiding.booleanNode(false));
            }
            return as(Journal.Voiding.class);
        }

        /** A leg of a journal of that format; what an older one has no word for is absent. */
        LegRecord leg(int format) throws IOException {
            if (content instanceof ObjectNode leg) {
                // Came without formats of their own: a reader that does not know them loses nothing of the rest.
                leg.putIfAbsent("serverLog", leg.nullNode());
                leg.putIfAbsent("shares", leg.arrayNode());
                if (leg.path("serverLog") instanceof ObjectNode log) {
                    log.putIfAbsent("prefills", log.numberNode(0));
                    log.putIfAbsent("cachedTokens", log.numberNode(0));
                }
                requests(leg).forEach(request -> request.putIfAbsent("output", request.nullNode()));
                if (format < RunHeader.FORMAT) {
                    leg.putIfAbsent("client", leg.nullNode());
                    requests(leg).forEach(request -> {
                        request.putIfAbsent("sentTokens", request.nullNode());
                        request.putIfAbsent("firstAnswer", request.nullNode());
                        request.putIfAbsent("tokens", request.textNode(""));
                    });
                }
            }
            return as(LegRecord.class);
        }

        private static Stream<ObjectNode> requests(ObjectNode leg) {
            return Stream.of("requests", "own")
                    .flatMap(list -> StreamSupport.stream(leg.path(list).spliterator(), false))
                    .filter(ObjectNode.class::isInstance)
                    .map(ObjectNode.class::cast);
        }
    }

    @SuppressWarnings("rawtypes")
    private static final class ValueWriter extends StdSerializer<Optional> {
        private static final long serialVersionUID = 1L;

        ValueWriter() {
            super(Optional.class);
        }

        @Override
        public void serialize(Optional value, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (value.isPresent()) {
                Object present = value.get();
                if (present instanceof Record) {
                    provider.defaultSerializeValue(present, out);
                } else {
                    out.writeString(present.toString());
                }
            } else {
                out.writeNull();
            }
        }
    }

    @SuppressWarnings("rawtypes")
    private static final class ValueReader extends StdDeserializer<Optional> implements ContextualDeserializer {
        private static final long serialVersionUID = 1L;

        private final Class<?> type;

        ValueReader(Class<?> type) {
            super(Optional.class);
            this.type = type;
        }

        @Override
        public JsonDeserializer<?> createContextual(DeserializationContext context, @Nullable BeanProperty property) {
            JavaType of = context.getContextualType();
            return of == null || of.containedTypeCount() == 0
                    ? this
                    : new ValueReader(of.containedType(0).getRawClass());
        }

        @Override
        public Optional deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return Optional.of(type == String.class ? in.getText() : context.readValue(in, type));
        }

        @Override
        public Optional getNullValue(DeserializationContext context) {
            return Optional.empty();
        }
    }

    private static final class IntWriter extends StdSerializer<OptionalInt> {
        private static final long serialVersionUID = 1L;

        IntWriter() {
            super(OptionalInt.class);
        }

        @Override
        public void serialize(OptionalInt value, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (value.isPresent()) {
                out.writeNumber(value.getAsInt());
            } else {
                out.writeNull();
            }
        }
    }

    private static final class IntReader extends StdDeserializer<OptionalInt> {
        private static final long serialVersionUID = 1L;

        IntReader() {
            super(OptionalInt.class);
        }

        @Override
        public OptionalInt deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return OptionalInt.of(in.getIntValue());
        }

        @Override
        public OptionalInt getNullValue(DeserializationContext context) {
            return OptionalInt.empty();
        }
    }

    private static final class LongWriter extends StdSerializer<OptionalLong> {
        private static final long serialVersionUID = 1L;

        LongWriter() {
            super(OptionalLong.class);
        }

        @Override
        public void serialize(OptionalLong value, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (value.isPresent()) {
                out.writeNumber(value.getAsLong());
            } else {
                out.writeNull();
            }
        }
    }

    private static final class LongReader extends StdDeserializer<OptionalLong> {
        private static final long serialVersionUID = 1L;

        LongReader() {
            super(OptionalLong.class);
        }

        @Override
        public OptionalLong deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return OptionalLong.of(in.getLongValue());
        }

        @Override
        public OptionalLong getNullValue(DeserializationContext context) {
            return OptionalLong.empty();
        }
    }
}
