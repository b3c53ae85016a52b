package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The JSON of a journal's lines: records by their components, an absent value as null. */
final class JournalJson {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .visibility(PropertyAccessor.GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.FIELD, Visibility.ANY)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .addModule(new SimpleModule("absent values")
                    .addSerializer(new TextWriter())
                    .addSerializer(new IntWriter())
                    .addSerializer(new LongWriter())
                    .addDeserializer(Optional.class, new TextReader())
                    .addDeserializer(OptionalInt.class, new IntReader())
                    .addDeserializer(OptionalLong.class, new LongReader()))
            .build();

    private JournalJson() {}

    /** An object whose only field says what kind of line it is. */
    static String line(String kind, Object content) {
        try {
            return MAPPER.writeValueAsString(Map.of(kind, content));
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The content of a line of this kind. */
    static <T> T read(String line, String kind, Class<T> type) throws IOException {
        JsonNode content = MAPPER.readTree(line).path(kind);
        if (!content.isObject()) {
            throw new IOException("it is no line of kind " + kind);
        }
        return MAPPER.treeToValue(content, type);
    }

    @SuppressWarnings("rawtypes")
    private static final class TextWriter extends StdSerializer<Optional> {
        private static final long serialVersionUID = 1L;

        TextWriter() {
            super(Optional.class);
        }

        @Override
        public void serialize(Optional value, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (value.isPresent()) {
                out.writeString(value.get().toString());
            } else {
                out.writeNull();
            }
        }
    }

    @SuppressWarnings("rawtypes")
    private static final class TextReader extends StdDeserializer<Optional> {
        private static final long serialVersionUID = 1L;

        TextReader() {
            super(Optional.class);
        }

        @Override
        public Optional deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return Optional.of(in.getText());
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
