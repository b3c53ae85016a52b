package io.holdfast.workbench.preset;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.sweep.Pressure;
import io.holdfast.workbench.preset.PinPoc.Kind;
import io.holdfast.workbench.preset.PinPoc.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The eight files of the pin benchmark, from the journals of its steps alone: the same journals give the same bytes.
 *
 * <p>All of them are made before any is written, so a leg without its figures leaves no file that looks as if it had
 * them.
 */
public final class PinPocFiles {
    private static final int FORMAT = 1;
    private static final String HITS = "cache_hit_analysis.json";
    private static final String TTFT_MEAN = "ttft_mean";
    /** Metric that everything is about, by the benchmark's name for it. */
    private static final String PRIMARY = "ttft_avg";

    /** Percentage by which a second run was suspected to be faster for being second. */
    private static final int SUSPECTED_LOW = -25;

    private static final int SUSPECTED_HIGH = -15;

    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private final Map<Step, Journal.Contents> runs;

    /** @param runs by their steps, in the order of these */
    public PinPocFiles(Map<Step, Journal.Contents> runs) {
        this.runs = new LinkedHashMap<>(runs);
    }

    /** Reads the journals of steps. */
    public static PinPocFiles of(Path journals, List<Step> steps) {
        Map<Step, Journal.Contents> runs = new LinkedHashMap<>();
        steps.forEach(step -> runs.put(step, Journal.read(journals.resolve(step.journal()))));
        return new PinPocFiles(runs);
    }

    /** Writes them into a folder, in place of those of the same names. */
    public void write(Path folder) {
        Map<String, ObjectNode> files = new LinkedHashMap<>();
        runs.forEach((step, run) -> {
            ObjectNode its = file(step, run);
            step.sweep()
                    .ifPresentOrElse(
                            sweep -> level(
                                    files.computeIfAbsent(step.file(), name -> sweep(sweep, run)), step, run, its),
                            () -> files.put(step.file(), its));
        });
        files.put(HITS, hits());
        try {
            Files.createDirectories(folder);
            for (Map.Entry<String, ObjectNode> file : files.entrySet()) {
                Files.writeString(folder.resolve(file.getKey()), text(file.getValue()));
            }
        } catch (IOException e) {
            throw new LoadTestException(
                    "The results cannot be written to " + folder + ": " + FileTrouble.why(e) + ".", e);
        }
    }

    private static String text(ObjectNode root) throws JsonProcessingException {
        return JSON.writeValueAsString(root) + "\n";
    }

    /** The verdict on a concurrency, where its A/A, normal and reversed pairs are all there. */
    public Optional<Result> verdict(int concurrency) {
        List<Journal.Contents> its = new ArrayList<>();
        runs.forEach((step, run) -> {
            if (step.concurrency() == concurrency && step.isOfAVerdict()) {
                its.add(run);
            }
        });
        return PinPoc.verdict(its);
    }

    /**
     * The means of both legs of a pair, as they ran.
     *
     * @param name of its step, with its number where that has several
     * @param arms in their order, in words
     */
    public record Pair(String name, double firstMillis, double secondMillis, String arms) {}

    /** All pairs in their order. */
    public List<Pair> pairs() {
        List<Pair> all = new ArrayList<>();
        runs.forEach((step, run) -> {
            for (int life = 1; life <= run.wholePairs(); life++) {
                int its = life;
                List<LegRecord> legs = run.legs().stream()
                        .filter(leg -> leg.life() == its && leg.isMeasured())
                        .toList();
                all.add(new Pair(
                        step.name() + (step.pairs() > 1 ? " " + life : ""),
                        mean(legs.getFirst()),
                        mean(legs.getLast()),
                        step.kind().text()));
            }
        });
        return all;
    }

    /**
     * The repetitions of the normal order.
     *
     * @param baseline of the means of its legs
     * @param pinned the same of pinned legs
     */
    public record Repetitions(int count, Spread baseline, Spread pinned) {}

    /** Absent when that step is not among them. */
    public Optional<Repetitions> repetitions() {
        return runs.entrySet().stream()
                .filter(run -> run.getKey().kind() == Kind.MULTI_REP)
                .findFirst()
                .map(run -> new Repetitions(
                        run.getValue().wholePairs(),
                        Spread.of(means(run.getValue(), Arm.BASELINE)),
                        Spread.of(means(run.getValue(), Arm.PINNED))));
    }

    private static double[] means(Journal.Contents run, Arm arm) {
        return run.legs().stream()
                .filter(leg -> leg.isMeasured() && leg.arm() == arm)
                .mapToDouble(PinPocFiles::mean)
                .toArray();
    }

    private static double mean(LegRecord leg) {
        return Statistic.PROBE_MEAN.of(leg.requests()).orElse(0);
    }

    /** The concurrencies that have steps, in their order. */
    public List<Integer> concurrencies() {
        return runs.keySet().stream()
                .filter(Step::isOfAVerdict)
                .map(Step::concurrency)
                .distinct()
                .toList();
    }

    private static ObjectNode sweep(PinPoc.Sweep sweep, Journal.Contents run) {
        ObjectNode root = head(run).put("parameter", sweep.parameter());
        root.putObject("results");
        return root.put(
                "note", "one order alone, once: claims and no findings; 'loadtest sweep' has a verdict for each level");
    }

    /** The capacity is the one that the server reports, whatever was requested. */
    private static void level(ObjectNode sweep, Step step, Journal.Contents run, ObjectNode its) {
        Pressure pressure = new Pressure(
                run.header().workload().prefixTokens(),
                step.concurrency(),
                run.header().workload().pressureTokens(),
                run.header().engine().capacityTokens(),
                OptionalLong.empty());
        its.put("demand_tokens", pressure.demand()).put("naive_demand_tokens", pressure.naiveDemand());
        pressure.capacity().ifPresent(tokens -> its.put("capacity_tokens", tokens));
        pressure.ratio().ifPresent(ratio -> its.put("pressure", ratio));
        pressure.naiveRatio().ifPresent(ratio -> its.put("naive_pressure", ratio));
        sweep.withObject("/results").set(step.level(), its);
    }

    private ObjectNode file(Step step, Journal.Contents run) {
        ObjectNode root = head(run)
                .put("step", step.number())
                .put("kind", step.kind().name().toLowerCase(Locale.ROOT))
                .put("concurrency", step.concurrency())
                .put("requests", (int) run.legs().stream()
                        .filter(LegRecord::isMeasured)
                        .mapToLong(leg -> leg.probes().size())
                        .max()
                        .orElse(0))
                .put("workload", run.header().workload().name())
                .put("workload_id", run.header().workload().id())
                .put("hold", run.header().holder());
        List<ObjectNode> pairs = new ArrayList<>();
        for (int life = 1; life <= run.wholePairs(); life++) {
            pairs.add(pair(step, run, life));
        }
        if (pairs.isEmpty()) {
            Gates gates = new Gates(run.header());
            throw new LoadTestException("The step " + step.name() + " has no whole pair"
                    + run.legs().stream()
                            .flatMap(leg -> gates.failedBy(leg).stream())
                            .findFirst()
                            .map(why -> ": " + why.replaceFirst("\\.$", ""))
                            .orElse("")
                    + "; no file was written.");
        }
        if (step.kind() != Kind.MULTI_REP) {
            root.setAll(pairs.getFirst());
        }
        if (pairs.size() > 1) {
            ArrayNode all = root.putArray("repetitions");
            for (int i = 0; i < pairs.size(); i++) {
                ObjectNode one = all.addObject().put("repetition", i + 1);
                one.setAll(pairs.get(i));
            }
        }
        switch (step.kind()) {
            case AA_CONTROL -> bias(root, ControlAnalysis.of(run).estimate());
            case NORMAL_ORDER, REVERSED_ORDER -> {
                naive(root, pairs);
                Optional<Result> judged = step.isOfAVerdict() ? verdict(step.concurrency()) : Optional.empty();
                judged.ifPresent(result -> verdict(root.putObject("level_verdict"), result));
            }
            case MULTI_REP -> {
                naive(root, pairs);
                for (String arm : List.of("baseline", "pinned")) {
                    spread(root.putObject(arm), pairs, arm);
                }
                root.put("note", pairs.size() + " per order cannot decide; at least 4 of each order can");
            }
        }
        return root;
    }

    private static ObjectNode head(Journal.Contents run) {
        ObjectNode root = JSON.createObjectNode()
                .put("format", FORMAT)
                .put("started_at", run.header().startedAt());
        root.putObject("units")
                .put("ttft", "ms")
                .put("itl", "ms")
                .put("tpot", "ms")
                .put("e2e", "ms");
        return root;
    }

    private static ObjectNode pair(Step step, Journal.Contents run, int life) {
        ObjectNode pair = JSON.createObjectNode();
        for (LegRecord leg : run.legs()) {
            if (leg.life() == life && leg.isMeasured()) {
                String name = step.kind() == Kind.AA_CONTROL
                        ? leg.position() == 1 ? "run_a" : "run_b"
                        : leg.arm() == Arm.PINNED ? "pinned" : "baseline";
                pair.set(name, metrics(step, leg));
                if (leg.arm() == Arm.PINNED) {
                    pair.put(
                                    "blocks_pinned",
                                    verified(leg, run.header().engine().pageTokensOrUsual()))
                            .put("blocks_asked", leg.hold().wantedBlocks());
                }
            }
        }
        return pair;
    }

    /** Returns what the engine reports as held, and no more than every probe found of it, where there are probes. */
    private static int verified(LegRecord leg, int page) {
        return leg.probes().stream()
                .filter(probe -> probe.isOk() && probe.cachedTokens().isPresent())
                .mapToInt(probe -> probe.cachedTokens().getAsInt() / page)
                .reduce(leg.hold().heldBlocks(), Math::min);
    }

    private static ObjectNode metrics(Step step, LegRecord leg) {
        ObjectNode metrics = JSON.createObjectNode()
                .put("position", leg.position() == 1 ? "first" : "second")
                .put("count", leg.probes().size());
        Map<Metric, Double> values = Measures.of(leg.probes()).values();
        values.forEach((metric, value) -> metrics.put(name(metric), value));
        double primary = metrics.path(PRIMARY).asDouble();
        if (!(primary > 0)) {
            throw new LoadTestException("In " + step.name() + ", " + leg.label() + ", " + PRIMARY + " is "
                    + (metrics.has(PRIMARY) ? "0" : "missing")
                    + ", so there is nothing to sum up; no file was written.");
        }
        metrics.put("hold_step_ms", leg.holdNanos() / 1e6);
        leg.problem().ifPresent(problem -> metrics.put("problem", problem));
        return metrics;
    }

    private static String name(Metric metric) {
        return metric.name().equals(TTFT_MEAN) ? PRIMARY : metric.name();
    }

    private static void bias(ObjectNode root, Estimate estimate) {
        estimate.orderBiasPercent().ifPresent(percent -> {
            root.put("order_bias_percent", percent);
            root.putArray("suspected_band_percent").add(SUSPECTED_LOW).add(SUSPECTED_HIGH);
            root.put("inside_suspected_band", percent >= SUSPECTED_LOW && percent <= SUSPECTED_HIGH);
        });
        estimate.orderBiasCi95().ifPresent(ci -> interval(root, "order_bias_ci95_percent", ci));
        root.put(
                "note",
                estimate.orderBiasCi95().isPresent()
                        ? "run B against run A, nothing changed; can only take a verdict away"
                        : "one pair has no interval: it shows that there may be a bias, not how large it is");
    }

    /** Adds the result of one order alone, which is a claim and no finding. */
    private static void naive(ObjectNode root, List<ObjectNode> pairs) {
        double change = 0;
        for (ObjectNode pair : pairs) {
            change += Math.log(pair.path("pinned").path(PRIMARY).asDouble()
                            / pair.path("baseline").path(PRIMARY).asDouble())
                    / pairs.size();
        }
        root.putObject("naive_claim")
                .put("ttft_avg_change_percent", 100 * Math.expm1(change))
                .put("means", "one order alone, with what being second does in it");
    }

    private static void spread(ObjectNode node, List<ObjectNode> pairs, String arm) {
        double[] values = pairs.stream()
                .mapToDouble(pair -> pair.path(arm).path(PRIMARY).asDouble())
                .toArray();
        Spread spread = Spread.of(values);
        node.put("mean", spread.mean()).put("std", spread.std()).put("n", values.length);
        spread.ci95().ifPresent(ci -> node.putArray("mean_ci95").add(ci.low()).add(ci.high()));
    }

    private static void verdict(ObjectNode node, Result result) {
        node.put("headline", result.headline()).put("reason", result.verdict().reason());
        result.estimate().effectPercent().ifPresent(percent -> node.put("effect_percent", percent));
        result.estimate().ci95().ifPresent(ci -> interval(node, "effect_ci95_percent", ci));
        result.estimate().naivePercent().ifPresent(percent -> node.put("naive_percent", percent));
        result.estimate().orderBiasPercent().ifPresent(percent -> node.put("order_bias_percent", percent));
    }

    private static void interval(ObjectNode node, String key, Interval logs) {
        node.putArray(key).add(100 * Math.expm1(logs.low())).add(100 * Math.expm1(logs.high()));
    }

    /** Returns the server's account of its cache, leg by leg: from its log where it has one, else from its answers. */
    private ObjectNode hits() {
        List<LegRecord> legs = new ArrayList<>();
        ArrayNode all = JSON.createArrayNode();
        boolean log = runs.values().stream()
                .flatMap(run -> run.legs().stream())
                .anyMatch(
                        leg -> leg.serverLog().filter(its -> its.prefills() > 0).isPresent());
        runs.forEach((step, run) -> run.legs().stream()
                .filter(LegRecord::isMeasured)
                .forEach(leg -> {
                    legs.add(leg);
                    ObjectNode node = all.addObject()
                            .put("step", step.name())
                            .put("pair", leg.life())
                            .put("position", leg.position() == 1 ? "first" : "second")
                            .put("arm", leg.arm().name().toLowerCase(Locale.ROOT));
                    Hits.of(List.of(leg), log).put(node);
                }));
        ObjectNode root = head(runs.values().iterator().next())
                .put("source", log ? "server log" : "usage of the answers")
                .put("excluded", "warm-ups, and what the arm sends itself");
        for (Arm arm : Arm.values()) {
            Hits.of(legs.stream().filter(leg -> leg.arm() == arm).toList(), log)
                    .put(root.putObject(arm.name().toLowerCase(Locale.ROOT)));
        }
        root.set("legs", all);
        return root;
    }

    /**
     * Cached tokens of some legs.
     *
     * @param batches of prompts by a log, or requests by their answers
     */
    private record Hits(boolean known, long totalCached, int batches, boolean log) {
        static Hits of(List<LegRecord> legs, boolean log) {
            long total = 0;
            int batches = 0;
            boolean known = !legs.isEmpty();
            for (LegRecord leg : legs) {
                if (log) {
                    total += leg.serverLog().map(ServerLog::cachedTokens).orElse(0L);
                    int its = leg.serverLog().map(ServerLog::prefills).orElse(0);
                    batches += its;
                    known &= its > 0;
                } else {
                    List<RequestRecord> answered =
                            leg.probes().stream().filter(RequestRecord::isOk).toList();
                    known &= answered.stream()
                            .allMatch(request -> request.cachedTokens().isPresent());
                    total += answered.stream()
                            .mapToLong(request -> request.cachedTokens().orElse(0))
                            .sum();
                    batches += answered.size();
                }
            }
            return new Hits(known, total, batches, log);
        }

        void put(ObjectNode node) {
            node.put("state", known ? "known" : "unknown");
            node.put("total_cached", known ? totalCached : 0);
            node.put(log ? "batches" : "requests", known ? batches : 0);
            node.put(
                    log ? "avg_cached_per_batch" : "avg_cached_per_request",
                    known && batches > 0 ? (double) totalCached / batches : 0);
        }
    }

    /** Mean and sample standard deviation, as the benchmark prints them, with the interval that it does not. */
    public record Spread(double mean, double std, Optional<Interval> ci95) {
        public static Spread of(double... values) {
            return MeanInterval.of(values)
                    .map(of -> new Spread(of.mean(), of.sd(), Optional.of(of.interval())))
                    .orElseGet(() -> new Spread(values.length == 0 ? 0 : values[0], 0, Optional.empty()));
        }
    }
}
