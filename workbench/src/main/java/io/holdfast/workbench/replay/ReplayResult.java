package io.holdfast.workbench.replay;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * Findings of one policy on a trace.
 *
 * @param capacity in blocks
 * @param hits blocks that were found
 * @param references blocks that were asked for
 * @param pinOperations blocks that were pinned and blocks that were unpinned, together
 * @param holdOperations prefixes of which a hold began and of which one ended, together; empty where no prefixes
 *     are held
 * @param pinsGivenUp pins that the engine needed the room of
 * @param gateChanges how often the shadows opened or closed
 * @param openShare share of the trace's time for which pins were licensed
 * @param refused what an engine with its own rules would not do
 */
public record ReplayResult(
        int capacity,
        long hits,
        long references,
        long pinOperations,
        OptionalLong holdOperations,
        long pinsGivenUp,
        int gateChanges,
        double openShare,
        Optional<Refused> refused) {

    /**
     * Requests and holds that the engine refused.
     *
     * @param requests that it never answered, since they do not fit its cache
     * @param holds that did not begin
     */
    public record Refused(int requests, int holds) {}

    public double hitRatio() {
        return references == 0 ? 0 : (double) hits / references;
    }
}
