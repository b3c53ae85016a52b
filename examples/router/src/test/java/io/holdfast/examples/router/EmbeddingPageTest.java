package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.EngineView;
import io.holdfast.core.PrefixExplanation;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.FileViewSource;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.FleetRunner;
import io.holdfast.embed.Holding;
import io.holdfast.embed.PrefixMatch;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.events.EventSource;
import io.holdfast.events.SglangBlockNames;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What docs/embed.md shows compiles, and does what the page says. */
class EmbeddingPageTest {
    private static final Path ROOT = Path.of("..", "..");
    private static final Pattern BLOCK = Pattern.compile("```(java|xml)\n(.*?)```", Pattern.DOTALL);

    @TempDir
    Path state;

    @Test
    void everyBlockOfThePage_standsInSourcesThatAreCompiled() throws IOException {
        StringBuilder sources = new StringBuilder();
        try (Stream<Path> files = Files.walk(Path.of("src"))) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".java")).toList()) {
                sources.append(flat(Files.readString(file)));
            }
        }
        sources.append(flat(Files.readString(ROOT.resolve("examples/standalone/pom.xml"))));
        for (String page : List.of("docs/embed.md", "README.md")) {
            Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
            int count = 0;
            while (blocks.find()) {
                assertThat(sources.indexOf(flat(blocks.group(2))))
                        .as("%s shows what no source has: %s", page, blocks.group(2))
                        .isNotNegative();
                count++;
            }
            assertThat(count).as("blocks in %s", page).isPositive();
        }
    }

    /** Without indentation and line breaks, which the formatter sets anew. */
    private static String flat(String text) {
        return text.replaceAll("\\s+", "");
    }

    @Test
    void routing_findsTheEngineThatHasMost() {
        int[] tokens = IntStream.range(0, 64).toArray();
        Fleet fleet = new Fleet(16);
        Engine one = fleet.add(EngineOptions.sglang("one").withEvents("tcp://127.0.0.1:5557"));
        Engine two = fleet.add(EngineOptions.vllm("two")
                .withEvents(EventSource.of("tcp://127.0.0.1:5558", "").withReplay("tcp://127.0.0.1:5559")));
        FleetRunner runner =
                FleetRunner.start(fleet, Thread.ofPlatform().name("fleet").factory());

        Optional<Engine> longest = fleet.match(tokens).longest();

        assertThat(longest).isEmpty();
        assertThat(fleet.engines()).containsExactly(one, two);

        PrefixMatch match = new PrefixMatch(); // one for each thread that asks
        fleet.match(tokens, match);
        int onGpuOrHost = match.tokens(one);

        assertThat(onGpuOrHost).isZero();

        long namespace = ContentNames.namespace("the request's cache salt", "its LoRA adapter");
        fleet.match(tokens, 0, tokens.length, namespace, match);

        assertThat(match.longest()).isEmpty();

        runner.close();
    }

    @Test
    void holding_isAskedForTouchedAndLetGoOf() throws Exception {
        int[] tokens = IntStream.range(0, 64).toArray();
        int[] systemPrompt = IntStream.range(0, 48).toArray();
        DryRunBackend backend = new DryRunBackend();
        ExecutorService executor = Executors.newCachedThreadPool();
        Fleet fleet = new Fleet(16);
        FileLedgerStore ledger = FileLedgerStore.open(state, "one");
        Engine engine = fleet.add(EngineOptions.sglang("one").withHolding(Holding.of(backend, ledger, executor)));
        StoredBlocks blocks = new StoredBlocks().blockTokens(16).tokens(tokens, 0, 48);
        for (long hash : SglangBlockNames.of(systemPrompt, 16)) {
            blocks.add(hash);
        }
        engine.events().batchStarted(0, 1);
        engine.events().stored(blocks);
        engine.events().batchEnded();
        long now = System.nanoTime();
        engine.readings(EngineReadings.unknownBut("not asked")
                .capacityTokens(Reading.known(4096, "test", now))
                .blockTokens(Reading.known(16, "test", now))
                .contextTokens(Reading.known(512, "test", now))
                .largestAcceptedTokens(Reading.known(512, "test", now))
                .runningRequests(Reading.known(0, "test", now))
                .waitingRequests(Reading.known(0, "test", now))
                .usedTokens(Reading.known(0, "test", now))
                .build());
        FleetRunner runner =
                FleetRunner.start(fleet, Thread.ofPlatform().name("fleet").factory());

        CompletionStage<HoldView> hold =
                engine.hold(engine.prefix(systemPrompt, Lease.refreshed(Duration.ofMinutes(10)))
                        .by("router"));

        assertThat(hold.toCompletableFuture().get(60, TimeUnit.SECONDS).wantedBlocks())
                .isEqualTo(3);

        engine.touched(tokens); // each request that is sent there
        engine.firstToken(FirstToken.of(0.231, tokens.length)); // each answer that begins
        engine.hint(Hint.OVER, tokens); // where the application says so

        CompletionStage<PrefixExplanation> why = engine.explain(systemPrompt);
        EngineView view = engine.view().orElseThrow();

        assertThat(why.toCompletableFuture().get(60, TimeUnit.SECONDS).cachedBlocks())
                .isEqualTo(3);
        assertThat(view.engineId()).isEqualTo("one");

        CompletableFuture<Released> gone = fleet.letGo().toCompletableFuture();
        gone.completeOnTimeout(new Released(0, 0), 10, TimeUnit.SECONDS).join();
        runner.close();
        ledger.close();

        assertThat(gone.join().released()).isEqualTo(1);
        executor.shutdownNow();
    }

    /** Nobody works for this fleet, so it asks nobody, and the view is none once it is closed. */
    @Test
    void restart_goesOnFromAView() {
        Path directory = state;
        Fleet fleet = new Fleet(16);
        ExecutorService executor = Executors.newSingleThreadExecutor();
        FileViewSource views = new FileViewSource(directory, executor);
        Engine one = fleet.add(EngineOptions.sglang("one")
                .withEvents(EventSource.of("tcp://10.0.0.7:5557", "").withReplay("tcp://10.0.0.7:5558"))
                .withViews(views));
        // Every few seconds, and before the end while a thread works for the fleet:
        CompletionStage<Void> kept = views.keep(fleet);
        fleet.close();
        assertThat(kept.toCompletableFuture().completeOnTimeout(null, 60, TimeUnit.SECONDS))
                .succeedsWithin(Duration.ofSeconds(61));
        executor.shutdownNow();
        assertThat(directory).isEmptyDirectory();
    }

    /** A loop that belongs to somebody else, such as an Agrona agent. */
    @Test
    void ownLoop_isAllThatItTakes() {
        Fleet fleet = new Fleet(16);
        boolean[] running = {true};
        int idle = 0;
        while (running[0]) {
            int work = fleet.doWork(); // never waits; doWork(50) waits up to 50 ms for events
            idle = work == 0 ? idle + 1 : 0;
            running[0] = idle < 3;
        }
        fleet.close();

        assertThat(fleet.closed()).isTrue();
    }
}
