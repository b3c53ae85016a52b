package io.holdfast.loadtest.run;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LifeOrder;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** State of a run under way: its place in the plan, the legs that stand, and what they led to. */
final class RunState {
    private final LifeOrder order;
    private final Set<Integer> broken = new HashSet<>();
    /** The legs so far, where the plan has looks before its end. */
    private final List<LegRecord> toLookAt = new ArrayList<>();
    /** The header with the slot that the rehearsal led to. */
    private RunHeader header;
    /** The plan with that slot, and with a salt that was not used before. */
    private LoadTestPlan test;

    private long began;
    /** Place in the order of lives, of the one that comes next or is under way. */
    private int place;
    /** Number of legs up to the next look. */
    private int legsPlanned;
    /** Pairs that ran again. */
    private int repeats;
    /** Legs of the plan that are in the journal. */
    private int standing;
    /** Number of the legs that this process ran. */
    private int measured;

    private boolean decided;

    private RunState(RunHeader header, LoadTestPlan test, LifeOrder order, long began) {
        this.header = header;
        this.test = test;
        this.order = order;
        this.began = began;
        this.legsPlanned = legsUpTo(1);
    }

    /** Creates the state of a run that begins. */
    static RunState of(RunHeader header, long began) {
        return new RunState(header, header.test(), new LifeOrder(header), began);
    }

    /**
     * Creates the state of a run that goes on after what its journal holds.
     *
     * @param toRepeat a leg of the pair that its surroundings voided when the last process ended, if so
     */
    static RunState of(Journal.Contents before, Optional<LegRecord> toRepeat, long began) {
        RunState state = new RunState(before.header(), LoadTestPlan.of(before), before.lifeOrder(), began);
        before.legs().stream()
                .filter(leg ->
                        toRepeat.isEmpty() || leg.life() != toRepeat.get().life())
                .forEach(state::breaks);
        state.repeats = before.repeats();
        state.place = before.finishedLives();
        state.standing = before.legs().size() - before.legsOfNextLife();
        if (toRepeat.isPresent()) {
            boolean whole = before.legsOfNextLife() == 0;
            state.standing -= whole ? state.test.legsPerLife() : 0;
            state.place -= whole ? 1 : 0;
            state.putLast(toRepeat.get().life());
        }
        state.keepToLookAt(before.legs().subList(0, state.standing));
        for (int look = 1;
                look < state.plan().allLooks().size()
                        && state.livesThatCount() >= state.plan().livesAt(look);
                look++) {
            state.legsPlanned = state.legsUpTo(look + 1);
        }
        return state;
    }

    RunHeader header() {
        return header;
    }

    LoadTestPlan test() {
        return test;
    }

    CrossoverPlan plan() {
        return header.plan();
    }

    Gates gates() {
        return new Gates(header);
    }

    boolean isOver() {
        return decided || place >= order.size();
    }

    /** Returns the life that comes next or is under way. */
    int life() {
        return order.at(place);
    }

    int repeats() {
        return repeats;
    }

    /** Returns the number of legs that are left up to the next look. */
    int legsLeft() {
        return legsPlanned - standing;
    }

    /** Returns the time since this process began to measure. */
    Duration since(long now) {
        return Duration.ofNanos(now - began);
    }

    /** Estimates the time for the rest from the legs so far; unknown before the first leg. */
    Optional<Duration> left(long now) {
        return measured == 0
                ? Optional.empty()
                : Optional.of(since(now).dividedBy(measured).multipliedBy(legsLeft()));
    }

    /** Notes that measuring begins only now. */
    void begins(long now) {
        began = now;
    }

    /** Notes a leg that is in the journal. */
    void stands(LegRecord leg) {
        keepToLookAt(List.of(leg));
        standing++;
        measured++;
    }

    private void keepToLookAt(List<LegRecord> legs) {
        if (!plan().looks().isEmpty()) {
            toLookAt.addAll(legs);
        }
    }

    /** Returns true if the pair of a leg may run again, for what happened around that leg. */
    boolean mayRepeat(LegRecord leg) {
        return leg.isMeasured() && repeats < header.repeatPairs() && gates().isRepeatable(leg);
    }

    /** Has the pair under way run again at the end of its round. */
    void repeat(int life, int legs) {
        standing -= legs;
        toLookAt.removeIf(leg -> leg.life() == life);
        putLast(life);
    }

    private void putLast(int life) {
        order.putLastInRound(life);
        repeats++;
        test = test.afterVoidedPair();
    }

    /** Returns true if a leg fails a gate on its own, so that its pair does not count. */
    boolean breaks(LegRecord leg) {
        boolean breaks = leg.isMeasured() && !gates().failedBy(leg).isEmpty();
        if (breaks) {
            broken.add(leg.life());
        }
        return breaks;
    }

    /** Ends the run where a leg breaks it and the rest could not mend that; returns true if so. */
    boolean isEndedBy(LegRecord leg) {
        decided |= breaks(leg) && RunStatus.isDecided(plan(), test.criteria(), broken.size());
        return decided;
    }

    /** Applies what the rehearsal shows. */
    void rehearsed(List<LegRecord> legs) {
        header = header.afterRehearsal(legs);
        test = test.toBuilder().holdSlot(header.test().holdSlot()).build();
    }

    private int legsUpTo(int look) {
        return test.legsPerLife() * (plan().livesAt(look) + (test.rehearsal() ? 1 : 0));
    }

    private int livesThatCount() {
        return place - (test.rehearsal() ? 1 : 0);
    }

    /**
     * Goes on to the next pair. Ends the run before its plan if a declared look decides it; it may end so nowhere else.
     *
     * @return a sentence about that look, where there was one before the end of the plan
     */
    Optional<String> pairEnds() {
        place++;
        int looks = plan().allLooks().size();
        return plan().lookAfter(livesThatCount()).stream()
                .filter(number -> number < looks)
                .mapToObj(this::look)
                .findFirst();
    }

    private String look(int number) {
        Result result =
                Analysis.of(new Journal.Contents(header, toLookAt, order.lives(), List.of(), 0, true, List.of()));
        decided = Analysis.isDecided(result);
        legsPlanned = legsUpTo(decided ? number : number + 1);
        List<Integer> looks = plan().looks();
        return "Look " + number + " of " + looks.size() + ", after " + looks.get(number - 1) + " rounds: "
                + result.verdict().headline()
                + (decided ? ", which ends the run." : "; the plan goes on to " + looks.get(number) + " rounds.");
    }
}
