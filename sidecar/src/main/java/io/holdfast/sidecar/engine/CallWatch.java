package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import java.util.List;
import java.util.function.Consumer;

/** Watches calls to backends: told of each before it leaves, it returns who hears its outcome. */
interface CallWatch {
    /** Watches nothing. */
    CallWatch NOBODY = new CallWatch() {};

    /** Takes in that calls to this backend may come. */
    default void expect(Backend backend) {}

    default Consumer<Outcome> pin(Backend backend, PinCommand command) {
        return outcome -> {};
    }

    default Consumer<Outcome> renew() {
        return outcome -> {};
    }

    default Consumer<Outcome> unpin(Backend backend, List<String> handles) {
        return outcome -> {};
    }
}
