package io.holdfast.sidecar.engine;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarException;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * An engine that somebody at a terminal names, to look at it.
 *
 * @param url where its HTTP server is
 * @param type sglang, vllm or tensorrt_llm; absent: found out
 * @param events where it publishes; absent: what it says, or where such engines do by default
 * @param replay where it answers for past events; absent: what it says, or nowhere
 * @param topic the topic it publishes under; absent: what it says, or any
 * @param kvcachedSegment the kvcached segment that is said to be its
 * @param apiKeyEnv the environment variable that has its key
 * @param connectorSecretEnv the one that has the secret of its connector
 */
public record EngineTarget(
        String url,
        Optional<String> type,
        Optional<String> events,
        Optional<String> replay,
        Optional<String> topic,
        Optional<String> kvcachedSegment,
        Optional<String> apiKeyEnv,
        Optional<String> connectorSecretEnv) {
    /** An engine of which only its address is known. */
    public static EngineTarget of(URI url) {
        return named(url.toString());
    }

    /** The same as somebody wrote it. */
    public static EngineTarget named(String url) {
        return new EngineTarget(
                url,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** Asks the engine of which family it is; absent where nothing answers that would tell. */
    public Optional<String> recognised() {
        try (EngineContact contact = EngineContact.open(this)) {
            return Optional.of(contact.type().name().toLowerCase(Locale.ROOT));
        } catch (SidecarException | ConfigException e) {
            return Optional.empty();
        }
    }

    /** Where an engine of this family publishes unless it is told otherwise, for one that does not say it. */
    public Optional<String> usualEvents(String family) {
        try {
            return List.of("vllm", "tensorrt_llm").contains(family)
                    ? Optional.of(EngineContact.usualEvents(config(EngineType.VLLM)))
                    : Optional.empty();
        } catch (ConfigException e) {
            // What is wrong with its address is said where the configuration is read.
            return Optional.empty();
        }
    }

    /** The same with its key. */
    public EngineTarget withApiKeyEnv(Optional<String> variable) {
        return new EngineTarget(url, type, events, replay, topic, kvcachedSegment, variable, connectorSecretEnv);
    }

    /** What was said of its family; absent where nothing was. */
    Optional<EngineType> toldType() {
        return type.map(name -> {
            for (EngineType each : EngineType.values()) {
                if (each.name().equalsIgnoreCase(name)) {
                    return each;
                }
            }
            throw new ConfigException(
                    "--type",
                    "is " + ConfigException.shown(name) + "; write sglang, vllm or tensorrt_llm, or leave it out");
        });
    }

    /**
     * As the sidecar would be told of it, with a dry run.
     *
     * @throws ConfigException with a sentence that names the option
     */
    EngineConfig config(EngineType family) {
        try {
            return EngineConfig.read("main", mapping(family).put("backend", "dry_run"));
        } catch (ConfigException e) {
            throw e.at(option(e.place())).withWords("leave the key out", "leave it out");
        }
    }

    /** The keys of the engine that are known, in the order in which one would write them. */
    public ObjectNode mapping(EngineType family) {
        ObjectNode engine = JsonNodeFactory.instance.objectNode();
        engine.put("type", family.name().toLowerCase(Locale.ROOT)).put("url", url);
        events.ifPresent(value -> engine.put("events", value));
        replay.ifPresent(value -> engine.put("replay", value));
        topic.ifPresent(value -> engine.put("topic", value));
        kvcachedSegment.ifPresent(value -> engine.put("kvcachedSegment", value));
        apiKeyEnv.ifPresent(value -> engine.put("apiKeyEnv", value));
        connectorSecretEnv.ifPresent(value -> engine.put("connectorSecretEnv", value));
        return engine;
    }

    public EngineTarget withEvents(String endpoint) {
        return new EngineTarget(
                url, type, Optional.of(endpoint), replay, topic, kvcachedSegment, apiKeyEnv, connectorSecretEnv);
    }

    private static String option(String key) {
        return key.equals("url")
                ? "--engine"
                : "--" + key.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }
}
