package example;

import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.Holding;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.events.SglangBlockNames;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** Routes by what one engine says that it stored, and asks for a hold there; the engine's events are made up here. */
public final class Main {
    private static final int BLOCK = 16;

    private Main() {}

    public static void main(String[] args) throws IOException {
        int[] prompt = IntStream.range(0, 4 * BLOCK).toArray();
        Path state = Files.createTempDirectory("ledgers");
        try (Fleet fleet = new Fleet(BLOCK);
                FileLedgerStore ledger = FileLedgerStore.open(state, "one")) {
            Engine engine = fleet.add(
                    EngineOptions.sglang("one").withHolding(Holding.of(new DryRunBackend(), ledger, Runnable::run)));
            store(engine.events(), prompt);

            System.out.println(
                    "cached at " + fleet.match(prompt).longest().orElseThrow().id() + ": "
                            + fleet.match(prompt).tokens(engine) + " tokens");

            CompletableFuture<HoldView> hold =
                    engine.hold(prompt, Lease.absolute(Duration.ofMinutes(1))).toCompletableFuture();
            while (!hold.isDone()) {
                fleet.doWork(10);
            }
            System.out.println("hold of " + hold.join().wantedBlocks() + " blocks: "
                    + hold.join().reason());
        }
    }

    private static void store(KvEventSink events, int[] prompt) {
        StoredBlocks blocks = new StoredBlocks().blockTokens(BLOCK).tokens(prompt, 0, prompt.length);
        for (long hash : SglangBlockNames.of(prompt, BLOCK)) {
            blocks.add(hash);
        }
        events.batchStarted(0, 1);
        events.stored(blocks);
        events.batchEnded();
    }
}
