package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.workbench.load.Lengths;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.CacheMatrix;
import io.holdfast.workbench.matrix.CacheState;
import io.holdfast.workbench.matrix.MatrixAxes;
import io.holdfast.workbench.matrix.MatrixReport;
import io.holdfast.workbench.matrix.StaggeredReport;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.TimeLeft;
import io.holdfast.workbench.matrix.TwoUsers;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Cold, warm and hot caches by length, batch and way of answering. */
@Command(
        name = "cache-matrix",
        description = {
            "Cold, warm and hot caches, each checked by the server's count of cached tokens, by length of prompt, batch"
                    + " size and way of answering; then two users, one after the other and together. Leaves"
                    + " cache-matrix_MODEL_TIME.json, report.md and, of two users, staggered.json.",
            "Exit code 1 when a leg failed or was not what it was to be, or when legs are missing."
        },
        sortOptions = false)
final class LoadtestCacheMatrixCommand implements Callable<Integer> {
    private static final String NAME = "cache-matrix";
    private static final String SAME_TEXTS = "sameTexts";
    private static final long HOUR_SECONDS = 3_600;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--contexts",
            paramLabel = "BATCH=N,N",
            description = "How long prompts are that are sent BATCH at a time; again for each batch size (default:"
                    + " 1=512,1024,2048,4096,8192,16384 and 2=1024,2048,4096,8192,16384).")
    private @Nullable Map<Integer, String> contexts;

    @Option(
            names = "--states",
            paramLabel = "STATE,STATE",
            hideParamSyntax = true,
            split = ",",
            defaultValue = "cold,warm,hot",
            description = "Where the prompt's cache is (default: ${DEFAULT-VALUE}).")
    private List<CacheState> states = List.of();

    @Option(
            names = "--ways",
            paramLabel = "WAY,WAY",
            hideParamSyntax = true,
            split = ",",
            defaultValue = "streaming,non-streaming",
            description = "How answers come (default: ${DEFAULT-VALUE}).")
    private List<String> ways = List.of();

    @FormerName("--passes")
    @Option(
            names = "--repeat",
            paramLabel = "N",
            defaultValue = "3",
            description = "How often each runs (default: ${DEFAULT-VALUE}).")
    private int passes;

    @FormerName("--max-tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Tokens of each answer (default: ${DEFAULT-VALUE}).")
    private int answer;

    @Option(
            names = "--staggered",
            paramLabel = "N,N",
            defaultValue = "4096",
            description = "How long the prompts of the two users are; none for no such legs (default:"
                    + " ${DEFAULT-VALUE}).")
    private String staggered = "";

    @Option(
            names = "--gpu-cache-tokens",
            paramLabel = "N",
            description = "How many tokens the cache on the GPU holds: so many are sent before a prompt counts as warm"
                    + " and no longer hot (default: what the server says).")
    private @Nullable Long gpuTokens;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Option(
            names = "--yes",
            description = "With --resume go on at once, though what is missing takes more than an hour.")
    private boolean yes;

    @Mixin
    private CoolDownOptions coolDown = new CoolDownOptions();

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestCacheMatrixCommand() {}

    @Override
    public Integer call() {
        MatrixAxes axes = axes();
        PrintWriter beside = suite.beside(spec.commandLine());
        Optional<LoadFolder> folder = suite.resumed().map(LoadFolder::open);
        beside.println(axes.text());
        beside.flush();
        if (folder.isPresent() && !goesOn(axes, folder.get(), beside)) {
            return ExitCode.OK;
        }
        return suite.run(spec.commandLine(), NAME, (engine, clock) -> plan(axes, engine, clock, beside), this::finish);
    }

    /** Before anything is sent: what is missing of a folder, and whether that is too long to go on unasked. */
    private boolean goesOn(MatrixAxes axes, LoadFolder folder, PrintWriter beside) {
        MatrixText.print(SuiteState.of(folder), beside);
        CacheMatrix.Setup setup = new CacheMatrix.Setup(
                sameTexts(folder),
                EngineFacts.USUAL_PAGE,
                Optional.of(gpuTokens == null ? 1L : gpuTokens),
                Optional.empty(),
                seed.seed());
        TimeLeft left = left(legs(axes, setup), folder);
        List<String> missing = folder.missing();
        beside.println(left.text(missing));
        beside.flush();
        boolean isLong =
                left.all(missing).filter(all -> all.toSeconds() > HOUR_SECONDS).isPresent();
        if (isLong && !yes && !suite.mayEnd()) {
            beside.println(
                    "Nothing was sent. That is more than an hour: go on with --yes, or with --max-duration TIME.");
            beside.flush();
            return false;
        }
        return true;
    }

    private static TimeLeft left(List<Suite.Leg> legs, LoadFolder folder) {
        TimeLeft left = new TimeLeft(legs);
        folder.legs().forEach(left::add);
        return left;
    }

    private static List<Suite.Leg> legs(MatrixAxes axes, CacheMatrix.Setup setup) {
        return new CacheMatrix(axes, setup).legs();
    }

    private SuiteOptions.Planned plan(MatrixAxes axes, EngineUnderTest engine, RunClock clock, PrintWriter beside) {
        EngineFacts facts = engine.facts();
        MatrixAxes fitting = contexts == null ? fitting(axes, facts, beside) : axes;
        boolean flushes = suite.flushes(engine);
        beside.println(
                flushes
                        ? "The server's cache is emptied before each leg, and all legs of a length ask for the same"
                                + " texts."
                        : "Nobody empties the server's cache, so each leg has texts of its own, and answers are not"
                                + " compared; name a route that does by --flush-path.");
        beside.flush();
        List<Suite.Leg> legs = legs(
                fitting,
                new CacheMatrix.Setup(
                        flushes,
                        facts.pageTokensOrUsual(),
                        gpuTokens(facts),
                        facts.longestPrompt().stream().boxed().findFirst(),
                        seed.seed()));
        return new SuiteOptions.Planned(
                NAME,
                Map.of(SAME_TEXTS, Boolean.toString(flushes)),
                legs,
                coolDown.gate(suite.missing(legs), clock, beside),
                Optional.of(CacheMatrix.servers(engine)),
                TwoUsers::comparable);
    }

    /** The usual lengths without those that the server does not take; who named some is told that one is too long. */
    private static MatrixAxes fitting(MatrixAxes axes, EngineFacts facts, PrintWriter beside) {
        OptionalLong most = Lengths.most(facts, axes.answer());
        if (most.isEmpty()) {
            return axes;
        }
        MatrixAxes fitting = axes.upTo(most.getAsLong() - Salt.tokens());
        if (!fitting.equals(axes)) {
            beside.println("Prompts of more than " + most.getAsLong()
                    + " tokens are left out, which the server does not take: " + fitting.text());
        }
        return fitting;
    }

    private Optional<Long> gpuTokens(EngineFacts facts) {
        Long given = gpuTokens;
        return given != null
                ? Optional.of(given)
                : facts.capacityTokens().stream().boxed().findFirst();
    }

    private static boolean sameTexts(LoadFolder folder) {
        return Boolean.parseBoolean(folder.plan().settings().getOrDefault(SAME_TEXTS, "false"));
    }

    private int finish(LoadFolder folder, ResultFile results, PrintWriter out) {
        MatrixReport report = MatrixReport.of(SuiteState.of(folder), folder.legs(), results, sameTexts(folder));
        List<StaggeredReport> users = StaggeredReport.of(folder.legs(), false);
        if (!users.isEmpty()) {
            MatrixText.write(folder.path().resolve("staggered.json"), StaggeredReport.json(users));
        }
        suite.conclude(
                folder,
                "Cache matrix of " + results.model(),
                text -> MatrixText.print(report, users, text),
                results.text(),
                out);
        return report.state().word() == SuiteState.Word.COMPLETE ? ExitCode.OK : ExitCode.CHECK_FAILED;
    }

    private MatrixAxes axes() {
        Map<Integer, List<Integer>> lengths = new LinkedHashMap<>();
        Map<Integer, String> given = contexts;
        if (given == null) {
            lengths.putAll(MatrixAxes.usual().contexts());
        } else {
            given.forEach((batch, text) -> lengths.put(batch, OptionValues.numbers("--contexts", text)));
        }
        List<Boolean> streaming = new ArrayList<>();
        for (String way : ways) {
            switch (way) {
                case "streaming" -> streaming.add(true);
                case "non-streaming" -> streaming.add(false);
                default ->
                    throw new CommandException("--ways has '" + way + "'; there are streaming and non-streaming.");
            }
        }
        return new MatrixAxes(
                lengths,
                states,
                streaming,
                passes,
                answer,
                staggered.equals("none") ? List.of() : OptionValues.numbers("--staggered", staggered));
    }
}
