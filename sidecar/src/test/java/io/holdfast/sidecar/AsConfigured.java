package io.holdfast.sidecar;

import io.holdfast.core.ControllerSettings;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarConfig;
import java.util.Locale;

/** What a sidecar decides by, from a configuration that says where the engine is and nothing else. */
public final class AsConfigured {
    private AsConfigured() {}

    /**
     * The settings of the controller beside such an engine.
     *
     * @param keys more keys of the engine, as YAML in one line; empty for the defaults
     */
    public static ControllerSettings controller(EngineType type, String keys) {
        String more = keys.isEmpty() ? "" : ", " + keys;
        String yaml = "engines: {main: {type: " + type.name().toLowerCase(Locale.ROOT)
                + ", url: 'http://127.0.0.1:30000'" + more + "}}";
        return SidecarConfig.parse(yaml, "the default").engines().getFirst().controllerSettings();
    }
}
