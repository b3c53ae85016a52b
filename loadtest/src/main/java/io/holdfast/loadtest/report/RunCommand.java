package io.holdfast.loadtest.report;

import io.holdfast.evidence.Criteria;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The command that runs the same again, as far as a journal tells it: keys, headers and commands of an arm it never
 * has.
 */
public final class RunCommand {
    private static final Pattern PLAIN = Pattern.compile("[\\w./:@%+,=-]+");

    private RunCommand() {}

    /** Returns the run's command; absent where something other than the command began the run. */
    static Optional<String> of(RunHeader header) {
        return header.test().target().map(target -> String.join(" \\\n    ", words(header, target)));
    }

    private static List<String> words(RunHeader header, LoadTestPlan.Target target) {
        LoadTestPlan test = header.test();
        boolean controls = header.plan().isOnlyControls();
        List<String> words = new ArrayList<>(List.of("holdfast loadtest " + (controls ? "aa" : "ab")));
        words.add((target.engines().isEmpty() ? "--engine " : "--router ")
                + quoted(target.server().toString()));
        target.engines().forEach(engine -> words.add("--engine " + quoted(engine.toString())));
        Optional.ofNullable(header.client().get("model")).ifPresent(model -> words.add("--model " + quoted(model)));
        route(header, controls).ifPresent(words::add);
        if (header.client().containsKey(RunHeader.ENDS)) {
            words.add("--no-ignore-eos");
        }
        boolean profiled = test.profiler().isPresent();
        if (header.freshLives() || profiled || test.freshLegs()) {
            words.add("--server-command " + ArmPlan.COMMAND);
        }
        test.profiler().ifPresent(its -> words.add("--server-wrapper " + quoted(its)));
        if (test.freshLegs() && !(target.arm() instanceof ArmPlan.AnotherServer)) {
            words.add("--restart-per leg");
        } else if (profiled && !header.freshLives() && !test.freshLegs()) {
            words.add("--restart-per run");
        }
        test.mostTime().ifPresent(most -> words.add("--max-duration " + most.toMillis() + "ms"));
        words.addAll(load(target));
        words.addAll(controls ? List.of("--pairs " + header.plan().lives().size()) : plan(header, target.arm()));
        words.add("--seed " + header.seed());
        words.add("--concurrency " + header.concurrency());
        return words;
    }

    /** The options that say what is sent, and how caches are emptied. */
    private static List<String> load(LoadTestPlan.Target target) {
        FloodShape shape = target.shape();
        List<String> words = new ArrayList<>(List.of(
                "--prefix-tokens " + shape.prefixTokens(),
                "--suffix-tokens " + shape.suffixTokens(),
                "--flood-requests " + shape.floodRequests(),
                "--flood-tokens " + shape.floodTokens(),
                "--cycles " + shape.cycles(),
                "--output-tokens " + shape.probeOutputTokens()));
        if (shape.learnCycles() > 0) {
            words.add("--learn-cycles " + shape.learnCycles());
            words.add("--learn-texts " + shape.learnTexts());
        }
        if (!target.arrivals().equals(Arrivals.CLOSED)) {
            words.add("--arrivals " + quoted(target.arrivals()));
        }
        target.flushPath().ifPresent(path -> words.add("--flush-path " + quoted(path)));
        target.ca().ifPresent(file -> words.add("--ca " + quoted(file.toString())));
        return words;
    }

    /** The route, of which an A/A knows two by other names. */
    private static Optional<String> route(RunHeader header, boolean controls) {
        Optional<String> route = Optional.ofNullable(header.client().get("route"));
        return controls
                ? route.map(name -> "--api " + (name.equals("OPENAI_CHAT") ? "chat" : "completions"))
                : route.map(name -> "--route " + name);
    }

    /** The options of a run with arms. */
    private static List<String> plan(RunHeader header, ArmPlan arm) {
        List<String> words = new ArrayList<>(
                List.of(arm.options().stream().map(RunCommand::quoted).collect(Collectors.joining(" "))));
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
        if (!header.test().slotAdapts()) {
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

    /** Returns a word for the shell. */
    public static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
