package io.holdfast.workbench.matrix;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * A way to start a server, which is held against other ways.
 *
 * @param name of words of letters, digits and . _ = -
 * @param command for the shell, where {@code {name}} stands for a value
 * @param values by their names in the command
 * @param environment variables that it gets
 * @param unset variables that it does not get
 * @param settings what it is, for tables, as {@code tp} 4
 */
public record ServerVariant(
        String name,
        String command,
        Map<String, String> values,
        Map<String, String> environment,
        Set<String> unset,
        Map<String, String> settings) {
    public ServerVariant {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        unset = Collections.unmodifiableSet(new LinkedHashSet<>(unset));
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
    }
}
