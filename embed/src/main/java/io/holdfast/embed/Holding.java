package io.holdfast.embed;

import io.holdfast.core.ControllerSettings;
import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerStore;
import java.io.IOException;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;

/**
 * Parts needed to hold prefixes at one engine; for one engine of one fleet.
 *
 * @param backends the ways to make it keep a prefix
 * @param ledger what it may have pinned for us, on a disk or wherever it outlives the process
 * @param acting where the ledger is written, the backend called and answers are completed; its tasks may block
 * @param settings how much may be held and what is held unasked; absent: {@link ControllerSettings#defaults}
 * @param random tosses the coins of the measurement
 * @param identity which engine the ledger is compared with; absent where it is said later, to {@link
 *     Engine#controller}, and nothing is held or released before that
 */
public record Holding(
        Backends backends,
        Ledger ledger,
        Executor acting,
        Optional<ControllerSettings> settings,
        RandomGenerator random,
        Optional<EngineIdentity> identity) {
    /**
     * Holds by one backend, with a ledger whose owner vouches that it is this engine's.
     *
     * @throws IOException when the ledger cannot be read
     */
    public static Holding of(Backend backend, LedgerStore store, Executor acting) throws IOException {
        return of(Backends.only(backend), store, acting);
    }

    /**
     * Holds by several backends, of which one was chosen.
     *
     * @throws IOException when the ledger cannot be read
     */
    public static Holding of(Backends backends, LedgerStore store, Executor acting) throws IOException {
        return new Holding(
                backends,
                new Ledger(store),
                acting,
                Optional.empty(),
                new SplittableRandom(),
                Optional.of(EngineIdentity.VOUCHED_FOR));
    }

    /** Returns this holding with other rules. */
    public Holding withSettings(ControllerSettings rules) {
        return new Holding(backends, ledger, acting, Optional.of(rules), random, identity);
    }

    /** Returns this holding with coins of another source. */
    public Holding withRandom(RandomGenerator source) {
        return new Holding(backends, ledger, acting, settings, source, identity);
    }

    /** Returns this holding where our own requests may store prefixes anew once they were lost. */
    public Holding withSender(PrefixSender sender) {
        return new Holding(
                new Backends(backends.chosen(), backends.earlier(), Optional.of(sender)),
                ledger,
                acting,
                settings,
                random,
                identity);
    }

    /** Returns this holding for an engine that has not said yet which one it is. */
    public Holding withIdentityToCome() {
        return new Holding(backends, ledger, acting, settings, random, Optional.empty());
    }

    /** Returns true if a backend may send what is held, so that its tokens are worth their memory. */
    boolean keepsTokens() {
        return backends.sendsTokens() || backends.chosen() instanceof AutoBackend;
    }
}
