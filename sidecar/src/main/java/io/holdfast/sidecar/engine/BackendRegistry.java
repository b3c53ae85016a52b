package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.engine.EngineFamily.BackendKind;
import io.holdfast.sidecar.engine.EngineFamily.BackendParts;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Every backend that there is, by the name that configuration and ledger use: those of the families, and the dry run. */
public final class BackendRegistry {
    private BackendRegistry() {}

    /** The family of engines that has a backend of this name; where none has, one of which it is not known. */
    public static EngineType family(String backend) {
        return Arrays.stream(EngineType.values())
                .filter(type -> EngineFamily.of(type).backends().containsKey(backend))
                .findFirst()
                .orElse(EngineType.SGLANG);
    }

    /** Whether pins of this backend can be taken back or end by themselves; of one that is not known here, it is hoped. */
    public static boolean letsGo(String backend) {
        return traits(backend).map(BackendTraits::letsGo).orElse(true);
    }

    /** For whoever has no engine to make one for. */
    private static Optional<BackendTraits> traits(String backend) {
        return Arrays.stream(EngineType.values())
                .flatMap(type ->
                        Optional.ofNullable(EngineFamily.of(type).backends().get(backend)).stream())
                .map(BackendKind::traits)
                .findFirst();
    }

    /** A backend by its name; absent where this version has none of that name for such an engine. */
    public static Optional<Backend> named(String name, EngineFamily family, BackendParts parts) {
        return name.equals(DryRunBackend.NAME)
                ? Optional.of(new DryRunBackend())
                : Optional.ofNullable(family.backends().get(name)).map(kind -> kind.of(parts));
    }

    /**
     * The configured backend, and those that the ledger names beside it.
     *
     * <p>A dry run sends nothing to the engine, releases of earlier pins included.
     *
     * @param wrapper what is put around each of them
     */
    static Backends of(EngineConfig config, Ledger ledger, BackendParts parts, UnaryOperator<Backend> wrapper) {
        if (config.backend().equals(AutoBackend.NAME)) {
            List<Backend> all = EngineFamily.of(config.type()).backends().values().stream()
                    .filter(BackendKind::chosen)
                    .map(kind -> wrapper.apply(kind.of(parts)))
                    .toList();
            List<Backend> inOrder = all.stream()
                    .filter(each -> config.publishes() || each.name().equals(KeepWarmBackend.NAME))
                    .toList();
            return new Backends(new AutoBackend(inOrder, parts.clock()), all, sender(config, parts));
        }
        Backend chosen = named(config.backend(), EngineFamily.of(config.type()), parts)
                .map(wrapper)
                .orElseThrow(() -> new IllegalStateException("No backend is registered as " + config.backend() + "."));
        List<Backend> earlier = config.dryRun()
                ? List.of()
                : ledger.outstanding().stream()
                        .map(LedgerLine.Entry::backend)
                        .distinct()
                        .filter(name -> !name.equals(chosen.name()))
                        .flatMap(name -> named(name, EngineFamily.of(config.type()), parts).stream())
                        .map(wrapper)
                        .toList();
        return new Backends(chosen, earlier, config.dryRun() ? Optional.empty() : sender(config, parts));
    }

    private static Optional<PrefixSender> sender(EngineConfig config, BackendParts parts) {
        return config.priming() ? EngineFamily.of(config.type()).sender(parts.http()) : Optional.empty();
    }
}
