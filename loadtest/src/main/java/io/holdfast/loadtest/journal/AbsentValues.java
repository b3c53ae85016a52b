package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.ContextualDeserializer;
import com.fasterxml.jackson.databind.deser.std.FromStringDeserializer;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import com.fasterxml.jackson.databind.type.TypeFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Optional values of records as JSON, an absent one as null; a duration and a path as their text. */
@SuppressWarnings("rawtypes")
final class AbsentValues extends SimpleModule {
    private static final long serialVersionUID = 1L;

    AbsentValues() {
        super("absent values");
        write(Optional.class, value -> value);
        write(OptionalInt.class, value -> value.isPresent() ? Optional.of(value.getAsInt()) : Optional.empty());
        write(OptionalLong.class, value -> value.isPresent() ? Optional.of(value.getAsLong()) : Optional.empty());
        read(Optional.class, Object.class, Optional::of, Optional.empty());
        read(OptionalInt.class, Integer.class, OptionalInt::of, OptionalInt.empty());
        read(OptionalLong.class, Long.class, OptionalLong::of, OptionalLong.empty());
        text(Duration.class, Duration::parse);
        text(Path.class, Path::of);
    }

    private <T> void write(Class<T> type, Function<T, Optional<?>> present) {
        addSerializer(type, new Writer<>(type, present));
    }

    private <T, V> void read(Class<T> type, Class<V> of, Function<V, T> present, T absent) {
        addDeserializer(type, new Reader<>(type, TypeFactory.defaultInstance().constructType(of), present, absent));
    }

    private <T> void text(Class<T> type, Function<String, T> parsed) {
        addSerializer(type, new ToStringSerializer(type));
        addDeserializer(type, new FromStringDeserializer<T>(type) {
            private static final long serialVersionUID = 1L;

            @Override
            protected T _deserialize(String value, DeserializationContext context) {
                return parsed.apply(value);
            }
        });
    }

    private static final class Writer<T> extends StdSerializer<T> {
        private static final long serialVersionUID = 1L;

        private final transient Function<T, Optional<?>> present;

        Writer(Class<T> type, Function<T, Optional<?>> present) {
            super(type);
            this.present = present;
        }

        @Override
        public void serialize(T value, JsonGenerator out, SerializerProvider provider) throws IOException {
            provider.defaultSerializeValue(present.apply(value).orElse(null), out);
        }
    }

    /** Reader of a value that may be null; of an {@link Optional} the declaration says what is in it. */
    private static final class Reader<T, V> extends StdDeserializer<T> implements ContextualDeserializer {
        private static final long serialVersionUID = 1L;

        private final JavaType of;
        private final transient Function<V, T> present;
        private final transient T absent;

        Reader(Class<?> type, JavaType of, Function<V, T> present, T absent) {
            super(type);
            this.of = of;
            this.present = present;
            this.absent = absent;
        }

        @Override
        public JsonDeserializer<?> createContextual(DeserializationContext context, @Nullable BeanProperty property) {
            JavaType declared = context.getContextualType();
            return declared == null || declared.containedTypeCount() == 0
                    ? this
                    : new Reader<>(handledType(), declared.containedType(0), present, absent);
        }

        @Override
        public T deserialize(JsonParser in, DeserializationContext context) throws IOException {
            V value = context.readValue(in, of);
            return present.apply(value);
        }

        @Override
        public T getNullValue(DeserializationContext context) {
            return absent;
        }
    }
}
