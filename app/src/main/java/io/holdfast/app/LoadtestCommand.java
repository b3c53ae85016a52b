package io.holdfast.app;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.SidecarHolder;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.LoadTestSettings;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.TerminalProgress;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.vertx.core.Vertx;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Did pinning help, by how much, or can this data not tell? */
@Command(
        name = "loadtest",
        description = "Did pinning help, by how much, or can this data not tell?",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {LoadtestAaCommand.class, LoadtestCommand.Run.class, LoadtestCommand.Analyze.class})
final class LoadtestCommand implements Runnable {
    private static final int MOST_PORT = 65_535;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    LoadtestCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** What both subcommands do with a result. */
    private int report(Result result, boolean json, Optional<Finding> expected) {
        ResultReport.print(result, json, spec.commandLine().getOut());
        Finding found = result.verdict().finding();
        if (expected.isPresent() && expected.get() != found) {
            spec.commandLine().getErr().println("holdfast: expected " + expected.get() + ", found " + found + ".");
            return ExitCode.CHECK_FAILED;
        }
        return switch (found) {
            case REAL, NO_EFFECT, ORDER_ARTEFACT, NO_EXPOSURE, HARMFUL -> ExitCode.OK;
            case INVALID -> expected.isPresent() ? ExitCode.OK : ExitCode.CHECK_FAILED;
            case INCONCLUSIVE -> expected.isPresent() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
        };
    }

    /** The journal is begun when the engine has been asked already; this is said earlier. */
    static void checkFolder(Path journal) {
        Path folder = Optional.ofNullable(journal.toAbsolutePath().getParent())
                .orElseThrow(() -> new CommandException("--journal is '" + journal + "'; name a file."));
        if (!Files.isDirectory(folder)) {
            throw new CommandException(
                    "--journal is '" + journal + "', but there is no folder " + folder + "; make it first.");
        }
    }

    static void checkAddress(String option, URI uri) {
        if (!("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))
                || uri.getHost() == null
                || uri.getPort() > MOST_PORT) {
            throw new CommandException(option + " is '" + uri + "'; write an address such as http://127.0.0.1:30000.");
        }
    }

    /** Runs a load test against an engine and the sidecar beside it. */
    @Command(
            name = "run",
            description = {
                "A/A, normal and reversed order in seeded random rounds, judged with controls.",
                "The engine's cache is flushed before every leg: use an engine that serves nobody else."
            },
            sortOptions = false)
    static final class Run implements Callable<Integer> {
        @ParentCommand
        private LoadtestCommand parent = new LoadtestCommand();

        @Option(names = "--engine", paramLabel = "URL", required = true, description = "The engine's HTTP address.")
        private URI engine = URI.create("http://127.0.0.1");

        @Option(names = "--sidecar", paramLabel = "URL", required = true, description = "The sidecar's HTTP address.")
        private URI sidecar = URI.create("http://127.0.0.1");

        @Option(
                names = "--engine-id",
                paramLabel = "ID",
                required = true,
                description = "The engine's id in the sidecar's configuration.")
        private String engineId = "";

        @Option(
                names = "--journal",
                paramLabel = "FILE",
                required = true,
                description = "A new file for every request of every leg; 'loadtest analyze' judges it again.")
        private Path journal = Path.of("");

        @Option(
                names = "--route",
                paramLabel = "NAME",
                defaultValue = "SGLANG_GENERATE",
                description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
        private CompletionRoute route = CompletionRoute.SGLANG_GENERATE;

        @Option(names = "--model", paramLabel = "NAME", description = "The model's name, where the engine asks for it.")
        private @Nullable String model;

        @Mixin
        private ServerKey key = new ServerKey();

        @Option(
                names = "--prefix-tokens",
                paramLabel = "N",
                defaultValue = "1024",
                description = "Tokens of the prefix (default: ${DEFAULT-VALUE}).")
        private int prefixTokens;

        @Option(
                names = "--suffix-tokens",
                paramLabel = "N",
                defaultValue = "64",
                description = "Tokens that each probe has of its own (default: ${DEFAULT-VALUE}).")
        private int suffixTokens;

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
                names = "--cycles",
                paramLabel = "N",
                defaultValue = "4",
                description = "Floods and probes of a leg (default: ${DEFAULT-VALUE}).")
        private int cycles;

        @Option(
                names = "--rounds",
                paramLabel = "N",
                defaultValue = "5",
                description = "Rounds of one A/A, one normal and one reversed pair; below 4 nothing can be concluded"
                        + " (default: ${DEFAULT-VALUE}).")
        private int rounds;

        @Option(
                names = "--concurrency",
                paramLabel = "N",
                defaultValue = "8",
                description = "Requests of a flood under way at a time (default: ${DEFAULT-VALUE}).")
        private int concurrency;

        @Option(
                names = "--hold-slot-ms",
                paramLabel = "N",
                defaultValue = "500",
                description =
                        "How long the hold step of a leg takes in both arms; longer than a hold through the sidecar"
                                + " (default: ${DEFAULT-VALUE}).")
        private int holdSlotMillis;

        @Option(
                names = "--seed",
                paramLabel = "N",
                defaultValue = "42",
                description = "Draws prompts and the order of the legs (default: ${DEFAULT-VALUE}).")
        private long seed;

        @Option(
                names = "--judge",
                paramLabel = "WHAT",
                defaultValue = "PROBE_P50",
                description = "${COMPLETION-CANDIDATES}: the median of a leg's probes, or the mean of all its requests"
                        + " (default: ${DEFAULT-VALUE}).")
        private Statistic statistic = Statistic.PROBE_P50;

        @Option(
                names = "--expect",
                paramLabel = "FINDING",
                description = "Exit 1 unless this is found: ${COMPLETION-CANDIDATES}.")
        private @Nullable Finding expected;

        @Option(
                names = "--json",
                description = "One JSON document on standard output; progress goes to the error stream.")
        private boolean json;

        Run() {}

        @Override
        public Integer call() {
            FloodShape shape = FloodShape.of(prefixTokens, suffixTokens, floodRequests, floodTokens, cycles);
            LoadTestSettings.Builder settings = LoadTestSettings.defaults().toBuilder()
                    .rounds(rounds)
                    .seed(seed)
                    .concurrency(concurrency)
                    .holdSlot(Duration.ofMillis(holdSlotMillis))
                    .statistic(statistic)
                    .rehearsal(true);
            HttpSettings http = HttpSettings.defaults().withRoute(route).withHeaders(key.headers(System.getenv()));
            HttpSettings asked = Optional.ofNullable(model).map(http::withModel).orElse(http);
            if (!route.sendsTokenIds()) {
                throw new CommandException("--route is " + route + ", which sends text, and a hold goes by token ids;"
                        + " write SGLANG_GENERATE or OPENAI_COMPLETIONS.");
            }
            checkAddress("--engine", engine);
            checkAddress("--sidecar", sidecar);
            checkFolder(journal);
            PrintStream progress = json ? System.err : System.out;
            PrintWriter beside = json
                    ? parent.spec.commandLine().getErr()
                    : parent.spec.commandLine().getOut();
            boolean terminal = !json && TerminalText.onTerminal();
            Vertx vertx = Vertx.vertx();
            RunClock clock = RunClock.system();
            try (HttpEngine tested = new HttpEngine(vertx, new ExistingServer(engine), asked, clock, sentence -> {
                        beside.println(sentence);
                        beside.flush();
                    });
                    SidecarHolder holder = new SidecarHolder(sidecar, engineId, Duration.ofHours(1), clock)) {
                Result result = LoadTestRun.run(
                        new RunEnvironment(tested, holder, clock),
                        IdlePrefixFlood.workload(seed, shape),
                        settings.build(),
                        journal,
                        new TerminalProgress(progress, terminal, clock::nanos));
                return parent.report(result, json, Optional.ofNullable(expected));
            } finally {
                vertx.close().await();
            }
        }
    }

    /** Judges a finished run again from its journal alone. */
    @Command(
            name = "analyze",
            description = "Judges a run again from its journal alone; the verdict is the same as that of the run.",
            sortOptions = false)
    static final class Analyze implements Callable<Integer> {
        @ParentCommand
        private LoadtestCommand parent = new LoadtestCommand();

        @Parameters(paramLabel = "JOURNAL", description = "The file that 'loadtest run' or 'loadtest aa' wrote.")
        private Path journal = Path.of("");

        @Option(
                names = "--expect",
                paramLabel = "FINDING",
                description = "Exit 1 unless this is found: ${COMPLETION-CANDIDATES}.")
        private @Nullable Finding expected;

        @Option(names = "--json", description = "One JSON document on standard output.")
        private boolean json;

        Analyze() {}

        @Override
        public Integer call() {
            Journal.Contents run = Journal.read(journal);
            if (!run.header().plan().isOnlyControls()) {
                return parent.report(Analysis.of(run), json, Optional.ofNullable(expected));
            }
            if (expected != null) {
                throw new CommandException("The journal " + journal
                        + " is that of 'loadtest aa', which finds nothing to be expected; leave --expect out.");
            }
            return ControlReport.report(
                    ControlAnalysis.of(run), json, parent.spec.commandLine().getOut());
        }
    }
}
