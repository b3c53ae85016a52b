package io.holdfast.app.cli;

import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a person at the terminal is told: one line with a full stop, without the names of classes. */
public final class ErrorText {
    /** The full name of a class that was thrown, with the colon before its message. */
    private static final Pattern THROWN =
            Pattern.compile("(?<![\\w/.])(?:[a-z]\\w*\\.)+[A-Z][\\w$]*(?:Exception|Error)(?:: )?");

    /** All that Java says of a file that may not be used is its name, which the sentence has already. */
    private static final Pattern DENIED = Pattern.compile("java\\.nio\\.file\\.AccessDeniedException: [^\\s)]+");

    private ErrorText() {}

    /**
     * A message as a sentence.
     *
     * @param end what follows when the message does not end by itself
     */
    public static String of(@Nullable String message, String end) {
        String line = String.valueOf(message)
                .lines()
                .map(String::strip)
                .filter(each -> !each.isEmpty())
                .collect(Collectors.joining(" "));
        String told = THROWN.matcher(DENIED.matcher(line).replaceAll("permission is denied"))
                .replaceAll("")
                .replace(" ()", "")
                .strip();
        return told.endsWith(".") || told.endsWith("?") ? told : told + end;
    }
}
