package io.holdfast.core.budget;

import io.holdfast.core.budget.Budget.Alarm;
import io.holdfast.core.budget.Budget.AlarmKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The guards of one engine, one for each of its caches: a rank stops by its own pins, whatever the others have room
 * for. So the first that stalls releases everything, and the tightest bound is the engine's.
 */
public final class EngineGuard {
    private final List<GuardWatch> ranks = new ArrayList<>(List.of(new GuardWatch()));

    /** Adds the next rank's. */
    public void add() {
        ranks.add(new GuardWatch());
    }

    public GuardWatch rank(int rank) {
        return ranks.get(rank);
    }

    /** A pin or an unpin of ours is under way now. */
    public void callsUnderWay(long nowNanos) {
        ranks.forEach(rank -> rank.callsUnderWay(nowNanos));
    }

    /** Somebody decides to pin again. */
    public void resume() {
        ranks.forEach(GuardWatch::resume);
    }

    public boolean stalled(long nowNanos) {
        return ranks.stream().anyMatch(rank -> rank.stalled(nowNanos));
    }

    public long stalls() {
        return ranks.stream().mapToLong(GuardWatch::stalls).sum();
    }

    /** Returns the reason why nothing new is pinned hard since the engine has stalled; absent when that is over. */
    public Optional<String> hindrance(long nowNanos) {
        return ranks.stream().flatMap(rank -> rank.hindrance(nowNanos).stream()).findFirst();
    }

    /** Returns true if the last look showed every cache at rest, and newer than any call of ours. */
    public boolean rested() {
        return ranks.stream().allMatch(rank -> rank.restedWith().isPresent());
    }

    /** Returns what an operator has to know of an engine whose pins take memory for good. */
    public List<Alarm> alarms(Budget budget, long nowNanos) {
        List<Alarm> alarms = new ArrayList<>(budget.alarms());
        hindrance(nowNanos).ifPresent(why -> alarms.add(new Alarm(AlarmKind.STALL, why)));
        return alarms;
    }
}
