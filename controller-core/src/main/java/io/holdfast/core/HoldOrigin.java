package io.holdfast.core;

/** Who wanted a hold. */
public enum HoldOrigin {
    /** An operator, a router, a load test. */
    REQUESTED,
    /** The planner itself. */
    AUTOMATIC
}
