package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Effect that a sidecar finds of its holds beside an emulated engine, as its API tells it. Each test mostly waits for windows
 * to pass, so they wait together.
 */
@Execution(ExecutionMode.CONCURRENT)
final class TtftStatesTest {
    /*
     * Engine and sidecar live by a clock that goes so many times as fast as the machine's, so that a window takes a second
     * or two. What the machine takes for itself weighs as many times more; so holds that help save a
     * quarter of all prefill, those that harm double it, and a gain that is missed is one of a third: nothing here hangs on how busy
     * the machine is.
     */
    private static final double PACE = 20;
    private static final int MOST_ROUNDS = 5_000;
    private static final int MOST_OF_THE_WAY = 60;
    private static final int[] PREFIX = EngineClient.prompt(1, 6_000);

    @TempDir
    Path state;

    private int next = 100;

    /** A sidecar that may measure, an engine with this much memory, and somebody who sends it requests. */
    private final class Bed implements AutoCloseable {
        private final FastClock clock = new FastClock(PACE);
        private final Vertx vertx = Vertx.vertx();
        private final Emulator emulator;
        private final Sidecar sidecar;
        private final EngineClient engine;
        private final SidecarClient client;
        /** What it said of itself, one line for each change. */
        private final Deque<String> way = new ArrayDeque<>();

        Bed(int capacityTokens, List<Fault> faults, String keys) {
            EmulatorSettings settings = EmulatorSettings.defaults()
                    .withVariant(Variant.PIN_GPU)
                    .withCapacityTokens(capacityTokens)
                    .withPageTokens(TestBed.BLOCK)
                    .withPrefillMicrosPerToken(200)
                    .withFirstTokenMicros(60_000)
                    .withDecodeMillis(1)
                    .withFaults(faults);
            emulator = Emulator.start(vertx, settings, clock);
            sidecar = Sidecar.start(
                    vertx,
                    SidecarConfig.parse("""
                        listen: {port: 0}
                        stateDirectory: '%s'
                        engines:
                          demo: {type: sglang, url: '%s', backend: pin_blocks, maxOutputTokens: 16,
                             largestPromptTokens: 6400, ttftWindowSeconds: 30, %s}
                        """.formatted(state, emulator.uri(), keys), "test.yaml"),
                    new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                    Seams.none()
                            .withHangLimit(Duration.ofMinutes(5))
                            .withClock(clock::nanos)
                            .withPace(PACE));
            engine = new EngineClient(emulator.uri());
            client = new SidecarClient(sidecar.uri());
            client.meet(engine);
        }

        JsonObject ttft() {
            JsonObject seen = client.engine().getJsonObject("ttft");
            String now = seen.getString("state") + " after " + seen.getInteger("windows") + " windows: "
                    + seen.getString("reason")
                    + (seen.containsKey("guard") ? "; guard: " + seen.getString("guard") : "");
            if (!now.equals(way.peekLast())) {
                way.addLast(now);
            }
            if (way.size() > MOST_OF_THE_WAY) {
                way.removeFirst();
            }
            return seen;
        }

        /** How it came to where it is, so that a failure explains itself. */
        String soFar() {
            return String.join("\n", way) + "\n" + client.engine().encode();
        }

        /** Has the prefix held by somebody who offers it to be measured. */
        String holdMeasured() {
            engine.generate(PREFIX);
            Http.Answer answer = client.http.post(
                    SidecarClient.HOLDS,
                    new JsonObject()
                            .put("tokens", EngineClient.array(PREFIX))
                            .put("leaseSeconds", 86_400)
                            .put("measure", true)
                            .encode());
            assertThat(answer.status()).as(answer.text()).isEqualTo(201);
            return answer.json().getString("id");
        }

        /** Serves rounds of requests until the loop says that, and answers what it says then. */
        JsonObject serveUntil(Predicate<JsonObject> wanted, Runnable round) {
            JsonObject seen = ttft();
            for (int rounds = 0; !wanted.test(seen); rounds++) {
                if (rounds >= MOST_ROUNDS) {
                    fail("It never came in " + rounds + " rounds of requests; it said:\n" + soFar());
                }
                round.run();
                seen = ttft();
            }
            return seen;
        }

        /** The same until it has found something. */
        JsonObject found(Runnable round) {
            return serveUntil(seen -> !seen.getString("state").equals("unproven"), round);
        }

        @Override
        public void close() {
            client.close();
            engine.close();
            sidecar.close();
            emulator.close();
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    /** A text after the prefix that nobody sent before. */
    private int[] afterPrefix() {
        int[] text = EngineClient.prompt(next++, 48);
        int[] request = Arrays.copyOf(PREFIX, PREFIX.length + text.length);
        System.arraycopy(text, 0, request, PREFIX.length, text.length);
        return request;
    }

    @Test
    void automaticHoldsThatHelp_areProven() {
        try (Bed bed = new Bed(16_384, List.of(), "automaticHolds: true, share: 0.5")) {
            JsonObject found = bed.found(() -> {
                bed.engine.generate(afterPrefix());
                for (int i = 0; i < 11; i++) {
                    bed.engine.generate(EngineClient.prompt(next++, 1_000));
                }
            });
            assertThat(found.getString("state")).as(bed::soFar).isEqualTo("proven");
            JsonObject computed = found.getJsonObject("computed");
            assertThat(computed).as(bed::soFar).isNotNull();
            assertThat(computed.getString("of")).as(bed::soFar).isEqualTo("users");
            // Whichever proves it first: once it is proven, windows without holds are rare, and the other waits for
            // them.
            assertThat(Stream.of(found, computed)
                            .map(each -> each.getJsonArray("interval95Percent"))
                            .filter(Objects::nonNull)
                            .map(interval -> interval.getDouble(1)))
                    .as(bed::soFar)
                    .anyMatch(upper -> upper < 0);
            assertThat(found.getDouble("offSeconds")).isPositive();
            assertThat(bed.client.metric("holdfast_ttft_state{engine=\"demo\",state=\"proven\"}"))
                    .isEqualTo(1);
        }
    }

    /** Nobody who reads that nothing is held has to guess whether that is meant. */
    @Test
    void windowWithoutHolds_isSaidInTheSummary() {
        try (Bed bed = new Bed(16_384, List.of(), "automaticHolds: true, share: 0.5")) {
            Deque<String> said = new ArrayDeque<>();
            bed.serveUntil(
                    seen -> {
                        said.addLast(bed.client
                                .http
                                .get("/api/v1/overview")
                                .json()
                                .getJsonArray("engines")
                                .getJsonObject(0)
                                .getString("summary"));
                        return said.getLast()
                                        .contains(", and off just now: measuring: a window without automatic holds")
                                || seen.getInteger("windows") >= 8;
                    },
                    () -> {
                        bed.engine.generate(afterPrefix());
                        for (int i = 0; i < 11; i++) {
                            bed.engine.generate(EngineClient.prompt(next++, 1_000));
                        }
                    });
            assertThat(said.getLast())
                    .as(bed::soFar)
                    .contains("; automatic holds are on")
                    .contains(", and off just now: measuring: a window without automatic holds")
                    .doesNotContain("it would need this: a prefix");
        }
    }

    @Test
    void holdInAmpleMemory_isNoBenefitAndLetGo() {
        try (Bed bed = new Bed(65_536, List.of(), "priming: false, ttftLeastGain: 0.3")) {
            String id = bed.holdMeasured();
            JsonObject found = bed.found(() -> recurring(bed));
            assertThat(found.getString("state")).as(bed::soFar).isEqualTo("no_benefit");
            assertLetGo(bed, id, found, "no_benefit", "holds do not shorten time to first token");
        }
    }

    @Test
    void holdThatSlowsTheEngine_isHarmfulAndLetGo() {
        try (Bed bed = new Bed(65_536, List.of(Fault.parse("holds-slow=200")), "priming: false")) {
            String id = bed.holdMeasured();
            JsonObject found = bed.found(() -> recurring(bed));
            assertThat(found.getString("state")).as(bed::soFar).isEqualTo("harmful");
            assertThat(found.getJsonArray("interval95Percent").getDouble(0)).isPositive();
            assertLetGo(bed, id, found, "harmful", "holds lengthen time to first token");
        }
    }

    @Test
    void automaticHoldsInAmpleMemory_holdNothingAndSaySo() {
        try (Bed bed = new Bed(65_536, List.of(), "automaticHolds: true")) {
            JsonObject seen = bed.serveUntil(
                    ttft -> ttft.getString("reason").contains("nothing was held that may be released"),
                    () -> recurring(bed));
            assertThat(seen.getString("state")).isEqualTo("unproven");
            assertThat(seen.getDouble("offSeconds")).isZero();
            Eventually.see(
                    "what it needs",
                    () -> bed.client.http.get("/api/v1/overview").text(),
                    said -> said.contains("\"needs\":\"traffic that loses a prefix it shares; no request has yet\""));
        }
    }

    /** Prompts that all fit the cache. */
    private static void recurring(Bed bed) {
        for (int i = 0; i < 7; i++) {
            bed.engine.generate(EngineClient.prompt(50 + i, 256));
        }
        bed.engine.generate(PREFIX);
    }

    private static void assertLetGo(Bed bed, String id, JsonObject found, String code, String because) {
        assertThat(found.getDouble("nextTrySeconds")).isPositive();
        JsonObject hold = bed.client.holdIn(id, "requested");
        assertThat(hold.getString("reason")).startsWith(because);
        assertThat(hold.getBoolean("measure")).isTrue();
        JsonObject line =
                bed.client.engine().getJsonObject("plan").getJsonArray("lines").getJsonObject(0);
        assertThat(line.getString("code")).isEqualTo(code);
        Eventually.see("nothing is pinned", bed.engine::usedTokens, used -> used == 0);
    }
}
