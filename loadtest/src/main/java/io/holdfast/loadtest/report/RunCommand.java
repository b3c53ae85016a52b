package io.holdfast.loadtest.report;

import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The command that runs the same again, as far as a journal tells it: keys, headers and commands of an arm it never has. */
final class RunCommand {
    private static final Pattern PLAIN = Pattern.compile("[\\w./:@%+,=-]+");

    /** What an option says whose value a journal must not keep. */
    private static final Map<String, String> TO_FILL_IN =
            Map.of("arm-command", "on=COMMAND off=COMMAND", RunHeader.ARM_SERVER, "COMMAND");

    private RunCommand() {}

    /** Absent where something else than the command began the run. */
    static Optional<String> of(RunHeader header) {
        Map<String, String> kept = new TreeMap<>(header.options());
        if (!kept.containsKey("url")) {
            return Optional.empty();
        }
        kept.remove(RunHeader.ALSO_JUDGE);
        List<String> words = new ArrayList<>(List.of(
                "holdfast loadtest " + (header.plan().isOnlyControls() ? "aa" : "ab"),
                "--url " + quoted(take(kept, "url"))));
        kept.forEach((name, value) -> words.add(option(name, value)));
        switch (header.plan().design()) {
            case NORMAL -> words.add("--order normal");
            case REVERSED -> words.add("--order reversed");
            case BLOCKS -> words.add("--blocks abba");
            case CROSSOVER, CONTROLS, FRESH_LEGS -> {
                // The usual plan, which a restart for each leg changes by itself.
            }
        }
        if (header.plan().looks().isEmpty()) {
            words.add("--rounds " + header.plan().rounds().size());
        } else {
            words.add("--looks "
                    + header.plan().looks().stream().map(String::valueOf).collect(Collectors.joining(",")));
        }
        words.add("--seed " + header.seed());
        words.add("--concurrency " + header.concurrency());
        words.add("--judge " + header.statistic());
        List<Statistic> others = header.judgedBy().stream().skip(1).toList();
        if (!others.isEmpty()) {
            words.add("--also-judge " + others.stream().map(Statistic::name).collect(Collectors.joining(",")));
        }
        if (!header.slotAdapts()) {
            words.add("--hold-slot-ms " + header.slotMillis());
        }
        return Optional.of(String.join(" \\\n    ", words));
    }

    /** The command of a sweep whose levels begin like this one; what they set is not set again. */
    static String sweep(String first, Map<String, List<String>> values) {
        List<String> words = new ArrayList<>(List.of(first.split(" \\\\\n    ", -1)));
        words.set(0, "holdfast loadtest sweep");
        words.removeIf(word -> values.keySet().stream()
                .anyMatch(name ->
                        word.startsWith("--" + name + " ") || (name.equals("rate") && word.startsWith("--arrivals "))));
        values.forEach((name, levels) -> words.add("--over " + quoted(name + "=" + String.join(",", levels))));
        return String.join(" \\\n    ", words);
    }

    private static String option(String name, String value) {
        if (name.equals("engine")) {
            return Stream.of(value.split(" ", -1))
                    .map(each -> "--engine " + quoted(each))
                    .collect(Collectors.joining(" "));
        }
        if (TO_FILL_IN.containsKey(name)) {
            return "--" + name + " " + TO_FILL_IN.get(name);
        }
        return value.isEmpty() ? "--" + name : "--" + name + " " + quoted(value);
    }

    private static String take(Map<String, String> options, String name) {
        return Optional.ofNullable(options.remove(name)).orElse("");
    }

    /** A word for the shell. */
    static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
