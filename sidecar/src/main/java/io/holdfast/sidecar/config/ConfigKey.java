package io.holdfast.sidecar.config;

import java.util.List;
import java.util.Locale;

/**
 * One key of the configuration, in the words that people read.
 *
 * @param unit of its value, or what kind of text it is
 * @param range what it may be, from the least to the most; empty where the unit says all
 * @param standard what holds where nobody writes it, as YAML; empty where there is none
 * @param change what a reload does about it
 * @param meaning what it is for
 * @param why the reason for the default; empty where there is none to give
 * @param inner the keys of the mapping, or of each mapping of the list, that it is
 */
public record ConfigKey(
        String name,
        Form form,
        String unit,
        String range,
        String standard,
        Change change,
        String meaning,
        String why,
        List<ConfigKey> inner) {
    /** What stands for the value in a file; text from a variable or a flag is read as that. */
    enum Form {
        TEXT,
        /** A list of texts; separated by commas outside of a file. */
        TEXTS,
        WHOLE,
        NUMBER,
        FLAG,
        /** A flag or a word. */
        FLAG_OR_WORD,
        /** A number of bytes, or a size such as 8G. */
        BYTES,
        /** A whole number or a word. */
        WHOLE_OR_WORD,
        MAPPING,
        /** Mappings of which each has a name; see {@link ConfigKeys#nameKey}. */
        LIST,
        /** Whatever YAML says. */
        YAML
    }

    /** What a reload does about another value. */
    public enum Change {
        /** Goes by it from then on. */
        IN_PLACE("in place"),
        /** Lets go of what the engine holds, and follows it anew; requested holds come back. */
        ANEW("follows the engine anew"),
        /** Refuses it: only a restart of the process takes it. */
        RESTART("restart");

        private final String shown;

        Change(String shown) {
            this.shown = shown;
        }

        String shown() {
            return shown;
        }
    }

    public ConfigKey {
        inner = List.copyOf(inner);
    }

    /** Its part of the name of a variable: {@code tickMillis} is {@code TICK_MILLIS}. */
    String variable() {
        return variable(name);
    }

    static String variable(String key) {
        return key.replaceAll("([a-z0-9])([A-Z])", "$1_$2")
                .replaceAll("[^A-Za-z0-9]", "_")
                .toUpperCase(Locale.ROOT);
    }
}
