package io.holdfast.sidecar.cell;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.sidecar.config.FleetConfig;
import java.io.IOException;
import java.util.Map;
import java.util.function.LongSupplier;

/** Opens the store that the configuration names. */
public final class Stores {
    private Stores() {}

    /** @throws IOException with one sentence, where it cannot be one; that it does not answer is no reason */
    public static FleetStore open(FleetConfig config, Map<String, String> environment, LongSupplier clock)
            throws IOException {
        return new MemoryFleetStore(clock);
    }
}
