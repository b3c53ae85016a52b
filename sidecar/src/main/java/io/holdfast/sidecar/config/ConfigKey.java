package io.holdfast.sidecar.config;

import static java.util.function.Predicate.not;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.lang.annotation.Annotation;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Key of the configuration, as the component of a record declares it. */
public final class ConfigKey {
    private final RecordComponent component;
    private final Key key;
    private final Optional<Unit> unit;
    private final Optional<Default> standard;
    private final Class<?> type;
    private final Optional<Section> inner;

    ConfigKey(RecordComponent component) {
        this.component = component;
        this.key = Objects.requireNonNull(component.getAnnotation(Key.class));
        this.unit = annotation(Unit.class);
        this.standard = annotation(Default.class);
        this.type = valueType(component.getGenericType());
        this.inner = type.isRecord() ? Optional.of(Section.of(type)) : Optional.empty();
    }

    private <A extends Annotation> Optional<A> annotation(Class<A> wanted) {
        return Optional.ofNullable(component.getAnnotation(wanted));
    }

    private static Class<?> valueType(Type declared) {
        if (declared instanceof ParameterizedType wrapped) {
            return valueType(wrapped.getActualTypeArguments()[0]);
        }
        return declared == OptionalInt.class
                ? int.class
                : declared == OptionalLong.class ? long.class : (Class<?>) declared;
    }

    /** Tells whether a component of a record is this key. */
    boolean is(RecordComponent other) {
        return component.getName().equals(other.getName());
    }

    /** Returns the name that stands in a file. */
    public String name() {
        return key.name().isEmpty() ? component.getName() : key.name();
    }

    /** Returns what a reload does about another value. */
    public Change change() {
        return annotation(Reload.class)
                .or(() -> Optional.ofNullable(type.getAnnotation(Reload.class)))
                .or(() -> Optional.ofNullable(component.getDeclaringRecord().getAnnotation(Reload.class)))
                .map(Reload::value)
                .orElse(Change.RESTART);
    }

    String meaning() {
        return key.value();
    }

    /** Returns the type of the value, without what says that there may be none or several. */
    Class<?> type() {
        return type;
    }

    boolean isList() {
        return isList(component.getGenericType());
    }

    /** Returns true for a list of what is written without a comma, which may be empty. */
    boolean isListOfWords() {
        return isList() && (type == String.class || type == URI.class);
    }

    private static boolean isList(Type declared) {
        return declared instanceof ParameterizedType wrapped
                && (wrapped.getRawType() == List.class || isList(wrapped.getActualTypeArguments()[0]));
    }

    /** Returns the keys of the mapping, or of each mapping below a name, that the value is. */
    Optional<Section> inner() {
        return inner;
    }

    /** Tells whether the value is a mapping from names to mappings. */
    boolean isByName() {
        return isList() && inner.isPresent();
    }

    /** Tells whether the value is the name of a variable that has a secret. */
    boolean isSecretsVariable() {
        return name().endsWith("Env");
    }

    /** Returns the word that stands in place of a number; absent where none does. */
    Optional<String> word() {
        return unit.map(Unit::or).filter(not(String::isEmpty));
    }

    /** Returns the default as YAML, empty where there is none. */
    String standard() {
        return standard.map(Default::value).orElse("");
    }

    /** Returns the default beside other keys of the mapping; without backend calls nothing has to be guarded. */
    String standard(JsonNode written) {
        return name().equals("readingsMillis")
                        && written.path("backend").asText().equals(DryRunBackend.NAME)
                ? "2000"
                : standard();
    }

    /** Returns the reason for the default; empty where there is none to give. */
    String why() {
        return standard.map(Default::why).orElse("");
    }

    /** Returns the unit of the value, or what kind of text it is. */
    String unit() {
        return unit.map(Unit::value).filter(not(String::isEmpty)).orElseGet(this::usualUnit);
    }

    private String usualUnit() {
        if (inner.isPresent()) {
            return isByName() ? "mapping by id" : "mapping";
        }
        return type.isEnum()
                ? "word"
                : isSecretsVariable()
                        ? "variable"
                        : type == Duration.class
                                ? (time() == ChronoUnit.MILLIS ? "milliseconds" : "seconds")
                                : Form.of(type).unit();
    }

    /** Returns the allowed values in words; empty where the unit says all. */
    String range() {
        if (type.isEnum()) {
            return String.join(", ", words());
        }
        return unit.map(its -> {
                    String bounds = Double.isFinite(its.above())
                            ? "above " + plain(its.above()) + " and at most " + plain(its.to())
                            : Double.isFinite(its.from())
                                    ? plain(its.from())
                                            + (Double.isFinite(its.to()) ? " to " + plain(its.to()) : " or more")
                                    : its.range();
                    return bounds + (its.or().isEmpty() ? "" : ", or " + its.or());
                })
                .orElse("");
    }

    private static String plain(double number) {
        return BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
    }

    /** Tells whether a number is within the bounds. */
    boolean allows(double number) {
        return unit.map(its -> number >= its.from() && number > its.above() && number <= its.to())
                .orElse(true);
    }

    /** Returns the unit in which a duration is written, which its name ends with or has within. */
    ChronoUnit time() {
        return name().endsWith("Millis") ? ChronoUnit.MILLIS : ChronoUnit.SECONDS;
    }

    /** Returns the words that stand for the constants of an enum, in their order. */
    List<String> words() {
        return Arrays.stream(type.getEnumConstants()).map(ConfigKey::word).toList();
    }

    private static String word(Object constant) {
        return constant instanceof AutomaticHolds holds
                ? switch (holds) {
                    case OFF -> "false";
                    case ON -> "true";
                    case WHERE_EVICTABLE -> "auto";
                }
                : constant.toString().toLowerCase(Locale.ROOT);
    }

    /** Returns the value that a record has. */
    Object of(Record record) {
        try {
            return component.getAccessor().invoke(record);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns a value in the form in which the record takes it. */
    Object wrapped(Object value) {
        Class<?> declared = component.getType();
        return declared == OptionalInt.class
                ? OptionalInt.of((Integer) value)
                : declared == OptionalLong.class
                        ? OptionalLong.of((Long) value)
                        : declared == Optional.class ? Optional.of(value) : value;
    }

    /** Returns what the record takes where there is no value; absent where it needs one. */
    Optional<Object> none() {
        Class<?> declared = component.getType();
        return Optional.ofNullable(
                declared == OptionalInt.class
                        ? OptionalInt.empty()
                        : declared == OptionalLong.class
                                ? OptionalLong.empty()
                                : declared == Optional.class ? Optional.empty() : null);
    }

    /** Returns the row of the reference page. */
    String row() {
        return "| `" + name() + "` | " + unit() + " | " + range() + " | "
                + (standard().isEmpty() ? "" : "`" + standard() + "`") + " | "
                + (inner.isEmpty() ? change().shown() : "see below") + " | " + meaning() + " | " + why() + " |\n";
    }
}
