package io.holdfast.app.cli;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people type and read them: {@code 500ms}, {@code 30s}, {@code 10m}, {@code 2h}. */
public final class TimeSpan {
    private static final Pattern FORM = Pattern.compile("(\\d{1,7})(ms|s|m|h)");
    private static final Duration MOST = Duration.ofDays(30);

    private TimeSpan() {}

    public static Duration parse(String option, String text, Duration least) {
        Matcher parts = FORM.matcher(text);
        Duration span = parts.matches()
                ? switch (parts.group(2)) {
                    case "ms" -> Duration.ofMillis(Long.parseLong(parts.group(1)));
                    case "s" -> Duration.ofSeconds(Long.parseLong(parts.group(1)));
                    case "m" -> Duration.ofMinutes(Long.parseLong(parts.group(1)));
                    default -> Duration.ofHours(Long.parseLong(parts.group(1)));
                }
                : Duration.ofSeconds(-1);
        if (span.compareTo(least) < 0 || span.compareTo(MOST) > 0) {
            throw new CommandException(option + " is '" + text + "'; write a time from " + shown(least)
                    + " to 720h, such as 500ms, 30s, 10m or 2h.");
        }
        return span;
    }

    /** Two units at most. */
    public static String shown(Duration span) {
        long seconds = span.toSeconds();
        if (seconds == 0 && !span.isZero()) {
            return Math.max(1, span.toMillis()) + " ms";
        }
        if (seconds < 10 && span.toMillisPart() > 0) {
            return String.format(Locale.ROOT, "%.1f s", span.toMillis() / 1e3);
        }
        return seconds < 60
                ? seconds + " s"
                : seconds < 3600
                        ? seconds / 60 + " min " + seconds % 60 + " s"
                        : seconds / 3600 + " h " + seconds / 60 % 60 + " min";
    }
}
