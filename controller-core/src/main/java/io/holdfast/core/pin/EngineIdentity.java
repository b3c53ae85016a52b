package io.holdfast.core.pin;

import java.util.Optional;

/**
 * Identity of the engine that a ledger belongs to, through its restarts: where it is and what it serves.
 *
 * @param address its URL in one spelling
 * @param resolved the same with the host's address for its name, so that two names of one machine are one engine
 * @param model what it serves; absent while it has not said so
 */
public record EngineIdentity(String address, String resolved, Optional<String> model) {
    /** Identity of an engine whose embedder vouches for its ledger itself: the same as any other. */
    public static final EngineIdentity VOUCHED_FOR = new EngineIdentity("", "", Optional.empty());

    /** Returns true if both can be one engine; a model that is not known yet rules nothing out. */
    public boolean sameAs(EngineIdentity other) {
        if (address.isEmpty() || other.address.isEmpty()) {
            return true;
        }
        boolean samePlace = address.equals(other.address) || resolved.equals(other.resolved);
        boolean otherModel = model.isPresent() && other.model.isPresent() && !model.equals(other.model);
        return samePlace && !otherModel;
    }

    /** The place and, where it is known, the model, for people. */
    public String shown() {
        return address + model.map(served -> " with model " + served).orElse("");
    }
}
