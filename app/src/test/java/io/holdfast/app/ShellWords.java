package io.holdfast.app;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A command that a text tells people to type, as the words that a shell makes of it. */
final class ShellWords {
    private ShellWords() {}

    /**
     * The words after {@code holdfast} of the first {@code holdfast loadtest} command of that name.
     *
     * @param text with the command in a line, or in several that end with a backslash
     */
    static List<String> ofCommand(String text, String name) throws IOException {
        Matcher command = Pattern.compile("holdfast loadtest " + name + "\\b(?:[^\\n]*\\\\\\n)*[^\\n]*")
                .matcher(text.replace("&#39;", "'").replace("&quot;", "\""));
        if (!command.find()) {
            throw new AssertionError("no command 'holdfast loadtest " + name + "' in: " + text);
        }
        Process shell = new ProcessBuilder("sh", "-c", "holdfast() { printf '%s\\n' \"$@\"; }\n" + command.group())
                .redirectErrorStream(true)
                .start();
        try (Stream<String> words = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines()) {
            return words.toList();
        }
    }
}
