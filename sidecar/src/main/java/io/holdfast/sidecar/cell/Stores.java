package io.holdfast.sidecar.cell;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.FleetStoreException;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.valkey.ValkeyFleetStore;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/** Opens the store that the configuration names. */
public final class Stores {
    private static final Duration LIMIT = Duration.ofSeconds(1);

    private Stores() {}

    /**
     * Opens it; connections are made in the background.
     *
     * @throws IOException with one sentence, where it cannot be one; that it does not answer is no reason
     */
    public static FleetStore open(
            FleetConfig config, Map<String, String> environment, LongSupplier clock, Executor executor)
            throws IOException {
        if (config.store().equals("memory")) {
            return new MemoryFleetStore(clock);
        }
        try {
            return ValkeyFleetStore.open(
                    config.store(), config.userEnv(), config.passwordEnv(), environment, LIMIT, executor);
        } catch (FleetStoreException e) {
            throw new IOException("fleet.store: " + e.getMessage(), e);
        }
    }
}
