package io.holdfast.sidecar.config;

/** Refusal of a configuration, in one sentence that names the place, the value, the cause and the mend. */
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

    /** Returns the path of a key below another path, which may be empty. */
    static String below(String path, String key) {
        return path.isEmpty() || key.isEmpty() ? path + key : path + "." + key;
    }

    /** Returns the same fault, seen from further out: {@code share} becomes {@code engines.main.share}. */
    ConfigException under(String outer) {
        return at(below(outer, place));
    }

    /** Returns the same fault of another path. */
    public ConfigException at(String other) {
        return new ConfigException(other, fault);
    }

    /** Returns the path of the key, empty for the whole. */
    public String place() {
        return place;
    }

    /** Returns the same fault with the name of the file, the variable or the flag that has it. */
    ConfigException in(String source) {
        return new ConfigException("", source + ": " + (place.isEmpty() ? "" : place + " ") + fault);
    }

    /** Returns the same fault with other words for these. */
    public ConfigException withWords(String words, String others) {
        return new ConfigException(place, fault.replace(words, others));
    }

    /** Returns the same fault with the line of the file that has it. */
    ConfigException withLine(int line) {
        return new ConfigException(place, fault + " (line " + line + ")");
    }

    static void require(boolean holds, String key, Object value, String mend) {
        if (!holds) {
            throw new ConfigException(key, "is " + shown(value.toString()) + "; " + mend);
        }
    }

    /** Tells whether a character stays where it is written: it ends no line, and turns no letters around. */
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

    /** Returns a value as it can stand in a sentence: one line, not long. */
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
