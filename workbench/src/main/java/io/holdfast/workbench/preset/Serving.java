package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Suite;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Five workloads that an inference server is judged by: one request at a time, a steady stream, a burst, long prompts
 * among short ones, prompts that begin alike.
 */
final class Serving implements Preset {
    private static final String ALL = "all";
    private static final Pattern SET = Pattern.compile("([a-z_]+):([a-z][a-z0-9-]*)=(.*)");
    private static final int MOMENTS = 10;

    private final Values values;
    private final List<Recipe> recipes;
    private final Map<String, Map<String, String>> serverValues;
    private final List<ResultFile> beside;

    Serving(Values values) {
        this.values = values;
        List<Recipe> all = values.recipes();
        String workload = values.text("workload");
        this.recipes = all.stream()
                .filter(recipe -> workload.equals(ALL) || recipe.name().equals(workload))
                .toList();
        List<String> names = all.stream().map(Recipe::name).toList();
        String known = String.join(", ", names);
        if (recipes.isEmpty()) {
            throw new LoadTestException(
                    "There is no workload '" + workload + "'; there are " + ALL + ", " + known + ".");
        }
        this.serverValues = values.byOwner("workload-set", SET);
        serverValues.keySet().stream()
                .filter(name -> !names.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new LoadTestException(
                            "A server setting is for the workload '" + name + "'; there are " + known + ".");
                });
        this.beside = values.all("beside").stream()
                .map(file -> ResultFile.read(Path.of(file)))
                .toList();
    }

    @Override
    public Definition definition() {
        return values.definition();
    }

    @Override
    public Map<String, String> settings() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("seed", values.text("seed"));
        values.given("phase").ifPresent(phase -> all.put("phase", phase));
        return all;
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        return recipes.stream()
                .map(recipe -> new Suite.Leg(recipe.name(), DrawnLoad.of(recipe), ofLeg(recipe.name())))
                .toList();
    }

    private Map<String, String> ofLeg(String workload) {
        Map<String, String> all = new LinkedHashMap<>(settings());
        own(workload).forEach((name, value) -> all.put("server." + name, value));
        return all;
    }

    private Map<String, String> own(String workload) {
        return serverValues.getOrDefault(workload, Map.of());
    }

    @Override
    public boolean needsToStart() {
        return !serverValues.isEmpty();
    }

    @Override
    public Life firstLife() {
        return life(recipes.getFirst().name());
    }

    @Override
    public Life life(Suite.Leg leg) {
        return life(leg.id());
    }

    private Life life(String workload) {
        Map<String, String> own = own(workload);
        return new Life(own.toString(), new StartedServer.Variant(own, Map.of(), Set.of()));
    }

    @Override
    public Outcome outcome(Ended ended) {
        Map<String, LoadResult> results =
                ended.results().results().stream().collect(Collectors.toMap(LoadResult::id, result -> result));
        Map<String, DrawnLoad> loads =
                legs(ended.facts()).stream().collect(Collectors.toMap(Suite.Leg::id, Suite.Leg::load));
        Map<String, List<String>> remarks = new LinkedHashMap<>();
        List<String> lines = new ArrayList<>();
        for (LoadLeg leg : ended.legs()) {
            DrawnLoad load = Objects.requireNonNull(loads.get(leg.id()));
            LoadResult result = Objects.requireNonNull(results.get(leg.id()));
            List<String> said = new ArrayList<>(LoadFlags.of(load, leg, result));
            PrefixHits.of(load, leg, ended.facts()).map(PrefixHits::text).ifPresent(said::add);
            underWay(leg).ifPresent(said::add);
            said.forEach(sentence -> lines.add(leg.id() + ": " + sentence));
            // A terminal has the notes of all results above its lines; the page has these alone.
            said.addAll(result.notes());
            remarks.put(leg.id(), said);
        }
        List<ResultFile> columns = new ArrayList<>(beside);
        columns.add(ended.results());
        Map<String, String> files = new LinkedHashMap<>();
        files.put(ended.stamped() + ".json", ended.results().text());
        files.put("report.md", ServingReport.of(columns, remarks, values.given("phase")));
        return new Outcome(files, lines, List.of());
    }

    /** Counts the requests under way over the time of a load in which several were. */
    static Optional<String> underWay(LoadLeg leg) {
        List<RequestRecord> requests = leg.measured();
        long from = requests.stream().mapToLong(RequestRecord::sent).min().orElse(0);
        long to = requests.stream().mapToLong(RequestRecord::done).max().orElse(from);
        List<Long> counts = IntStream.range(0, MOMENTS)
                .mapToLong(moment -> from + (2 * moment + 1) * (to - from) / (2 * MOMENTS))
                .mapToObj(now -> requests.stream()
                        .filter(request -> request.sent() <= now && request.done() > now)
                        .count())
                .toList();
        return counts.stream().allMatch(count -> count <= 1)
                ? Optional.empty()
                : Optional.of("Requests under way in the middle of each tenth of its time, as the client sees them: "
                        + counts.stream().map(Object::toString).collect(Collectors.joining(", ")) + ".");
    }
}
