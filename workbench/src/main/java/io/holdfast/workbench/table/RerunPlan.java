package io.holdfast.workbench.table;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.evidence.RequiredPairs;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
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
    private final boolean pins;
    private final int rounds;
    private final OptionalDouble shared;
    private final OptionalDouble unique;
    private final List<Step> steps = new ArrayList<>();

    private RerunPlan(List<Place> places, List<Sweep> sweeps, boolean pins, String url) {
        this.url = url;
        this.pins = pins;
        this.rounds = rounds(sweeps);
        this.shared = first(places, Column.SHARED_TOKENS);
        this.unique = first(places, Column.UNIQUE_TOKENS);
    }

    /**
     * One command, and what it is for.
     *
     * @param arguments of the front door, without its name
     */
    public record Step(String why, List<String> arguments) {
        public Step {
            arguments = List.copyOf(arguments);
        }

        /** Returns a line for a shell. */
        public String command() {
            return Stream.concat(Stream.of("holdfast"), arguments.stream())
                    .map(word -> word.matches("[\\w./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'")
                    .collect(Collectors.joining(" "));
        }
    }

    static List<Step> of(List<PublishedTable> tables, String url) {
        List<Place> places =
                tables.stream().flatMap(table -> Place.of(table).stream()).toList();
        if (places.isEmpty()) {
            return List.of();
        }
        List<Sweep> sweeps =
                tables.stream().flatMap(table -> Sweep.of(table).stream()).toList();
        RerunPlan plan = new RerunPlan(places, sweeps, tables.stream().anyMatch(PublishedTable::isOfPins), url);
        plan.write(places, sweeps);
        return List.copyOf(plan.steps);
    }

    /** The steps as a script. */
    public static String script(List<Step> steps, String of) {
        StringBuilder script = new StringBuilder("#!/bin/sh\n# What ")
                .append(of)
                .append(" would need to be believed. The server must serve nobody else meanwhile.\n");
        for (Step step : steps) {
            script.append("\n# ")
                    .append(step.why())
                    .append('\n')
                    .append(step.command())
                    .append('\n');
        }
        return script.toString();
    }

    private void write(List<Place> places, List<Sweep> sweeps) {
        Map<Double, Place> loads = new TreeMap<>();
        places.forEach(place -> place.level(Column.CONCURRENCY).ifPresent(load -> loads.put(load, place)));
        List<Place> levels = List.copyOf(loads.values());
        if (levels.size() > MOST_LEVELS) {
            levels = levels.subList(levels.size() - MOST_LEVELS, levels.size());
        }
        Place highest = levels.isEmpty() ? places.getLast() : levels.getLast();
        if (pins && !levels.isEmpty()) {
            pinBenchmark(highest);
        }
        step(
                "A/A: what the second leg gains though nothing changes, and how much pairs scatter",
                Stream.concat(
                                Stream.of("aa", "--engine", url, "--pairs", "8", "--journal", "rerun-aa.jsonl"),
                                load(highest, ABOVE).stream())
                        .toList());
        for (Place place : levels.isEmpty() ? List.of(highest) : levels) {
            String at = Optional.ofNullable(place.where().get(Column.CONCURRENCY))
                    .map(load -> "-c" + load)
                    .orElse("");
            run(
                    "Both orders and A/A, " + rounds + " of each"
                            + (at.isEmpty() ? "" : ", at concurrency " + at.substring(2))
                            + ", with a flood that is larger than the cache"
                            + (place.level(Column.CAPACITY).isPresent() ? "" : " (make it so)"),
                    "rerun" + at,
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

    /** The published benchmark itself, with the controls that it lacked. */
    private void pinBenchmark(Place place) {
        List<String> arguments = new ArrayList<>(List.of(
                "preset",
                "pin-poc",
                "--engine",
                url,
                "--hold",
                HOLD,
                "--pairs",
                Integer.toString(rounds),
                "--out",
                "rerun-pin-poc"));
        place.level(Column.REQUESTS)
                .ifPresent(requests ->
                        arguments.addAll(List.of("--requests", String.format(Locale.ROOT, "%.0f", requests))));
        step(
                "The pin benchmark itself, with A/A and both orders, at 32 and 64 at a time; the prefix is in every"
                        + " request there, so a baseline may never lose it",
                arguments);
    }

    /** A server with least and one with most memory, and the same load for both. */
    private void memory(Sweep sweep) {
        List<String> load = load(sweep.places().get(sweep.places().size() / 2), ABOVE);
        for (Place place : List.of(sweep.places().getFirst(), sweep.places().getLast())) {
            String memory = place.where().get(Column.MEMORY);
            List<String> arguments = new ArrayList<>(load);
            arguments.addAll(List.of(
                    "--server-command",
                    SERVER,
                    "--server-set",
                    "memory=" + memory,
                    "--model",
                    place.where().getOrDefault(Column.MODEL, "MODEL")));
            run("The same load at memory fraction " + memory, "rerun-memory-" + memory, arguments);
        }
    }

    private void run(String why, String name, List<String> load) {
        step(
                why,
                Stream.concat(
                                Stream.of(
                                        "run",
                                        "--engine",
                                        url,
                                        "--hold",
                                        HOLD,
                                        "--rounds",
                                        Integer.toString(rounds),
                                        "--journal",
                                        name + ".jsonl"),
                                load.stream())
                        .toList());
    }

    private void step(String why, List<String> arguments) {
        steps.add(new Step(
                why, Stream.concat(Stream.of("loadtest"), arguments.stream()).toList()));
    }

    /** A flood of so many times the cache, as far as the table tells how large that is. */
    private List<String> load(Place place, double timesTheCache) {
        int tokens = shared.isPresent() && unique.isPresent()
                ? (int) (shared.getAsDouble() + unique.getAsDouble())
                : USUAL_FLOOD_TOKENS;
        OptionalDouble capacity = place.level(Column.CAPACITY);
        int underWay = (int) Math.max(1, place.level(Column.CONCURRENCY).orElse(1));
        int requests = capacity.isPresent()
                ? (int) Math.max(1, Math.ceil(timesTheCache * capacity.getAsDouble() / tokens))
                : timesTheCache < 1 ? 2 : USUAL_FLOOD;
        // No more of a flood are under way than it has; a larger one is more of the same, and one with memory to spare
        // is not.
        if (timesTheCache > 1) {
            requests = Math.max(requests, underWay);
        }
        List<String> load = new ArrayList<>(
                List.of("--flood-requests", Integer.toString(requests), "--flood-tokens", Integer.toString(tokens)));
        shared.ifPresent(prefix -> load.addAll(List.of("--prefix-tokens", Integer.toString((int) prefix))));
        if (place.level(Column.CONCURRENCY).isPresent()) {
            load.addAll(List.of("--concurrency", Integer.toString(Math.min(underWay, requests))));
        }
        return load;
    }

    /** Returns as many rounds as the scatter of a sweep over its levels needs. */
    private static int rounds(List<Sweep> sweeps) {
        return sweeps.stream()
                .filter(Sweep::isOfMemory)
                .flatMap(sweep ->
                        sweep.places().getFirst().judged().flatMap(sweep::naive).map(MeanInterval::sd).stream())
                .filter(sd -> sd > 0)
                .findFirst()
                .map(sd ->
                        RequiredPairs.toDetect(sd, Criteria.standard().delta()).orElse(MOST_ROUNDS))
                .map(needed -> Math.clamp(needed, USUAL_ROUNDS, MOST_ROUNDS))
                .orElse(USUAL_ROUNDS);
    }

    private static OptionalDouble first(List<Place> places, String level) {
        return places.stream()
                .flatMapToDouble(place -> place.level(level).stream())
                .findFirst();
    }
}
