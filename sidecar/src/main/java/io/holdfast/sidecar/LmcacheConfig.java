package io.holdfast.sidecar;

import static io.holdfast.sidecar.ConfigException.require;

import java.net.URI;
import java.util.Optional;

/**
 * The LMCache behind an engine.
 *
 * @param url of its coordinator
 * @param model as LMCache names it; absent: what the engine says
 * @param worldSize of the engine's tensor parallelism
 */
public record LmcacheConfig(URI url, Optional<String> model, int worldSize) {
    private static final int LARGEST_WORLD = 1_024;

    public LmcacheConfig {
        require(
                EngineConfig.isHttp(url),
                "url",
                url,
                "write the address of the LMCache coordinator, such as http://127.0.0.1:9300, without user, query or"
                        + " fragment");
        model.ifPresent(name -> require(
                !name.isBlank(),
                "model",
                name,
                "write the model as LMCache names it, or leave the key out to ask the engine"));
        require(
                worldSize >= 1 && worldSize <= LARGEST_WORLD,
                "worldSize",
                worldSize,
                "write how many GPUs share the engine's model (tensor parallelism), 1 to " + LARGEST_WORLD);
    }
}
