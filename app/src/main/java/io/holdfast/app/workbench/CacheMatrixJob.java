package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.workbench.load.Lengths;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.CacheMatrix;
import io.holdfast.workbench.matrix.CoolDown;
import io.holdfast.workbench.matrix.MatrixAxes;
import io.holdfast.workbench.matrix.MatrixReport;
import io.holdfast.workbench.matrix.StaggeredReport;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.TimeLeft;
import io.holdfast.workbench.matrix.TwoUsers;
import io.holdfast.workbench.preset.Values;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import picocli.CommandLine;

/** Cold, warm and hot caches by length, batch and way of answering. */
final class CacheMatrixJob implements SuiteJob {
    static final String NAME = "cache-matrix";

    private static final String SAME_TEXTS = "sameTexts";
    private static final long HOUR_SECONDS = 3_600;

    private final Values values;
    private final SuiteOptions suite;
    private final CommandLine command;
    private final MatrixAxes axes;

    CacheMatrixJob(Values values, SuiteOptions suite, CommandLine command) {
        this.values = values;
        this.suite = suite;
        this.command = command;
        this.axes = MatrixAxes.of(
                values.all("contexts"),
                values.list("states"),
                values.list("ways"),
                values.whole("repeat"),
                values.whole("output-tokens"),
                values.text("staggered").equals("none") ? List.of() : values.numbers("staggered"));
    }

    /** Makes legs wait until the server is as fast as it is under sustained load, where that was asked for. */
    static Suite.Between gate(Values values, List<Suite.Leg> legs, Seat seat) {
        return values.isSet("cooldown-gate")
                ? CoolDown.before(
                        new CoolDown.Settings(
                                values.fraction("cooldown-tolerance"),
                                values.span("cooldown-cap"),
                                values.span("cooldown-budget")),
                        seat.missing().applyAsInt(legs),
                        seat.clock(),
                        seat.tell())
                : Suite.Between.nothing();
    }

    int run() {
        Optional<LoadFolder> folder = suite.output().resumed().map(LoadFolder::open);
        tell(axes.text());
        return folder.isPresent() && !goesOn(folder.get()) ? ExitCode.OK : suite.run(command, this);
    }

    private void tell(String sentence) {
        PrintWriter beside = suite.output().beside(command);
        beside.println(sentence);
        beside.flush();
    }

    /** Says what a folder lacks before anything is sent, and returns true unless that is too long to go on unasked. */
    private boolean goesOn(LoadFolder folder) {
        MatrixText.print(SuiteState.of(folder), suite.output().beside(command));
        TimeLeft left = new TimeLeft(legs(
                axes,
                new CacheMatrix.Setup(
                        sameTexts(folder),
                        EngineFacts.USUAL_PAGE,
                        Optional.of(values.number("gpu-cache-tokens").orElse(1)),
                        Optional.empty(),
                        values.seed())));
        folder.legs().forEach(left::add);
        List<String> missing = folder.missing();
        tell(left.text(missing));
        boolean isLong =
                left.all(missing).filter(all -> all.toSeconds() > HOUR_SECONDS).isPresent();
        if (isLong && !values.isSet("yes") && !suite.mayEnd()) {
            tell("Nothing was sent. That is more than an hour: go on with --yes, or with --max-duration TIME.");
            return false;
        }
        return true;
    }

    private static List<Suite.Leg> legs(MatrixAxes axes, CacheMatrix.Setup setup) {
        return new CacheMatrix(axes, setup).legs();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Planned plan(Seat seat) {
        EngineFacts facts = seat.engine().facts();
        MatrixAxes fitting = values.all("contexts").isEmpty() ? fitting(facts) : axes;
        boolean flushes = seat.flushes().getAsBoolean();
        tell(
                flushes
                        ? "The server's cache is emptied before each leg, and all legs of a length ask for the same"
                                + " texts."
                        : "Nobody empties the server's cache, so each leg has texts of its own, and answers are not"
                                + " compared; name a route that does by --flush-path.");
        OptionalLong given = values.number("gpu-cache-tokens");
        List<Suite.Leg> legs = legs(
                fitting,
                new CacheMatrix.Setup(
                        flushes,
                        facts.pageTokensOrUsual(),
                        boxed(given.isPresent() ? given : facts.capacityTokens()),
                        boxed(facts.longestPrompt()),
                        values.seed()));
        return new Planned(
                Map.of(SAME_TEXTS, Boolean.toString(flushes)),
                legs,
                gate(values, legs, seat),
                CacheMatrix.servers(seat.engine()),
                TwoUsers::comparable);
    }

    private static Optional<Long> boxed(OptionalLong number) {
        return number.stream().boxed().findFirst();
    }

    /** Leaves out those of the usual lengths that the server does not take; a length that was named is refused. */
    private MatrixAxes fitting(EngineFacts facts) {
        OptionalLong most = Lengths.most(facts, axes.answer());
        if (most.isEmpty()) {
            return axes;
        }
        MatrixAxes fitting = axes.upTo(most.getAsLong() - Salt.tokens());
        if (!fitting.equals(axes)) {
            tell("Prompts of more than " + most.getAsLong() + " tokens are left out, which the server does not take: "
                    + fitting.text());
        }
        return fitting;
    }

    private static boolean sameTexts(LoadFolder folder) {
        return Boolean.parseBoolean(folder.plan().settings().getOrDefault(SAME_TEXTS, "false"));
    }

    @Override
    public int finish(Over over) {
        LoadFolder folder = over.folder();
        MatrixReport report = MatrixReport.of(SuiteState.of(folder), folder.legs(), over.results(), sameTexts(folder));
        List<StaggeredReport> users = StaggeredReport.of(folder.legs(), false);
        if (!users.isEmpty()) {
            over.write("staggered.json", StaggeredReport.json(users));
        }
        suite.conclude(
                over,
                "Cache matrix of " + over.results().model(),
                text -> MatrixText.print(report, users, text),
                over.results().text());
        return report.state().word() == SuiteState.Word.COMPLETE ? ExitCode.OK : ExitCode.CHECK_FAILED;
    }
}
