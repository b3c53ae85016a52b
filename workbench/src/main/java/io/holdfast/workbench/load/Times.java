package io.holdfast.workbench.load;

import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Spans of time as recipes and presets write them: {@code 500ms}, {@code 2s}, {@code 10m}, {@code 1h}. */
public final class Times {
    private static final Pattern SPAN = Pattern.compile("(\\d+(?:\\.\\d+)?)(ms|s|m|h)");

    private Times() {}

    /** Parses a span; absent where the text is none. */
    public static Optional<Duration> parse(String text) {
        Matcher matcher = SPAN.matcher(text);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        double unit = switch (matcher.group(2)) {
            case "ms" -> 1e6;
            case "s" -> 1e9;
            case "m" -> 60e9;
            default -> 3_600e9;
        };
        return Optional.of(Duration.ofNanos(Math.round(Double.parseDouble(matcher.group(1)) * unit)));
    }
}
