package io.holdfast.sglang;

import java.util.List;
import java.util.Optional;

/** Addresses at which an engine publishes its events. */
public sealed interface EventEndpoints {
    /**
     * The engine publishes.
     *
     * @param endpoints one for each data-parallel rank, each a cache of its own; as seen from here
     * @param replayEndpoint where the first rank's past batches can be requested, the others' one port above each;
     *     absent when the engine keeps none
     * @param topic the beginning of the topics to subscribe to
     */
    record Known(List<String> endpoints, Optional<String> replayEndpoint, String topic) implements EventEndpoints {
        public Known {
            endpoints = List.copyOf(endpoints);
        }
    }

    /** The engine does not publish, or does not say; one sentence with what would change it. */
    record Unknown(String why) implements EventEndpoints {}
}
