package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code loadtest run} as people call it on engines as released, with no sidecar. One round only, which decides nothing, since
 * what is asked for here is no matter of time.
 */
class LoadtestRunTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final EmulatorSettings VLLM = QuickEngine.PLAIN.withKind(
            new EmulatorSettings.Kind.Vllm(VllmSettings.defaults().withSizes(129, 16, 1_024)));

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        vertx.close().await();
    }

    @Test
    void sessionOnAStockEngine_needsNoSidecarAndIsJudgedByAllThatIsAsked() throws IOException {
        String[] asked = {"--hold", "session", "--json", "--concurrency", "2", "--also-judge", "PROBE_MEAN,WHOLE_MEAN"};
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun told = run(emulator, asked);
            assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(told.err())
                    .contains("a session of the engine's own", "is emptied before every leg, by /flush_cache");
            JsonNode document = JSON.readTree(told.out());
            assertThat(JsonSchemas.complaints(document)).isEmpty();
            assertThat(JsonSchemas.complaintsOfLines(JsonSchemas.JOURNAL, Files.readAllLines(Path.of(journal()))))
                    .isEmpty();
            assertThat(document.path("serverProcesses").asInt()).isEqualTo(1);
            assertThat(document.path("claimsHold").asBoolean()).isTrue();
            assertThat(document.path("salted").asBoolean(true)).isFalse();
            JsonNode baseline = document.path("arms").path(0);
            JsonNode pinned = document.path("arms").path(1);
            assertThat(baseline.path("cachedTokens").asInt(-1)).isZero();
            assertThat(pinned.path("cachedTokens").asInt()).isEqualTo(256);
            assertThat(pinned.path("ownRequests").asInt())
                    .as("one in each of two legs")
                    .isEqualTo(2);
            assertThat(pinned.path("ownPrefilledTokens").asInt()).isEqualTo(2 * 16);
            assertThat(document.path("criteria").path("judgedBy"))
                    .extracting(JsonNode::asText)
                    .containsExactly("PROBE_P50", "PROBE_MEAN", "WHOLE_MEAN");
            assertThat(document.path("metrics")).hasSize(3);
            assertThat(CommandRun.by("loadtest", "analyze", journal(), "--json").out())
                    .isEqualTo(told.out());
            CommandRun report = CommandRun.by("loadtest", "report", journal());
            Path page = Path.of(journal().replaceFirst("\\.jsonl$", ".html"));
            assertThat(report.out()).isEqualTo("Written: " + page + System.lineSeparator());
            assertThat(page)
                    .content()
                    .contains("<h1 id=\"verdict\">")
                    .contains("holdfast loadtest analyze " + Path.of(journal()).getFileName());
            assertThat(CommandRun.by("loadtest", "report", journal(), "--csv", journal())
                            .badInput())
                    .endsWith("is the journal itself; write the report to another file.");
            assertThat(CommandRun.by("loadtest", "report", journal(), "--csv", "nosuch/run.csv")
                            .badInput())
                    .isEqualTo("holdfast: 'nosuch/run.csv' cannot be written: there is no such folder; make it first.");
            assertThat(CommandRun.by("loadtest", "analyze", journal()).out())
                    .contains("by the mean of a leg's probes", "p50   baseline", "PROBE_MEAN: INCONCLUSIVE(design)");
        }
    }

    /** An engine that pins tells the number of blocks, and that call is what a claim of it rests on. */
    @Test
    void pinsOfARun_areTheEvidenceOfAClaimWithTheirCallsAndAnswers() throws IOException {
        Path table = Files.writeString(
                folder.resolve("table.csv"), "concurrency,baseline TTFT p50 (ms),pinned TTFT p50 (ms)\n8,300,200\n");
        try (Emulator emulator = Emulator.start(
                vertx,
                QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Sglang(
                        SglangSettings.defaults().withSizes(2_048, 16, 1_024).withVariant(Variant.PIN_GPU), false)))) {
            assertThat(run(emulator, "--hold", "pin-route").code()).isEqualTo(ExitCode.INCONCLUSIVE);

            CommandRun told = CommandRun.by("loadtest", "review", table.toString(), "--claims", journal(), "--json");

            JsonNode claim = JSON.readTree(told.out()).path("claims").path(0);
            assertThat(claim.path("claim").asText())
                    .isEqualTo("what was asked to be held was held, by the engine's own pin route");
            assertThat(claim.path("status").asText()).isEqualTo("Confirmed");
            assertThat(claim.path("evidence").path(1).asText())
                    .matches("2 of 2 pinned legs: POST /hicache/pin_blocks 200: \\{.*\"pinned_count\": ?[1-9]\\d*.*");
            Files.delete(Path.of(journal()));
            assertThat(run(emulator, "--hold", "none").code()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(CommandRun.by("loadtest", "review", table.toString(), "--claims", journal())
                            .badInput())
                    .contains("requested no hold in a pinned leg");
        }
    }

    @Test
    void keepWarmOnVllm_tellsLegsApartByASalt() {
        try (Emulator emulator = Emulator.start(vertx, VLLM)) {
            CommandRun told = run(emulator, "--hold", "keep-warm", "--touch-every", "1", "--concurrency", "1");
            assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(told.out())
                    .contains(
                            "model holdfast-emulated",
                            "a touch of the prefix after every request of a flood",
                            "texts of each leg begin with a salt",
                            "The arm sent requests of its own, which are no load: 8 with",
                            "VERDICT: INCONCLUSIVE(design), in one server process")
                    .containsPattern("pinned +256 ")
                    .containsPattern("baseline +0 ");
        }
    }

    /** It has no route that empties its cache, so legs are told apart as on vLLM. */
    @Test
    void keepWarmOnTensorRt_tellsLegsApartByASalt() throws IOException {
        EmulatorSettings tensorRt = QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Vllm(
                VllmSettings.defaults().withSizes(129, 16, 1_024).withRelease(VllmSettings.Release.TENSORRT_LLM)));
        try (Emulator emulator = Emulator.start(vertx, tensorRt)) {
            assertThat(run(emulator, "--hold", "nixl-lease").badInput())
                    .contains("A TensorRT-LLM engine has none of these ways to hold; use --hold keep-warm.");
            CommandRun told = run(emulator, "--hold", "keep-warm", "--touch-every", "1", "--concurrency", "1");
            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(told.out())
                    .contains("texts of each leg begin with a salt", "VERDICT: INCONCLUSIVE(design)")
                    .containsPattern("pinned +256 ")
                    .containsPattern("baseline +0 ");
            assertThat(Files.readString(Path.of(journal()))).contains("TENSORRT_LLM", "1.4.0");
        }
    }

    @Test
    void moreHeldThanTheCacheHas_isRefusedBeforeAnythingIsWritten() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun told = run(emulator, "--hold", "release", "--held-tokens", "100000");
            assertThat(told.code()).isEqualTo(2);
            assertThat(told.err().strip())
                    .contains("What is held (100000 tokens) and the prefix of 256 do not fit into the cache of ")
                    .endsWith("; hold less by --held-tokens.");
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void engineThatLacksTheRoute_isNamedAtTheStart() {
        try (Emulator stock = Emulator.start(vertx, QuickEngine.PLAIN);
                Emulator vllm = Emulator.start(vertx, VLLM)) {
            assertThat(run(stock, "--hold", "session").badInput())
                    .isEqualTo("holdfast: The engine at " + stock.uri() + " keeps nothing for sessions: start it with"
                            + " --enable-session-radix-cache, or write --hold keep-warm, which every engine that caches"
                            + " prefixes takes.");
            assertThat(run(vllm, "--hold", "session").badInput()).contains("it is no SGLang that has them");
            assertThat(run(vllm, "--hold", "pin-route").badInput())
                    .contains("pins no blocks (POST /hicache/pin_blocks was answered with 404");
            assertThat(run(vllm, "--hold", "none", "--flush-path", "/nosuch").badInput())
                    .contains("The cache cannot be emptied before a leg", "leave the flush path out");
        }
        assertThat(folder).isEmptyDirectory();
    }

    /** The first engine stands for a router as well, one that asks nobody but itself. */
    @Test
    void enginesBehindAnAddress_areToldEachByItself() throws IOException {
        try (Emulator one = Emulator.start(vertx, QuickEngine.PLAIN);
                Emulator other = Emulator.start(vertx, QuickEngine.PLAIN)) {
            String[] behind = {"--engine", one.uri().toString(), "--engine", other.uri() + "/v1"};
            CommandRun told = behind(one, join(behind, "--hold", "none", "--json"));
            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
            JsonNode document = JSON.readTree(told.out());
            assertThat(JsonSchemas.complaints(document)).isEmpty();
            assertThat(JsonSchemas.complaintsOfLines(JsonSchemas.JOURNAL, Files.readAllLines(Path.of(journal()))))
                    .isEmpty();
            JsonNode engines = document.path("arms").path(0).path("engines");
            assertThat(engines).hasSize(2);
            assertThat(engines)
                    .filteredOn(engine ->
                            engine.path("engine").asText().equals(other.uri().toString()))
                    .singleElement()
                    .satisfies(engine ->
                            assertThat(engine.path("promptTokens").asInt(-1)).isZero());
            assertThat(CommandRun.by("loadtest", "analyze", journal()).out())
                    .contains("prompt tokens by engine, and how much of them was cached:", one.uri() + " ");
            List<String> lines = Files.readAllLines(Path.of(journal()));
            Files.write(Path.of(journal()), lines.subList(0, 5));
            assertThat(CommandRun.by("loadtest", "resume", journal(), "--json").code())
                    .isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(Files.readAllLines(Path.of(journal())).getLast()).contains("\"shares\":[{\"engine\":\"http");
            assertThat(behind(one, join(behind, "--hold", "session")).badInput())
                    .contains("asks one engine for its own means, and a router is before several");
            assertThat(behind(one, join(behind, "--engine", other.uri().toString(), "--hold", "none"))
                            .badInput())
                    .contains("names the same engine twice");
            assertThat(CommandRun.by(join(new String[] {"loadtest", "run", "--hold", "none"}, behind))
                            .badInput())
                    .contains("--engine is written 2 times, and the router before those engines is not named");
        }
    }

    private static String[] join(String[] first, String... then) {
        return Stream.concat(Stream.of(first), Stream.of(then)).toArray(String[]::new);
    }

    @Test
    void armCommand_switchesEachLegAndClaimsNothing() throws IOException {
        String note = "echo $HOLDFAST_ARM >> " + folder.resolve("log");
        JsonNode document;
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = run(emulator, "--arm-command", "on=" + note, "off=" + note, "--json");
            assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
            document = JSON.readTree(told.out());
            assertThat(document.path("claimsHold").asBoolean(true)).isFalse();
        }
        List<String> switched = Files.readAllLines(folder.resolve("log"));
        // A pair that a busy machine spoiled ran again.
        assertThat(switched.stream().filter("on"::equals))
                .as("two legs that count and one of the rehearsal")
                .hasSizeBetween(3, 3 + document.path("voidedPairs").asInt());
        assertThat(switched).endsWith("off");
    }

    @Test
    void armCommandThatFails_isOneSentence() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            assertThat(run(emulator, "--arm-command", "on=true", "off=echo broken; false")
                            .badInput())
                    .isEqualTo("holdfast: The arm's command for off ended with exit code 1 (broken); mend it and run"
                            + " again.");
        }
        assertThat(folder).isEmptyDirectory();
    }

    private String journal() {
        return folder.resolve("run.jsonl").toString();
    }

    private CommandRun run(Emulator emulator, String... options) {
        return by("--engine", emulator, options);
    }

    private CommandRun behind(Emulator router, String... options) {
        return by("--router", router, options);
    }

    private CommandRun by(String address, Emulator emulator, String... options) {
        List<String> args = new ArrayList<>(
                List.of("loadtest", "run", address, emulator.uri().toString(), "--journal", journal()));
        args.addAll(List.of("--prefix-tokens", "256", "--suffix-tokens", "32", "--flood-requests", "8"));
        // The slot is the one that adapts: however slow the machine is, the arm's call fits.
        args.addAll(List.of("--flood-tokens", "320", "--cycles", "1", "--rounds", "1", "--anyway"));
        args.addAll(List.of("--repeat-pairs", "50"));
        args.addAll(List.of(options));
        return CommandRun.by(args.toArray(String[]::new));
    }
}
