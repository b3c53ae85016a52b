package io.holdfast.sidecar.store;

import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.config.StateHome;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ledgers in the state directory that list pins and whose id is not configured: an engine was renamed or taken out.
 *
 * <p>Nobody releases such pins, and nobody else would say so. They are left alone: what was meant only a person knows.
 */
public final class StrayLedgers {
    private static final Logger LOG = LoggerFactory.getLogger(StrayLedgers.class);

    private record Stray(String id, Path file, Ledger ledger) {}

    private final List<Stray> strays = new ArrayList<>();

    private StrayLedgers() {}

    /** To be called before the ledgers of the configured engines are opened. */
    public static StrayLedgers find(Path directory, Set<String> configured, LedgerFiles files) {
        StrayLedgers found = new StrayLedgers();
        for (String id : StateHome.ledgers(directory)) {
            if (!configured.contains(id)) {
                FileLedgerStore.idle(directory, id, files)
                        .filter(ledger -> !ledger.outstanding().isEmpty())
                        .ifPresent(ledger ->
                                found.strays.add(new Stray(id, directory.resolve(id + StateHome.LEDGER), ledger)));
            }
        }
        found.strays.forEach(stray -> LOG.warn(
                "The ledger {} lists {} pins of the engine at {}, and no engine {} is configured, so nobody releases"
                        + " them: write that engine again and start once, or delete the file where the engine has"
                        + " ended.",
                stray.file,
                stray.ledger.outstanding().size(),
                stray.ledger.engine().map(EngineIdentity::shown).orElse("an address that is not written"),
                stray.id));
        return found;
    }

    /** Looks as well at what an earlier start left in another directory, where no ledger is anybody's. */
    public void addAll(Path directory, LedgerFiles files) {
        StrayLedgers others = find(directory, Set.of(), files);
        strays.addAll(others.strays);
    }

    /** Why pins of this engine are released by nobody; absent where there are none. */
    public Optional<String> of(EngineIdentity engine) {
        return strays.stream()
                .filter(stray -> stray.ledger.engine().filter(engine::sameAs).isPresent())
                .findFirst()
                .map(stray -> "the ledger " + stray.file + " lists "
                        + stray.ledger.outstanding().size() + " pins of this engine under another id: name it "
                        + stray.id + " again and start once, so that they are released");
    }
}
