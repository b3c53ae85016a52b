package io.holdfast.app.cli;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What is written for options, checked: whatever does not fit is refused in the same sentence everywhere. */
public final class OptionValues {
    private OptionValues() {}

    public static void between(String option, long value, long least, long most) {
        if (value < least || value > most) {
            throw new CommandException(option + " is " + value + "; write " + least + " to " + most + ".");
        }
    }

    public static int atLeastOne(String option, int value) {
        if (value < 1) {
            throw new CommandException(option + " is " + value + "; write at least 1.");
        }
        return value;
    }

    /** As 1024,2048. */
    public static List<Integer> numbers(String option, String text) {
        try {
            return Stream.of(text.split(",", -1)).map(Integer::valueOf).toList();
        } catch (NumberFormatException e) {
            throw new CommandException(option + " has '" + text + "'; write whole numbers with commas, as 1024,2048.");
        }
    }

    /**
     * Values by name, each of which one of several has of its own.
     *
     * @param form with a group for its owner, one for the name and one for the value
     * @param write how that is written, with an example
     */
    public static Map<String, Map<String, String>> byOwner(
            String option, @Nullable List<String> given, Pattern form, String write) {
        Map<String, Map<String, String>> values = new LinkedHashMap<>();
        for (String each : given == null ? List.<String>of() : given) {
            Matcher parts = form.matcher(each);
            if (!parts.matches()) {
                throw new CommandException(option + " is '" + each + "'; write " + write + ".");
            }
            values.computeIfAbsent(parts.group(1), owner -> new LinkedHashMap<>())
                    .put(parts.group(2), parts.group(3));
        }
        return values;
    }
}
