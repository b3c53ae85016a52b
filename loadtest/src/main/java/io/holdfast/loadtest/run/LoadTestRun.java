package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.analysis.UntoldZeros;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LifeOrder;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.loadtest.run.Progress.LegFinished;
import io.holdfast.loadtest.run.Progress.LifeStarted;
import io.holdfast.loadtest.run.Progress.Note;
import io.holdfast.loadtest.run.Progress.PairVoided;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

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
    private static final Duration REHEARSED_CALL = Duration.ofSeconds(60);

    private final RunEnvironment environment;
    private final Workload workload;
    private final Progress progress;
    private final CrossoverPlan plan;
    private final Set<Integer> broken = new HashSet<>();
    /** The legs so far, where the plan has looks before its end. */
    private final List<LegRecord> toLookAt = new ArrayList<>();
    /** Number of legs up to the next look. */
    private int legsPlanned;
    /** Settings with the slot that the rehearsal led to, and with a salt that was not used before. */
    private LoadTestSettings settings;
    /** Pairs that ran again. */
    private int repeats;
    /** Legs of the plan that are in the journal. */
    private int standing;
    /** Number of the legs that this process ran. */
    private int measured;

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
        this.legsPlanned = legsUpTo(1);
    }

    /**
     * Runs the experiment and judges it. Blocks, so it is called on a plain thread.
     *
     * @param journal a file that does not exist yet
     */
    public static Result run(
            RunEnvironment environment, Workload workload, LoadTestSettings settings, Path journal, Progress progress) {
        new LoadTestRun(environment, workload, settings, settings.plan(), progress).measure(journal);
        Result result = Analysis.of(journal);
        progress.on(new RunFinished(result));
        return result;
    }

    /**
     * Runs A/A pairs alone, which show what the measurement itself does; nothing is held, so there is no verdict.
     *
     * @param journal a file that does not exist yet
     */
    public static ControlResult controls(
            RunEnvironment environment, Workload workload, LoadTestSettings settings, Path journal, Progress progress) {
        LoadTestSettings its = settings.toBuilder().design(Design.CONTROLS).build();
        CrossoverPlan plan = CrossoverPlan.onlyControls(settings.rounds());
        new LoadTestRun(environment, workload, its, plan, progress).measure(journal);
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
        Result result = Analysis.of(journal);
        progress.on(new RunFinished(result));
        return result;
    }

    /** Resumes a run of {@link #controls}. */
    public static ControlResult resumeControls(
            RunEnvironment environment, Workload workload, Path journal, Progress progress) {
        goOn(environment, workload, journal, progress);
        return ControlAnalysis.of(journal);
    }

    private static void goOn(RunEnvironment environment, Workload workload, Path file, Progress progress) {
        Journal.Reopened reopened = guarded(environment.stop(), () -> Journal.reopen(file));
        try (Journal journal = reopened.journal()) {
            Journal.Contents before = reopened.contents();
            new LoadTestRun(
                            environment,
                            workload,
                            LoadTestSettings.of(before),
                            before.header().plan(),
                            progress)
                    .goOn(journal, before);
        }
    }

    /** Runs a task; once the run was stopped only the stop ends it, whatever it looked like to the code that waited. */
    private static <T> T guarded(RunStop stop, Supplier<T> task) {
        try {
            return stop.shielded(task);
        } catch (RuntimeException e) {
            throw stop.isAsked() ? stopped(stop, e) : e;
        }
    }

    private static RunStopped stopped(RunStop stop, RuntimeException cause) {
        stop.notice();
        return new RunStopped(cause);
    }

    private void measure(Path file) {
        Journal.refuseExisting(file);
        EngineFacts facts = begin();
        RunHeader header = header(facts);
        try (Journal journal = guarded(environment.stop(), () -> Journal.create(file, header))) {
            new Lives(journal, header, new LifeOrder(header), 0).run();
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
            RunPlan.of(environment, workload, settings);
        }
        EngineFacts facts = begin();
        refuseAnotherServer(header, facts);
        Optional<LegRecord> toRepeat = RunStatus.pairToRepeat(before);
        before.legs().stream()
                .filter(leg ->
                        toRepeat.isEmpty() || leg.life() != toRepeat.get().life())
                .forEach(leg -> noteBroken(leg, new Gates(header)));
        standing = before.legs().size();
        repeats = before.repeats();
        LifeOrder order = before.lifeOrder();
        int place = placeToGoOn(journal, before, toRepeat, order);
        int next = order.at(place);
        if (!before.legs().isEmpty()) {
            environment.arms().legsTake(RunStatus.meanLeg(before));
        }
        if (header.rehearsal() && next > 0) {
            rehearseAgain(journal, header, next);
            began = environment.clock().nanos();
        }
        keepToLookAt(before.legs().subList(0, standing));
        int lives = place - (header.rehearsal() ? 1 : 0);
        for (int look = 1; look < plan.allLooks().size() && lives >= plan.livesAt(look); look++) {
            legsPlanned = legsUpTo(look + 1);
        }
        new Lives(journal, header, order, place).run();
    }

    private void keepToLookAt(List<LegRecord> legs) {
        if (!plan.looks().isEmpty()) {
            toLookAt.addAll(legs);
        }
    }

    /** Writes down what became of the pair that was under way when the last process ended. */
    private int placeToGoOn(Journal journal, Journal.Contents before, Optional<LegRecord> toRepeat, LifeOrder order) {
        int legsOfNext = before.legsOfNextLife();
        int[] place = {before.finishedLives()};
        environment.stop().shielded(() -> {
            if (toRepeat.isPresent()) {
                LegRecord leg = toRepeat.get();
                boolean whole = legsOfNext == 0;
                standing -= whole ? settings.legsPerLife() : legsOfNext;
                place[0] -= whole ? 1 : 0;
                journal.repeatPair(leg.life(), reason(new Gates(before.header()).surroundings(leg)));
                order.putLastInRound(leg.life());
                repeats++;
                settings = settings.afterVoidedPair();
            } else if (legsOfNext > 0) {
                standing -= legsOfNext;
                journal.voidPair(order.at(place[0]), "the run was killed in this pair");
            }
            journal.resumed(environment.clock().now());
        });
        return place[0];
    }

    private int legsUpTo(int look) {
        return settings.legsPerLife() * (plan.livesAt(look) + (settings.rehearsal() ? 1 : 0));
    }

    private EngineFacts begin() {
        try {
            began = environment.clock().nanos();
            environment.engine().beginLife();
            environment.arms().prepare();
            EngineFacts facts = environment.engine().facts();
            refuseWrongSizes(facts);
            return facts;
        } catch (RuntimeException e) {
            throw environment.stop().isAsked() ? stopped(environment.stop(), e) : e;
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
        List.of("java", RunHeader.SALT).forEach(key -> {
            now.remove(key);
            then.remove(key);
        });
        if (!now.equals(then)) {
            throw new LoadTestException(
                    "The server is asked otherwise than in the journal: " + now + " now, " + then + " then" + mend);
        }
        if (!environment.arms().name().equals(header.holder())) {
            throw new LoadTestException("The pinned legs would do something else than in the journal: "
                    + environment.arms().name() + " now, " + header.holder() + " then" + mend);
        }
    }

    private LegProtocol protocol() {
        return protocol(settings.holdSlot());
    }

    /** Returns the protocol of the rehearsal; while the slot is yet to be found, calls have the time that they take. */
    private LegProtocol rehearsal() {
        return protocol(settings.slotAdapts() ? REHEARSED_CALL : settings.holdSlot());
    }

    private LegProtocol protocol(Duration patience) {
        return new LegProtocol(
                environment,
                workload,
                settings,
                patience,
                (life, position, arm, kind, cycle) -> progress.on(new StepStarted(life, position, arm, kind, cycle)));
    }

    /** Runs again what a new process must have done before it measures; the legs of that are written nowhere. */
    private void rehearseAgain(Journal journal, RunHeader header, int next) {
        voidingOnFailure(journal, next, () -> {
            LegProtocol protocol = protocol();
            progress.on(new LifeStarted(0, plan.lives().size(), header.orderOf(0), plan.isOnlyControls()));
            for (PlannedLeg leg : header.legsOf(0)) {
                beginLeg(protocol, leg);
                protocol.run(leg.life(), leg.order(), leg.position());
            }
            if (!environment.engine().givesFreshLegs()) {
                environment.engine().beginLife();
            }
        });
    }

    /** A process that serves one leg is burned in by another before it, which is written nowhere. */
    private void beginLeg(LegProtocol protocol, PlannedLeg leg) {
        if (environment.engine().givesFreshLegs()) {
            environment.engine().beginLeg(Arm.of(leg.order(), leg.position()));
            protocol.run(leg.life(), leg.order(), 0);
        }
    }

    /** The lives that are left, one after the other. */
    private final class Lives {
        private final Journal journal;
        private final LifeOrder order;
        private final ServerWatch watch;
        private RunHeader header;
        private int place;
        private boolean begun;
        private boolean announced;
        private boolean decided;

        /** @param place in the order, of the life that comes next; it has begun */
        Lives(Journal journal, RunHeader header, LifeOrder order, int place) {
            this.journal = journal;
            this.header = header;
            this.order = order;
            this.watch = new ServerWatch(environment.engine(), header);
            this.place = place;
        }

        void run() {
            while (place < order.size() && !decided) {
                int life = order.at(place);
                stopOverTime();
                voidingOnFailure(journal, life, () -> {
                    if (begun && !environment.engine().givesFreshLegs()) {
                        environment.engine().beginLife();
                    }
                    begun = true;
                    pair(life);
                });
            }
            // A stop that comes after the last leg stops nothing.
            environment.stop().notice();
        }

        /** Between two pairs, so that those there are stay whole and the rest can be resumed. */
        private void stopOverTime() {
            settings.mostTime()
                    .filter(most -> begun && environment.clock().nanos() - began >= most.toNanos())
                    .ifPresent(most -> {
                        environment.stop().ask();
                        throw stopped(
                                environment.stop(),
                                new LoadTestException("The time that was given is over, after "
                                        + most.toString().substring(2).toLowerCase(Locale.ROOT) + "."));
                    });
        }

        private void pair(int life) {
            int lives = plan.lives().size();
            if (life > 0 && !announced) {
                announced = true;
                progress.on(new RunStarted(plan, legsPlanned - standing, left()));
            }
            progress.on(new LifeStarted(life, lives, header.orderOf(life), plan.isOnlyControls()));
            Gates gates = new Gates(header);
            watch.pairBegins();
            LegProtocol protocol = life == 0 ? rehearsal() : protocol();
            List<LegRecord> legs = new ArrayList<>();
            Optional<String> another = Optional.empty();
            for (PlannedLeg planned : header.legsOf(life)) {
                beginLeg(protocol, planned);
                if (legs.isEmpty() || environment.engine().givesFreshLegs()) {
                    another = watch.another(Arm.of(planned.order(), planned.position()));
                    // What a server writes while it starts, or while the one before it ends, is of no leg.
                    Optional<ServerLog> _ = environment.engine().written();
                }
                Optional<String> wrong = another.or(watch::restarted);
                LegRecord ran = withTheRest(environment
                        .around()
                        .leg(planned, () -> protocol.run(planned.life(), planned.order(), planned.position())));
                LegRecord leg = wrong.or(watch::restarted)
                        .map(ran::withProblem)
                        .orElseGet(() -> ran.withShares(watch.shares()));
                environment.stop().shielded(() -> journal.append(leg));
                legs.add(leg);
                keepToLookAt(List.of(leg));
                standing++;
                measured++;
                LegRecord shown = UntoldZeros.of(header, List.of(leg)).legs().getFirst();
                progress.on(new LegFinished(
                        shown,
                        leg.probeMillis(),
                        ArmSummary.cachedTokens(shown.probes()),
                        left().orElse(Duration.ZERO)));
                if (leg.isMeasured() && repeats < header.repeatPairs() && gates.isRepeatable(leg)) {
                    repeat(life, legs, gates.surroundings(leg));
                    return;
                }
                if (noteBroken(leg, gates) && isDecided()) {
                    decided = true;
                    return;
                }
            }
            if (life == 0) {
                rehearsed(legs);
            }
            place++;
            look();
        }

        /** Ends the run before its plan if a declared look decides it; it may end so nowhere else. */
        private void look() {
            int lives = place - (header.rehearsal() ? 1 : 0);
            int looks = plan.allLooks().size();
            plan.lookAfter(lives).stream().filter(number -> number < looks).forEach(number -> {
                Result result = Analysis.of(
                        new Journal.Contents(header, toLookAt, order.lives(), List.of(), 0, true, List.of()));
                decided = Analysis.isDecided(result);
                legsPlanned = legsUpTo(decided ? number : number + 1);
                progress.on(new Note("Look " + number + " of " + looks + ", after "
                        + plan.looks().get(number - 1) + " rounds: "
                        + result.verdict().headline()
                        + (decided
                                ? ", which ends the run."
                                : "; the plan goes on to " + plan.looks().get(number) + " rounds.")));
            });
        }

        /** Adds what the server wrote since the load of the leg began. */
        private LegRecord withTheRest(LegRecord leg) {
            Optional<ServerLog> rest = environment.engine().written();
            return leg.withServerLog(leg.serverLog()
                    .flatMap(before -> rest.map(before::thenOfTheLoad))
                    .or(() -> rest));
        }

        private void repeat(int life, List<LegRecord> legs, List<String> why) {
            String reason = reason(why);
            environment.stop().shielded(() -> journal.repeatPair(life, reason));
            order.putLastInRound(life);
            standing -= legs.size();
            toLookAt.removeIf(leg -> leg.life() == life);
            repeats++;
            settings = settings.afterVoidedPair();
            progress.on(new PairVoided(life, reason, repeats, header.repeatPairs()));
        }

        /** Reports and applies what the rehearsal shows, before anything that counts is measured. */
        private void rehearsed(List<LegRecord> legs) {
            Rehearsal rehearsal = new Rehearsal(header, legs);
            rehearsal.refuseFailed();
            header = header.afterRehearsal(legs);
            settings = settings.toBuilder()
                    .holdSlot(Duration.ofMillis(header.slotMillis()))
                    .build();
            rehearsal.notes(environment.arms().learns()).forEach(note -> progress.on(new Note(note)));
        }
    }

    /** Does a part of a pair; when it fails, or the run is stopped, the journal says that the pair does not count. */
    private void voidingOnFailure(Journal journal, int life, Runnable part) {
        try {
            part.run();
        } catch (RuntimeException e) {
            boolean stop =
                    environment.stop().isAsked() || Thread.currentThread().isInterrupted();
            if (stop) {
                environment.stop().notice();
            }
            try {
                journal.voidPair(life, stop ? VoidedPair.STOPPED : reason(e));
            } catch (LoadTestException unwritten) {
                e.addSuppressed(unwritten);
            }
            throw stop ? new RunStopped(e) : e;
        }
    }

    private static String reason(RuntimeException cause) {
        return withoutEnd(String.valueOf(cause.getMessage()));
    }

    private static String reason(List<String> failed) {
        return withoutEnd(String.join(" ", failed));
    }

    private static String withoutEnd(String told) {
        return told.endsWith(".") ? told.substring(0, told.length() - 1) : told;
    }

    private boolean noteBroken(LegRecord leg, Gates gates) {
        boolean breaks = leg.isMeasured() && !gates.failedBy(leg).isEmpty();
        if (breaks) {
            broken.add(leg.life());
        }
        return breaks;
    }

    private boolean isDecided() {
        return RunStatus.isDecided(plan, settings.criteria(), broken.size());
    }

    /** Estimates the time for the rest from the legs so far; unknown before the first leg. */
    private Optional<Duration> left() {
        if (measured == 0) {
            return Optional.empty();
        }
        long perLeg = (environment.clock().nanos() - began) / measured;
        return Optional.of(Duration.ofNanos(perLeg * (legsPlanned - standing)));
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
                environment.clock().now().truncatedTo(ChronoUnit.MILLIS).toString(),
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
                environment.arms().name(),
                environment.arms().claimsHold(),
                facts,
                settings.repeatPairs(),
                settings.slotAdapts(),
                settings.options());
    }

    private Map<String, String> client() {
        Map<String, String> client = new TreeMap<>(environment.engine().client());
        settings.salt().ifPresent(salt -> client.put(RunHeader.SALT, salt.text()));
        return client;
    }
}
