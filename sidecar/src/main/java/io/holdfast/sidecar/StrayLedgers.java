package io.holdfast.sidecar;

import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ledgers in the state directory that list pins and whose id is not configured: an engine was renamed or taken out.
 *
 * <p>Nobody releases such pins, and nobody else would say so. They are left alone: what was meant only a person knows.
 */
final class StrayLedgers {
    private static final Logger LOG = LoggerFactory.getLogger(StrayLedgers.class);
    private static final String SUFFIX = ".ledger";

    private record Stray(String id, Path file, Ledger ledger) {}

    private final List<Stray> strays = new ArrayList<>();

    private StrayLedgers() {}

    /** To be called before the ledgers of the configured engines are opened. */
    static StrayLedgers find(Path directory, Set<String> configured, LedgerFiles files) {
        StrayLedgers found = new StrayLedgers();
        for (String id : ids(directory)) {
            if (!configured.contains(id)) {
                FileLedgerStore.idle(directory, id, files)
                        .filter(ledger -> !ledger.outstanding().isEmpty())
                        .ifPresent(ledger -> found.strays.add(new Stray(id, directory.resolve(id + SUFFIX), ledger)));
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
    void addAll(Path directory, LedgerFiles files) {
        StrayLedgers others = find(directory, Set.of(), files);
        strays.addAll(others.strays);
    }

    /** The engines of whom there is a ledger. */
    static List<String> ids(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> String.valueOf(file.getFileName()))
                    .filter(name -> name.endsWith(SUFFIX))
                    .map(name -> name.substring(0, name.length() - SUFFIX.length()))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            // There is none yet, or opening a ledger in it says what is wrong.
            return List.of();
        }
    }

    /** Why pins of this engine are released by nobody; absent where there are none. */
    Optional<String> of(EngineIdentity engine) {
        return strays.stream()
                .filter(stray -> stray.ledger.engine().filter(engine::sameAs).isPresent())
                .findFirst()
                .map(stray -> "the ledger " + stray.file + " lists "
                        + stray.ledger.outstanding().size() + " pins of this engine under another id: write id: "
                        + stray.id + " again and start once, so that they are released");
    }
}
