package io.holdfast.evidence;

/** The answers that an experiment can give. */
public enum Finding {
    /** Holding helped: in both orders, beyond chance, and the server shows why. */
    REAL(0),
    /** Holding changed nothing that matters. */
    NO_EFFECT(1),
    /** The gain that a single order shows is what being second gives. */
    ORDER_ARTEFACT(2),
    /** The baseline never lost the prefix, so there was nothing to win. */
    NO_EXPOSURE(3),
    /** Holding did harm. */
    HARMFUL(5),
    /** The data cannot tell; the {@link Shortfall} says what it lacks. */
    INCONCLUSIVE(4),
    /** A gate failed: the data is not about what it claims to be about. */
    INVALID(6);

    private final int gravity;

    Finding(int gravity) {
        this.gravity = gravity;
    }

    /** Returns true if this weighs more than {@code other} when several findings are put into one. */
    boolean isWorseThan(Finding other) {
        return gravity > other.gravity;
    }
}
