package io.holdfast.loadtest.replay;

/**
 * What one policy found on a trace.
 *
 * @param capacity in blocks
 * @param hits blocks that were found
 * @param references blocks that were asked for
 * @param pinOperations pins and unpins together
 * @param pinsGivenUp pins that the engine needed the room of
 * @param gateChanges how often the shadows opened or closed
 * @param openShare share of the trace's time for which pins were licensed
 */
public record ReplayResult(
        int capacity,
        long hits,
        long references,
        long pinOperations,
        long pinsGivenUp,
        int gateChanges,
        double openShare) {

    public double hitRatio() {
        return references == 0 ? 0 : (double) hits / references;
    }
}
