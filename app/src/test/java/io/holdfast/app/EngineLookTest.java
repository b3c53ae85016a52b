package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.sidecar.ObservePrinter;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code doctor} and {@code observe} as a person at a terminal meets them. */
class EngineLookTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int COLUMNS = 80;
    private static final String INSTRUCTIONS = IntStream.range(0, 60)
            .mapToObj(i -> "This is instruction " + i + ", which says something of its own. ")
            .collect(Collectors.joining());

    @TempDir
    private Path folder = Path.of("");

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void doctor_allThere_saysSoAndGivesAConfiguration() throws IOException {
        try (Emulator engine = engine(true)) {
            CommandRun told = CommandRun.by("doctor", "--engine", engine.uri().toString(), "--try");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(told.err()).isEmpty();
            assertThat(told.out())
                    .startsWith("SGLang 0.5.23 at " + engine.uri())
                    .contains("  ok       events            published at tcp://127.0.0.1:")
                    .contains("The sidecar would hold with session_hold. The engine keeps what sessions")
                    // Where this machine is busy, the engine's clock seems to be behind.
                    .containsPattern("\nNothing that matters is missing\\.( Could be better: clock\\.)?\n$");
            assertFits(told);
            String configuration = told.out()
                    .lines()
                    .dropWhile(line -> !line.equals("engines:"))
                    .takeWhile(line -> !line.isEmpty())
                    .reduce("", (text, line) -> text + line + "\n");
            assertThat(told.out())
                    .as("the place of the state is the system's to choose")
                    .doesNotContain("stateDirectory");
            Path file = Files.writeString(folder.resolve("holdfast.yaml"), configuration);
            assertThat(CommandRun.by("sidecar", "--check-config", "--config", file.toString())
                            .code())
                    .isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void doctor_somethingMissing_failsTheCheck() throws IOException {
        try (Emulator engine = engine(true)) {
            // Nobody publishes where HTTP is served.
            CommandRun told = CommandRun.by(
                    "doctor",
                    "--engine",
                    engine.uri().toString(),
                    "--events",
                    "tcp://127.0.0.1:" + engine.uri().getPort(),
                    "--wait",
                    "0s",
                    "--json");

            assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
            JsonNode document = JSON.readTree(told.out());
            assertThat(document.path("verdict").asText()).isEqualTo("missing");
            JsonNode events = finding(document, "events");
            assertThat(events.path("status").asText()).isEqualTo("missing");
            assertThat(events.path("mend").asText()).startsWith("--kv-events-config '{");
        }
    }

    @Test
    void doctor_silentEngine_isInconclusive() {
        try (Emulator engine = engine(false)) {
            CommandRun told = CommandRun.by("doctor", "--engine", engine.uri().toString(), "--wait", "0s");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(told.out()).contains("Could not be determined: event format.");
            assertFits(told);
        }
    }

    @Test
    void observe_forASecond_printsTheTable() {
        try (Emulator engine = engine(true)) {
            CommandRun told = CommandRun.by("observe", "--engine", engine.uri().toString(), "--for", "1s");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .contains("watched    1 s of 1 s\n")
                    .contains("residence  unknown: no block was removed whose last use was seen as it happened")
                    .contains("prefill    unknown: 0 of 20 measurements")
                    .contains("  none yet: two requests have to begin alike")
                    .contains("No prefix was shared while it was watched, so there is nothing to hold.");
            assertFits(told);
        }
    }

    /** Past events tell what was lost, and not how long it had been there. */
    @Test
    void observe_lossesBeforeItCame_areNoContradictionToWhatItDoesNotKnow() {
        MachineClock machine = new MachineClock();
        AtomicInteger secondsAgo = new AtomicInteger(3_600);
        EngineClock clock = new EngineClock() {
            @Override
            public long nanos() {
                return machine.nanos();
            }

            @Override
            public double unixSeconds() {
                return machine.unixSeconds() - secondsAgo.get();
            }

            @Override
            public void await(long deadlineNanos) {
                machine.await(deadlineNanos);
            }
        };
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withCapacityTokens(1_024)
                .withPageTokens(16)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(1)
                .withEndpoints(new Endpoints(Endpoints.LOOPBACK, 0, 0, OptionalInt.of(0)));
        try (Emulator engine = Emulator.start(vertx, settings, clock);
                Http client = new Http(engine.uri())) {
            for (int i = 0; i < 40; i++) {
                ArrayNode prompt = JSON.createArrayNode();
                boolean shared = i % 8 == 0;
                IntStream.range(0, 320).forEach(prompt::add);
                for (int at = shared ? 256 : 0; at < 320; at++) {
                    prompt.set(at, 1_000 + 320 * i + at);
                }
                ObjectNode body = JSON.createObjectNode();
                body.set("input_ids", prompt);
                body.putObject("sampling_params").put("max_new_tokens", 1);
                assertThat(client.post("/generate", body.toString()).status()).isEqualTo(200);
                secondsAgo.addAndGet(-60);
            }

            CommandRun told = CommandRun.by("observe", "--engine", engine.uri().toString(), "--for", "1s");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .containsPattern("In all \\d+ found and [1-9]\\d* lost")
                    .contains("residence  unknown: ")
                    .doesNotContain("nothing was removed yet");
            assertFits(told);
        }
    }

    @Test
    void observe_thatEndedLate_saysSo() {
        assertThat(ObservePrinter.watched(Duration.ofSeconds(15), Optional.of(Duration.ofSeconds(10))))
                .isEqualTo("15 s, longer than the requested 10 s");
        assertThat(ObservePrinter.watched(Duration.ofMillis(10_300), Optional.of(Duration.ofSeconds(10))))
                .isEqualTo("10 s of 10 s");
        assertThat(ObservePrinter.watched(Duration.ofSeconds(15), Optional.of(Duration.ofSeconds(60))))
                .isEqualTo("15 s of 1 min 0 s");
        assertThat(ObservePrinter.watched(Duration.ofSeconds(15), Optional.empty()))
                .isEqualTo("15 s");
    }

    @Test
    void observe_json_isALineEachTimeAndOneAtTheEnd() throws IOException {
        try (Emulator engine = engine(true)) {
            CommandRun told = CommandRun.by(
                    "observe",
                    "--engine",
                    engine.uri().toString(),
                    "--for",
                    "2s",
                    "--every",
                    "500ms",
                    "--json",
                    "--record",
                    folder.resolve("seen.jsonl").toString());

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(told.out().lines()).hasSizeGreaterThan(1);
            assertThat(told.out().lines())
                    .allSatisfy(line -> assertThat(
                                    JSON.readTree(line).path("engine").asText())
                            .startsWith("SGLang 0.5.23"));
            JsonNode last = JSON.readTree(told.out().lines().toList().getLast());
            assertThat(last.path("final").asBoolean()).isTrue();
            assertThat(last.has("residenceSeconds")).isFalse();
            assertThat(last.path("holding").path("backend").asText()).isEqualTo("session_hold");
            assertThat(Files.readAllLines(folder.resolve("seen.jsonl"))).hasSizeGreaterThan(1);
        }
    }

    @Test
    void observe_noEvent_isInconclusive() {
        try (Emulator engine = engine(false)) {
            CommandRun told = CommandRun.by("observe", "--engine", engine.uri().toString(), "--for", "1s");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(told.out()).contains("No event came, so there is no result");
        }
    }

    /** A date of which the last digits change, before instructions, before what users ask. */
    @Test
    void observe_aDateBeforeTheInstructions_isToldWithoutAWordOfThem() throws IOException {
        Path file = folder.resolve("seen.jsonl");
        try (Emulator engine = engine(true)) {
            send(engine, second -> "It is 2026-11-23 20:17:" + second + ".\n" + INSTRUCTIONS);

            String url = engine.uri().toString();
            CommandRun told = CommandRun.by("observe", "--engine", url, "--for", "1s", "--record", file.toString());
            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .containsPattern("\n12 requests differ after \\d+ tokens and are alike behind: ")
                    .containsPattern("\n12 requests begin with the same \\d+ tokens, then something changes")
                    .containsPattern("behind\\s+what\\s+stays\\s+the\\s+same\\.")
                    .doesNotContain("2026", "instruction");
            assertFits(told);

            JsonNode document = JSON.readTree(CommandRun.by("observe", "--engine", url, "--for", "1s", "--json")
                    .out()
                    .lines()
                    .reduce("", (before, line) -> line));
            assertThat(document.path("unstableHeads")).hasSize(1);
            assertThat(document.path("unstableHeads").get(0).has("example")).isFalse();

            CommandRun shown = CommandRun.by("observe", "--engine", url, "--for", "1s", "--show-text");
            assertThat(shown.out()).contains("before", "20:17:", "instruction");
            JsonNode example = JSON.readTree(
                            CommandRun.by("observe", "--engine", url, "--for", "1s", "--show-text", "--json")
                                    .out()
                                    .lines()
                                    .reduce("", (before, line) -> line))
                    .path("unstableHeads")
                    .get(0)
                    .path("example");
            assertThat(example.path("before").path("text").asText()).contains("20:17:");
            assertThat(example.path("one").path("tokens"))
                    .isNotEqualTo(example.path("other").path("tokens"));
        }

        CommandRun replayed = CommandRun.by("replay", "--trace", file.toString(), "--capacity-blocks", "100");
        assertThat(replayed.code()).as(replayed.toString()).isEqualTo(ExitCode.OK);
        assertThat(replayed.out())
                .startsWith("seen.jsonl: 12 requests, ")
                .containsPattern("\n12 requests begin with the same \\d+ tokens, then something changes")
                .doesNotContain("  before   ");
        assertFits(replayed);
        JsonNode quiet =
                JSON.readTree(CommandRun.by("replay", "--trace", file.toString(), "--capacity-blocks", "100", "--json")
                        .out());
        assertThat(quiet.get(0).path("unstableHeads").get(0).path("requests").asInt())
                .isEqualTo(12);
        assertThat(quiet.findValue("example")).isNull();
        assertThat(CommandRun.by("replay", "--trace", file.toString(), "--capacity-blocks", "100", "--show-text")
                        .out())
                .contains("  before   ", "These are token ids: there is no tokenizer");
    }

    @Test
    void observe_theSameDateBehindTheInstructions_isNoFinding() throws IOException {
        try (Emulator engine = engine(true)) {
            send(engine, second -> INSTRUCTIONS + "It is 2026-11-23 20:17:" + second + ".\n");

            CommandRun told = CommandRun.by("observe", "--engine", engine.uri().toString(), "--for", "1s", "--json");
            JsonNode document = JSON.readTree(told.out().lines().reduce("", (before, line) -> line));
            assertThat(document.path("requests").path("visible").asInt()).isEqualTo(12);
            assertThat(document.path("prefixes")).isNotEmpty();
            assertThat(document.path("unstableHeads").isArray()).isTrue();
            assertThat(document.path("unstableHeads")).isEmpty();
        }
    }

    /** Twelve users, one after another. */
    private static void send(Emulator engine, IntFunction<String> begin) {
        try (Http client = new Http(engine.uri())) {
            for (int user = 0; user < 12; user++) {
                ObjectNode body = JSON.createObjectNode()
                        .put(
                                "text",
                                begin.apply(10 + user) + "User " + user + " asks: " + "why is it so? ".repeat(user));
                body.putObject("sampling_params").put("max_new_tokens", 2);
                assertThat(client.post("/generate", body.toString()).status()).isEqualTo(200);
            }
        }
    }

    /** Who gives the sidecar an address alone need not say what answers there. */
    @Test
    void sidecar_byItsAddressAlone_knowsWhatAnswersThere() {
        try (Emulator vllm = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults())));
                Emulator sglang = engine(false)) {
            assertThat(printed(vllm.uri().toString()))
                    .contains("type: vllm")
                    .contains("events: tcp://" + vllm.uri().getHost() + ":5557");
            assertThat(printed(sglang.uri().toString())).contains("type: sglang");
        }
        assertThat(printed("http://127.0.0.1:1"))
                .as("of one that does not answer nothing is known")
                .contains("type: sglang");
    }

    private static String printed(String engine) {
        CommandRun told = CommandRun.by("sidecar", "--engine", engine, "--print-config");
        assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
        return told.out();
    }

    private Emulator engine(boolean replay) {
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withSglang(its -> its.withSessions(true))
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(1);
        return Emulator.start(
                vertx,
                replay ? settings.withEndpoints(new Endpoints(Endpoints.LOOPBACK, 0, 0, OptionalInt.of(0))) : settings);
    }

    private static JsonNode finding(JsonNode document, String subject) {
        for (JsonNode each : document.path("findings")) {
            if (each.path("subject").asText().equals(subject)) {
                return each;
            }
        }
        throw new AssertionError("Nothing about " + subject + " in " + document);
    }

    /** What is to be copied is never broken. */
    private static void assertFits(CommandRun told) {
        assertThat(told.out().lines().filter(line -> !line.startsWith("           mend: ")))
                .allSatisfy(line -> assertThat(line.length()).as(line).isLessThanOrEqualTo(COLUMNS));
    }
}
