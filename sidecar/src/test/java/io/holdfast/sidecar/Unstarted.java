package io.holdfast.sidecar;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.SharedServices;
import io.holdfast.sidecar.store.StrayLedgers;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** Engines that nobody asks, on an event thread that runs when a test wants it to. */
public final class Unstarted implements AutoCloseable {
    public final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    public final EventThread thread = new EventThread(System::nanoTime, 10);
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor();
    private final Path state;

    public Unstarted(Path state) {
        this.state = state;
    }

    public EngineLink engine(String id) throws IOException {
        return EngineLink.open(
                EngineConfig.of(id, EngineType.SGLANG, URI.create("http://127.0.0.1:9")),
                state,
                StrayLedgers.find(state, Set.of(id), LedgerFiles.SYSTEM),
                Optional.empty(),
                thread,
                new SharedServices(
                        System::nanoTime,
                        executor,
                        timer,
                        watch,
                        new SimpleMeterRegistry(),
                        false,
                        SidecarConfig.SNAPSHOTS,
                        List.of(),
                        SharedServices.Seams.none()));
    }

    /** Leaves no room for another wish. */
    public static void fillMailbox(EngineLink engine) {
        CompletionStage<?> wish = engine.controller().release(1);
        while (!wish.toCompletableFuture().isCompletedExceptionally()) {
            wish = engine.controller().release(1);
        }
    }

    @Override
    public void close() {
        thread.close();
        timer.shutdownNow();
        watch.shutdownNow();
        executor.shutdownNow();
    }
}
