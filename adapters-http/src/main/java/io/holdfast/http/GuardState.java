package io.holdfast.http;

/**
 * State of the guards between us and one engine, for one kind of calls.
 *
 * @param underWay calls that have not ended yet
 * @param mostUnderWay so many may be under way at once (the bulkhead)
 * @param turnedAwayByBreaker calls that were not made because too many had failed
 * @param turnedAwayByBulkhead calls that were not made because too many were under way
 * @param turnedAwayByRate calls that were not made because too many were made within the second
 * @param timedOut calls that the time limit ended
 */
public record GuardState(
        Calls calls,
        Breaker breaker,
        int underWay,
        int mostUnderWay,
        long turnedAwayByBreaker,
        long turnedAwayByBulkhead,
        long turnedAwayByRate,
        long timedOut) {

    /** Each kind has guards of its own: what becomes of the one says nothing of the other. */
    public enum Calls {
        /** Readings, pins, unpins: the engine answers them at once, or something is wrong. */
        PROMPT,
        /** Requests of our own, which wait for their turn behind those of users. */
        QUEUED,
        /**
         * Texts that callers want turned into tokens: however many they are, pins and readings are asked beside them.
         */
        TEXT
    }

    /** State that decides whether calls are made. */
    public enum Breaker {
        CLOSED,
        /** After a pause: one call tries. */
        HALF_OPEN,
        OPEN
    }
}
