package io.holdfast.core.backend;

import io.holdfast.core.backend.BackendTraits.Need;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The backends of one engine: the one that pins, and those that release what the ledger says they pinned earlier.
 *
 * @param chosen pins from now on
 * @param earlier release their own entries of the ledger, and do not pin unless they are what is chosen
 * @param sender sends prefixes as requests of our own; absent where none are to be sent
 */
public record Backends(Backend chosen, List<Backend> earlier, Optional<PrefixSender> sender) {
    public Backends {
        earlier = List.copyOf(earlier);
    }

    /** One backend for everything; what another one pinned is left alone. */
    public static Backends only(Backend backend) {
        return new Backends(backend, List.of(), Optional.empty());
    }

    /** Returns true if prefixes may have to be sent to the engine, for which their tokens are needed. */
    public boolean sendsTokens() {
        return sender.isPresent()
                || Stream.concat(Stream.of(chosen), earlier.stream())
                        .anyMatch(backend -> backend.traits().needs(Need.TOKENS));
    }

    /** Returns true if a ledger may be needed: by what is chosen, by what it may give way to, or by earlier pins. */
    public boolean mayNeedLedger() {
        BackendTraits traits = chosen.traits();
        return traits.needsLedger() || traits.fading() || traits.endsInTime() || !earlier.isEmpty();
    }

    public Optional<Backend> named(String name) {
        if (chosen.name().equals(name)) {
            return Optional.of(chosen.itself());
        }
        return earlier.stream().filter(backend -> backend.name().equals(name)).findFirst();
    }
}
