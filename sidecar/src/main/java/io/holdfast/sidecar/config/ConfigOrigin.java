package io.holdfast.sidecar.config;

/**
 * Place where a value of the configuration was written.
 *
 * @param source name of the file or of the variable, or the flag as it was typed
 * @param line number of the line in a file; 0 for the others
 */
record ConfigOrigin(String source, int line) {
    /** Returns the origin on one line of a log. */
    String shown() {
        return line == 0 ? source : source + ":" + line;
    }

    /** Returns a fault with this place. */
    ConfigException of(ConfigException fault) {
        return line == 0 ? fault.in(source) : fault.withLine(line).in(source);
    }
}
