package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.PromptRenderer;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.Secret;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/** All that differs from one family of engines to another; other code asks this and never switches on the type. */
public interface EngineFamily {
    /** Returns the family of engines of one type. */
    static EngineFamily of(EngineType type) {
        return switch (type) {
            case SGLANG -> new SglangFamily();
            case VLLM -> new VllmFamily();
            case TENSORRT_LLM -> new TensorRtFamily();
        };
    }

    /** Releases that were looked at; docs/backends.md says how. */
    Seen seen();

    /** How its events tell of its requests. */
    RequestRules requestRules();

    /** The family's own backends by the name that configuration and ledger use, those that are chosen among first, in that order. */
    SequencedMap<String, BackendKind> backends();

    /** What it is asked again and again. */
    Questions questions(EngineHttp http);

    /** Has it say which tokens it makes of a prompt. */
    PromptRenderer renderer(EngineHttp http);

    /** Has it store a prefix alone, by a request of the sidecar's own; absent where no backend of it gains by that. */
    Optional<PrefixSender> sender(EngineHttp http);

    /** Returns what closes a session that a client opened, whose id is safe in JSON; empty where engines have none. */
    default Optional<Function<String, CompletionStage<Outcome>>> sessionCloser(BackendParts parts) {
        return Optional.empty();
    }

    /** How one engine of it names blocks. */
    BlockNaming naming(EngineConfig engine);

    /**
     * One of the backends: what it is, for whoever has no engine to make one for, and how it is made for one.
     *
     * @param traits those of every one that is made with the configuration's defaults
     * @param byName whether it is never chosen, and taken where the configuration names it
     * @param look finds out whether it would work, in a way that does the engine no harm where nobody wants it
     */
    record BackendKind(
            BackendTraits traits,
            Function<BackendParts, Backend> make,
            boolean byName,
            Function<BackendParts, CompletionStage<Capabilities>> look) {
        /** One of those that are chosen among. */
        BackendKind(BackendTraits traits, Function<BackendParts, Backend> make) {
            this(traits, make, false);
        }

        /** One whose probe does no harm. */
        BackendKind(BackendTraits traits, Function<BackendParts, Backend> make, boolean byName) {
            this(traits, make, byName, parts -> make.apply(parts).probe());
        }

        Backend of(BackendParts parts) {
            return make.apply(parts);
        }

        /** Asks whether it works. */
        CompletionStage<Capabilities> ask(BackendParts parts) {
            return look.apply(parts);
        }
    }

    /**
     * What a backend is made with.
     *
     * @param config what the operator decided about the engine
     * @param http with the key for requests
     * @param admin the same with the key for what only an administrator may do
     * @param connectorSecret the secret that the engine's connector has as well
     */
    record BackendParts(
            EngineConfig config,
            EngineHttp http,
            EngineHttp admin,
            Optional<Secret> connectorSecret,
            ScheduledExecutorService timer,
            LongSupplier clock,
            RandomGenerator random) {}

    /** Oldest and newest release that was looked at. */
    record Seen(EngineVersion oldest, EngineVersion newest) {}

    /** Questions that the engine answers when it is there. */
    interface Questions {
        CompletionStage<EngineReadings> readings(long nowNanos);

        CompletionStage<Events> events();

        /** How many caches the engine has, one for each data-parallel rank; 1 where it does not tell. */
        CompletionStage<Integer> caches();
    }

    /** Where an engine's events come from. */
    sealed interface Events {
        record At(EventSource source) implements Events {}

        /** One sentence why that is not known. */
        record Unknown(String why) implements Events {}
    }
}
