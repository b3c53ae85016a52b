package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A preset whose loads are those of its file, with a few lines of its own about what came of each. */
final class FixedLoads implements Preset {
    private final Definition definition;
    private final List<Suite.Leg> legs;
    private final BiFunction<DrawnLoad, LoadLeg, List<String>> teller;

    /** @param teller describes a leg, a line each */
    FixedLoads(Values values, BiFunction<DrawnLoad, LoadLeg, List<String>> teller) {
        this.definition = values.definition();
        this.legs = values.recipes().stream()
                .map(recipe -> new Suite.Leg(recipe.name(), DrawnLoad.of(recipe), Map.of()))
                .toList();
        this.teller = teller;
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        return legs;
    }

    @Override
    public Outcome outcome(Ended ended) {
        Map<String, DrawnLoad> loads = legs.stream().collect(Collectors.toMap(Suite.Leg::id, Suite.Leg::load));
        List<String> lines = new ArrayList<>();
        ended.legs().forEach(leg -> lines.addAll(teller.apply(Objects.requireNonNull(loads.get(leg.id())), leg)));
        Map<String, String> files = new LinkedHashMap<>();
        files.put(ended.stamped() + ".json", ended.results().text());
        files.put(ended.stamped() + ".txt", String.join("\n", lines) + "\n");
        return new Outcome(files, lines, List.of());
    }

    /** Says of a server that was behind that it was. */
    static List<String> flagged(DrawnLoad load, LoadLeg leg) {
        return LoadFlags.saturated(load, leg).stream()
                .map(flag -> leg.id() + ": " + flag)
                .toList();
    }

    /**
     * From the first request sent to the end of the last, whatever became of it; throughput is of those that were
     * answered.
     */
    static List<String> simply(LoadLeg leg) {
        List<RequestRecord> requests = leg.measured();
        long answered = requests.stream().filter(RequestRecord::isOk).count();
        long from = requests.stream().mapToLong(RequestRecord::sent).min().orElse(0);
        double seconds = (requests.stream().mapToLong(RequestRecord::done).max().orElse(from) - from) / 1e9;
        return List.of(
                String.format(Locale.ROOT, "Completed %d requests in %.2fs", answered, seconds),
                String.format(Locale.ROOT, "Throughput: %.2f req/s", seconds > 0 ? answered / seconds : 0));
    }

    /** Tells the stages of one request. */
    static List<String> story(LoadLeg leg) {
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
    static List<String> idle(DrawnLoad load, LoadLeg leg) {
        long cached = leg.measured().stream()
                .mapToLong(request -> request.cachedTokens().orElse(0))
                .sum();
        return List.of(leg.id() + ": "
                + LoadFlags.saturated(load, leg).orElse("the server kept up")
                + (cached == 0
                        ? "; nothing was found in the cache."
                        : "; " + cached + " tokens were found in the cache."));
    }
}
