package io.holdfast.sidecar;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Capabilities;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Another backend with what its last probe found, which is one line in the log. */
final class ProbedBackend extends ForwardingBackend {
    private static final Logger LOG = LoggerFactory.getLogger(ProbedBackend.class);

    private final String engineId;
    private volatile Optional<Capabilities> found = Optional.empty();

    ProbedBackend(Backend backend, String engineId) {
        super(backend);
        this.engineId = engineId;
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
            LOG.info(
                    "Engine {}: {} {}: {}",
                    engineId,
                    name(),
                    answer.canPin() ? "can hold" : "follows, cannot hold",
                    answer.why());
            return answer;
        });
    }
}
