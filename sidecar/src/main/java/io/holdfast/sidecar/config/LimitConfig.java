package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import io.holdfast.kvcached.LimitSettings;
import java.util.Optional;

/**
 * How the kvcached limit of one engine is moved.
 *
 * @param device the device whose memory the engine shares, by its id; absent: it shares with nobody
 * @param settings the guards
 */
public record LimitConfig(Optional<String> device, LimitSettings settings) {
    public LimitConfig {
        long bundle = settings.bundleBytes().orElse(settings.pageBytes());
        require(
                settings.pageBytes() > 0 && settings.pageBytes() % (2 << 20) == 0,
                "page",
                settings.pageBytes(),
                "write KVCACHED_PAGE_SIZE_MB of the engine, whole 2M");
        require(
                bundle >= settings.pageBytes() && bundle % settings.pageBytes() == 0,
                "bundle",
                bundle,
                "write the page times the model's layers, times 2 where keys and values are apart, or leave the key"
                        + " out");
        require(
                settings.step() > 0 && settings.step() <= 0.5,
                "step",
                settings.step(),
                "write more than 0 and at most 0.5");
        require(
                settings.coolDown().toSeconds() >= 1 && settings.coolDown().toSeconds() <= 3_600,
                "coolDownSeconds",
                settings.coolDown().toSeconds(),
                "write 1 to 3600");
        require(
                settings.marginPages() >= 1 && settings.marginPages() <= 1_000,
                "marginPages",
                settings.marginPages(),
                "write 1 to 1000, KVCACHED_MIN_RESERVED_PAGES of the engine");
    }

    static LimitConfig defaults() {
        return new LimitConfig(Optional.empty(), LimitSettings.defaults());
    }
}
