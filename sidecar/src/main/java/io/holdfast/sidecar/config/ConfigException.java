package io.holdfast.sidecar.config;

/** A configuration that cannot be used: one sentence that names the place, the value, the cause and the mend. */
public final class ConfigException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String place;
    private final String fault;

    /**
     * @param place the path of the key, empty for the whole file
     * @param fault the rest of the sentence without its full stop
     */
    public ConfigException(String place, String fault) {
        super((place.isEmpty() ? "" : place + " ") + fault + ".");
        this.place = place;
        this.fault = fault;
    }

    /** The same fault, seen from one level further out: {@code share} becomes {@code engines[0].share}. */
    ConfigException under(String outer) {
        return new ConfigException(place.isEmpty() ? outer : outer + "." + place, fault);
    }

    /** The same fault, seen from further out where there is further out. */
    ConfigException underAny(String outer) {
        return outer.isEmpty() ? this : under(outer);
    }

    /** The same fault of another path. */
    ConfigException at(String other) {
        return new ConfigException(other, fault);
    }

    /** The path of the key, empty for the whole. */
    String place() {
        return place;
    }

    /** The same fault with the name of the file, the variable or the flag that has it. */
    ConfigException in(String source) {
        return new ConfigException("", source + ": " + (place.isEmpty() ? "" : place + " ") + fault);
    }

    ConfigException in(String file, int line) {
        return new ConfigException(
                "", file + ": " + (place.isEmpty() ? "" : place + " ") + fault + " (line " + line + ")");
    }

    static void require(boolean holds, String key, Object value, String mend) {
        if (!holds) {
            throw new ConfigException(key, "is " + shown(value.toString()) + "; " + mend);
        }
    }

    /** Whether it stays where it is written: nothing that ends a line, or turns the letters after it around. */
    private static boolean isVisible(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> true;
        };
    }

    /** A value fit to stand in a sentence: one line, not long. */
    public static String shown(String value) {
        String line = value.codePoints()
                .limit(60)
                .map(c -> isVisible(c) ? c : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        String cut = line.length() < value.length() ? line + "..." : line;
        return cut.isEmpty() ? "empty" : "'" + cut + "'";
    }
}
