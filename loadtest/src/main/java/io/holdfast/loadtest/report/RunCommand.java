package io.holdfast.loadtest.report;

import io.holdfast.evidence.Criteria;
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

/**
 * The command that runs the same again, as far as a journal tells it: keys, headers and commands of an arm it never
 * has.
 */
public final class RunCommand {
    private static final Pattern PLAIN = Pattern.compile("[\\w./:@%+,=-]+");

    private static final String COMMAND = "COMMAND";

    /** Placeholders for options whose values a journal must not keep. */
    private static final Map<String, String> TO_FILL_IN =
            Map.of("arm-command", "on=" + COMMAND + " off=" + COMMAND, RunHeader.ARM_SERVER, COMMAND);

    private static final String ARM = "hold";
    private static final String ENGINE = "engine";
    private static final String MOST_TIME = "max-duration-ms";

    private RunCommand() {}

    /** Returns the run's command; absent where something other than the command began the run. */
    static Optional<String> of(RunHeader header) {
        Map<String, String> kept = new TreeMap<>(header.options());
        if (!kept.containsKey("url")) {
            return Optional.empty();
        }
        kept.keySet().removeIf(name -> name.startsWith(RunHeader.ENVIRONMENT));
        kept.remove(RunHeader.ALSO_JUDGE);
        boolean controls = header.plan().isOnlyControls();
        List<String> words = new ArrayList<>(List.of("holdfast loadtest " + (controls ? "aa" : "ab")));
        String asked = quoted(take(kept, "url"));
        words.add(kept.containsKey(ENGINE) ? "--router " + asked : "--engine " + asked);
        Optional.ofNullable(header.client().get("model")).ifPresent(model -> words.add("--model " + quoted(model)));
        route(header, controls).ifPresent(words::add);
        if (header.client().containsKey(RunHeader.ENDS)) {
            words.add("--no-ignore-eos");
        }
        if (header.freshLives()
                || header.profiler().isPresent()
                || kept.containsKey(RunHeader.ARM_SERVER)
                || kept.containsKey(RunHeader.RESTART_PER)) {
            words.add("--server-command " + COMMAND);
        }
        if (header.profiler().isPresent() && !header.freshLives() && !kept.containsKey(RunHeader.RESTART_PER)) {
            words.add("--restart-per run");
        }
        Optional.ofNullable(kept.remove(MOST_TIME)).ifPresent(millis -> words.add("--max-duration " + millis + "ms"));
        if (controls) {
            kept.remove(ARM);
        }
        kept.forEach((name, value) -> words.add(option(name, value)));
        words.addAll(controls ? List.of("--pairs " + header.plan().lives().size()) : plan(header));
        words.add("--seed " + header.seed());
        words.add("--concurrency " + header.concurrency());
        return Optional.of(String.join(" \\\n    ", words));
    }

    /** The route, of which an A/A knows two by other names. */
    private static Optional<String> route(RunHeader header, boolean controls) {
        Optional<String> route = Optional.ofNullable(header.client().get("route"));
        return controls
                ? route.map(name -> "--api " + (name.equals("OPENAI_CHAT") ? "chat" : "completions"))
                : route.map(name -> "--route " + name);
    }

    /** The options of a run with arms. */
    private static List<String> plan(RunHeader header) {
        List<String> words = new ArrayList<>();
        switch (header.plan().design()) {
            case NORMAL -> words.add("--order normal");
            case REVERSED -> words.add("--order reversed");
            case BLOCKS -> words.add("--blocks abba");
            case CROSSOVER, CONTROLS, FRESH_LEGS -> {
                // The usual plan, which a restart for each leg changes automatically.
            }
        }
        List<Integer> looks = header.plan().looks();
        words.add(
                looks.isEmpty()
                        ? "--rounds " + header.plan().rounds().size()
                        : "--looks " + looks.stream().map(String::valueOf).collect(Collectors.joining(",")));
        int first = looks.isEmpty() ? header.plan().rounds().size() : looks.getFirst();
        if (first < Criteria.standard().minimumPerOrder()) {
            words.add("--anyway");
        }
        words.add("--judge " + header.statistic());
        List<Statistic> others = header.judgedBy().stream().skip(1).toList();
        if (!others.isEmpty()) {
            words.add("--also-judge " + others.stream().map(Statistic::name).collect(Collectors.joining(",")));
        }
        if (!header.slotAdapts()) {
            words.add("--hold-slot-ms " + header.slotMillis());
        }
        return words;
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
        if (name.equals(ENGINE)) {
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

    /** Returns a word for the shell. */
    public static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
