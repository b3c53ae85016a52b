package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Measures the cost of kvcached where it brings nothing: the same server without it and with it, at the same rates.
 *
 * <p>Which of the two comes first is drawn, and the other one is first in the next pair: in a single fixed order
 * whatever the first process does to the machine would be taken for kvcached's.
 */
final class KvcachedOverhead implements Preset {
    static final String NAME = "kvcached-overhead";

    /** The server as it is. */
    private static final String BASELINE = "baseline";

    /** The server with kvcached. */
    private static final String KVCACHED = "kvcached";

    private static final List<String> ARRIVALS = List.of("poisson", "constant");
    private static final Pattern ENV = Pattern.compile("([a-z]+):([A-Za-z_][A-Za-z0-9_]*)=(.*)");
    private static final String ENABLE = "ENABLE_KVCACHED";
    private static final String AUTOPATCH = "KVCACHED_AUTOPATCH";
    private static final String UTILIZATION = "KVCACHED_GPU_UTILIZATION";
    private static final String PAGE = "KVCACHED_PAGE_SIZE_MB";
    private static final String BLOCKING = "CUDA_LAUNCH_BLOCKING";
    private static final List<String> OWN = List.of(ENABLE, AUTOPATCH, UTILIZATION, PAGE);

    private final Values values;
    private final BenchConfig config;
    private final BenchConfig.Model model;
    private final Map<String, Map<String, String>> environment;

    KvcachedOverhead(Values values) {
        this(values, BenchConfig.read(values.path("config")));
    }

    KvcachedOverhead(Values values, BenchConfig config) {
        this.values = values;
        this.config = config;
        this.model = values.given("bench-model")
                .map(config::model)
                .orElseGet(() -> config.models().getFirst());
        this.environment = values.byOwner("variant-env", ENV);
        environment.keySet().stream()
                .filter(name -> !name.equals(BASELINE) && !name.equals(KVCACHED))
                .findFirst()
                .ifPresent(name -> {
                    throw new LoadTestException(
                            "There is no variant '" + name + "'; there are " + BASELINE + " and " + KVCACHED + ".");
                });
        if (!ARRIVALS.contains(values.text("arrivals"))) {
            throw new LoadTestException("Arrivals are poisson or constant, not '" + values.text("arrivals") + "'.");
        }
        if (!own(BASELINE).getOrDefault(BLOCKING, "").equals(own(KVCACHED).getOrDefault(BLOCKING, ""))) {
            throw new LoadTestException("One variant has " + BLOCKING
                    + " and the other one has not; it changes what is measured, so both have it alike or neither.");
        }
    }

    private Map<String, String> own(String variant) {
        return environment.getOrDefault(variant, Map.of());
    }

    @Override
    public Definition definition() {
        return values.definition();
    }

    @Override
    public Map<String, String> settings() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("seed", values.text("seed"));
        all.put("model", model.path());
        all.put("arrivals", values.text("arrivals"));
        return all;
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        List<Suite.Leg> legs = new ArrayList<>();
        boolean baselineFirst = new SplittableRandom(values.seed()).nextBoolean();
        for (int pair = 1; pair <= values.whole("pairs"); pair++) {
            List<String> order = baselineFirst ? List.of(BASELINE, KVCACHED) : List.of(KVCACHED, BASELINE);
            for (String variant : order) {
                for (double rate : config.rates()) {
                    legs.add(new Suite.Leg(
                            "pair" + pair + "/" + variant + "/rate" + shown(rate),
                            load(rate),
                            ofLeg(pair, variant, rate)));
                }
            }
            baselineFirst = !baselineFirst;
        }
        return legs;
    }

    private Map<String, String> ofLeg(int pair, String variant, double rate) {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("variant", variant);
        all.put("pair", Integer.toString(pair));
        all.put("rate", shown(rate));
        StartedServer.Variant server = variant(variant);
        new TreeMap<>(server.environment()).forEach((name, value) -> all.put("env." + name, value));
        if (!server.unset().isEmpty()) {
            all.put(
                    "env.unset",
                    String.join(" ", server.unset().stream().sorted().toList()));
        }
        return all;
    }

    /** Each rate has a seed of its own, so that no text of one is in the cache by another. */
    private DrawnLoad load(double rate) {
        return DrawnLoad.of(values.loads(Map.of(
                        "load-seed",
                        values.seed() ^ ((long) ("rate" + shown(rate)).hashCode() << Integer.SIZE),
                        "most",
                        Math.min(values.limit("requests"), config.requests()),
                        "input",
                        config.inputTokens(),
                        "output",
                        config.outputTokens(),
                        "rate",
                        shown(rate)))
                .getFirst());
    }

    private static String shown(double rate) {
        return rate == Math.rint(rate) ? String.format(Locale.ROOT, "%.0f", rate) : Double.toString(rate);
    }

    @Override
    public boolean needsToStart() {
        return true;
    }

    @Override
    public Life firstLife() {
        return life(legs(EngineFacts.unknown()).getFirst());
    }

    @Override
    public Life life(Suite.Leg leg) {
        String variant = setting(leg.settings(), "variant");
        return new Life("pair" + setting(leg.settings(), "pair") + "/" + variant, variant(variant));
    }

    /**
     * Returns how the server is started without kvcached or with it; variables of only one are really unset in the
     * other.
     */
    StartedServer.Variant variant(String name) {
        Map<String, String> environment = new LinkedHashMap<>();
        Set<String> unset = new LinkedHashSet<>();
        if (name.equals(KVCACHED)) {
            environment.put(ENABLE, "true");
            environment.put(AUTOPATCH, "1");
            config.gpuUtilization().ifPresent(share -> environment.put(UTILIZATION, Double.toString(share)));
            config.pageMegabytes().ifPresent(page -> environment.put(PAGE, Integer.toString(page)));
        } else {
            unset.addAll(OWN);
        }
        environment.putAll(own(name));
        unset.removeAll(environment.keySet());
        return new StartedServer.Variant(Map.of("model", model.path()), environment, unset);
    }

    @Override
    public Outcome outcome(Ended ended) {
        Map<String, DrawnLoad> loads = new LinkedHashMap<>();
        legs(ended.facts()).forEach(leg -> loads.put(leg.id(), leg.load()));
        Set<String> saturated = new LinkedHashSet<>();
        List<String> lines = new ArrayList<>();
        for (LoadLeg leg : ended.legs()) {
            LoadFlags.saturated(Objects.requireNonNull(loads.get(leg.id())), leg)
                    .ifPresent(flag -> {
                        saturated.add(setting(leg.settings(), "rate"));
                        lines.add(leg.id() + ": " + flag);
                    });
            memory(leg).ifPresent(lines::add);
        }
        Map<String, String> files = new LinkedHashMap<>();
        for (String variant : List.of(BASELINE, KVCACHED)) {
            files.put(variant + ".json", file(ended, variant, saturated));
        }
        if (!saturated.isEmpty()) {
            lines.add("Where the server was saturated in a variant, at " + String.join(", ", saturated)
                    + " requests a second, overhead is not told: there kvcached may well win, because it allocates as"
                    + " it goes.");
        }
        if (values.whole("pairs") == 1) {
            lines.add("This is a single pair: a difference may be that of two processes. Measure more by --pairs.");
        }
        if (environment.values().stream().anyMatch(each -> each.containsKey(BLOCKING))) {
            lines.add(BLOCKING + " is set: what is measured is not what runs without it.");
        }
        lines.add("Set them beside each other by 'holdfast loadtest compare baseline.json kvcached.json'.");
        return new Outcome(files, lines, List.of());
    }

    /** Memory under kvcached during a leg; absent where no segment was seen. */
    private static Optional<String> memory(LoadLeg leg) {
        return Optional.ofNullable(leg.notes().get("kvcached_most_used_mib"))
                .map(most -> leg.id() + ": kvcached had at most " + most + " of "
                        + setting(leg.notes(), "kvcached_limit_mib") + " MiB in use ("
                        + setting(leg.notes(), "kvcached_most_used_percent") + " %), and gave "
                        + setting(leg.notes(), "kvcached_given_back_mib") + " MiB back by the end.");
    }

    /** The results of one variant, with the two numbers at the top that kvcached's guide reads. */
    private String file(Ended ended, String variant, Set<String> saturated) {
        List<LoadLeg> legs = ended.legs().stream()
                .filter(leg -> setting(leg.settings(), "variant").equals(variant))
                .toList();
        List<LoadLeg> told = legs.stream()
                .filter(leg -> !saturated.contains(setting(leg.settings(), "rate")))
                .toList();
        List<LoadLeg> counted = told.isEmpty() ? legs : told;
        List<LoadResult> results = new ArrayList<>();
        for (LoadResult result : ended.results().results()) {
            if (setting(result.settings(), "variant").equals(variant)) {
                Map<String, String> own = new LinkedHashMap<>(result.settings());
                if (saturated.contains(setting(own, "rate"))) {
                    own.put("saturated", "true");
                }
                results.add(new LoadResult(
                        "rate" + setting(own, "rate") + "/pair" + setting(own, "pair"),
                        result.workload(),
                        result.workloadId(),
                        result.source(),
                        own,
                        result.requests(),
                        result.failures(),
                        result.measures(),
                        result.notes()));
            }
        }
        Map<String, Double> top = new LinkedHashMap<>();
        double tokens = 0;
        double seconds = 0;
        boolean counts = true;
        List<RequestRecord> requests = new ArrayList<>();
        for (LoadLeg leg : counted) {
            Measures measures = Measures.of(leg.measured());
            OptionalDouble duration = measures.of(Metric.DURATION);
            OptionalDouble rate = measures.of(Metric.OUTPUT_THROUGHPUT);
            counts &= duration.isEmpty() || rate.isPresent();
            tokens += rate.orElse(0) * duration.orElse(0);
            seconds += duration.orElse(0);
            requests.addAll(leg.measured());
        }
        if (counts && seconds > 0) {
            top.put("throughput", tokens / seconds);
        }
        OptionalDouble median = Measures.of(requests).of(Metric.percentile(Quantity.TTFT, 50));
        median.ifPresent(value -> top.put("ttft_p50", value));
        return ResultJson.with(
                new ResultFile(
                        ended.results().suite(),
                        model.name(),
                        ended.results().startedAt(),
                        ended.results().environment(),
                        results),
                top);
    }

    private static String setting(Map<String, String> settings, String name) {
        return settings.getOrDefault(name, "");
    }
}
