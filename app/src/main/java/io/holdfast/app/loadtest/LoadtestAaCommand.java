package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.journal.LoadTestPlan;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The same twice: what the measurement itself does on a server, before anything is tried on it. */
@Command(
        name = "aa",
        description = {
            "The same load twice, again and again, on any server that speaks OpenAI's language: by how much the second"
                    + " leg differs though nothing was changed, how far pairs scatter, and how small an effect could be"
                    + " seen. Nothing is held and nothing is judged.",
            "Exit code 3 when fewer than 4 pairs stand."
        },
        footer = {
            "",
            "Examples:",
            "  holdfast loadtest aa --engine http://127.0.0.1:8000 --plan",
            "  holdfast loadtest aa --engine http://127.0.0.1:8000 --api chat --pairs 8"
        },
        sortOptions = false)
public final class LoadtestAaCommand implements Callable<Integer> {
    private static final int MOST_PAIRS = 1_000;

    /** Which of OpenAI's routes is asked. */
    enum Api {
        completions(CompletionRoute.OPENAI_TEXT),
        chat(CompletionRoute.OPENAI_CHAT);

        private final CompletionRoute route;

        Api(CompletionRoute route) {
            this.route = route;
        }
    }

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private AskedServer asked = new AskedServer();

    @Option(
            names = "--api",
            paramLabel = "NAME",
            defaultValue = "completions",
            description = "${COMPLETION-CANDIDATES}: by text or by one chat message (default: ${DEFAULT-VALUE}).")
    private Api api = Api.completions;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Option(
            names = "--pairs",
            paramLabel = "N",
            defaultValue = "8",
            description = "Pairs of two legs that count (default: ${DEFAULT-VALUE}).")
    private int pairs;

    @Mixin
    private LoadOptions load = new LoadOptions();

    @Option(
            names = "--flood-requests",
            paramLabel = "N",
            defaultValue = "8",
            description = "Unrelated requests before each probe (default: ${DEFAULT-VALUE}).")
    private int floodRequests;

    @Option(
            names = "--flood-tokens",
            paramLabel = "N",
            defaultValue = "512",
            description = "Words of each of them (default: ${DEFAULT-VALUE}).")
    private int floodTokens;

    @Mixin
    private JournalOptions journal = new JournalOptions();

    @Option(
            names = "--plan",
            description = "Say what would be sent and how long it would take, by a few requests, and end.")
    private boolean planOnly;

    @Mixin
    private BedOptions bed = new BedOptions();

    @Mixin
    private OutputOptions output = new OutputOptions();

    LoadtestAaCommand() {}

    @Override
    public Integer call() {
        output.check();
        URI server = asked.server();
        if (pairs < 1 || pairs > MOST_PAIRS) {
            throw new CommandException("--pairs is 1 to " + MOST_PAIRS + ", not " + pairs + ".");
        }
        bed.check();
        Path file = journal.file("aa");
        if (!planOnly) {
            JournalOptions.checkFolder(file);
            Journal.refuseExisting(file);
            if (output.isBackground()) {
                return output.begin(spec.commandLine(), file, journal.isNamed(), () -> Files.exists(file));
            }
        }
        Arrivals arrivals = load.arrivals();
        FloodShape shape = load.shape(floodRequests, floodTokens);
        LoadTestPlan settings = settings(
                started.kept(new RunAgain(server, List.of(), shape, arrivals, flush.path(), ask.ca(), ArmOptions.none())
                        .options()),
                arrivals);
        Workload workload = IdlePrefixFlood.workload(load.seed(), shape, arrivals);
        HttpSettings http = ask.on(HttpSettings.defaults().withRoute(api.route), System.getenv());
        HttpSettings flushed = flush.on(http);
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter beside = output.beside(spec.commandLine());
        return LoadtestBench.untilStopped(out, beside, output, file, ask.again() + started.again(), bench -> {
            try (ServerUnit unit =
                    started.unit(server, asked.model().name(), Optional.empty(), List.of(), Map.of(), file, bench)) {
                unit.restart();
                HttpSettings named =
                        asked.model().on(flushed, () -> HttpEngine.firstModel(server, flushed, bench.clock()));
                return bench.with(unit, named, ArmOptions.Way.none(), (engine, without) -> {
                    RunEnvironment environment = without.with(bed.around(server, file, bench));
                    RunPlan plan = RunPlan.ofControls(environment, workload, settings);
                    if (planOnly) {
                        ControlReport.printPlan(
                                server, named, plan, arrivals, flush.path().isPresent(), output.isJson(), out);
                        return ExitCode.OK;
                    }
                    ControlReport.printPlan(
                            server, named, plan, arrivals, flush.path().isPresent(), false, beside);
                    beside.flush();
                    bench.tell(engine.warm());
                    ControlResult result = LoadTestRun.controls(
                            environment,
                            workload,
                            BedOptions.recorded(settings, server, started.wrapper()),
                            file,
                            output.progress(spec.commandLine(), bench.clock()));
                    beside.println("The journal is " + file + ".");
                    return output.report(spec.commandLine(), result);
                });
            }
        });
    }

    private LoadTestPlan settings(Map<String, String> options, Arrivals arrivals) {
        LoadTestPlan.Builder settings = LoadTestPlan.defaults().toBuilder()
                .rounds(pairs)
                .seed(load.seed())
                .concurrency(load.concurrency(arrivals, floodRequests))
                .burnIn(false)
                .rehearsal(true)
                // Nothing is judged that could be helped by choosing pairs.
                .repeatPairs(pairs)
                .options(options);
        return flush.path().isEmpty()
                ? settings.salt(new Salt(new SplittableRandom().nextLong())).build()
                : settings.build();
    }
}
