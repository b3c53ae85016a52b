package io.holdfast.http;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A release of an engine, as far as releases are told apart here.
 *
 * @param major first number
 * @param minor second number
 * @param patch third number, 0 where there is none
 */
public record EngineVersion(int major, int minor, int patch) {
    private static final Pattern NUMBERS = Pattern.compile("v?(\\d{1,6})\\.(\\d{1,6})(?:\\.(\\d{1,6}))?(?:\\D.*)?");

    /** Returns the release that an engine's own words name; absent where they name none, as those of a build from source. */
    public static Optional<EngineVersion> parse(String text) {
        Matcher numbers = NUMBERS.matcher(text.strip());
        return numbers.matches()
                ? Optional.of(new EngineVersion(
                        Integer.parseInt(numbers.group(1)),
                        Integer.parseInt(numbers.group(2)),
                        numbers.group(3) == null ? 0 : Integer.parseInt(numbers.group(3))))
                : Optional.empty();
    }

    /** Returns whether it came out before the other. */
    public boolean isBefore(EngineVersion other) {
        return major != other.major
                ? major < other.major
                : minor != other.minor ? minor < other.minor : patch < other.patch;
    }

    @Override
    public String toString() {
        return major + "." + minor + "." + patch;
    }
}
