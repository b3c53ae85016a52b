package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.journal.VoidedPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Progress of a run, by its journal.
 *
 * @param pairs those of which every leg is there
 * @param percent of all planned legs, those before the counted pairs included
 * @param left what the rest takes if it goes on as it did; absent before the first leg, zero when finished
 * @param stoppedBy why it ended early, where it could say so itself
 */
public record RunStatus(
        State state, int pairs, int plannedPairs, int percent, Optional<Duration> left, Optional<String> stoppedBy) {
    private static final int ALL = 100;
    private static final int MOST_REASONS = 3;

    /** Current state of a run. */
    public enum State {
        /** A process is at it. */
        RUNNING,
        /** The run ended early and said why. */
        STOPPED,
        /** The run ended early without a word. */
        KILLED,
        /** All that was planned is there, or a broken leg has decided how it ends. */
        FINISHED
    }

    /**
     * The status of the run that wrote a journal.
     *
     * @param beingWritten whether a process writes to it
     */
    public static RunStatus of(Journal.Contents run, boolean beingWritten) {
        RunHeader header = run.header();
        int planned = header.legs().size();
        int standing = run.legs().size();
        boolean finished = isFinished(run);
        Optional<String> stoppedBy = finished || run.endsWithALeg()
                ? Optional.empty()
                : run.voided().stream().reduce((earlier, later) -> later).map(VoidedPair::reason);
        State state = finished
                ? State.FINISHED
                : beingWritten ? State.RUNNING : stoppedBy.isPresent() ? State.STOPPED : State.KILLED;
        Optional<Duration> left = finished
                ? Optional.of(Duration.ZERO)
                : standing == 0 ? Optional.empty() : Optional.of(meanLeg(run).multipliedBy(planned - standing));
        return new RunStatus(
                state,
                run.wholePairs(),
                header.plan().lives().size(),
                finished ? ALL : ALL * standing / planned,
                left,
                state == State.STOPPED ? stoppedBy : Optional.empty());
    }

    /**
     * Returns the status as a process reports it that was stopped. Before that process has written anything, the
     * journal's last word is that of the process before it, which may have been killed.
     */
    public RunStatus stopped() {
        return state == State.KILLED
                ? new RunStatus(State.STOPPED, pairs, plannedPairs, percent, left, Optional.of(VoidedPair.STOPPED))
                : this;
    }

    public boolean isFinished() {
        return state == State.FINISHED;
    }

    public boolean isRunning() {
        return state == State.RUNNING;
    }

    /** Returns true if the journal is there and its run is over. */
    public static boolean isFinished(Path journal) {
        return Files.exists(journal) && isFinished(Journal.read(journal));
    }

    private static boolean isFinished(Journal.Contents run) {
        RunHeader header = run.header();
        if (pairToRepeat(run).isPresent()) {
            return false;
        }
        Gates gates = new Gates(header);
        int broken = (int) run.legs().stream()
                .filter(leg -> leg.isMeasured() && !gates.failedBy(leg).isEmpty())
                .mapToInt(LegRecord::life)
                .distinct()
                .count();
        return run.legs().size() == header.legs().size()
                || Analysis.isDecidedAtALook(run)
                || isDecided(header.plan(), header.criteria(), broken);
    }

    /** The last leg, where its pair has to run again and a kill came before that was written down. */
    public static Optional<LegRecord> pairToRepeat(Journal.Contents run) {
        Gates gates = new Gates(run.header());
        return run.legs().isEmpty() || run.repeats() >= run.header().repeatPairs()
                ? Optional.empty()
                : Optional.of(run.legs().getLast()).filter(leg -> leg.isMeasured() && gates.isRepeatable(leg));
    }

    /** Says why a run cannot be resumed when there is nothing left of it. */
    public static void refuseFinished(Journal.Contents run) {
        if (isFinished(run)) {
            throw new LoadTestException("The run is finished, with " + run.wholePairs() + " of "
                    + run.header().plan().lives().size()
                    + " pairs, so there is nothing to resume; 'holdfast loadtest analyze' judges it.");
        }
    }

    /** Returns what a reader of the result has to know about how the run came to its end. */
    static List<String> interruptions(Journal.Contents run) {
        List<String> told = new ArrayList<>();
        List<VoidedPair> repeated =
                run.voided().stream().filter(VoidedPair::bySurroundings).toList();
        if (!repeated.isEmpty()) {
            told.add((repeated.size() == 1 ? "One pair was" : repeated.size() + " pairs were")
                    + " voided by what happened around a leg, whichever arm it had, and run again, of at most "
                    + run.header().repeatPairs() + " declared before the run (" + reasons(repeated) + ").");
        }
        List<VoidedPair> brokenOff =
                run.voided().stream().filter(pair -> !pair.bySurroundings()).toList();
        int pairs = brokenOff.size();
        if (pairs > 0) {
            int legs = brokenOff.stream().mapToInt(VoidedPair::legs).sum();
            told.add((pairs == 1 ? "One pair was broken off and does" : pairs + " pairs were broken off and do")
                    + " not count, with " + legs + (legs == 1 ? " finished leg" : " finished legs") + " ("
                    + reasons(brokenOff) + ").");
        }
        if (run.resumes() > 0) {
            told.add("The run was resumed " + (run.resumes() == 1 ? "once" : run.resumes() + " times")
                    + ", so its pairs lie further apart than they would have.");
        }
        return told;
    }

    private static String reasons(List<VoidedPair> pairs) {
        return pairs.stream()
                .map(VoidedPair::reason)
                .distinct()
                .limit(MOST_REASONS)
                .collect(Collectors.joining("; "));
    }

    /**
     * Returns true if what is broken already decides how the run ends. With a verdict a single broken leg does, since
     * the arm may be what breaks legs; A/A pairs stand or fall one by one, until too few are left.
     */
    public static boolean isDecided(CrossoverPlan plan, Criteria criteria, int brokenPairs) {
        int most = plan.isOnlyControls() ? Math.max(0, plan.lives().size() - criteria.minimumPerOrder()) : 0;
        return brokenPairs > most;
    }

    /** Returns the mean duration of the legs that are there. */
    public static Duration meanLeg(Journal.Contents run) {
        return Duration.ofNanos(Math.round(
                run.legs().stream().mapToLong(RunStatus::nanos).average().orElse(0)));
    }

    /** Returns how long a leg's hold stood on the average, counted from the leg's beginning. */
    public static Duration meanHold(Journal.Contents run) {
        return Duration.ofNanos(Math.round(run.legs().stream()
                .flatMap(leg -> leg.steps().stream())
                .filter(step -> step.kind() == Step.Kind.RELEASE)
                .mapToLong(Step::began)
                .average()
                .orElse(0)));
    }

    private static long nanos(LegRecord leg) {
        return leg.steps().stream().mapToLong(Step::ended).max().orElse(0);
    }
}
