package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Capabilities;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Another backend with what its last probe found. */
final class ProbedBackend extends ForwardingBackend {
    private volatile Optional<Capabilities> found = Optional.empty();

    ProbedBackend(Backend backend) {
        super(backend);
    }

    /** What it can do on this engine; absent while it is asked. */
    Optional<Capabilities> found() {
        return found;
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        found = Optional.empty();
        return super.probe().thenApply(answer -> {
            found = Optional.of(answer);
            return answer;
        });
    }
}
