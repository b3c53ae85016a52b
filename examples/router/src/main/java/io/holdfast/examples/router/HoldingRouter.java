package io.holdfast.examples.router;

import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.Holding;
import io.holdfast.embed.SharedFleet;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.examples.router.PrefixRouter.Target;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.sglang.GenerateSender;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sglang.PrefixCaching;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.sglang.SglangReadings;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Routes by prefix, and has each engine keep the prefixes that it is sent prompts for: those that the router's owner knows
 * to come again and again, such as system prompts. For SGLang servers.
 */
public final class HoldingRouter implements AutoCloseable {
    private static final Lease LEASE = Lease.refreshed(Duration.ofMinutes(10));
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** Everything of one engine that has to be closed. */
    private record Wiring(EngineHttp http, FileLedgerStore ledger, ScheduledFuture<?> asking) {}

    private final Fleet fleet;
    private final PrefixRouter router;
    private final Path state;
    private final ScheduledExecutorService timer;
    private final List<Wiring> wirings = new CopyOnWriteArrayList<>();
    private final List<int[]> kept = new CopyOnWriteArrayList<>();
    private final SharedFleet shared;
    private final ScheduledFuture<?> sharing;

    /**
     * @param model what the engines serve
     * @param state the directory of the ledgers, one for each engine
     * @param timer acts on engines and asks for their numbers; its owner ends it
     */
    public HoldingRouter(Fleet fleet, String model, Path state, ScheduledExecutorService timer) {
        this.fleet = fleet;
        this.router = new PrefixRouter(fleet);
        this.state = state;
        this.timer = timer;
        // For routers in several processes fleet-valkey's ValkeyFleetStore, and a name for each of them.
        FleetStore store = new MemoryFleetStore(System::nanoTime);
        Cell cell = new Cell(model, fleet.blockTokens(), "");
        shared = new SharedFleet(fleet, store, cell, "router", new SplittableRandom());
        sharing = timer.scheduleWithFixedDelay(shared::poll, 0, 1, TimeUnit.SECONDS);
    }

    public Target add(String id, URI url, String events) throws IOException {
        EngineHttp http = new EngineHttp(EngineHttpSettings.of(url), timer, timer, System::nanoTime);
        FileLedgerStore ledger = FileLedgerStore.open(state, id);
        // The first that this server can do.
        AutoBackend backend = new AutoBackend(
                List.of(
                        new SessionHoldBackend(http, timer, new SplittableRandom()),
                        new PinBlocksBackend(http, timer),
                        new KeepWarmBackend(new GenerateSender(http), () -> PrefixCaching.ask(http, timer))),
                System::nanoTime);
        // With a sender, an engine that is chosen for a copy need not wait for a prompt.
        Holding holding = Holding.of(backend, ledger, timer).withSender(new GenerateSender(http));
        Target target =
                router.add(url, EngineOptions.sglang(id).withEvents(events).withHolding(holding));
        SglangReadings numbers = new SglangReadings(http);
        ScheduledFuture<?> asking = timer.scheduleWithFixedDelay(
                () -> numbers.read(System.nanoTime()).thenAccept(target.engine()::readings),
                0,
                200,
                TimeUnit.MILLISECONDS);
        wirings.add(new Wiring(http, ledger, asking));
        return target;
    }

    /** Prompts that begin so have it kept for them, from the first of them on. */
    public void keep(int[] prefix) {
        kept.add(prefix.clone());
    }

    /** So many engines keep this, whoever is sent prompts; to be asked again within the lease. Empty before any takes part. */
    public Optional<FleetHold> keep(int[] prefix, int copies) {
        return shared.hold("router", prefix, copies, LEASE.length());
    }

    /** The engine with the longest prefix of these tokens, which will keep what is to be kept of them. */
    public Target choose(int[] tokens) {
        Target target = router.choose(tokens);
        Engine engine = target.engine();
        engine.touched(tokens);
        // Asking again renews: a router needs to remember no hold.
        longestKept(tokens)
                .ifPresent(prefix -> engine.hold(engine.prefix(prefix, LEASE).by("router")));
        return target;
    }

    private Optional<int[]> longestKept(int[] tokens) {
        return kept.stream()
                .filter(prefix -> begins(tokens, prefix))
                .max(Comparator.comparingInt(prefix -> prefix.length));
    }

    private boolean begins(int[] tokens, int[] prefix) {
        return prefix.length >= fleet.blockTokens()
                && prefix.length <= tokens.length
                && Arrays.equals(prefix, 0, prefix.length, tokens, 0, prefix.length);
    }

    /** Lets go of everything, as far as engines answer; the fleet's runner must be running still, and is its owner's to end. */
    @Override
    public void close() throws IOException {
        sharing.cancel(false);
        shared.close();
        fleet.letGo()
                .toCompletableFuture()
                .completeOnTimeout(new Released(0, 0), PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .join();
        for (Wiring wiring : wirings) {
            wiring.asking.cancel(false);
            wiring.http.close();
            wiring.ledger.close();
        }
    }
}
