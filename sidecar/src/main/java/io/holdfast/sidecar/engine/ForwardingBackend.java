package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.backend.Room;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Another backend as it is; who watches one or stands in its way overrides what that takes.
 *
 * <p>Around one that chooses among several it does not stand in the way of what was chosen: each of those has its own.
 */
abstract class ForwardingBackend implements Backend {
    private final Backend backend;

    ForwardingBackend(Backend backend) {
        this.backend = backend;
    }

    @Override
    public Backend itself() {
        Backend chosen = backend.itself();
        return chosen.equals(backend) ? this : chosen;
    }

    @Override
    public String name() {
        return backend.name();
    }

    @Override
    public BackendTraits traits() {
        return backend.traits();
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return backend.probe();
    }

    @Override
    public Optional<String> hindrance() {
        return backend.hindrance();
    }

    @Override
    public void probed() {
        backend.probed();
    }

    @Override
    public boolean lost() {
        return backend.lost();
    }

    @Override
    public boolean room(Room room) {
        return backend.room(room);
    }

    @Override
    public String handle(PinCommand command) {
        return backend.handle(command);
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return backend.pin(command);
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        return backend.renew(command);
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return backend.unpin(handles);
    }
}
