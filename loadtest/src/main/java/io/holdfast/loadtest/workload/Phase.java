package io.holdfast.loadtest.workload;

import java.util.List;

/**
 * Requests of one role that are sent one after another, and are all over before the next phase begins.
 *
 * @param cycle from 1; 0 before the first
 * @param isFlood whether so many of them are under way at a time as the run's concurrency says
 */
public record Phase(Role role, int cycle, List<LoadRequest> requests, boolean isFlood) {
    public Phase {
        requests = List.copyOf(requests);
    }

    public Phase(Role role, int cycle, List<LoadRequest> requests) {
        this(role, cycle, requests, role == Role.FLOOD);
    }

    /** Whether it comes before the hold step. */
    public boolean isBeforeHold() {
        return role == Role.PRIME || role == Role.LEARN;
    }
}
