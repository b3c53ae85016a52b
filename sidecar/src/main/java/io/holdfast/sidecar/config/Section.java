package io.holdfast.sidecar.config;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Keys of one mapping of the configuration, in the order of the record that it is read into.
 *
 * @param type the record; its components without {@link Key} are not written in the mapping
 */
public record Section(Class<?> type, List<ConfigKey> keys) {
    static final Section ROOT = of(SidecarConfig.class);

    /** Section below a path. */
    record Located(String path, Section section) {}

    public Section {
        keys = List.copyOf(keys);
    }

    /** Returns the keys that a record declares. */
    public static Section of(Class<?> record) {
        return new Section(
                record,
                Arrays.stream(record.getRecordComponents())
                        .filter(component -> component.isAnnotationPresent(Key.class))
                        .map(ConfigKey::new)
                        .toList());
    }

    Set<String> names() {
        return keys.stream().map(ConfigKey::name).collect(Collectors.toUnmodifiableSet());
    }

    Optional<ConfigKey> find(String name) {
        return keys.stream().filter(key -> key.name().equals(name)).findFirst();
    }

    /** Returns the key that a component of the record is; absent where it is none. */
    Optional<ConfigKey> of(RecordComponent component) {
        return keys.stream().filter(key -> key.is(component)).findFirst();
    }

    /** Returns the keys whose values differ in two such records. */
    public List<ConfigKey> differing(Record before, Record after) {
        return keys.stream()
                .filter(key -> !Objects.equals(key.of(before), key.of(after)))
                .toList();
    }

    /** Returns this section, which is at a path, and all below it. */
    Stream<Located> all(String path) {
        return Stream.concat(
                Stream.of(new Located(path, this)),
                keys.stream()
                        .flatMap(key -> key.inner().stream()
                                .flatMap(inner -> inner.all((path.isEmpty() ? "" : path + ".")
                                        + key.name()
                                        + (key.isByName() ? ".ID" : "")))));
    }
}
