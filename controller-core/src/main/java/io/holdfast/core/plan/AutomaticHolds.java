package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits;

/** Conditions under which the planner may hold without a request. */
public enum AutomaticHolds {
    /** Never. */
    OFF,
    /** Always, also with pins that take memory of the engine for good. */
    ON,
    /**
     * Allowed where the engine can evict what is held when it needs the memory. Where a pin takes memory for good, that
     * is the operator's decision.
     */
    WHERE_EVICTABLE;

    /** Returns the decision for a backend with these traits. */
    public boolean with(BackendTraits traits) {
        return this == ON || (this == WHERE_EVICTABLE && !traits.takesMemory());
    }

    /** Returns why they are off with this backend, and what switches them on. */
    static String off(BackendTraits traits) {
        return traits.takesMemory()
                ? "automatic holds are off, as they are by default where a pin takes memory for good: automaticHolds:"
                        + " true switches them on"
                : "automatic holds are switched off: automaticHolds: auto switches them on";
    }
}
