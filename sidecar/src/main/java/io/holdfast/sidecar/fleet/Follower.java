package io.holdfast.sidecar.fleet;

import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.embed.ledger.LedgerInUse;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Waits in a process of its own until no other sidecar has the ledgers of its state directory, and then starts in its place.
 *
 * <p>The operating system lets go of a ledger's lock when the process that has it ends, however it ends: there is no heartbeat
 * that could be missed, and no moment at which two believe that they are the one. So a follower never takes over from a
 * sidecar that is alive, be it suspended or hanging.
 *
 * <p>Before that it asks the engines nothing and listens nowhere, so that both can have one configuration, port included. The
 * ledger, the kept holds and what was learned are in the state directory; what happened meanwhile is asked of the engine's
 * replay endpoint, as after any start.
 */
public final class Follower {
    /** Time between two looks at the ledgers. */
    public static final Duration LOOKS_EACH = Duration.ofMillis(250);

    private final SidecarConfig config;
    private final Supplier<Sidecar> starting;

    /**
     * Of sidecars with this configuration.
     *
     * @param starting starts one with it; refused by a {@link SidecarException}
     */
    public Follower(SidecarConfig config, Supplier<Sidecar> starting) {
        this.config = config;
        this.starting = starting;
    }

    /**
     * Starts where nobody else has a ledger; absent, with nothing changed, while somebody has.
     *
     * @throws SidecarException with one sentence when it cannot start, as when its port is taken
     */
    public Optional<Sidecar> tryToStart() {
        if (othersAlive()) {
            return Optional.empty();
        }
        try {
            return Optional.of(starting.get());
        } catch (SidecarException e) {
            if (e.getCause() instanceof LedgerInUse) {
                // Another one was sooner.
                return Optional.empty();
            }
            throw e;
        }
    }

    /** A start would find out as well, but is not a thing to be done four times a second. */
    private boolean othersAlive() {
        return config.engines().stream().anyMatch(engine -> {
            try {
                return FileLedgerStore.toRead(config.stateDirectory(), engine.id(), LedgerFiles.SYSTEM)
                        .inUse();
            } catch (IOException e) {
                // The start says it in a sentence.
                return false;
            }
        });
    }
}
