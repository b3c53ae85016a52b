package io.holdfast.sidecar.fleet;

import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.ConfigKey;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Section;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Steps from one configuration to another.
 *
 * @param changed by the engine's id: the keys that differ
 */
public record FleetChange(
        List<EngineConfig> added, List<EngineConfig> removed, Map<EngineConfig, List<ConfigKey>> changed) {
    /**
     * Returns the difference between two configurations.
     *
     * @throws ConfigException in one sentence, where only a restart of the process gets there
     */
    public static FleetChange between(SidecarConfig before, SidecarConfig after) {
        refuseOthers(before, after);
        Map<String, EngineConfig> old = byId(before);
        Map<String, EngineConfig> next = byId(after);
        List<EngineConfig> added = next.values().stream()
                .filter(engine -> !old.containsKey(engine.id()))
                .toList();
        List<EngineConfig> removed = old.values().stream()
                .filter(engine -> !next.containsKey(engine.id()))
                .toList();
        for (EngineConfig engine : added) {
            refuse(engine.kvcachedSegment().isPresent(), engine, "kvcachedSegment");
        }
        for (EngineConfig engine : removed) {
            refuse(engine.kvcachedSegment().isPresent(), engine, "kvcachedSegment");
        }
        Map<EngineConfig, List<ConfigKey>> changed = new LinkedHashMap<>();
        next.values().stream().filter(engine -> old.containsKey(engine.id())).forEach(engine -> {
            List<ConfigKey> keys =
                    Section.of(EngineConfig.class).differing(Objects.requireNonNull(old.get(engine.id())), engine);
            for (ConfigKey key : keys) {
                boolean sizes =
                        key.name().equals("maxOutputTokens") || key.name().equals("largestPromptTokens");
                refuse(
                        key.change() == Change.RESTART
                                || (sizes && engine.kvcachedSegment().isPresent()),
                        engine,
                        key.name());
            }
            if (!keys.isEmpty()) {
                changed.put(engine, keys);
            }
        });
        return new FleetChange(added, removed, changed);
    }

    /** Tells whether the engine has to be followed anew. */
    public static boolean anew(List<ConfigKey> keys) {
        return keys.stream().anyMatch(key -> key.change() == Change.ANEW);
    }

    private static void refuse(boolean restart, EngineConfig engine, String key) {
        if (restart) {
            throw new ConfigException(
                    "engines." + engine.id() + "." + key,
                    "is taken at a start alone, and nothing was changed; restart the sidecar, or write it as it was");
        }
    }

    private static void refuseOthers(SidecarConfig before, SidecarConfig after) {
        List<String> others = new ArrayList<>();
        Section.of(Listen.class)
                .differing(before.listen(), after.listen())
                .forEach(key -> others.add("listen." + key.name()));
        Section.of(SidecarConfig.class).differing(before, after).stream()
                .filter(key -> key.change() == Change.RESTART && !key.name().equals("listen"))
                .forEach(key -> others.add(key.name()));
        if (!others.isEmpty()) {
            throw new ConfigException(
                    String.join(" and ", others),
                    (others.size() == 1 ? "is" : "are")
                            + " taken at a start alone, and nothing was changed; restart the sidecar, or write it as it"
                            + " was");
        }
    }

    private static Map<String, EngineConfig> byId(SidecarConfig config) {
        return config.engines().stream()
                .collect(Collectors.toMap(
                        EngineConfig::id, Function.identity(), (first, second) -> first, LinkedHashMap::new));
    }
}
