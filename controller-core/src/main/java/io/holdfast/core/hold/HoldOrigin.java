package io.holdfast.core.hold;

/** Who wanted a hold. */
public enum HoldOrigin {
    /** An operator, a router, a load test. */
    REQUESTED,
    /** The planner itself. */
    AUTOMATIC
}
