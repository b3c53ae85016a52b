package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** Makes calls to backends, and takes note of what came of them. */
interface CallWatch {
    /** Makes calls and notes nothing. */
    CallWatch NOBODY = new CallWatch() {};

    /** Takes in that calls to this backend may come. */
    default void expect(Backend backend) {}

    default CompletionStage<Outcome> pin(Backend backend, PinCommand command) {
        return backend.pin(command);
    }

    default CompletionStage<Outcome> renew(Backend backend, PinCommand command) {
        return backend.renew(command);
    }

    default CompletionStage<Outcome> unpin(Backend backend, List<String> handles) {
        return backend.unpin(handles);
    }
}
