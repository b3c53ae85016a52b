package io.holdfast.kvcached;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * Rules for moving the limit of one engine.
 *
 * @param bundleBytes what a page takes over all layers; absent: found out from what the engine says of its use
 * @param pageBytes of a page in one layer's keys or values ({@code KVCACHED_PAGE_SIZE_MB})
 * @param marginPages how many pages a limit leaves above what is mapped, as many as the engine maps in advance
 *     ({@code KVCACHED_MIN_RESERVED_PAGES})
 * @param floorBytes the least that a limit may be by the operator's word, 0 for none
 * @param step the largest part of the startup limit by which it moves at once
 * @param coolDown the least time between two moves
 * @param pressure whether it is moved by load; else on request only
 * @param restores whether it goes back to what the engine started with when the sidecar ends; else it stays
 */
public record LimitSettings(
        OptionalLong bundleBytes,
        long pageBytes,
        int marginPages,
        long floorBytes,
        double step,
        Duration coolDown,
        boolean pressure,
        boolean restores) {
    /** Settings for kvcached's default pages; the limit is moved on request only. */
    public static LimitSettings defaults() {
        return new LimitSettings(OptionalLong.empty(), 2 << 20, 5, 0, 0.2, Duration.ofSeconds(5), false, true);
    }

    public LimitSettings withBundleBytes(long value) {
        return new LimitSettings(
                OptionalLong.of(value), pageBytes, marginPages, floorBytes, step, coolDown, pressure, restores);
    }

    public LimitSettings withPressure(boolean value) {
        return new LimitSettings(bundleBytes, pageBytes, marginPages, floorBytes, step, coolDown, value, restores);
    }

    public LimitSettings withRestores(boolean value) {
        return new LimitSettings(bundleBytes, pageBytes, marginPages, floorBytes, step, coolDown, pressure, value);
    }
}
