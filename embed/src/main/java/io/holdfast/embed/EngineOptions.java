package io.holdfast.embed;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.EventSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One engine of a fleet: what it is, where it publishes its events, and whether anything is held there.
 *
 * @param id a name of the embedder's choice, for reasons and logs
 * @param caches in what its events differ
 * @param requests how its events tell of requests; used where it holds
 * @param naming how it names blocks; used where it holds
 * @param events where it publishes; absent where the embedder hands its events in, to {@link Engine#events}
 * @param holding absent for an engine that is only routed to
 * @param views where views may be had of what it has, for a start in the middle of its life
 */
public record EngineOptions(
        String id,
        CacheTraits caches,
        RequestRules requests,
        BlockNaming naming,
        Optional<EventSource> events,
        Optional<Holding> holding,
        List<ViewSource> views) {
    /** @throws IllegalArgumentException with one sentence, where it has no name or its holding is another engine's */
    public EngineOptions {
        views = List.copyOf(views);
        if (id.isBlank()) {
            throw new IllegalArgumentException("An engine of a fleet needs an id: give it one that is not blank.");
        }
        holding.flatMap(Holding::settings)
                .filter(settings -> !settings.engineId().equals(id))
                .ifPresent(settings -> {
                    throw new IllegalArgumentException("The settings for holding are those of engine "
                            + settings.engineId() + ", and they are given to engine " + id
                            + ": make them for that one.");
                });
    }

    /** Options of an engine of which no views are to be had elsewhere. */
    public EngineOptions(
            String id,
            CacheTraits caches,
            RequestRules requests,
            BlockNaming naming,
            Optional<EventSource> events,
            Optional<Holding> holding) {
        this(id, caches, requests, naming, events, holding, List.of());
    }

    /** An SGLang server with one cache, which is only routed to. */
    public static EngineOptions sglang(String id) {
        return new EngineOptions(
                id,
                CacheTraits.sglang(),
                RequestRules.sglang(),
                BlockNaming.sglang(),
                Optional.empty(),
                Optional.empty(),
                List.of());
    }

    /** A vLLM server with one cache, which is only routed to; how it names blocks is found out from its events. */
    public static EngineOptions vllm(String id) {
        return new EngineOptions(
                id,
                CacheTraits.vllm(),
                RequestRules.vllm(),
                BlockNaming.vllm(id),
                Optional.empty(),
                Optional.empty(),
                List.of());
    }

    /** Returns these options with events from a source. */
    public EngineOptions withEvents(EventSource source) {
        return new EngineOptions(id, caches, requests, naming, Optional.of(source), holding, views);
    }

    /**
     * Returns these options with events from one cache, without a place at which to request what was missed.
     *
     * @param endpoint {@code tcp://host:port}
     * @throws IllegalArgumentException with one sentence, where that cannot be one
     */
    public EngineOptions withEvents(String endpoint) {
        return withEvents(EventSource.of(endpoint, ""));
    }

    /** Returns these options with another way to name blocks. */
    public EngineOptions withNaming(BlockNaming rule) {
        return new EngineOptions(id, caches, requests, rule, events, holding, views);
    }

    /** Returns these options with prefixes held there. */
    public EngineOptions withHolding(Holding how) {
        return new EngineOptions(id, caches, requests, naming, events, Optional.of(how), views);
    }

    /**
     * Returns these options with one more place that has views of what the engine has. Whenever what is known of it is
     * not certain, the newest view is taken over, if the engine's own batches prove it.
     */
    public EngineOptions withViews(ViewSource source) {
        List<ViewSource> more = new ArrayList<>(views);
        more.add(source);
        return new EngineOptions(id, caches, requests, naming, events, holding, more);
    }
}
