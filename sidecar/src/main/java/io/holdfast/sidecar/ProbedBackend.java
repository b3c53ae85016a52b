package io.holdfast.sidecar;

import io.holdfast.core.Backend;
import io.holdfast.core.BackendTraits;
import io.holdfast.core.Capabilities;
import io.holdfast.core.Outcome;
import io.holdfast.core.PinCommand;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Another backend with what its last probe found, which is one line in the log. */
final class ProbedBackend implements Backend {
    private static final Logger LOG = LoggerFactory.getLogger(ProbedBackend.class);

    private final Backend backend;
    private final String engineId;
    private volatile Optional<Capabilities> found = Optional.empty();

    ProbedBackend(Backend backend, String engineId) {
        this.backend = backend;
        this.engineId = engineId;
    }

    /** What it can do on this engine; absent while it is asked. */
    Optional<Capabilities> found() {
        return found;
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
        found = Optional.empty();
        return backend.probe().thenApply(answer -> {
            found = Optional.of(answer);
            LOG.info(
                    "Engine {}: {} {}: {}",
                    engineId,
                    name(),
                    answer.canPin() ? "can hold" : "follows, cannot hold",
                    answer.why());
            return answer;
        });
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
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return backend.unpin(handles);
    }
}
