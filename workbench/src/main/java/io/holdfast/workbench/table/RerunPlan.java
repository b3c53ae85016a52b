package io.holdfast.workbench.table;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.holdfast.evidence.RequiredPairs;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The commands that would show what a table cannot: A/A, both orders often enough, and a level with memory to spare.
 */
public final class RerunPlan {
    private static final int USUAL_ROUNDS = 5;
    private static final int MOST_ROUNDS = 20;
    private static final int USUAL_FLOOD_TOKENS = 1_024;
    private static final int USUAL_FLOOD = 32;

    /** A flood has to be larger than the cache to push a prefix out, and at the placebo far smaller. */
    private static final double ABOVE = 1.25;

    private static final double TO_SPARE = 0.4;

    /** More levels than these are a sweep for its own sake. */
    private static final int MOST_LEVELS = 6;

    /** Backend of holds that a released SGLang has; its server is started with the flag that this takes. */
    private static final String HOLD = "session";

    private static final String SERVER =
            "python -m sglang.launch_server --model-path {model} --port {port} --mem-fraction-static {memory}"
                    + " --enable-session-radix-cache";

    private final String url;
    private final List<Place> places;
    private final List<Sweep> sweeps;
    private final int rounds;
    private final List<Step> steps = new ArrayList<>();

    private RerunPlan(List<PublishedTable> tables, String url) {
        this.url = url;
        this.places = tables.stream().flatMap(table -> Place.of(table).stream()).toList();
        this.sweeps = tables.stream().flatMap(table -> Sweep.of(table).stream()).toList();
        this.rounds = rounds(sweeps);
    }

    /**
     * One command, and what it is for.
     *
     * @param arguments of the front door, without its name
     */
    public record Step(String why, @JsonIgnore List<String> arguments) {
        public Step {
            arguments = List.copyOf(arguments);
        }

        /** Returns a line for a shell. */
        @JsonProperty
        public String command() {
            return Stream.concat(Stream.of("holdfast"), arguments.stream())
                    .map(word -> word.matches("[\\w./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'")
                    .collect(Collectors.joining(" "));
        }
    }

    static List<Step> of(List<PublishedTable> tables, String url) {
        RerunPlan plan = new RerunPlan(tables, url);
        if (!plan.places.isEmpty()) {
            plan.write(tables.stream().anyMatch(PublishedTable::isOfPins));
        }
        return List.copyOf(plan.steps);
    }

    /** Returns the steps as a script. */
    public static String script(List<Step> steps, String of) {
        return "#!/bin/sh\n# What " + of + " would need to be believed. The server must serve nobody else meanwhile.\n"
                + steps.stream()
                        .map(step -> "\n# " + step.why() + "\n" + step.command() + "\n")
                        .collect(Collectors.joining());
    }

    private void write(boolean pins) {
        Map<Double, Place> loads = new TreeMap<>();
        places.stream()
                .filter(place -> place.level(Column.CONCURRENCY) > 0)
                .forEach(place -> loads.put(place.level(Column.CONCURRENCY), place));
        List<Place> levels = loads.values().stream()
                .skip(Math.max(0, loads.size() - MOST_LEVELS))
                .toList();
        Place highest = levels.isEmpty() ? places.getLast() : levels.getLast();
        if (pins && !levels.isEmpty()) {
            pinBenchmark(highest);
        }
        step(
                "A/A: what the second leg gains though nothing changes, and how much pairs scatter",
                both(
                        List.of("aa", "--engine", url, "--pairs", "8", "--journal", "rerun-aa.jsonl"),
                        load(highest, ABOVE)));
        for (Place place : levels.isEmpty() ? List.of(highest) : levels) {
            String load = place.where().getOrDefault(Column.CONCURRENCY, "");
            run(
                    "Both orders and A/A, " + rounds + " of each" + (load.isEmpty() ? "" : ", at concurrency " + load)
                            + ", with a flood that is larger than the cache"
                            + (place.level(Column.CAPACITY) > 0 ? "" : " (make it so)"),
                    "rerun" + (load.isEmpty() ? "" : "-c" + load),
                    load(place, ABOVE));
        }
        run(
                "The placebo: the same with memory to spare, where nothing may change",
                "rerun-placebo",
                load(highest, TO_SPARE));
        sweeps.stream()
                .filter(sweep -> sweep.axis().equals(Column.MEMORY))
                .findFirst()
                .ifPresent(this::memory);
    }

    /** Repeats the published benchmark itself, with the controls that it lacked. */
    private void pinBenchmark(Place place) {
        double requests = place.level(Column.REQUESTS);
        List<String> preset = List.of("preset", "pin-poc", "--engine", url, "--hold", HOLD, "--pairs", "" + rounds);
        List<String> out = List.of("--out", "rerun-pin-poc");
        step(
                "The pin benchmark itself, with A/A and both orders, at 32 and 64 at a time; the prefix is in every"
                        + " request there, so a baseline may never lose it",
                both(preset, requests > 0 ? both(out, List.of("--requests", "" + (int) requests)) : out));
    }

    /** Starts a server with least and one with most memory, for the same load. */
    private void memory(Sweep sweep) {
        List<String> load = load(sweep.places().get(sweep.places().size() / 2), ABOVE);
        for (Place place : List.of(sweep.places().getFirst(), sweep.places().getLast())) {
            String memory = place.where().getOrDefault(Column.MEMORY, "");
            String model = place.where().getOrDefault(Column.MODEL, "MODEL");
            List<String> server =
                    List.of("--server-command", SERVER, "--server-set", "memory=" + memory, "--model", model);
            run("The same load at memory fraction " + memory, "rerun-memory-" + memory, both(load, server));
        }
    }

    private void run(String why, String name, List<String> load) {
        List<String> run = List.of("run", "--engine", url, "--hold", HOLD, "--rounds", "" + rounds);
        step(why, both(both(run, List.of("--journal", name + ".jsonl")), load));
    }

    private void step(String why, List<String> arguments) {
        steps.add(new Step(why, both(List.of("loadtest"), arguments)));
    }

    private static List<String> both(List<String> first, List<String> then) {
        return Stream.concat(first.stream(), then.stream()).toList();
    }

    /** Returns a flood of so many times the cache, as far as the table tells how large that is. */
    private List<String> load(Place place, double timesTheCache) {
        double shared = first(Column.SHARED_TOKENS);
        double own = first(Column.UNIQUE_TOKENS);
        int tokens = shared + own > 0 ? (int) (shared + own) : USUAL_FLOOD_TOKENS;
        double capacity = place.level(Column.CAPACITY);
        double underWay = place.level(Column.CONCURRENCY);
        int requests = capacity > 0
                ? (int) Math.max(1, Math.ceil(timesTheCache * capacity / tokens))
                : timesTheCache < 1 ? 2 : USUAL_FLOOD;
        // No more of a flood are under way than it has; a larger one is more of the same, and one with memory to spare
        // is not.
        if (timesTheCache > 1 && underWay > requests) {
            requests = (int) underWay;
        }
        List<String> load = new ArrayList<>(
                List.of("--flood-requests", Integer.toString(requests), "--flood-tokens", Integer.toString(tokens)));
        if (shared >= 0) {
            load.addAll(List.of("--prefix-tokens", Integer.toString((int) shared)));
        }
        if (underWay > 0) {
            load.addAll(List.of("--concurrency", Integer.toString(Math.clamp((long) underWay, 1, requests))));
        }
        return load;
    }

    /** Returns as many rounds as the scatter of a sweep over its levels needs. */
    private static int rounds(List<Sweep> sweeps) {
        return sweeps.stream()
                .flatMap(sweep -> sweep.scatter().stream())
                .findFirst()
                .map(naive -> Math.clamp(
                        RequiredPairs.toDetect(naive.sd(), TableReview.DELTA).orElse(MOST_ROUNDS),
                        USUAL_ROUNDS,
                        MOST_ROUNDS))
                .orElse(USUAL_ROUNDS);
    }

    private double first(String level) {
        return places.stream()
                .mapToDouble(place -> place.level(level))
                .filter(Double::isFinite)
                .findFirst()
                .orElse(Double.NaN);
    }
}
