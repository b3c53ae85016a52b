package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ModelOptions;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.loadtest.ArmOptions;
import io.holdfast.app.loadtest.AskOptions;
import io.holdfast.app.loadtest.BedOptions;
import io.holdfast.app.loadtest.FlushOptions;
import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.app.loadtest.RouteOption;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.app.loadtest.StatusReport;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.AroundLegs;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.LoadTestSession;
import io.holdfast.loadtest.session.LoadTestSession.Bed;
import io.holdfast.loadtest.session.LoadTestSession.Emptying;
import io.holdfast.loadtest.workload.PinSharedPrompt;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.workbench.preset.PinPoc;
import io.holdfast.workbench.preset.PinPocFiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The pin benchmark with its controls: seven steps, eight files. */
@Command(
        name = "pin-poc",
        description = {
            "Runs the pin benchmark: A/A, normal and reversed order at 32 and 64 requests under way, and the normal"
                    + " order three times more; 128 requests of one system prompt each. Leaves eight files in --out.",
            "One pair of each order cannot give a verdict; with --pairs 4 or more each concurrency has one. The"
                    + " server's cache is emptied before every leg: use one that serves nobody else."
        },
        sortOptions = false)
final class LoadtestPinPocCommand implements Callable<Integer> {
    private static final int REQUESTS_OF_A_STEP = 128;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @FormerName("--url")
    @Option(
            names = "--engine",
            paramLabel = "URL",
            description = "The engine's HTTP address (default: http://127.0.0.1:PORT).")
    private @Nullable URI url;

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "30000",
            description = "Port of the engine on this machine (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--out",
            paramLabel = "FOLDER",
            defaultValue = "pin_benchmark_v2",
            description = "Folder for the eight files (default: ${DEFAULT-VALUE}).")
    private Path out = Path.of("pin_benchmark_v2");

    @Option(
            names = "--journals",
            paramLabel = "FOLDER",
            description = "Folder for a journal of each step, with every request. A finished step does not run again,"
                    + " so the same command continues a stopped benchmark (default: the name of --out with .journals).")
    private @Nullable Path journals;

    @Option(
            names = "--plan",
            description = "Print the steps, what they send and their approximate duration, and" + " exit.")
    private boolean planOnly;

    @Option(names = "--rebuild", description = "Write the files again from the journals alone, without a server.")
    private boolean rebuild;

    @Option(
            names = "--pairs",
            paramLabel = "N",
            defaultValue = "1",
            description = "Pairs of each step but the last, which has three (default: ${DEFAULT-VALUE}).")
    private int pairs;

    @Option(
            names = "--also",
            paramLabel = "NAME,...",
            hideParamSyntax = true,
            split = ",",
            description = "Steps of the benchmark before it had controls, one pair in the normal order each:"
                    + " single-run, concurrency (4 to 64 at a time), memory (0.05 to 0.40 for {mem-fraction} in"
                    + " --server-command); leaves single_run.json, concurrency_sweep.json, memory_pressure_sweep.json.")
    private List<String> also = List.of();

    @Option(
            names = "--requests",
            paramLabel = "N",
            defaultValue = "" + REQUESTS_OF_A_STEP,
            description = "Requests of a leg (default: ${DEFAULT-VALUE}).")
    private int requests;

    @FormerName("--max-tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Tokens of each answer (default: ${DEFAULT-VALUE}).")
    private int maxTokens;

    @Option(
            names = "--mem-fraction",
            paramLabel = "SHARE",
            defaultValue = "0.08",
            description = "For {mem-fraction} in --server-command (default: ${DEFAULT-VALUE}).")
    private String memFraction = "0.08";

    @Option(
            names = "--tp-size",
            paramLabel = "N",
            defaultValue = "1",
            description = "For {tp-size} in --server-command (default: ${DEFAULT-VALUE}).")
    private int tensorParallel;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private ArmOptions arm = new ArmOptions();

    @Mixin
    private RouteOption route = new RouteOption();

    @Mixin
    private ModelOptions model = new ModelOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Option(
            names = "--no-burn-in",
            description =
                    "Leave out the unmeasured leg at the beginning of each pair, as the original benchmark" + " did.")
    private boolean withoutBurnIn;

    @Option(
            names = "--bare-bodies",
            description = "Send exactly the original benchmark's requests: bodies with its fields only, and warm-ups"
                    + " that are not streamed and may take 60 s. Answers then do not report cached tokens.")
    private boolean bare;

    @Option(
            names = "--repeat-pairs",
            paramLabel = "N",
            defaultValue = "3",
            description = "Number of pairs of a step that may run again after a late call, a busy machine or a"
                    + " lost connection (default: ${DEFAULT-VALUE}).")
    private int repeatPairs;

    @Mixin
    private SeedOption seed = new SeedOption();

    LoadtestPinPocCommand() {}

    @Override
    public Integer call() {
        Path kept = Optional.ofNullable(journals).orElseGet(() -> out.resolveSibling(out.getFileName() + ".journals"));
        List<PinPoc.Step> steps = steps();
        PrintWriter told = spec.commandLine().getOut();
        if (rebuild) {
            return report(PinPocFiles.of(kept, steps), told);
        }
        PinSharedPrompt.Sizes usual = PinSharedPrompt.Sizes.USUAL;
        PinSharedPrompt.Sizes sizes =
                new PinSharedPrompt.Sizes(requests, usual.sharedTokens(), usual.uniqueTokens(), maxTokens);
        URI server = Optional.ofNullable(url)
                .map(ServerAddress::withoutVersion)
                .orElseGet(() -> URI.create("http://127.0.0.1:" + port));
        if (url == null && (port < 1 || port > ServerAddress.MOST_PORT)) {
            throw new CommandException("--port is 1 to " + ServerAddress.MOST_PORT + ", not " + port + ".");
        }
        ServerAddress.check("--engine", server);
        ArmPlan its = arm.plan(requests, false);
        Asking asking = asking(its);
        if (Files.exists(out) && !Files.isDirectory(out)) {
            throw new CommandException("--out is '" + out + "', which is a file; name a folder for the results.");
        }
        folder(kept);
        return LoadtestBench.untilStopped(
                spec.commandLine(),
                told,
                bench -> {
                    plan(steps, sizes, told);
                    for (PinPoc.Step step : steps) {
                        Path journal = kept.resolve(step.journal());
                        if (RunStatus.isFinished(journal)) {
                            bench.tell("Step " + step.number() + ", " + step.name() + ": finished before.");
                        } else if (!run(new Stage(step, server, its, asking, sizes, journal, steps), bench)) {
                            return ExitCode.OK;
                        }
                    }
                    return report(PinPocFiles.of(kept, steps), told);
                },
                () -> {
                    told.println("Stopped; the same command goes on, by the journals in "
                            + StatusReport.quoted(kept.toString()) + ".");
                    return ExitCode.STOPPED;
                });
    }

    private enum Also {
        SINGLE_RUN,
        CONCURRENCY,
        MEMORY
    }

    private List<PinPoc.Step> steps() {
        List<Also> more = also.stream()
                .map(name -> SglangOptions.choice("--also", name, Also.values()))
                .distinct()
                .sorted()
                .toList();
        if (more.contains(Also.MEMORY) && !started.isStarted() && !rebuild) {
            throw new CommandException("--also memory has levels of {mem-fraction}, and the server is not started here;"
                    + " write --server-command with {mem-fraction} in it.");
        }
        return PinPoc.with(
                PinPoc.steps(pairs),
                more.contains(Also.SINGLE_RUN),
                more.stream()
                        .filter(name -> name != Also.SINGLE_RUN)
                        .map(name -> name == Also.MEMORY ? PinPoc.Sweep.MEMORY : PinPoc.Sweep.CONCURRENCY)
                        .toList());
    }

    private record Stage(
            PinPoc.Step step,
            URI server,
            ArmPlan arm,
            Asking asking,
            PinSharedPrompt.Sizes sizes,
            Path journal,
            List<PinPoc.Step> steps) {}

    /** @return whether it ran; not where only the plan was asked for */
    private boolean run(Stage stage, LoadtestBench bench) {
        PinPoc.Step step = stage.step();
        PrintWriter told = spec.commandLine().getOut();
        Map<String, String> values = new TreeMap<>();
        if (started.isStarted()) {
            values.putAll(Map.of("mem-fraction", memFraction, "tp-size", Integer.toString(tensorParallel)));
            values.putAll(step.values());
        }
        try (ServerUnit unit = started.unit(
                stage.server(), model.name(), arm.commands().server(), List.of(), values, stage.journal(), bench)) {
            boolean resumes = Files.exists(stage.journal());
            if (resumes) {
                started.refuseAnother(unit, Journal.read(stage.journal()).header());
            }
            LoadTestPlan test = PinPoc.settings(step, seed.seed(), !withoutBurnIn, repeatPairs).toBuilder()
                    .freshLegs(unit.givesFreshLegs())
                    .profiler(started.wrapper())
                    .build();
            Workload workload = PinPoc.workload(step, seed.seed(), stage.sizes());
            Bed bed = new Bed(AroundLegs.none(), () -> BedOptions.measuredOn(stage.server()));
            try (LoadTestSession session =
                    LoadTestSession.open(bench.host(), unit, stage.asking(), stage.arm(), arm.commands())) {
                if (step.number() == 1 || planOnly) {
                    Duration estimate = session.preview(test, workload, Emptying.ALWAYS)
                            .run()
                            .estimate();
                    bench.tell("All steps take about " + TimeSpan.shown(all(stage, estimate)) + " if "
                            + step.concurrency() + " requests at a time take as long as just now.");
                    if (planOnly) {
                        return false;
                    }
                    session.warm();
                }
                bench.tell("Step " + step.number() + " of " + stage.steps().size() + ", " + step.name() + ":");
                Progress progress = new PinPocProgress(step, requests, told);
                LoadTestSession.Outcome _ = resumes
                        ? session.goOn(workload, stage.journal(), bed, () -> {}, progress)
                        : session.run(test, workload, stage.journal(), bed, progress);
                return true;
            }
        }
    }

    /** Returns settings for asking the engine: by chat, as the benchmark does, unless a hold goes by token ids. */
    private Asking asking(ArmPlan its) {
        HttpSettings http = ask.on(HttpSettings.defaults(), System.getenv());
        return new Asking(
                flush.on(bare ? http.bare(PinPoc.WARM_UP_LIMIT) : http),
                route.of(its)
                        .or(() -> its.goesByTokens() ? Optional.empty() : Optional.of(CompletionRoute.OPENAI_CHAT)),
                model.name());
    }

    private static Duration all(Stage stage, Duration ofThis) {
        int pairs = stage.steps().stream().mapToInt(PinPoc.Step::pairs).sum();
        return ofThis.multipliedBy(pairs).dividedBy(stage.step().pairs());
    }

    private void plan(List<PinPoc.Step> steps, PinSharedPrompt.Sizes sizes, PrintWriter told) {
        TerminalText text = TerminalText.plain(told);
        text.line("Pin benchmark, " + steps.size() + " steps, " + sizes.requests() + " requests a leg");
        for (PinPoc.Step step : steps) {
            text.line("  %d  %-23s %2d at a time  %d %s, %s"
                    .formatted(
                            step.number(),
                            step.name(),
                            step.concurrency(),
                            step.pairs(),
                            step.pairs() == 1 ? "pair" : "pairs",
                            step.kind().text()));
        }
        if (pairs < 4) {
            text.paragraph(
                    "  ",
                    "With " + (pairs == 1 ? "one pair" : pairs + " pairs")
                            + " of each order nothing can be decided; --pairs 4 or more can.");
        }
        told.flush();
    }

    private int report(PinPocFiles files, PrintWriter told) {
        files.write(out);
        PinPocReport.print(files, out, told);
        return PinPocReport.code(files);
    }

    private static void folder(Path kept) {
        try {
            Files.createDirectories(kept);
        } catch (IOException e) {
            throw new CommandException("The folder " + kept + " cannot be made: " + FileTrouble.why(e) + ".");
        }
    }
}
