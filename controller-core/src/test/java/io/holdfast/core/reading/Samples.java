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
        return EngineReadings.unknownBut("a sample does not tell it")
                .capacityTokens(at(capacity, atNanos))
                .blockTokens(at(block, atNanos))
                .contextTokens(at(accepted, atNanos))
                .largestAcceptedTokens(at(accepted, atNanos))
                .runningRequests(at(running, atNanos))
                .waitingRequests(at(waiting, atNanos))
                .usedTokens(at(used, atNanos))
                .ttftSumSeconds(at(ttftSum, atNanos))
                .ttftCount(at(ttftCount, atNanos))
                .promptTokens(at(0, atNanos))
                .cachedTokens(at(0, atNanos))
                .build();
    }

    /** The same of an engine all of whose ranks do as much. */
    public static EngineReadings ofRanks(EngineReadings r, int ranks) {
        return ranks == 1
                ? r
                : r.but()
                        .ranks(Collections.nCopies(
                                ranks, new RankLoad(r.runningRequests(), r.waitingRequests(), r.usedTokens())))
                        .build();
    }

    /** The same but for one of them. */
    public static EngineReadings with(EngineReadings r, String name, Reading other) {
        EngineReadings.Builder but = r.but();
        EngineReadings.Builder with = switch (name) {
            case "capacityTokens" -> but.capacityTokens(other);
            case "blockTokens" -> but.blockTokens(other);
            case "contextTokens" -> but.contextTokens(other);
            case "largestAcceptedTokens" -> but.largestAcceptedTokens(other);
            case "runningRequests" -> but.runningRequests(other);
            case "waitingRequests" -> but.waitingRequests(other);
            case "usedTokens" -> but.usedTokens(other);
            case "ttftSumSeconds" -> but.ttftSumSeconds(other);
            case "ttftCount" -> but.ttftCount(other);
            case "promptTokens" -> but.promptTokens(other);
            case "cachedTokens" -> but.cachedTokens(other);
            default -> throw new IllegalArgumentException(name);
        };
        return with.build();
    }

    private static Reading at(double value, long atNanos) {
        return Reading.known(value, "test", atNanos);
    }

    private Samples() {}
}
