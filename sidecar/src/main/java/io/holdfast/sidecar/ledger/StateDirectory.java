package io.holdfast.sidecar.ledger;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.embed.ledger.LedgerInUse;
import io.holdfast.sidecar.client.SidecarCalls;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.config.StateHome;
import io.holdfast.sidecar.engine.BackendRegistry;
import io.holdfast.sidecar.store.HoldFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The ledgers of a state directory, for a person: shown as they are, and let go of, with a sidecar or without. */
public final class StateDirectory {
    /*
     * One truth
     * ---------
     * What is pinned is known to whoever writes the ledger, so there is never a second writer. A ledger that a sidecar has
     * is only read here, and let go of by that sidecar, through its API; one that nobody has is taken as a sidecar takes
     * it, so that none can start meanwhile. Either way it is the ledger that says in the end what was let go of.
     *
     * Which engine
     * ------------
     * The ledger says where its engine is, and what it serves; the configuration may, too, and has the keys. What the
     * configuration names as the way to hold does not matter: each entry is released by the backend that made it.
     */

    private static final String VARIABLE = "HOLDFAST_STATE_DIRECTORY";

    /**
     * What a person tells of the engine and of a sidecar, beside what the configuration tells.
     *
     * @param sidecar where the API of the sidecar is that has the ledger; absent: what it left in the state directory
     * @param tokenEnv the environment variable with the token that its API asks of those who act
     * @param apiKeyEnv the one with the engine's key for requests
     * @param adminKeyEnv the one with its key for pins; absent: the same
     * @param patience for how long to wait for what is on its way
     */
    public record Told(
            Optional<URI> sidecar,
            Optional<String> tokenEnv,
            Optional<String> apiKeyEnv,
            Optional<String> adminKeyEnv,
            Duration patience) {}

    private final Path directory;
    private final Optional<SidecarConfig> config;
    private final Optional<String> usualPlace;

    private StateDirectory(Path directory, Optional<SidecarConfig> config, Optional<String> usualPlace) {
        this.directory = directory;
        this.config = config;
        this.usualPlace = usualPlace;
    }

    /**
     * Of which only the path is known.
     *
     * @throws SidecarException with one sentence, when it is no directory that can be read
     */
    public static StateDirectory at(Path directory) {
        return checked(new StateDirectory(directory, Optional.empty(), Optional.empty()));
    }

    /**
     * The one that a configuration names.
     *
     * @throws SidecarException with one sentence, when it is no directory that can be read
     */
    public static StateDirectory of(SidecarConfig config) {
        return checked(new StateDirectory(config.stateDirectory(), Optional.of(config), Optional.empty()));
    }

    /**
     * The one that a sidecar with this environment keeps its state in when nobody tells it where.
     *
     * @throws SidecarException with one sentence, when there is none, or it cannot be read
     */
    public static StateDirectory usual(Map<String, String> environment) {
        Optional<String> told = Optional.ofNullable(environment.get(VARIABLE)).filter(text -> !text.isBlank());
        StateHome home = StateHome.of(environment);
        Path place = told.map(Path::of)
                .or(home::taken)
                .orElseThrow(() -> new SidecarException("There is no usual state directory, since " + home.why()
                        + "; name the one that the sidecar's configuration has as stateDirectory."));
        String why = told.isPresent() ? VARIABLE + " says so" : home.why();
        if (!Files.isDirectory(place)) {
            throw new SidecarException("There is no state directory " + place
                    + ", which is where a sidecar of this user keeps its ledgers unless it is told otherwise (" + why
                    + "), so none has pinned anything from there; name another one with --state-directory DIR, or the"
                    + " sidecar's configuration with --config FILE.");
        }
        String others = told.isPresent() || home.others().isEmpty()
                ? ""
                : "; there are ledgers in "
                        + home.others().stream().map(Path::toString).collect(Collectors.joining(" and "))
                        + " as well";
        return checked(new StateDirectory(
                place, Optional.empty(), Optional.of("the usual state directory, since " + why + others)));
    }

    private static StateDirectory checked(StateDirectory made) {
        if (!Files.isDirectory(made.directory)) {
            throw new SidecarException("There is no state directory " + made.directory
                    + "; name the one that the sidecar's configuration has as stateDirectory.");
        }
        if (!Files.isReadable(made.directory)) {
            throw new SidecarException("The state directory " + made.directory
                    + " cannot be read; run this as the sidecar's user, or mend its permissions.");
        }
        return made;
    }

    public Path path() {
        return directory;
    }

    /** Returns why it is this one, where nobody named it; absent where somebody did. */
    public Optional<String> usualPlace() {
        return usualPlace;
    }

    /** The ids of the engines that it has a ledger of, in order. */
    public List<String> ids() {
        return StateHome.ledgers(directory);
    }

    /**
     * The ledger of one engine as it is now, whoever writes it.
     *
     * @throws SidecarException with one sentence, when there is none of this id or it cannot be read
     */
    public LedgerState ledger(String id) {
        if (!ids().contains(id)) {
            throw new SidecarException("There is no ledger of an engine " + ConfigException.shown(id) + " in "
                    + directory + "; there "
                    + (ids().isEmpty() ? "is none at all." : "are those of " + String.join(", ", ids()) + "."));
        }
        FileLedgerStore store = FileLedgerStore.toRead(directory, id, LedgerFiles.SYSTEM);
        try {
            return state(id, store, new Ledger(store));
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    private LedgerState state(String id, FileLedgerStore store, Ledger ledger) throws IOException {
        return new LedgerState(
                id,
                store.file(),
                ledger.engine().map(LedgerState.Engine::of),
                ledger.paused(),
                ledger.outstanding().stream().map(entry -> pin(entry, store)).toList(),
                store.inUse() ? new LedgerState.Use.Sidecar(store.server()) : new LedgerState.Use.Nobody(),
                configured(id).map(EngineConfig::backend),
                HoldFile.count(directory, id, Instant.now()));
    }

    static LedgerState.Pin pin(Entry entry, FileLedgerStore store) {
        return new LedgerState.Pin(
                entry.backend(),
                entry.handle(),
                entry.holdId(),
                entry.origin().name().toLowerCase(Locale.ROOT),
                entry.step(),
                entry.blocks(),
                store.since(entry),
                entry.note(),
                BackendRegistry.letsGo(entry.backend()));
    }

    static SidecarException unreadable(IOException cause) {
        String sentence = String.valueOf(cause.getMessage());
        return new SidecarException(
                sentence.endsWith(".") ? sentence : "A ledger cannot be read (" + cause + "); mend its permissions.",
                cause);
    }

    private Optional<EngineConfig> configured(String id) {
        return config.flatMap(read ->
                read.engines().stream().filter(engine -> engine.id().equals(id)).findFirst());
    }

    /** Whether a configuration was read, and has no engine of this id. */
    public boolean stray(String id) {
        return config.isPresent() && configured(id).isEmpty();
    }

    /**
     * Lets go of everything that the ledger of one engine lists; blocks until that is done or cannot be.
     *
     * @throws SidecarException with one sentence, when it cannot even be tried
     */
    public LedgerRelease release(String id, Told told) {
        LedgerState before = ledger(id);
        return switch (before.use()) {
            case LedgerState.Use.Sidecar sidecar -> byTheSidecar(before, sidecar, told);
            case LedgerState.Use.Nobody _ -> withoutASidecar(before, told);
        };
    }

    private LedgerRelease byTheSidecar(LedgerState before, LedgerState.Use.Sidecar sidecar, Told told) {
        URI api = told.sidecar()
                .or(sidecar::api)
                .orElseThrow(() -> new SidecarException("The ledger " + before.file()
                        + " is in use by a sidecar that has not said where it serves; name that with --sidecar, or stop"
                        + " it and try again."));
        Optional<String> token =
                told.tokenEnv().or(() -> config.flatMap(read -> read.listen().actTokenEnv()));
        try (SidecarCalls calls = SidecarCalls.open(api, token)) {
            return new ReleaseByApi(calls, () -> ledger(before.id()), told.patience(), System::nanoTime)
                    .release(before);
        }
    }

    private LedgerRelease withoutASidecar(LedgerState before, Told told) {
        if (before.pins().isEmpty()) {
            return new LedgerRelease(
                    before.id(),
                    "nobody, since nothing is listed",
                    List.of(),
                    List.of(),
                    Optional.empty(),
                    notes(before));
        }
        try (FileLedgerStore store = FileLedgerStore.open(directory, before.id(), LedgerFiles.SYSTEM);
                ReleaseByBackends release = ReleaseByBackends.open(store, engine(before), told)) {
            return release.release(before, notes(before));
        } catch (LedgerInUse e) {
            throw new SidecarException(
                    "A sidecar took the ledger " + before.file() + " just now; try again, so that it is asked.", e);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    private List<String> notes(LedgerState ledger) {
        int kept = ledger.keptHolds();
        return kept == 0
                ? List.of()
                : List.of("The next start asks again for " + kept
                        + (kept == 1 ? " requested hold in " : " requested holds in ")
                        + directory.resolve(ledger.id() + ".holds") + "; delete that file to end "
                        + (kept == 1 ? "it." : "them."));
    }

    /** As a sidecar would be told of it. */
    private EngineConfig engine(LedgerState ledger) {
        Optional<EngineConfig> known = configured(ledger.id());
        if (known.isPresent()) {
            return known.get();
        }
        LedgerState.Engine whose = ledger.engine()
                .filter(identity -> !identity.address().isEmpty())
                .orElseThrow(() -> new SidecarException("The ledger " + ledger.file()
                        + " does not say where its engine is, as those of the first version did not; name the"
                        + " configuration with --config, which does."));
        try {
            return EngineConfig.of(
                    ledger.id(),
                    BackendRegistry.family(ledger.pins().getFirst().backend()),
                    URI.create(whose.address()));
        } catch (ConfigException | IllegalArgumentException e) {
            throw new SidecarException(
                    "The ledger " + ledger.file() + " says of its engine what cannot be used (" + e.getMessage()
                            + "); name the configuration with --config, or delete it where that engine has ended.",
                    e);
        }
    }
}
