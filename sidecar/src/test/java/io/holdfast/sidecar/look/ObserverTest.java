package io.holdfast.sidecar.look;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.BareSglang;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.view.Conditions;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is seen of an engine that serves a system prompt before many texts, over its sockets. */
class ObserverTest {
    private static final int[] PROMPT = EngineClient.prompt(1, 512);

    @TempDir
    Path folder;

    private final Vertx vertx = Vertx.vertx();
    private int nextText;

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void sharedPrompt_itsLossesAndTheirCost_areSeen() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast());
                EngineClient client = new EngineClient(engine.uri());
                Observer observer = open(EngineTarget.of(engine.uri()), Optional.empty())) {
            Observation nothing = meet(observer, client);
            assertThat(nothing.residence()).isEmpty();
            assertThat(nothing.reuse()).isEmpty();
            assertThat(nothing.rho()).isEmpty();
            assertThat(nothing.prefixes()).isEmpty();

            texts(client, 3);
            // The times are asked for apart, so of another moment.
            Observation shared = until(
                    observer,
                    seen -> seen.sharing().found() == 2 && seen.reuse().isPresent());
            assertThat(shared.prefixes()).singleElement().satisfies(prefix -> {
                assertThat(prefix.tokens()).isEqualTo(512);
                assertThat(prefix.continuations()).isEqualTo(3);
                assertThat(prefix.cached()).isTrue();
                assertThat(prefix.losses()).isZero();
            });

            client.flood(1_000, 60, 160);
            texts(client, 1);
            Observation lost = until(observer, seen -> seen.sharing().lost() == 1);
            assertThat(lost.sharing().storedAgainTokens()).isEqualTo(512);
            assertThat(lost.prefixes().getFirst().worthHolding()).isTrue();
            assertThat(lost.residence()).isPresent();
            assertThat(lost.removals()).isPositive();
            assertThat(lost.holding().backend()).isEqualTo("keep_warm");
            assertThat(lost.holding().prefixes()).isEqualTo(1);
            // Too few requests were measured, so no cost is told.
            assertThat(lost.prefill().secondsPerToken()).isEmpty();
            assertThat(lost.sharing().seconds()).isEmpty();
            assertThat(lost.prefill().why()).isPresent();
        }
    }

    @Test
    void promptsOfAllLengths_inACacheThatLosesThem_areWhereBothCanPay() throws IOException {
        Path one = Files.write(Path.of("/dev/shm/holdfast-" + UUID.randomUUID()), segment());
        Path other = Files.write(Path.of("/dev/shm/holdfast-" + UUID.randomUUID()), segment());
        try (Emulator engine = Emulator.start(vertx, TestBed.fast());
                EngineClient client = new EngineClient(engine.uri());
                Observer observer = open(EngineTarget.of(engine.uri()), Optional.empty())) {
            meet(observer, client);
            texts(client, 3);
            client.flood(1_000, 60, 160);
            texts(client, 1);
            // Half of them are short, one in four is long.
            for (int i = 0; i < 40; i++) {
                client.generate(EngineClient.prompt(5_000 + i, i % 4 == 0 ? 1_600 : 160));
            }

            Observation seen =
                    until(observer, each -> each.conditions().pressure().answer() == Conditions.Answer.YES);
            assertThat(seen.conditions().lengths().answer()).isEqualTo(Conditions.Answer.YES);
            assertThat(seen.conditions().models().answer()).isEqualTo(Conditions.Answer.YES);
            assertThat(seen.conditions().advice())
                    .isEqualTo("Holds can pay, since the cache is short of room. Moving memory between engines can:"
                            + " several share it, and this cache is short of room.");
        } finally {
            Files.delete(one);
            Files.delete(other);
        }
    }

    private static byte[] segment() {
        return ByteBuffer.allocate(24)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(1L << 30)
                .putLong(1L << 20)
                .putLong(1L << 20)
                .array();
    }

    private static int[] with(int[] shared, int[] text) {
        int[] whole = Arrays.copyOf(shared, shared.length + text.length);
        System.arraycopy(text, 0, whole, shared.length, text.length);
        return whole;
    }

    @Test
    void observedEngine_isSentNothing() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast());
                EngineClient client = new EngineClient(engine.uri());
                Observer observer = open(EngineTarget.of(engine.uri()), Optional.empty())) {
            meet(observer, client);
            double served = client.metric("sglang:time_to_first_token_seconds_count");
            Observation seen = until(observer, each -> each.requests().batches() > 0);
            assertThat(seen.requests().visible()).isLessThanOrEqualTo((long) served);
            assertThat(client.metric("sglang:time_to_first_token_seconds_count"))
                    .isEqualTo(served);
        }
    }

    @Test
    void backendOfTheEngine_isNamed() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast().withSglang(its -> its.withSessions(true)));
                EngineClient client = new EngineClient(engine.uri())) {
            // Until the last batch is heard: what is on its way still would break the silence.
            try (Observer first = open(EngineTarget.of(engine.uri()), Optional.empty())) {
                meet(first, client);
            }
            try (Observer observer = open(EngineTarget.of(engine.uri()), Optional.empty())) {
                assertThat(observer.look().holding().backend()).isEqualTo("session_hold");
                assertThat(observer.look().silent()).isTrue();
            }
        }
    }

    @Test
    void recording_hasTheFramesAndReadingsInOrder() throws IOException {
        Path file = folder.resolve("seen.jsonl");
        try (Emulator engine = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults()
                                .withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()))
                                .withPrefillMicrosPerToken(0)
                                .withFirstTokenMicros(0)
                                .withDecodeMillis(1));
                EngineClient client = new EngineClient(engine.uri())) {
            EngineTarget target = EngineTarget.of(engine.uri()).withEvents(engine.eventsEndpoint());
            for (int round = 0; round < 2; round++) {
                try (Observer observer = open(target, Optional.of(FrameRecorder.open(file)))) {
                    until(observer, seen -> {
                        client.complete("prompt " + nextText++ + " has more words than a block has tokens. ".repeat(9));
                        return seen.requests().batches() > 3
                                && seen.readings().running().isPresent();
                    });
                }
            }
        }

        List<JsonNode> lines =
                Files.readAllLines(file).stream().map(ObserverTest::json).toList();
        assertThat(lines.getFirst().path("recording").asInt()).isEqualTo(1);
        assertThat(lines.getFirst().path("type").asText()).isEqualTo("vllm");
        assertThat(lines.stream().filter(line -> line.has("recording"))).hasSize(2);
        assertThat(lines.stream().filter(line -> line.path("readings").has("capacityTokens")))
                .isNotEmpty();
        List<JsonNode> frames =
                lines.stream().filter(line -> line.has("payload")).toList();
        assertThat(frames).hasSizeGreaterThan(6);
        assertThat(frames.stream().map(line -> line.path("sequence").asLong())).isSorted();
        assertThat(lines).allSatisfy(line -> assertThat(line.has("at")).isTrue());
    }

    @Test
    void recording_isItsOwnersAlone() throws IOException {
        Path made = folder.resolve("made.jsonl");
        Path found = Files.writeString(folder.resolve("found.jsonl"), "{}\n");
        Files.setPosixFilePermissions(found, PosixFilePermissions.fromString("rw-r--r--"));
        try (FrameRecorder first = FrameRecorder.open(made);
                FrameRecorder second = FrameRecorder.open(found)) {
            assertThat(first.lines() + second.lines()).isZero();
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
                    .isEqualTo("rw-------");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(found)))
                    .isEqualTo("rw-------");
        }
        assertThat(found).hasContent("{}");
    }

    @Test
    void recordingInNoDirectory_isOneSentence() {
        assertThatThrownBy(() -> FrameRecorder.open(folder.resolve("none/seen.jsonl")))
                .isInstanceOf(SidecarException.class)
                .hasMessageEndingWith("cannot be written (its directory does not exist); name another file.");
        assertThatThrownBy(() -> FrameRecorder.open(folder))
                .hasMessage("--record is " + folder + ", a directory; name a file in it.");
    }

    @Test
    void engineWithoutEvents_isRefusedWithTheFlag() {
        try (BareSglang engine = new BareSglang()) {
            assertThatThrownBy(() -> open(EngineTarget.of(engine.uri()), Optional.empty()))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageStartingWith("The engine publishes no events: start it with --kv-events-config");
        }
    }

    @Test
    void engineThatAsksForAKey_isRefusedWithTheOption() {
        try (Emulator engine =
                Emulator.start(vertx, TestBed.fast().withFaults(List.of(new ServerFault.ApiKey("sk-1"))))) {
            assertThatThrownBy(() -> open(EngineTarget.of(engine.uri()), Optional.empty()))
                    .isInstanceOf(SidecarException.class)
                    .hasMessage(engine.uri() + " asks for a key (HTTP 401): put its --api-key into an environment"
                            + " variable and name that with --api-key-env.");
        }
    }

    private static Observer open(EngineTarget target, Optional<FrameRecorder> recorder) {
        return Observer.open(target, recorder, new SplittableRandom(1));
    }

    /** Sends prompts until events are heard, and clears the cache, so that all of it is known. */
    private Observation meet(Observer observer, EngineClient client) {
        until(observer, seen -> {
            client.generate(EngineClient.prompt(500 + nextText++, 64));
            return seen.requests().batches() > 0 && seen.readings().running().isPresent();
        });
        client.flush();
        return until(observer, Observation::certain);
    }

    private static Observation until(Observer observer, Predicate<Observation> wanted) {
        return Eventually.see("what is wanted", observer::look, wanted);
    }

    private void texts(EngineClient client, int count) {
        for (int i = 0; i < count; i++) {
            client.generate(with(PROMPT, EngineClient.prompt(100 + nextText++, 50)));
        }
    }

    private static JsonNode json(String line) {
        try {
            return new ObjectMapper().readTree(line);
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }
}
