package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Presets that are loads and nothing else, each with a few lines of its own about what came of them. */
public final class FixedLoads implements Preset {
    private static final Duration SIMPLE_TIMEOUT = Duration.ofMinutes(2);
    private static final int STORY_PROMPT = 512;
    private static final int STORY_ANSWER = 128;

    private final String name;
    private final List<Recipe> recipes;
    private final Teller teller;

    /** Describes a leg, a line each. */
    private interface Teller {
        List<String> of(DrawnLoad load, LoadLeg leg, LoadResult result);
    }

    private FixedLoads(String name, List<Recipe> recipes, Teller teller) {
        this.name = name;
        this.recipes = List.copyOf(recipes);
        this.teller = teller;
    }

    private static List<Recipe> recipes(String name) {
        return RecipeFile.ofResource(FixedLoads.class, name + ".yaml");
    }

    /** So many chats of one word at once. */
    public static FixedLoads simple(int requests) {
        return new FixedLoads(
                "simple",
                recipes("simple").stream()
                        .map(recipe -> recipe.withParts(recipe.parts().stream()
                                .map(part -> Recipes.with(part, requests))
                                .toList()))
                        .toList(),
                (load, leg, result) -> simply(leg));
    }

    /** One request after the other, told in its stages. */
    public static FixedLoads baselineStory(long seed, int requests, int prompt, int answer) {
        return new FixedLoads(
                "baseline-story",
                recipes("baseline-story").stream()
                        .map(recipe -> Recipes.seeded(seed, recipe)
                                .withParts(recipe.parts().stream()
                                        .map(part -> part.measured() ? of(part, requests, prompt, answer) : part)
                                        .toList()))
                        .toList(),
                (load, leg, result) -> story(leg));
    }

    /** The usual size of {@link #baselineStory}. */
    public static FixedLoads baselineStory(long seed, int requests) {
        return baselineStory(seed, requests, STORY_PROMPT, STORY_ANSWER);
    }

    private static Part of(Part part, int requests, int prompt, int answer) {
        return Part.of(part.name(), requests, Range.of(prompt), Range.of(answer), part.arrivals());
    }

    /** Loads that nothing can be gained on, no more than so many requests of each. */
    public static FixedLoads negative(long seed, int most) {
        return new FixedLoads(
                "negative",
                recipes("negative").stream()
                        .map(recipe -> Recipes.atMost(most, Recipes.seeded(seed, recipe)))
                        .toList(),
                FixedLoads::idle);
    }

    /**
     * From the first request sent to the end of the last, whatever became of it; throughput is of those that were
     * answered.
     */
    private static List<String> simply(LoadLeg leg) {
        List<RequestRecord> requests = leg.measured();
        long answered = requests.stream().filter(RequestRecord::isOk).count();
        long from = requests.stream().mapToLong(RequestRecord::sent).min().orElse(0);
        double seconds = (requests.stream().mapToLong(RequestRecord::done).max().orElse(from) - from) / 1e9;
        return List.of(
                String.format(Locale.ROOT, "Completed %d requests in %.2fs", answered, seconds),
                String.format(Locale.ROOT, "Throughput: %.2f req/s", seconds > 0 ? answered / seconds : 0));
    }

    private static List<String> story(LoadLeg leg) {
        List<RequestRecord> requests =
                leg.measured().stream().filter(RequestRecord::isOk).toList();
        double ttft = mean(requests.stream().map(RequestRecord::ttftMillis));
        double whole = mean(requests.stream().map(RequestRecord::endToEndMillis));
        double end = mean(requests.stream().map(request -> OptionalDouble.of((request.done() - request.sent()) / 1e6)));
        double gap = mean(requests.stream().map(RequestRecord::tpotMillis));
        return List.of(
                String.format(Locale.ROOT, "The mean of %d requests, as the client sees it", requests.size()),
                String.format(Locale.ROOT, "├── prompt read, first token   %9.1f ms", ttft),
                String.format(Locale.ROOT, "├── further tokens             %9.1f ms, %.2f ms each", whole - ttft, gap),
                String.format(Locale.ROOT, "├── end of the stream          %9.1f ms", end - whole),
                String.format(Locale.ROOT, "└── all of it                  %9.1f ms", end));
    }

    private static double mean(Stream<OptionalDouble> values) {
        return values.flatMapToDouble(OptionalDouble::stream).average().orElse(0);
    }

    /** A load that nothing can be gained on has to be one: a server that is behind has something to gain. */
    private static List<String> idle(DrawnLoad load, LoadLeg leg, LoadResult result) {
        long cached = leg.measured().stream()
                .mapToLong(request -> request.cachedTokens().orElse(0))
                .sum();
        List<String> lines = new ArrayList<>();
        lines.add(leg.id() + ": "
                + LoadFlags.saturated(load, leg).orElse("the server kept up")
                + (cached == 0
                        ? "; nothing was found in the cache."
                        : "; " + cached + " tokens were found in the cache."));
        return lines;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        return recipes.stream()
                .map(recipe -> new Suite.Leg(recipe.name(), DrawnLoad.of(recipe), Map.of()))
                .toList();
    }

    @Override
    public Duration requestTimeout() {
        return name.equals("simple") ? SIMPLE_TIMEOUT : Preset.super.requestTimeout();
    }

    @Override
    public boolean chats() {
        return name.equals("simple");
    }

    @Override
    public Outcome outcome(Ended ended) {
        Map<String, DrawnLoad> loads =
                legs(ended.facts()).stream().collect(Collectors.toMap(Suite.Leg::id, Suite.Leg::load));
        Map<String, LoadResult> results =
                ended.results().results().stream().collect(Collectors.toMap(LoadResult::id, result -> result));
        List<String> lines = new ArrayList<>();
        ended.legs()
                .forEach(leg -> lines.addAll(teller.of(
                        Objects.requireNonNull(loads.get(leg.id())),
                        leg,
                        Objects.requireNonNull(results.get(leg.id())))));
        Map<String, String> files = new LinkedHashMap<>();
        files.put(ended.stamped() + ".json", ended.results().text());
        files.put(ended.stamped() + ".txt", String.join("\n", lines) + "\n");
        return new Outcome(files, lines, List.of());
    }
}
