package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.loadtest.ExpectOptions;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Staggered;
import io.holdfast.workbench.matrix.StaggeredReport;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.TwoUsers;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Does serving two users together help? */
@Command(
        name = "staggered",
        description = {
            "Two users, one after the other and the second a while after the first, in pairs of both orders: does"
                + " serving them together help, by the time until both are answered? Leaves staggered_MODEL_TIME.json,"
                + " staggered.json and report.md.",
            "Exit code 1 when a leg failed or is missing, 3 when the pairs cannot tell."
        },
        sortOptions = false)
final class LoadtestStaggeredCommand implements Callable<Integer> {
    private static final String NAME = "staggered";
    private static final int MOST_ROUNDS = 1_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--contexts",
            paramLabel = "N,N",
            defaultValue = "4096,16384",
            description = "How long both prompts are (default: ${DEFAULT-VALUE}).")
    private String contexts = "";

    @Option(
            names = "--delay",
            paramLabel = "TIME",
            defaultValue = "2s",
            description = "How long after the first user the second one asks (default: ${DEFAULT-VALUE}).")
    private String delay = "";

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "4",
            description = "Each has three pairs of legs: one mode first, the other first, and twice one after the other"
                    + " (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @FormerName("--max-tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Tokens of each answer (default: ${DEFAULT-VALUE}).")
    private int answer;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    @Mixin
    private CoolDownOptions coolDown = new CoolDownOptions();

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestStaggeredCommand() {}

    @Override
    public Integer call() {
        suite.started().refuseProfiler("'loadtest leg', which gives no verdict");
        OptionValues.between("--rounds", rounds, 1, MOST_ROUNDS);
        List<Integer> lengths = OptionValues.numbers("--contexts", contexts);
        Duration after = TimeSpan.parse("--delay", delay, Duration.ofMillis(1));
        PrintWriter beside = suite.beside(spec.commandLine());
        return suite.run(
                spec.commandLine(), NAME, (engine, clock) -> plan(lengths, after, engine, clock, beside), this::finish);
    }

    private SuiteOptions.Planned plan(
            List<Integer> lengths, Duration after, EngineUnderTest engine, RunClock clock, PrintWriter beside) {
        List<Suite.Leg> legs = new Staggered(lengths, after, answer, suite.flushes(engine), seed.seed()).rounds(rounds);
        return new SuiteOptions.Planned(
                NAME,
                Map.of("delay", delay),
                legs,
                coolDown.gate(suite.missing(legs), clock, beside),
                Optional.empty(),
                TwoUsers::comparable);
    }

    private int finish(LoadFolder folder, ResultFile results, PrintWriter out) {
        SuiteState state = SuiteState.of(folder);
        List<StaggeredReport> reports = StaggeredReport.of(folder.legs(), true);
        MatrixText.write(folder.path().resolve("staggered.json"), StaggeredReport.json(reports));
        suite.conclude(
                folder,
                "Two users of " + results.model(),
                text -> print(state, reports, text),
                StaggeredReport.json(reports),
                out);
        if (state.word() != SuiteState.Word.COMPLETE) {
            return ExitCode.CHECK_FAILED;
        }
        Verdict worst = Verdict.worst(
                reports.stream().flatMap(report -> report.verdict().stream()).toList());
        return expect.code(spec.commandLine(), worst.finding());
    }

    private static void print(SuiteState state, List<StaggeredReport> reports, PrintWriter out) {
        MatrixText.print(state, out);
        state.verdicts().stream()
                .filter(verdict -> !verdict.counts())
                .forEach(verdict -> out.println("  " + verdict.word() + " " + verdict.id() + ": "
                        + String.join("; ", verdict.reasons()) + "."));
        MatrixText.print(reports, out);
    }
}
