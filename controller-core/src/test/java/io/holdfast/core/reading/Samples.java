package io.holdfast.core.reading;

import java.util.Collections;

/** Readings for tests, all read at time 0 unless said otherwise; what is accepted is the context. */
public final class Samples {
    public static EngineReadings readings(
            double capacity, double block, double accepted, double running, double waiting, double used) {
        return readings(capacity, block, accepted, running, waiting, used, 0, 0, 0);
    }

    public static EngineReadings readings(
            double capacity,
            double block,
            double accepted,
            double running,
            double waiting,
            double used,
            double ttftSum,
            double ttftCount,
            long atNanos) {
        return new EngineReadings(
                at(capacity, atNanos),
                at(block, atNanos),
                at(accepted, atNanos),
                at(accepted, atNanos),
                at(running, atNanos),
                at(waiting, atNanos),
                at(used, atNanos),
                at(ttftSum, atNanos),
                at(ttftCount, atNanos),
                at(0, atNanos),
                at(0, atNanos));
    }

    /** The same of an engine all of whose ranks do as much. */
    public static EngineReadings ofRanks(EngineReadings r, int ranks) {
        return ranks == 1
                ? r
                : r.withRanks(Collections.nCopies(
                        ranks, new RankLoad(r.runningRequests(), r.waitingRequests(), r.usedTokens())));
    }

    /** The same but for one of them. */
    public static EngineReadings with(EngineReadings r, String name, Reading other) {
        return new EngineReadings(
                name.equals("capacityTokens") ? other : r.capacityTokens(),
                name.equals("blockTokens") ? other : r.blockTokens(),
                name.equals("contextTokens") ? other : r.contextTokens(),
                name.equals("largestAcceptedTokens") ? other : r.largestAcceptedTokens(),
                name.equals("runningRequests") ? other : r.runningRequests(),
                name.equals("waitingRequests") ? other : r.waitingRequests(),
                name.equals("usedTokens") ? other : r.usedTokens(),
                name.equals("ttftSumSeconds") ? other : r.ttftSumSeconds(),
                name.equals("ttftCount") ? other : r.ttftCount(),
                name.equals("promptTokens") ? other : r.promptTokens(),
                name.equals("cachedTokens") ? other : r.cachedTokens());
    }

    private static Reading at(double value, long atNanos) {
        return Reading.known(value, "test", atNanos);
    }

    private Samples() {}
}
