package io.holdfast.loadtest.workload;

import java.util.List;

/**
 * Requests of one role that are sent one after another, and are all over before the next phase begins.
 *
 * @param cycle from 1; 0 before the first
 */
public record Phase(Role role, int cycle, List<LoadRequest> requests) {
    public Phase {
        requests = List.copyOf(requests);
    }
}
