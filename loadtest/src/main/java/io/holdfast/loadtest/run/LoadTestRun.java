package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.run.Progress.RunFinished;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/*
 * The experiment
 * ==============
 *
 * One round is three pairs of legs in an order drawn by chance: baseline and baseline (AA), baseline and pinned (BP),
 * pinned and baseline (PB). A pair is two legs in one server life and gives one number, so a whole life counts once,
 * however many requests it served. BP and PB together free the effect from the order of the legs; AA shows what being
 * second does on its own.
 *
 * What comes before. A burn-in leg in each life takes what a fresh process does only once (compilation, allocation). A
 * rehearsal life takes what our own process does only once, and tells how long the run will take.
 *
 * Other designs. One order alone, which is what most benchmarks do, ends without a verdict. A block is four legs of one
 * life, so that what drifts evenly is taken out within it; a round is one block of each kind.
 *
 * Processes of their own. Where each leg has one, with a burn-in leg before it, no leg follows another one in its
 * process. Where that is since the arms differ in how the server is started, A/A pairs still show what being second on
 * this machine does.
 *
 * Growth. A plan may have several looks at its data. At each of them, and nowhere else, the run ends when the data
 * decides; the level is shared out among them.
 *
 * A/A alone. `controls` runs baseline pairs and nothing else, with the same protocol and the same journal. Nothing in
 * it can show an effect, so it ends in the figures of the measurement itself: order bias, and the spread of a pair.
 *
 * What happens around a leg. A call that was late, a machine that was busy, a lost connection say nothing of the arms.
 * The pair is voided, whichever arm its leg had, and runs again at the end of its round: so often at most as was
 * declared before the run, since who repeats without end repeats until it fits.
 *
 * When it stops early. Any other gate that a leg fails on its own decides the verdict (INVALID), so no further life is
 * spent. The legs so far are in the journal like any others.
 *
 * When it is broken off. A pair is the unit: what is not a whole pair is voided by a line of the journal and runs
 * again. A failure and a stop write that line themselves; after a kill the resumed run does. A resumed run rehearses
 * again, since it is a new process, without writing it down.
 *
 * Run and re-analysis are one path: the result is computed from what the journal holds, in both cases by Analysis.
 */

/** Did holding help, by how much, or can this data not tell. */
public final class LoadTestRun {
    private final RunEnvironment environment;
    private final Workload workload;
    private final LoadTestPlan test;
    private final CrossoverPlan plan;
    private final Progress progress;

    private LoadTestRun(
            RunEnvironment environment, Workload workload, LoadTestPlan test, CrossoverPlan plan, Progress progress) {
        this.environment = environment;
        this.workload = workload;
        this.test = test;
        this.plan = plan;
        this.progress = progress;
    }

    /**
     * Runs the experiment and judges it. Blocks, so it is called on a plain thread.
     *
     * @param journal a file that does not exist yet
     */
    public static Result run(
            RunEnvironment environment, Workload workload, LoadTestPlan test, Path journal, Progress progress) {
        new LoadTestRun(environment, workload, test, test.draw(), progress).measure(journal);
        return finished(journal, progress);
    }

    /**
     * Runs A/A pairs alone, which show what the measurement itself does; nothing is held, so there is no verdict.
     *
     * @param journal a file that does not exist yet
     */
    public static ControlResult controls(
            RunEnvironment environment, Workload workload, LoadTestPlan test, Path journal, Progress progress) {
        LoadTestPlan its = test.toBuilder().design(Design.CONTROLS).build();
        new LoadTestRun(environment, workload, its, its.draw(), progress).measure(journal);
        return ControlAnalysis.of(journal);
    }

    /**
     * Goes on with a run that was broken off, by whole pairs: those that are not there or not finished run now, in the
     * order of the plan, and then all of it is judged.
     *
     * @param journal of a run of {@link #run}; it is written on
     */
    public static Result resume(RunEnvironment environment, Workload workload, Path journal, Progress progress) {
        goOn(environment, workload, journal, progress);
        return finished(journal, progress);
    }

    /** Resumes a run of {@link #controls}. */
    public static ControlResult resumeControls(
            RunEnvironment environment, Workload workload, Path journal, Progress progress) {
        goOn(environment, workload, journal, progress);
        return ControlAnalysis.of(journal);
    }

    private static Result finished(Path journal, Progress progress) {
        Result result = Analysis.of(journal);
        progress.on(new RunFinished(result));
        return result;
    }

    private static void goOn(RunEnvironment environment, Workload workload, Path file, Progress progress) {
        Journal.Reopened reopened = environment.stop().guarded(() -> Journal.reopen(file));
        try (Journal journal = reopened.journal()) {
            Journal.Contents before = reopened.contents();
            new LoadTestRun(
                            environment,
                            workload,
                            LoadTestPlan.of(before),
                            before.header().plan(),
                            progress)
                    .goOn(journal, before);
        }
    }

    private void measure(Path file) {
        Journal.refuseExisting(file);
        long began = environment.clock().nanos();
        RunHeader header = header(begin());
        try (Journal journal = environment.stop().guarded(() -> Journal.create(file, header))) {
            new Lives(environment, workload, progress, journal, RunState.of(header, began)).run();
        }
    }

    private void goOn(Journal journal, Journal.Contents before) {
        RunHeader header = before.header();
        RunStatus.refuseFinished(before);
        if (!workload.id().equals(header.workload().id())) {
            throw new LoadTestException("The requests that this version draws, or their times, are others than those of"
                    + " the journal, so the run cannot be resumed; begin a new one.");
        }
        if (before.legs().isEmpty()) {
            // No leg says how long one takes, and by that an arm knows how long to hold: tried again, as the run did.
            RunPlan.of(environment, workload, test);
        }
        long began = environment.clock().nanos();
        refuseAnotherServer(header, begin());
        Optional<LegRecord> toRepeat = RunStatus.pairToRepeat(before);
        RunState state = RunState.of(before, toRepeat, began);
        environment.stop().shielded(() -> writeResumed(journal, before, toRepeat));
        if (!before.legs().isEmpty()) {
            environment.arms().legsTake(RunStatus.meanHold(before));
        }
        Lives lives = new Lives(environment, workload, progress, journal, state);
        if (header.rehearsal() && state.life() > 0) {
            lives.rehearseAgain();
        }
        lives.run();
    }

    /** Writes down what became of the pair that was under way when the last process ended. */
    private void writeResumed(Journal journal, Journal.Contents before, Optional<LegRecord> toRepeat) {
        toRepeat.ifPresentOrElse(
                leg -> journal.repeatPair(leg.life(), Lives.reason(new Gates(before.header()).surroundings(leg))),
                () -> {
                    if (before.legsOfNextLife() > 0) {
                        journal.voidPair(
                                before.lifeOrder().at(before.finishedLives()), "the run was killed in this pair");
                    }
                });
        journal.resumed(environment.clock().now());
    }

    private EngineFacts begin() {
        try {
            environment.engine().beginLife();
            environment.arms().prepare();
            EngineFacts facts = environment.engine().facts();
            refuseWrongSizes(facts);
            return facts;
        } catch (RuntimeException e) {
            throw environment.stop().isAsked() ? environment.stop().stopped(e) : e;
        }
    }

    /** Refuses a server other than the one of the legs before, since no pair may be added to them then. */
    private void refuseAnotherServer(RunHeader header, EngineFacts facts) {
        String mend = "; resume beside the server that the run began with, or begin a new run.";
        if (!facts.isLike(header.engine())) {
            throw new LoadTestException("The server is another one than that of the journal: it has " + facts.text()
                    + ", and the journal " + header.engine().text() + mend);
        }
        Map<String, String> now = new TreeMap<>(environment.engine().client());
        Map<String, String> then = new TreeMap<>(header.client());
        now.remove("java");
        then.remove("java");
        if (!now.equals(then)) {
            throw new LoadTestException(
                    "The server is asked otherwise than in the journal: " + now + " now, " + then + " then" + mend);
        }
        if (!environment.arms().name().equals(header.holder())) {
            throw new LoadTestException("The pinned legs would do something else than in the journal: "
                    + environment.arms().name() + " now, " + header.holder() + " then" + mend);
        }
    }

    private void refuseWrongSizes(EngineFacts facts) {
        int prefix = workload.facts().prefixTokens();
        int page = facts.pageTokensOrUsual();
        if (prefix <= page && !plan.isOnlyControls()) {
            throw new LoadTestException("A prefix of " + prefix + " tokens is not longer than one page of " + page
                    + " tokens, so nothing of it could be held for sure; use a longer one.");
        }
        long longest = workload.longestRequest()
                + test.salt().map(salt -> Salt.tokens()).orElse(0);
        long accepted = Math.min(
                facts.longestPrompt().orElse(Long.MAX_VALUE),
                facts.capacityTokens().orElse(Long.MAX_VALUE));
        if (longest > accepted) {
            throw new LoadTestException("The longest request of the workload has " + longest
                    + " tokens with its output, but the engine takes at most " + accepted + "; use a smaller one.");
        }
    }

    private RunHeader header(EngineFacts facts) {
        return new RunHeader(
                RunHeader.FORMAT,
                environment.clock().now().truncatedTo(ChronoUnit.MILLIS).toString(),
                environment.engine().client(),
                workload.facts(),
                plan,
                test,
                environment.engine().name(),
                environment.engine().givesFreshLives(),
                environment.arms().name(),
                environment.arms().claimsHold(),
                facts,
                environment.measuredOn());
    }
}
