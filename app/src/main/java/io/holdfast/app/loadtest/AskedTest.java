package io.holdfast.app.loadtest;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.session.ArmCommands;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.LoadTestSession;
import io.holdfast.loadtest.session.LoadTestSession.Bed;
import io.holdfast.loadtest.session.LoadTestSession.Emptying;
import io.holdfast.loadtest.session.LoadTestSession.Outcome;
import io.holdfast.loadtest.session.LoadTestSession.Preview;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Workload;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.BiFunction;

/**
 * A load test as the command line asks for it: the plan, and what no journal keeps of it. All of it is checked, and
 * nothing was asked of a server yet.
 *
 * @param values for names in braces of the server's command, beside those of the options
 */
record AskedTest(
        LoadTestPlan plan,
        ArmCommands commands,
        Asking asking,
        Emptying emptying,
        ServerOptions started,
        BedOptions bed,
        Map<String, String> values) {
    /** Runs it, or the rest of it where its journal is there already. */
    Outcome run(Path journal, LoadtestBench bench, Progress progress, PrintWriter told) {
        Workload workload = plan.workload();
        return at(journal, bench, (session, its) -> {
            if (Files.exists(journal)) {
                return session.goOn(workload, journal, its, () -> {}, progress);
            }
            Preview preview = session.preview(plan, workload, emptying);
            print(preview, false, told);
            sayWhatIsKnown(preview, told);
            session.warm();
            return session.run(preview.test(), workload, journal, its, progress);
        });
    }

    /** Says what a run would send and about how long it would take, by a few requests; none of it is sent. */
    int preview(Path journal, LoadtestBench bench, boolean json, PrintWriter out) {
        Workload workload = plan.workload();
        return at(journal, bench, (session, its) -> {
            print(session.preview(plan, workload, emptying), json, out);
            return ExitCode.OK;
        });
    }

    /** Opens the session of this test, and closes all of it. */
    <T> T at(Path journal, LoadtestBench bench, BiFunction<LoadTestSession, Bed, T> work) {
        LoadTestPlan.Target target = plan.targetAgain();
        try (ServerUnit unit = started.unit(
                target.server(), asking.model(), commands.server(), target.engines(), values, journal, bench)) {
            if (Files.exists(journal)) {
                started.refuseAnother(unit, Journal.read(journal).header());
            }
            try (LoadTestSession session = LoadTestSession.open(bench.host(), unit, asking, target.arm(), commands)) {
                return work.apply(session, bed.of(target.server(), journal, bench));
            }
        }
    }

    private void print(Preview preview, boolean json, PrintWriter out) {
        LoadTestPlan.Target target = plan.targetAgain();
        Arrivals arrivals = Arrivals.of(target.arrivals());
        if (json || emptying == Emptying.WHERE_NAMED) {
            ControlReport.printPlan(
                    target.server(), preview.asked(), preview.run(), arrivals, preview.flushes(), json, out);
        } else {
            ResultReport.printPlan(
                    target.server(),
                    preview.asked(),
                    preview.environment().arms(),
                    preview.test(),
                    preview.run(),
                    arrivals,
                    preview.flushes(),
                    out);
        }
        out.flush();
    }

    /** Tells which floods the prefix survives only with the room that is given back. */
    private static void sayWhichFloods(
            ArmPlan.Release arm, FloodShape shape, OptionalLong capacityTokens, TerminalText text) {
        capacityTokens.stream().forEach(capacity -> {
            long most = capacity - shape.prefixTokens();
            long held = arm.held(capacityTokens).orElseThrow();
            long least = most - held;
            if (least < 0) {
                throw new LoadTestException("What is held (" + held + " tokens) and the prefix of "
                        + shape.prefixTokens() + " do not fit into the cache of " + capacity
                        + " together; hold less by --held-tokens.");
            }
            text.paragraph(
                    "  note: ",
                    "The prefix survives floods of " + least + " to " + most + " tokens only with the room that is"
                            + " given back, and these have " + shape.floodDemand() + ".");
        });
    }

    /** Warns before a run that cannot show an effect, and where a flood has fewer requests than may be under way. */
    private void sayWhatIsKnown(Preview preview, PrintWriter told) {
        FloodShape shape = plan.targetAgain().shape();
        TerminalText text = TerminalText.plain(told);
        OptionalLong capacityTokens = preview.environment().engine().facts().capacityTokens();
        if (plan.targetAgain().arm() instanceof ArmPlan.Release its) {
            sayWhichFloods(its, shape, capacityTokens, text);
            capacityTokens = OptionalLong.empty();
        }
        capacityTokens.stream()
                .filter(capacity -> preview.environment().arms().claimsHold() && shape.floodDemand() <= capacity)
                .forEach(capacity -> text.paragraph(
                        "  note: ",
                        "A flood of " + shape.floodDemand() + " tokens does not exceed the cache of " + capacity
                                + ", so the baseline can hardly lose its prefix; press Ctrl-C and make the"
                                + " flood larger, or expect NO_EXPOSURE."));
        if (emptying != Emptying.WHERE_NAMED) {
            AbOptions.sayWhatIsFewer(plan.concurrency(), shape.floodRequests(), told);
        }
        told.flush();
    }
}
