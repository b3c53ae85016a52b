package io.holdfast.sidecar;

import io.holdfast.core.Backend;
import io.holdfast.core.Backends;
import io.holdfast.core.DryRunBackend;
import io.holdfast.core.Ledger;
import io.holdfast.core.LedgerLine;
import io.holdfast.http.EngineHttp;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sidecar.EngineConfig.BackendKind;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Every backend that there is, by the name that configuration and ledger use: another one is a class and a line here. */
final class BackendRegistry {
    private static final Map<String, Function<Needs, Backend>> BY_NAME = Map.of(
            "pin_blocks", needs -> new PinBlocksBackend(needs.http(), needs.timer()),
            "dry_run", needs -> new DryRunBackend());

    /** What a backend is made with. */
    record Needs(EngineHttp http, ScheduledExecutorService timer) {}

    private BackendRegistry() {}

    /** A backend by its name; absent where this version has none of that name. */
    static Optional<Backend> named(String name, Needs needs) {
        return Optional.ofNullable(BY_NAME.get(name)).map(make -> make.apply(needs));
    }

    static String name(BackendKind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    /**
     * The configured backend, and those that the ledger names beside it.
     *
     * <p>A dry run sends nothing to the engine, releases of earlier pins included.
     *
     * @param dressed what is put around each of them
     */
    static Backends of(BackendKind configured, Ledger ledger, Needs needs, UnaryOperator<Backend> dressed) {
        Backend chosen = named(name(configured), needs)
                .map(dressed)
                .orElseThrow(() -> new IllegalStateException("No backend is registered as " + name(configured) + "."));
        List<Backend> earlier = configured == BackendKind.DRY_RUN
                ? List.of()
                : ledger.outstanding().stream()
                        .map(LedgerLine.Entry::backend)
                        .distinct()
                        .filter(name -> !name.equals(chosen.name()))
                        .flatMap(name -> named(name, needs).stream())
                        .map(dressed)
                        .toList();
        return new Backends(chosen, earlier);
    }
}
