package io.holdfast.loadtest.workload;

import java.util.List;

/**
 * Requests of one role that are sent in order, and are all over before the next phase begins.
 *
 * @param cycle from 1; 0 before the first
 * @param isFlood whether so many of them are under way at a time as the run's concurrency says
 * @param turns when the turn of each comes, in nanoseconds from the beginning of the phase, whatever became of those
 *     before; none where it comes when another one is over
 */
public record Phase(Role role, int cycle, List<LoadRequest> requests, boolean isFlood, List<Long> turns) {
    public Phase {
        requests = List.copyOf(requests);
        turns = List.copyOf(turns);
    }

    /** Requests whose turns come when others are over. */
    public Phase(Role role, int cycle, List<LoadRequest> requests, boolean isFlood) {
        this(role, cycle, requests, isFlood, List.of());
    }

    public Phase(Role role, int cycle, List<LoadRequest> requests) {
        this(role, cycle, requests, role == Role.FLOOD);
    }

    /** Returns true if its requests come at times of their own. */
    public boolean hasTurns() {
        return !turns.isEmpty();
    }

    /** Returns true if it comes before the hold step. */
    public boolean isBeforeHold() {
        return role == Role.PRIME || role == Role.LEARN;
    }
}
