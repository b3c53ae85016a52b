package io.holdfast.loadtest.workload;

/** Purpose of a request. */
public enum Role {
    /** The prefix alone, so that it is in the cache before the hold step. */
    PRIME,
    /** Traffic before the hold step, from which an automatic holder can learn; in no figure. */
    LEARN,
    /** An unrelated prompt that presses on the cache. */
    FLOOD,
    /** The prefix and a suffix of its own: tells whether the prefix is still cached. */
    PROBE,
    /** A request that an arm's switch sends for itself: never load, and in no figure of it. */
    TOUCH,
    /** Sent before a load without arms and in no figure of it. */
    WARM_UP,
    /** A request of a load without arms. */
    LOAD
}
