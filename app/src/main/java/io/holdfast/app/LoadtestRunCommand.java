package io.holdfast.app;

import io.holdfast.evidence.Criteria;
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
import io.holdfast.loadtest.run.LoadTestSettings;
import io.holdfast.loadtest.run.RunClock;
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
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Baseline and pinned legs against a server that is there, judged. */
@Command(
        name = "run",
        description = {
            "A/A, normal and reversed order in seeded random rounds, judged with controls. What holds the prefix in"
                    + " pinned legs is --hold, a sidecar or a command of your own.",
            "The engine's cache is flushed before every leg where it has a route for that: use an engine that serves"
                    + " nobody else."
        },
        sortOptions = false)
final class LoadtestRunCommand implements Callable<Integer> {
    private static final int USUAL_SLOT_MILLIS = 500;
    private static final int USUAL_LEARN_CYCLES = 2;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--url",
            paramLabel = "URL",
            description = "The engine's HTTP address, such as http://127.0.0.1:30000.")
    private @Nullable URI url;

    @Option(
            names = "--engine",
            paramLabel = "URL",
            description =
                    "The same; beside --url, an engine behind the router at that address, again for each: they are"
                            + " asked themselves what they are and have served, and to empty their caches.")
    private List<URI> engines = List.of();

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private ArmOptions arm = new ArmOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Mixin
    private JournalOptions journal = new JournalOptions();

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

    @Option(names = "--anyway", description = "Begin although fewer than 4 rounds can conclude nothing.")
    private boolean anyway;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "5",
            description = "Rounds of one A/A, one normal and one reversed pair; below 4 nothing can be concluded"
                    + " (default: ${DEFAULT-VALUE}).")
    private int rounds;

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
    private ExpectOptions expect = new ExpectOptions();

    @Mixin
    private OutputOptions output = new OutputOptions();

    LoadtestRunCommand() {}

    @Override
    public Integer call() {
        output.check();
        URI server = server();
        refuseTooFewRounds();
        FloodShape shape = shape();
        Arrivals arrivals = load.arrivals();
        List<URI> behind = behind();
        ArmOptions.Way way = arm.way(shape.floodRequests(), !behind.isEmpty());
        Optional.ofNullable(route).ifPresent(way::refuseTextFor);
        Path file = journal.file("run");
        LoadtestCommand.checkFolder(file);
        Journal.refuseExisting(file);
        if (output.isBackground()) {
            return output.begin(spec.commandLine(), file, journal.isNamed(), () -> Files.exists(file));
        }
        HttpSettings http = ask.on(HttpSettings.defaults(), System.getenv());
        HttpSettings flushed = flush.on(http);
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter beside = output.beside(spec.commandLine());
        Workload workload = IdlePrefixFlood.workload(load.seed(), shape, arrivals);
        LoadTestSettings planned = settings(
                judged(new RunAgain(server, behind, shape, arrivals, flush.path(), ask.ca(), arm.kept()).options()),
                arrivals);
        return LoadtestBench.untilStopped(
                out, beside, output, file, ask.again() + arm.again() + started.again(), bench -> {
                    try (ServerUnit unit = started.unit(server, model.name(), arm.server(), behind, file, bench)) {
                        unit.restart();
                        Family family = HttpEngine.family(unit.engines().getFirst(), flushed, bench.clock());
                        HttpSettings asked = withModel(
                                server,
                                flushed.withRoute(Optional.ofNullable(route).orElseGet(() -> way.routeFor(family))),
                                bench.clock());
                        return bench.with(unit, asked, way, (tested, environment) -> {
                            tested.beginLife();
                            boolean flushes = flush.path().isPresent()
                                    || (family == Family.SGLANG
                                            && tested.flush().isEmpty());
                            LoadTestSettings settings = flushes
                                    ? planned
                                    : planned.toBuilder()
                                            .salt(new Salt(new SplittableRandom().nextLong()))
                                            .build();
                            RunPlan plan = RunPlan.of(environment, workload, settings);
                            ResultReport.printPlan(server, asked, environment.arms(), plan, arrivals, flushes, beside);
                            sayWhatIsKnown(environment, shape, beside);
                            bench.tell(tested.warm());
                            Result result = LoadTestRun.run(
                                    environment,
                                    workload,
                                    settings,
                                    file,
                                    output.progress(spec.commandLine(), bench.clock()));
                            beside.println("The journal is " + file + ".");
                            beside.flush();
                            return LoadtestCommand.report(spec.commandLine(), result, output, expect.finding());
                        });
                    }
                });
    }

    private Map<String, String> judged(Map<String, String> options) {
        Map<String, String> with = new TreeMap<>(options);
        if (!alsoJudged.isEmpty()) {
            with.put(
                    RunHeader.ALSO_JUDGE,
                    alsoJudged.stream().map(Statistic::name).collect(Collectors.joining(",")));
        }
        return with;
    }

    private LoadTestSettings settings(Map<String, String> options, Arrivals arrivals) {
        return LoadTestSettings.defaults().toBuilder()
                .rounds(rounds)
                .seed(load.seed())
                .concurrency(load.concurrency(arrivals, floodRequests))
                .holdSlot(Duration.ofMillis(Optional.ofNullable(holdSlotMillis).orElse(USUAL_SLOT_MILLIS)))
                .slotAdapts(holdSlotMillis == null)
                .repeatPairs(repeatPairs)
                .statistic(statistic)
                .rehearsal(true)
                // A process that serves one leg is burned in before that one.
                .burnIn(arm.server().isEmpty())
                .options(options)
                .build();
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

    private FloodShape shape() {
        FloodShape shape = load.shape(floodRequests, floodTokens);
        int learned = Optional.ofNullable(learnCycles).orElse(arm.learns() ? USUAL_LEARN_CYCLES : 0);
        if (arm.learns() && learned < 1) {
            throw new CommandException("--learn-cycles is " + learned
                    + ", and what this arm holds it learns from traffic before its hold step; write 1 or more.");
        }
        return learned == 0 ? shape : shape.withLearning(learned, learnTexts);
    }

    private void refuseTooFewRounds() {
        int least = Criteria.standard().minimumPerOrder();
        if (rounds > 0 && rounds < least && !anyway) {
            throw new CommandException("--rounds is " + rounds + ", and fewer than " + least
                    + " can conclude nothing; write --rounds " + least + " or more, or --anyway.");
        }
    }

    private URI server() {
        if (url == null && engines.size() > 1) {
            throw new CommandException("--engine is written " + engines.size() + " times, and the router before those"
                    + " engines is not named; write its address, as --url http://127.0.0.1:30000.");
        }
        Optional<URI> named = Optional.ofNullable(url).or(() -> engines.stream().findFirst());
        URI server = named.orElseThrow(
                () -> new CommandException("No engine is named; write its address, as --url http://127.0.0.1:30000."));
        LoadtestCommand.checkAddress(url != null ? "--url" : "--engine", server);
        return LoadtestCommand.withoutVersion(server);
    }

    /** The engines behind a router, where there is one. */
    private List<URI> behind() {
        if (url == null) {
            return List.of();
        }
        engines.forEach(address -> LoadtestCommand.checkAddress("--engine", address));
        List<URI> behind = engines.stream().map(LoadtestCommand::withoutVersion).toList();
        if (behind.stream().distinct().count() < behind.size()) {
            throw new CommandException("--engine names the same engine twice; write each of them once.");
        }
        return behind;
    }

    /** SGLang's own route serves one model and asks for no name. */
    private HttpSettings withModel(URI server, HttpSettings http, RunClock clock) {
        return model.on(
                http,
                () -> http.route() == CompletionRoute.SGLANG_GENERATE
                        ? Optional.empty()
                        : HttpEngine.firstModel(server, http, clock));
    }
}
