package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.ExpectOptions;
import io.holdfast.evidence.Verdict;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Staggered;
import io.holdfast.workbench.matrix.StaggeredReport;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.TwoUsers;
import io.holdfast.workbench.preset.Values;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;

/** Two users, one after the other and together, with a verdict on what serving them together does. */
record StaggeredJob(Values values, SuiteOptions suite, ExpectOptions expect, CommandLine command) implements SuiteJob {
    static final String NAME = "staggered";

    int run() {
        suite.started().refuseProfiler("'loadtest leg', which gives no verdict");
        values.numbers("contexts");
        values.span("delay");
        return suite.run(command, this);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Planned plan(Seat seat) {
        List<Suite.Leg> legs = new Staggered(
                        values.numbers("contexts"),
                        values.span("delay"),
                        values.whole("output-tokens"),
                        seat.flushes().getAsBoolean(),
                        values.seed())
                .rounds(values.whole("rounds"));
        return new Planned(
                Map.of("delay", values.text("delay")),
                legs,
                CacheMatrixJob.gate(values, legs, seat),
                Suite.Servers.one(seat.engine()),
                TwoUsers::comparable);
    }

    @Override
    public int finish(Over over) {
        SuiteState state = SuiteState.of(over.folder());
        List<StaggeredReport> reports = StaggeredReport.of(over.folder().legs(), true);
        over.write("staggered.json", StaggeredReport.json(reports));
        suite.conclude(
                over,
                "Two users of " + over.results().model(),
                text -> print(state, reports, text),
                StaggeredReport.json(reports));
        if (state.word() != SuiteState.Word.COMPLETE) {
            return ExitCode.CHECK_FAILED;
        }
        Verdict worst = Verdict.worst(
                reports.stream().flatMap(report -> report.verdict().stream()).toList());
        return expect.code(command, worst.finding());
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
