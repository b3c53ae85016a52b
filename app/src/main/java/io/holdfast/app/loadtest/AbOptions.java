package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ModelOptions;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.LoadTestSession.Emptying;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of a load test with arms, which {@code ab} runs once and {@code sweep} at each level. */
public final class AbOptions {
    private static final int USUAL_SLOT_MILLIS = 500;
    private static final int USUAL_LEARN_CYCLES = 2;

    @Option(
            names = "--engine",
            paramLabel = "URL",
            description = "The engine's HTTP address, such as http://127.0.0.1:30000. With --router, an engine behind"
                    + " it (repeatable); identity, counters and emptying of caches go to each engine directly.")
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

    @Mixin
    private RouteOption route = new RouteOption();

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
            description = "Tokens of each request of a flood; together more than the cache holds, or nothing is"
                    + " lost (default: ${DEFAULT-VALUE}).")
    private int floodTokens;

    @Option(
            names = "--learn-cycles",
            paramLabel = "N",
            description = "Unmeasured floods before the hold step of each leg, between texts that begin with the"
                    + " prefix; the prefix is then never sent alone (default: 2 for --hold automatic and"
                    + " everything, else 0).")
    private @Nullable Integer learnCycles;

    @Option(
            names = "--learn-texts",
            paramLabel = "N",
            defaultValue = "6",
            description =
                    "Number of texts before each of these floods and after the last (default:" + " ${DEFAULT-VALUE}).")
    private int learnTexts;

    @Option(
            names = "--repeat-pairs",
            paramLabel = "N",
            defaultValue = "3",
            description = "Number of pairs that may run again after a late call, a busy machine or a lost"
                    + " connection, in either arm (default: ${DEFAULT-VALUE}).")
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
            description = "Duration of the hold step of a leg in both arms; it must exceed the arm's own call"
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
            description = "Further numbers that must confirm the verdict. The worst verdict counts, and p values"
                    + " are corrected for their number.")
    private List<Statistic> alsoJudged = List.of();

    @Mixin
    private BedOptions bed = new BedOptions();

    AbOptions() {}

    /** The run that was asked for. */
    AskedTest test() {
        return test(Map.of());
    }

    /**
     * Returns the test at a level of a sweep.
     *
     * @param level values that replace those of the options, by their names without hyphens; any other name stands in
     *     braces in the server's command
     */
    AskedTest test(Map<String, String> level) {
        bed.check();
        URI server = server();
        List<URI> behind = behind();
        Arrivals arrivals = load.arrivals(level);
        FloodShape sizes = load.shape(level, floodRequests, floodTokens);
        ArmPlan its = arm.plan(sizes.floodRequests(), !behind.isEmpty());
        FloodShape shape = learning(sizes, its);
        boolean anotherServer = its instanceof ArmPlan.AnotherServer;
        Design design = plan.design(started.isPerLeg(), anotherServer);
        LoadTestPlan.Builder test = plan.on(LoadTestPlan.defaults().toBuilder(), design)
                .seed(load.seed())
                .concurrency(load.concurrency(level, arrivals, shape.floodRequests()))
                .holdSlot(Duration.ofMillis(Optional.ofNullable(holdSlotMillis).orElse(USUAL_SLOT_MILLIS)))
                .slotAdapts(holdSlotMillis == null)
                .repeatPairs(repeatPairs)
                .statistic(statistic)
                .alsoJudged(alsoJudged)
                .rehearsal(true)
                .freshLegs(anotherServer || started.isPerLeg())
                // A process that serves one leg is burned in before that one.
                .burnIn(!anotherServer && !started.isPerLeg())
                .profiler(started.wrapper())
                .target(new LoadTestPlan.Target(server, behind, shape, arrivals.text(), its, flush.path(), ask.ca()));
        Optional.ofNullable(mostTime)
                .map(text -> TimeSpan.parse("--max-duration", text, Duration.ofSeconds(1)))
                .ifPresent(test::mostTime);
        Map<String, String> values = new TreeMap<>(level);
        values.keySet().removeAll(LoadOptions.OF_A_LEVEL);
        return new AskedTest(
                test.build(),
                arm.commands(),
                new Asking(flush.on(ask.on(HttpSettings.defaults(), System.getenv())), route.of(its), model.name()),
                Emptying.WHERE_POSSIBLE,
                started,
                bed,
                values);
    }

    /** Returns options that a resumed run needs again. */
    String again() {
        return ask.again() + arm.again() + started.again();
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

    private FloodShape learning(FloodShape shape, ArmPlan its) {
        int learned = Optional.ofNullable(learnCycles).orElse(its.learns() ? USUAL_LEARN_CYCLES : 0);
        if (its.learns() && learned < 1) {
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
