package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.ModelOptions;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** All that is asked of a load test with arms, and one run of it: what {@code ab} does once and {@code sweep} at each level. */
public final class AbOptions {
    private static final int USUAL_SLOT_MILLIS = 500;
    private static final int USUAL_LEARN_CYCLES = 2;

    @Option(
            names = "--engine",
            paramLabel = "URL",
            description = "The engine's HTTP address, such as http://127.0.0.1:30000; with --router again for each"
                    + " engine behind it: they are asked themselves what they are and have served, and to empty their"
                    + " caches.")
    private List<URI> engines = List.of();

    @Option(
            names = "--router",
            paramLabel = "URL",
            description = "The router before those engines, to which the load goes (default: it goes to the engine).")
    private @Nullable URI router;

    /** Read as it was meant before a router had an option of its own. */
    @Option(names = "--url", hidden = true)
    private @Nullable URI url;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private ArmOptions arm = new ArmOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Option(
            names = "--route",
            paramLabel = "NAME",
            description = "${COMPLETION-CANDIDATES} (default: SGLANG_GENERATE for an SGLang, OPENAI_COMPLETIONS for a"
                    + " vLLM or where a hold goes by token ids, otherwise OPENAI_TEXT).")
    private @Nullable CompletionRoute route;

    @Mixin
    private ModelOptions model = new ModelOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private LoadOptions load = new LoadOptions();

    @Option(
            names = "--flood-requests",
            paramLabel = "N",
            defaultValue = "32",
            description = "Requests of a flood (default: ${DEFAULT-VALUE}).")
    private int floodRequests;

    @Option(
            names = "--flood-tokens",
            paramLabel = "N",
            defaultValue = "1024",
            description = "Tokens of each of them; together more than the cache holds, or nothing is lost"
                    + " (default: ${DEFAULT-VALUE}).")
    private int floodTokens;

    @Option(
            names = "--learn-cycles",
            paramLabel = "N",
            description = "Floods before the hold step of each leg, between texts that begin with the prefix, which is"
                    + " then never sent alone; not measured (default: 2 for --hold automatic and everything, else 0).")
    private @Nullable Integer learnCycles;

    @Option(
            names = "--learn-texts",
            paramLabel = "N",
            defaultValue = "6",
            description = "Such texts before each of those floods and after the last (default: ${DEFAULT-VALUE}).")
    private int learnTexts;

    @Option(
            names = "--repeat-pairs",
            paramLabel = "N",
            defaultValue = "3",
            description = "Pairs that may be run again because of what happened around a leg, whichever arm it had: a"
                    + " late call, a busy machine, a lost connection (default: ${DEFAULT-VALUE}).")
    private int repeatPairs;

    @Option(
            names = "--max-duration",
            paramLabel = "TIME",
            description = "Begin no further pair after this time, as 90m or 8h; 'loadtest resume' goes on (default: the"
                    + " plan runs to its end).")
    private @Nullable String mostTime;

    @Mixin
    private PlanOptions plan = new PlanOptions();

    @Option(
            names = "--hold-slot-ms",
            paramLabel = "N",
            description = "How long the hold step of a leg takes in both arms; longer than the arm's own call"
                    + " (default: 500, or three times the slowest call of the rehearsal where that is more).")
    private @Nullable Integer holdSlotMillis;

    @Option(
            names = "--judge",
            paramLabel = "WHAT",
            defaultValue = "PROBE_P50",
            description = "${COMPLETION-CANDIDATES}: median, 95th percentile or mean of a leg's probes, or the mean of"
                    + " its floods and probes (default: ${DEFAULT-VALUE}).")
    private Statistic statistic = Statistic.PROBE_P50;

    @Option(
            names = "--also-judge",
            paramLabel = "WHAT",
            split = ",",
            description = "Further numbers that have to bear the verdict out; the worst of them counts, and their p"
                    + " values are corrected for how many there are.")
    private List<Statistic> alsoJudged = List.of();

    @Mixin
    private BedOptions bed = new BedOptions();

    AbOptions() {}

    /** What a run begins with, all of it checked: nothing was asked of a server yet. */
    Ab ab() {
        return ab(Map.of());
    }

    /**
     * The same at a level of a sweep.
     *
     * @param level values in place of those of the options, by their names without hyphens before them; any other name is
     *     one in braces of the server's command
     */
    Ab ab(Map<String, String> level) {
        bed.check();
        URI server = server();
        FloodShape shape = shape(level);
        Arrivals arrivals = load.arrivals(level);
        List<URI> behind = behind();
        ArmOptions.Way way = arm.way(shape.floodRequests(), !behind.isEmpty());
        Optional.ofNullable(route).ifPresent(way::refuseTextFor);
        Map<String, String> values = new TreeMap<>(level);
        values.keySet().removeAll(LoadOptions.OF_A_LEVEL);
        boolean freshLegs = started.isPerLeg();
        LoadTestPlan settings = settings(
                kept(new RunAgain(server, behind, shape, arrivals, flush.path(), ask.ca(), arm.kept()).options()),
                load.concurrency(level, arrivals, shape.floodRequests()),
                plan.design(freshLegs, arm.server().isPresent()));
        return new Ab(server, behind, shape, arrivals, way, values, settings);
    }

    /** What has to be written again to go on with a run. */
    String again() {
        return ask.again() + arm.again() + started.again();
    }

    /**
     * One run, or the rest of one.
     *
     * @param file its journal; where there is one already, the run goes on
     * @param told what is going on, for people
     */
    Result run(Ab ab, Path file, LoadtestBench bench, Progress progress, PrintWriter told) {
        Workload workload = ab.workload(load.seed());
        return at(ab, file, bench, (tested, without, asked) -> {
            RunEnvironment environment = without.with(bed.around(ab.server(), file, bench));
            if (Files.exists(file)) {
                return LoadTestRun.resume(environment, workload, file, progress);
            }
            LoadTestPlan settings = planned(ab, workload, tested, environment, asked, false, told);
            sayWhatIsKnown(environment, ab.shape(), told);
            sayWhatIsFewer(settings.concurrency(), ab.shape().floodRequests(), told);
            bench.tell(tested.warm());
            return LoadTestRun.run(environment, workload, settings, file, progress);
        });
    }

    /** Says what a run would send and about how long it would take, by a few requests; none of it is sent. */
    int plan(Ab ab, Path file, LoadtestBench bench, boolean json, PrintWriter out) {
        Workload workload = ab.workload(load.seed());
        return at(ab, file, bench, (tested, environment, asked) -> {
            planned(ab, workload, tested, environment, asked, json, out);
            return ExitCode.OK;
        });
    }

    private LoadTestPlan planned(
            Ab ab,
            Workload workload,
            HttpEngine tested,
            RunEnvironment environment,
            HttpSettings asked,
            boolean json,
            PrintWriter told) {
        tested.beginLife();
        boolean flushes = flush.path().isPresent()
                || (tested.facts().family() == Family.SGLANG && tested.flush().isEmpty());
        LoadTestPlan on = BedOptions.recorded(ab.settings(), ab.server(), started.wrapper());
        LoadTestPlan settings = flushes
                ? on
                : on.toBuilder()
                        .salt(new Salt(new SplittableRandom().nextLong()))
                        .build();
        RunPlan planned = RunPlan.of(environment, workload, settings);
        if (json) {
            ControlReport.printPlan(ab.server(), asked, planned, ab.arrivals(), flushes, true, told);
        } else {
            ResultReport.printPlan(
                    ab.server(), asked, environment.arms(), settings, planned, ab.arrivals(), flushes, told);
        }
        return settings;
    }

    /** What is done with the server and the arm once both are there. */
    private interface Work<T> {
        T run(HttpEngine tested, RunEnvironment environment, HttpSettings asked);
    }

    private <T> T at(Ab ab, Path file, LoadtestBench bench, Work<T> work) {
        HttpSettings flushed = flush.on(ask.on(HttpSettings.defaults(), System.getenv()));
        try (ServerUnit unit =
                started.unit(ab.server(), model.name(), arm.server(), ab.behind(), ab.values(), file, bench)) {
            if (Files.exists(file)) {
                started.refuseAnother(unit, Journal.read(file).header());
            }
            unit.restart();
            Family family = HttpEngine.family(unit.engines().getFirst(), flushed, bench.clock());
            HttpSettings asked = model.whereAsked(
                    ab.server(),
                    flushed.withRoute(
                            Optional.ofNullable(route).orElseGet(() -> ab.way().routeFor(family))),
                    bench.clock());
            return bench.with(unit, asked, ab.way(), (tested, without) -> work.run(tested, without, asked));
        }
    }

    /**
     * A run before it begins.
     *
     * @param values for names in braces of the server's command, beside those of the options
     */
    record Ab(
            URI server,
            List<URI> behind,
            FloodShape shape,
            Arrivals arrivals,
            ArmOptions.Way way,
            Map<String, String> values,
            LoadTestPlan settings) {
        Workload workload(long seed) {
            return IdlePrefixFlood.workload(
                    seed,
                    shape,
                    arrivals,
                    1 + settings.design().round().getFirst().legs());
        }
    }

    private Map<String, String> kept(Map<String, String> options) {
        Map<String, String> with = started.kept(options);
        if (!alsoJudged.isEmpty()) {
            with.put(
                    RunHeader.ALSO_JUDGE,
                    alsoJudged.stream().map(Statistic::name).collect(Collectors.joining(",")));
        }
        return with;
    }

    private LoadTestPlan settings(Map<String, String> options, int concurrency, Design design) {
        LoadTestPlan.Builder settings = plan.on(LoadTestPlan.defaults().toBuilder(), design)
                .seed(load.seed())
                .concurrency(concurrency)
                .holdSlot(Duration.ofMillis(Optional.ofNullable(holdSlotMillis).orElse(USUAL_SLOT_MILLIS)))
                .slotAdapts(holdSlotMillis == null)
                .repeatPairs(repeatPairs)
                .statistic(statistic)
                .rehearsal(true)
                // A process that serves one leg is burned in before that one.
                .burnIn(arm.server().isEmpty() && !started.isPerLeg())
                .options(options);
        Optional.ofNullable(mostTime)
                .map(text -> TimeSpan.parse("--max-duration", text, Duration.ofSeconds(1)))
                .ifPresent(settings::mostTime);
        return settings.build();
    }

    /** What will come to nothing is better known before it is measured. */
    private static void sayWhatIsKnown(RunEnvironment environment, FloodShape shape, PrintWriter beside) {
        environment.engine().facts().capacityTokens().stream()
                .filter(capacity -> environment.arms().claimsHold() && shape.floodDemand() <= capacity)
                .forEach(capacity -> TerminalText.plain(beside)
                        .paragraph(
                                "  note: ",
                                "A flood of " + shape.floodDemand() + " tokens does not exceed the cache of " + capacity
                                        + ", so the baseline can hardly lose its prefix; press Ctrl-C and make the"
                                        + " flood larger, or expect NO_EXPOSURE."));
        beside.flush();
    }

    /** A flood has no more under way than it has requests, whatever was asked for. */
    public static void sayWhatIsFewer(int concurrency, int floodRequests, PrintWriter beside) {
        if (concurrency > floodRequests) {
            TerminalText.plain(beside)
                    .paragraph(
                            "  note: ",
                            "--concurrency is " + concurrency + ", and a flood has " + floodRequests
                                    + " requests, so at"
                                    + " most " + floodRequests + " are under way; give --flood-requests " + concurrency
                                    + " or more.");
            beside.flush();
        }
    }

    private FloodShape shape(Map<String, String> level) {
        FloodShape shape = load.shape(level, floodRequests, floodTokens);
        int learned = Optional.ofNullable(learnCycles).orElse(arm.learns() ? USUAL_LEARN_CYCLES : 0);
        if (arm.learns() && learned < 1) {
            throw new CommandException("--learn-cycles is " + learned
                    + ", and what this arm holds it learns from traffic before its hold step; write 1 or more.");
        }
        return learned == 0 ? shape : shape.withLearning(learned, learnTexts);
    }

    private URI server() {
        List<URI> named = named();
        Optional<URI> before = router();
        if (before.isEmpty() && named.size() > 1) {
            throw new CommandException("--engine is written " + named.size() + " times, and the router before those"
                    + " engines is not named; write its address, as --router http://127.0.0.1:8000.");
        }
        URI server = before.or(() -> named.stream().findFirst())
                .orElseThrow(() -> new CommandException(
                        "No engine is named; write its address, as --engine http://127.0.0.1:30000."));
        ServerAddress.check(before.isPresent() ? "--router" : "--engine", server);
        return ServerAddress.withoutVersion(server);
    }

    /** The engines behind a router, where there is one. */
    private List<URI> behind() {
        if (router().isEmpty()) {
            return List.of();
        }
        List<URI> named = named();
        if (named.isEmpty()) {
            throw new CommandException("--router is named and no engine behind it; write the address of each, as"
                    + " --engine http://127.0.0.1:30000.");
        }
        named.forEach(address -> ServerAddress.check("--engine", address));
        List<URI> behind = named.stream().map(ServerAddress::withoutVersion).toList();
        if (behind.stream().distinct().count() < behind.size()) {
            throw new CommandException("--engine names the same engine twice; write each of them once.");
        }
        return behind;
    }

    /** The engines by either name. */
    private List<URI> named() {
        return url == null || !engines.isEmpty() ? engines : List.of(url);
    }

    private Optional<URI> router() {
        if (url != null && router != null && !engines.isEmpty()) {
            throw new CommandException("--url is an earlier name of --router, and both are written; leave --url out.");
        }
        return Optional.ofNullable(router).or(() -> engines.isEmpty() ? Optional.empty() : Optional.ofNullable(url));
    }
}
