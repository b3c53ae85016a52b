package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
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
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

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
 * A/A alone. `controls` runs baseline pairs and nothing else, with the same protocol and the same journal. Nothing in it
 * can show an effect, so it ends in the figures of the measurement itself: order bias, and the spread of a pair.
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
    private final Set<Integer> broken = new HashSet<>();
    private final int legsPlanned;
    private final int legsPerLife;
    private long began;

    private LoadTestRun(
            RunEnvironment environment,
            Workload workload,
            LoadTestSettings settings,
            CrossoverPlan plan,
            Progress progress) {
        this.environment = environment;
        this.workload = workload;
        this.settings = settings;
        this.progress = progress;
        this.plan = plan;
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
        CrossoverPlan plan = CrossoverPlan.draw(settings.rounds(), new SplittableRandom(settings.seed()));
        new LoadTestRun(environment, workload, settings, plan, progress).measure(journal);
        Result result = Analysis.of(journal);
        progress.on(new RunFinished(result));
        return result;
    }

    /**
     * Runs A/A pairs alone, which show what the measurement does by itself; nothing is held, so there is no verdict.
     *
     * @param journal a file that does not exist yet
     */
    public static ControlResult controls(
            RunEnvironment environment, Workload workload, LoadTestSettings settings, Path journal, Progress progress) {
        CrossoverPlan plan = CrossoverPlan.onlyControls(settings.rounds());
        new LoadTestRun(environment, workload, settings, plan, progress).measure(journal);
        return ControlAnalysis.of(journal);
    }

    private void measure(Path file) {
        Journal.refuseExisting(file);
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
            PairOrder rehearsed = plan.isOnlyControls() ? PairOrder.AA : PairOrder.BP;
            PairOrder order = life == 0 ? rehearsed : lives.get(life - 1);
            progress.on(new LifeStarted(life, lives.size(), order, plan.isOnlyControls()));
            for (int position = settings.burnIn() ? 0 : 1; position < Workload.LEGS_OF_A_LIFE; position++) {
                LegRecord leg = protocol.run(life, order, position);
                journal.append(leg);
                legs.add(leg);
                progress.on(new LegFinished(
                        leg, leg.probeMillis(), ArmSummary.cachedTokens(leg.probes()), left().orElse(Duration.ZERO)));
                if (leg.isMeasured() && !gates.failedBy(leg).isEmpty()) {
                    broken.add(life);
                    if (isDecided()) {
                        return;
                    }
                }
            }
        }
    }

    /**
     * Whether what is broken already says how it ends: with a verdict a single leg does, since which legs break may lie
     * with the arm; A/A pairs stand or fall one by one, until too few are left.
     */
    private boolean isDecided() {
        int most = plan.isOnlyControls()
                ? Math.max(0, plan.lives().size() - settings.criteria().minimumPerOrder())
                : 0;
        return broken.size() > most;
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
        if (prefix <= page && !plan.isOnlyControls()) {
            throw new LoadTestException("A prefix of " + prefix + " tokens is not longer than one page of " + page
                    + " tokens, so nothing of it could be held for sure; use a longer one.");
        }
        long longest = workload.longestRequest()
                + settings.salt().map(salt -> Salt.tokens()).orElse(0);
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
                client(),
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

    private Map<String, String> client() {
        Map<String, String> client = new TreeMap<>(environment.engine().client());
        settings.salt().ifPresent(salt -> client.put(RunHeader.SALT, salt.text()));
        return client;
    }
}
