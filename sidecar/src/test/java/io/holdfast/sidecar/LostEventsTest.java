package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.core.json.pointer.JsonPointer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Batches that never arrive, and messages that are none. */
class LostEventsTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final long[] BLOCKS = SglangBlockNames.of(PREFIX, TestBed.BLOCK);

    /** Metrics, each with the field of the API that has the same number. */
    private static final String METRICS = """
        holdfast_blocks{engine="demo"}                           /blocks
        holdfast_ghosts{engine="demo"}                           /ghosts
        holdfast_memory_bytes{engine="demo"}                     /memory/bytes
        holdfast_memory_limit_bytes{engine="demo"}               /memory/mostBytes
        holdfast_memory_shortages_total{engine="demo"}           /memory/shortages
        holdfast_incarnation{engine="demo"}                      /incarnation
        holdfast_pinned_tokens{engine="demo"}                    /budget/pinnedTokens
        holdfast_budget_hard_tokens{engine="demo"}               /budget/hardTokens
        holdfast_budget_automatic_tokens{engine="demo"}          /budget/automaticTokens
        holdfast_budget_new_tokens{engine="demo"}                /budget/newTokens
        holdfast_foreign_pinned_tokens{engine="demo"}            /budget/foreignTokens
        holdfast_pins{engine="demo",state="held"}                /pins/held
        holdfast_pins{engine="demo",state="leftover"}            /pins/leftovers
        holdfast_pins{engine="demo",state="refused"}             /pins/refused
        holdfast_capacity_tokens{engine="demo"}                  /readings/capacityTokens/value
        holdfast_context_tokens{engine="demo"}                   /readings/contextTokens/value
        holdfast_used_tokens{engine="demo"}                      /readings/usedTokens/value
        holdfast_running_requests{engine="demo"}                 /readings/runningRequests/value
        holdfast_requests_visible_total{engine="demo"}           /events/visibleRequests
        holdfast_events_batches_total{engine="demo"}             /events/batches
        holdfast_events_stored_blocks_total{engine="demo"}       /events/storedBlocks
        holdfast_events_removed_blocks_total{engine="demo"}      /events/removedBlocks
        holdfast_events_clears_total{engine="demo"}              /events/clears
        holdfast_events_gaps_total{engine="demo"}                /events/gaps
        holdfast_events_lost_batches_total{engine="demo"}        /events/lostBatches
        holdfast_events_restarts_total{engine="demo"}            /events/restarts
        holdfast_engine_calls_most{calls="prompt",engine="demo"} /calls/prompt/mostUnderWay
        holdfast_engine_calls_most{calls="queued",engine="demo"} /calls/queued/mostUnderWay
        """;

    private final Vertx vertx = Vertx.vertx();
    private final EventFeed feed = new EventFeed();
    private final Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
    private final EngineClient engine = new EngineClient(emulator.uri());

    @TempDir
    Path state;

    private Sidecar sidecar;
    private SidecarClient client;

    @BeforeEach
    void start() {
        sidecar = Sidecar.start(
                vertx, TestBed.config(state, emulator.uri(), "events: '" + feed.endpoint() + "', topic: ''"));
        client = new SidecarClient(sidecar.uri());
        client.ready();
        Eventually.see(
                "the feed is heard",
                () -> {
                    feed.cleared();
                    return events("batches");
                },
                batches -> batches > 0);
    }

    @AfterEach
    void stop() {
        client.close();
        sidecar.close();
        engine.close();
        emulator.close();
        feed.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    /** After a hold and a gap, so that most of the numbers are no 0 and differ from each other. */
    @Test
    void metrics_areTheNumbersOfTheApi() {
        engine.generate(PREFIX);
        feed.stored(BLOCKS);
        client.held(PREFIX);
        feed.skip(5);
        feed.stored(new long[] {77, 78});
        Eventually.see("the gap is seen", client::engine, seen -> !seen.getBoolean("certain"));
        Eventually.see("each metric is the number of its field", this::differences, List::isEmpty);
    }

    private List<String> differences() {
        String page = client.http.get("/metrics").text();
        JsonObject api = client.engine();
        return METRICS.lines()
                .map(line -> line.split(" +", 2))
                .filter(pair -> !page.contains("\n" + pair[0] + " "
                        + ((Number) JsonPointer.from(pair[1]).queryJson(api)).doubleValue() + "\n"))
                .map(pair -> pair[0] + " is not " + pair[1])
                .toList();
    }

    @Test
    void gap_makesTheViewUncertainUntilTheCacheIsCleared() {
        engine.generate(PREFIX);
        feed.stored(BLOCKS);
        String id = client.held(PREFIX);
        assertThat(client.engine().getBoolean("certain")).isTrue();
        long life = client.engine().getLong("incarnation");

        feed.skip(5);
        feed.stored(new long[] {77, 78});

        JsonObject unsure = Eventually.see("the gap is seen", client::engine, seen -> !seen.getBoolean("certain"));
        assertThat(unsure.getString("certainty")).contains("lost");
        assertThat(unsure.getLong("incarnation")).isGreaterThan(life);
        assertThat(events("gaps")).isEqualTo(1);
        assertThat(events("lostBatches")).isEqualTo(5);
        assertThat(engine.usedTokens()).as("the pin is still in the engine").isEqualTo(512);
        JsonObject waiting = client.hold(new long[] {77, 78}, 60).json();
        assertThat(waiting.getString("state")).isEqualTo("requested");
        assertThat(waiting.getString("reason")).contains("has no block 78 to pin");

        assertThat(client.http.delete(SidecarClient.HOLDS + "/" + id).status()).isEqualTo(200);
        assertThat(engine.usedTokens()).isZero();

        feed.cleared();
        Eventually.see("the view is certain again", client::engine, seen -> seen.getBoolean("certain"));
        assertThat(client.metric("holdfast_events_gaps_total{engine=\"demo\"}")).isEqualTo(1);
        assertThat(client.metric("holdfast_events_lost_batches_total{engine=\"demo\"}"))
                .isEqualTo(5);
    }

    @Test
    void messageThatIsNoBatch_isRefusedCountedAndSurvived() {
        feed.garbage();
        feed.stored(BLOCKS);

        Eventually.see("the refusal is counted", () -> events("refused"), refused -> refused == 1);
        assertThat(client.metric("holdfast_events_refused_frames_total{engine=\"demo\"}"))
                .isEqualTo(1);
        assertThat(client.engine().getJsonObject("events").getString("lastRefusal"))
                .isNotBlank();
        Eventually.see("what it may have said counts as lost", () -> events("gaps"), gaps -> gaps == 1);
        assertThat(client.http.get("/livez").status()).isEqualTo(200);
    }

    private long events(String counter) {
        return client.engine().getJsonObject("events").getLong(counter);
    }
}
