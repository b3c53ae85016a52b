package io.holdfast.sglang;

import java.util.List;

/** Where an engine publishes its events. */
public sealed interface EventEndpoints {
    /**
     * The engine publishes.
     *
     * @param endpoints one for each data-parallel rank, each a cache of its own; as seen from here
     * @param topic the beginning of the topics to subscribe to
     */
    record Known(List<String> endpoints, String topic) implements EventEndpoints {
        public Known {
            endpoints = List.copyOf(endpoints);
        }
    }

    /** The engine does not publish, or does not say; one sentence with what would change it. */
    record Unknown(String why) implements EventEndpoints {}
}
