package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.run.Progress.LegFinished;
import io.holdfast.loadtest.run.Progress.LifeStarted;
import io.holdfast.loadtest.run.Progress.RunFinished;
import io.holdfast.loadtest.run.Progress.RunStarted;
import io.holdfast.loadtest.run.Progress.StepStarted;
import io.holdfast.loadtest.workload.Workload;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/*
 * The experiment
 * ==============
 *
 * One round is three pairs of legs in an order drawn by chance: baseline and baseline (AA), baseline and pinned (BP),
 * pinned and baseline (PB). A pair is two legs in one server life and gives one number, so a whole life counts once,
 * however many requests it served. BP and PB together free the effect from the order of the legs; AA shows what being
 * second does by itself.
 *
 * What comes before. A burn-in leg in each life takes what a fresh process does only once (compilation, allocation). A
 * rehearsal life takes what our own process does only once, and tells how long the run will take.
 *
 * When it stops early. A gate that a leg fails by itself decides the verdict (INVALID), so no further life is spent.
 * The legs so far are in the journal like any others.
 *
 * Run and re-analysis are one path: the result is computed from what the journal holds, in both cases by Analysis.
 */

/** Did pinning help, by how much, or can this data not tell. */
public final class LoadTestRun {
    private final RunEnvironment environment;
    private final Workload workload;
    private final LoadTestSettings settings;
    private final Progress progress;
    private final CrossoverPlan plan;
    private final List<LegRecord> legs = new ArrayList<>();
    private final int legsPlanned;
    private final int legsPerLife;
    private long began;

    private LoadTestRun(RunEnvironment environment, Workload workload, LoadTestSettings settings, Progress progress) {
        this.environment = environment;
        this.workload = workload;
        this.settings = settings;
        this.progress = progress;
        this.plan = CrossoverPlan.draw(settings.rounds(), new SplittableRandom(settings.seed()));
        this.legsPerLife = settings.burnIn() ? 3 : 2;
        this.legsPlanned = legsPerLife * (plan.lives().size() + (settings.rehearsal() ? 1 : 0));
    }

    /**
     * Runs the experiment and judges it. Blocks, so it is called on a plain thread.
     *
     * @param journal a file that does not exist yet
     */
    public static Result run(
            RunEnvironment environment, Workload workload, LoadTestSettings settings, Path journal, Progress progress) {
        Journal.refuseExisting(journal);
        return new LoadTestRun(environment, workload, settings, progress).run(journal);
    }

    private Result run(Path file) {
        EngineUnderTest engine = environment.engine();
        environment.holder().check();
        began = environment.clock().nanos();
        engine.beginLife();
        EngineFacts facts = engine.facts();
        refuseWrongSizes(facts);
        RunHeader header = header(facts);
        try (Journal journal = Journal.create(file, header)) {
            LegProtocol protocol = new LegProtocol(
                    environment,
                    workload,
                    settings,
                    (life, position, arm, kind, cycle) ->
                            progress.on(new StepStarted(life, position, arm, kind, cycle)));
            runLives(protocol, journal, new Gates(header));
        }
        Result result = Analysis.of(file);
        progress.on(new RunFinished(result));
        return result;
    }

    private void runLives(LegProtocol protocol, Journal journal, Gates gates) {
        List<PairOrder> lives = plan.lives();
        int first = settings.rehearsal() ? 0 : 1;
        for (int life = first; life <= lives.size(); life++) {
            if (life > first) {
                environment.engine().beginLife();
            }
            if (life == 1) {
                progress.on(new RunStarted(plan, legsPerLife * lives.size(), left()));
            }
            // The rehearsal takes every path that the experiment will take.
            PairOrder order = life == 0 ? PairOrder.BP : lives.get(life - 1);
            progress.on(new LifeStarted(life, lives.size(), order));
            for (int position = settings.burnIn() ? 0 : 1; position < Workload.LEGS_OF_A_LIFE; position++) {
                LegRecord leg = protocol.run(life, order, position);
                journal.append(leg);
                legs.add(leg);
                progress.on(new LegFinished(
                        leg, leg.probeMillis(), ArmSummary.cachedTokens(leg.probes()), left().orElse(Duration.ZERO)));
                if (leg.isMeasured() && !gates.failedBy(leg).isEmpty()) {
                    return;
                }
            }
        }
    }

    /** What the rest takes if it goes on as it did; unknown before the first leg. */
    private Optional<Duration> left() {
        if (legs.isEmpty()) {
            return Optional.empty();
        }
        long perLeg = (environment.clock().nanos() - began) / legs.size();
        return Optional.of(Duration.ofNanos(perLeg * (legsPlanned - legs.size())));
    }

    private void refuseWrongSizes(EngineFacts facts) {
        int prefix = workload.facts().prefixTokens();
        int page = facts.pageTokensOrUsual();
        if (prefix <= page) {
            throw new LoadTestException("A prefix of " + prefix + " tokens is not longer than one page of " + page
                    + " tokens, so nothing of it could be held for sure; use a longer one.");
        }
        long longest = workload.longestRequest();
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
                environment.clock().now().truncatedTo(ChronoUnit.SECONDS).toString(),
                environment.engine().client(),
                workload.facts(),
                plan,
                settings.seed(),
                settings.concurrency(),
                settings.burnIn(),
                settings.rehearsal(),
                settings.statistic(),
                settings.criteria(),
                settings.holdSlot().toMillis(),
                settings.slotTolerance().toMillis(),
                environment.engine().name(),
                environment.engine().givesFreshLives(),
                environment.holder().name(),
                facts);
    }
}
