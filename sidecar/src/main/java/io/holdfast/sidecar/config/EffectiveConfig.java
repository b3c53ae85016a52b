package io.holdfast.sidecar.config;

import java.util.List;

/**
 * Configuration that holds, with the places where it was written.
 *
 * @param yaml all of it, defaults as well, ready to be read again; it names secrets and has none
 * @param lines each value that was written, with its source, and what was found out beside that
 */
public record EffectiveConfig(SidecarConfig config, String yaml, List<String> lines) {
    public EffectiveConfig {
        lines = List.copyOf(lines);
    }
}
