package io.holdfast.core.pin;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Outcome;

/**
 * Consequence of the answer to an unpin, the same with a controller and without one.
 *
 * <p>An engine counts pins for everybody: an unpin too many takes somebody else's pin, and one too few leaves memory
 * taken for ever.
 */
public enum UnpinAnswer {
    /** Nothing is pinned any more. */
    GONE,
    /** The pin may have arrived since it was asked for, so it is unpinned once more when it no longer can. */
    ONCE_IT_HAS_ARRIVED,
    /** The unpin was not carried out, or does no harm a second time. */
    AGAIN,
    /** The engine does not want to: it is asked again rarely. */
    REFUSED,
    /** Nobody knows whether it was carried out, and a second one could take somebody else's pin. */
    UNSURE;

    /**
     * Returns what follows.
     *
     * @param mightArrive whether the pin's own call could still have arrived after this unpin was asked for
     */
    public static UnpinAnswer to(Outcome.Kind answer, BackendTraits traits, boolean mightArrive) {
        return switch (answer) {
            case ACCEPTED, CLIPPED -> mightArrive && !traits.releaseTells() ? ONCE_IT_HAS_ARRIVED : GONE;
            case MISSING -> mightArrive ? ONCE_IT_HAS_ARRIVED : GONE;
            case NOT_SENT -> AGAIN;
            case REJECTED -> REFUSED;
            case DEFERRED -> traits.unpinsOnce() ? UNSURE : AGAIN;
        };
    }
}
