package io.holdfast.core.index;

/**
 * Reliability of what a cache reports.
 *
 * @param certain whether the cache has nothing but what it says
 * @param eventsLost whether what it says of the GPU may be wrong because events were lost after they began to arrive
 * @param reason a sentence without its full stop
 */
record Certainty(boolean certain, boolean eventsLost, String reason) {
    private static final String HEALS = "; that heals when the engine clears its cache or restarts";

    static final Certainty UNSEEN = new Certainty(
            false,
            false,
            "no event was seen yet: the engine has stored nothing since we listen, or its events do not reach us");
    static final Certainty SURE = new Certainty(true, false, "every event since the cache was empty was seen");
    static final Certainty DROPPED = new Certainty(false, false, "dropped from the tree");

    /** A view is being taken over. */
    static Certainty taking(long sequence) {
        return new Certainty(false, false, "a view that was exact after batch " + sequence + " is being taken over");
    }

    /** A view was taken over that was exact after this batch, and every event since was seen. */
    static Certainty taken(long sequence) {
        return new Certainty(
                true,
                false,
                "a view that was exact after batch " + sequence + " was taken over, and every event since was seen");
    }

    static Certainty after(Gap gap) {
        return gap.cause() == Gap.Cause.JOINED_LATE
                ? new Certainty(
                        false,
                        false,
                        "joined late: the first batch seen was number " + gap.seen()
                                + ", what was stored before is not known" + HEALS)
                : new Certainty(false, true, missed(gap) + HEALS);
    }

    static Certainty restarted(long seen) {
        return seen == 0
                ? SURE
                : new Certainty(
                        false,
                        false,
                        "the engine began another life, and the first batch seen of it was number " + seen
                                + ": what was stored before is not known" + HEALS);
    }

    /** The GPU was emptied, but no other tier. */
    Certainty gpuCleared() {
        return certain
                ? this
                : new Certainty(
                        false,
                        false,
                        "what the GPU has is known since it was cleared, what other tiers have is not; that heals when"
                                + " the engine restarts");
    }

    private static String missed(Gap gap) {
        String unknown = ": what they stored or removed is not known";
        String range = "batches " + gap.expected() + " to " + (gap.seen() - 1);
        boolean some = gap.batches() > 0;
        return gap.cause() == Gap.Cause.DISCONNECTED
                ? some
                        ? range + " were lost with the connection" + unknown
                        : "the connection was lost before batch " + gap.seen()
                                + ": whether the engine behind it lived on is not known"
                : some
                        ? range + " were lost, dropped on the way" + unknown
                        : "batches from number " + gap.seen() + " on may be lost" + unknown;
    }
}
