package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.http.EngineHttp;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.EngineConfig;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds out which engine answers at a URL, and whether the ledger is that engine's. */
final class LedgerBinding {
    /*
     * A ledger belongs to an engine, through restarts of both: its pins may be released there and nowhere else. So nothing
     * is asked of an engine before it said which one it is, by where it is and by the model that it serves.
     *
     * An empty ledger belongs to whoever comes next. One with entries of an earlier process is left alone, byte for byte,
     * when another engine answers: at another address, or at the same one with another model. An engine that changes its
     * model under our eyes has restarted, which is nothing new: its pins are gone, and are closed as after any restart.
     */

    private static final Logger LOG = LoggerFactory.getLogger(LedgerBinding.class);
    private static final long NEVER = Long.MIN_VALUE;
    private static final long SOON_NANOS = 250_000_000L;
    private static final long AGAIN_NANOS = 5_000_000_000L;

    private final EngineConfig config;
    private final Ledger ledger;
    private final Path file;
    private final EngineHttp http;
    private final Controller controller;
    private final Executor executor;
    private final LongSupplier clock;
    private final AtomicBoolean asking = new AtomicBoolean();
    private volatile Optional<EngineIdentity> engine = Optional.empty();
    private volatile String silence = "it has not answered yet";
    private volatile long askedNanos = NEVER;

    LedgerBinding(
            EngineConfig config,
            Ledger ledger,
            Path file,
            EngineHttp http,
            Controller controller,
            Executor executor,
            LongSupplier clock) {
        this.config = config;
        this.ledger = ledger;
        this.file = file;
        this.http = http;
        this.controller = controller;
        this.executor = executor;
        this.clock = clock;
    }

    /** Asks which engine answers where that is not known, and every few seconds whether it is still that one. */
    void ask() {
        long since = clock.getAsLong() - askedNanos;
        boolean due = askedNanos == NEVER || since >= (engine.isEmpty() ? SOON_NANOS : AGAIN_NANOS);
        if (due && asking.compareAndSet(false, true)) {
            askedNanos = clock.getAsLong();
            ServedModel.ask(http)
                    // The name of the host is looked up, which may wait.
                    .thenAcceptAsync(
                            attempt -> {
                                switch (attempt) {
                                    case ServedModel.Attempt.Answered answered ->
                                        tell(EngineAddress.identity(config.url(), answered.model()));
                                    case ServedModel.Attempt.Refused refused -> silence = refused.why();
                                    case ServedModel.Attempt.Unanswered _ -> {}
                                }
                            },
                            executor)
                    .whenComplete((done, fault) -> {
                        asking.set(false);
                        if (fault != null) {
                            LOG.error("Asking engine {} for its model failed.", config.id(), fault);
                        }
                    });
        }
    }

    private void tell(EngineIdentity found) {
        if (engine.filter(found::equals).isPresent()) {
            return;
        }
        boolean foreign = ledger.engine().filter(whose -> !whose.sameAs(found)).isPresent();
        boolean restarted = engine.isPresent();
        if (foreign && (restarted || ledger.outstanding().isEmpty()) && !config.dryRun()) {
            ledger.record(new Header(Header.VERSION, found));
        }
        LOG.info("Engine {} is the one at {}.", config.id(), found.shown());
        engine = Optional.of(found);
        controller.engineIs(found);
        foreignPins().ifPresent(sentence -> LOG.warn("Engine {}: {}.", config.id(), sentence));
    }

    /** Which engine answers; absent before it did. */
    Optional<EngineIdentity> engine() {
        return engine;
    }

    /** Reason why it is not known which engine answers, to be asked where that is so. */
    String silence() {
        return silence;
    }

    /** Whose pins the ledger lists, where they are another engine's; absent where they are not. */
    Optional<String> foreignPins() {
        Optional<EngineIdentity> here = engine;
        int entries = ledger.outstanding().size();
        if (here.isEmpty() || entries == 0) {
            return Optional.empty();
        }
        return ledger.engine()
                .filter(whose -> !whose.sameAs(here.get()))
                .map(whose -> "the ledger " + file + " lists " + entries + " pins of the engine at " + whose.shown()
                        + ", and this one is at " + here.get().shown()
                        + ", so none of them is released and nothing is pinned; put that url back and start once, or,"
                        + " where that engine was restarted or is gone, delete " + file);
    }
}
