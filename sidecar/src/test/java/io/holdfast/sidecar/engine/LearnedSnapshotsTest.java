package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Gate;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.PinnedEngine;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.WatchedDisk;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.store.LearnedFile;
import io.holdfast.sidecar.store.LearnedFile.Found;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a sidecar learned, its next start knows, unless it is of something else. */
class LearnedSnapshotsTest {
    private static final EmulatorSettings SETTINGS =
            TestBed.fast().withVariant(Variant.PIN_GPU).withModel("one");
    private static final int SYSTEM_PROMPT = 320;

    @TempDir
    Path state;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Sidecar sidecar(Emulator emulator, String keys, Seams seams) {
        String yaml = TestBed.yaml(state, emulator.uri(), keys).replace("engines:", "snapshotSeconds: 1\nengines:");
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(yaml, "test.yaml"),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                seams);
    }

    private Sidecar sidecar(Emulator emulator) {
        return sidecar(emulator, "", Seams.none());
    }

    /** A system prompt before the texts of four users, which is known to be shared then. */
    static void share(SidecarClient client, EngineClient engine) {
        client.meet(engine);
        for (int user = 0; user < 4; user++) {
            engine.generate(text(user));
        }
        Eventually.see("the prefix is known", () -> ways(client), ways -> ways >= 3);
    }

    private static int[] text(int user) {
        int[] text = EngineClient.prompt(700 + user, SYSTEM_PROMPT + 64);
        System.arraycopy(EngineClient.prompt(600, SYSTEM_PROMPT), 0, text, 0, SYSTEM_PROMPT);
        return text;
    }

    private static int ways(SidecarClient client) {
        JsonArray prefixes =
                client.http.get("/api/v1/engines/demo/prefixes").json().getJsonArray("prefixes");
        return prefixes.isEmpty() ? 0 : prefixes.getJsonObject(0).getInteger("continuations");
    }

    static JsonObject learned(SidecarClient client) {
        return client.engine().getJsonObject("learned");
    }

    private static void oneMoreSnapshot(SidecarClient client) {
        int before = learned(client).getInteger("snapshots");
        Eventually.see("one more", () -> learned(client).getInteger("snapshots"), count -> count > before + 1);
    }

    @Test
    void sharedPrefix_isKnownToTheNextStart_andSinceWhen() {
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri())) {
            String since;
            try (Sidecar first = sidecar(emulator);
                    SidecarClient client = new SidecarClient(first.uri())) {
                share(client, engine);
                since = learned(client).getString("since");
            }
            emulator.restart();
            try (Sidecar next = sidecar(emulator);
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see("the prefix is known", () -> ways(client), ways -> ways >= 3);
                assertThat(client.engine().getInteger("blocks")).isZero();
                assertThat(learned(client).getString("since")).isEqualTo(since);
                assertThat(learned(client).containsKey("notTakenUp")).isFalse();
            }
        }
    }

    /** The engine lives on, and is asked for all that it remembers of its batches: the earlier process heard them, too. */
    @Test
    void batchesThatTheSnapshotHas_areNotCountedAgain() {
        try (Emulator emulator = Emulator.start(vertx, SETTINGS.withReplayPort(0));
                EngineClient engine = new EngineClient(emulator.uri())) {
            int requests;
            int blocks;
            try (Sidecar first = sidecar(emulator);
                    SidecarClient client = new SidecarClient(first.uri())) {
                share(client, engine);
                requests = prefix(client).getInteger("requests");
                blocks = client.engine().getInteger("blocks");
            }
            try (Sidecar next = sidecar(emulator);
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see(
                        "the past is repeated",
                        () -> client.engine().getInteger("blocks"),
                        resident -> resident == blocks);
                Eventually.see("the prefix is known", () -> ways(client), ways -> ways >= 3);
                oneMoreSnapshot(client);
                assertThat(prefix(client).getInteger("requests")).isEqualTo(requests);
                engine.generate(text(5));
                Eventually.see("one more", () -> prefix(client).getInteger("requests"), count -> count == requests + 1);
            }
        }
    }

    private static JsonObject prefix(SidecarClient client) {
        return client.http
                .get("/api/v1/engines/demo/prefixes")
                .json()
                .getJsonArray("prefixes")
                .getJsonObject(0);
    }

    @Test
    void shutdown_writesWhatWasLearnedSinceTheLastSnapshot() {
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri())) {
            String yaml =
                    TestBed.yaml(state, emulator.uri(), "").replace("engines:", "snapshotSeconds: 86400\nengines:");
            try (Sidecar first = Sidecar.start(vertx, SidecarConfig.parse(yaml, "test.yaml"));
                    SidecarClient client = new SidecarClient(first.uri())) {
                share(client, engine);
                assertThat(state.resolve("demo.learned")).doesNotExist();
            }
            assertThat(state.resolve("demo.learned")).exists();
        }
    }

    @Test
    void modelThatIsAnother_isLearnedAnew_andTheFileLeftAside() {
        String since;
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar first = sidecar(emulator);
                SidecarClient client = new SidecarClient(first.uri())) {
            share(client, engine);
            since = learned(client).getString("since");
        }
        try (Emulator emulator = Emulator.start(vertx, SETTINGS.withModel("two"));
                Sidecar next = sidecar(emulator);
                SidecarClient client = new SidecarClient(next.uri())) {
            JsonObject learned = Eventually.see(
                    "learning begins anew", () -> learned(client), seen -> seen.containsKey("notTakenUp"));
            assertThat(learned.getString("notTakenUp"))
                    .contains(" with model one, and this one is at ")
                    .endsWith(" with model two: it is left aside in " + state.resolve("demo.learned.aside")
                            + ", and learning begins anew");
            assertThat(learned.getString("since")).isGreaterThan(since);
            assertThat(ways(client)).isZero();
            Eventually.see(
                    "no reason to be unready", () -> client.http.get("/readyz").status(), status -> status == 200);
        }
    }

    @Test
    void modelThatChangesUnderOurEyes_isLearnedAnew() {
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = sidecar(emulator);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            share(client, engine);
            emulator.faults().begin(new ServerFault.OtherModel("two"));
            emulator.restart();
            assertThat(Eventually.see(
                                    "learning begins anew",
                                    () -> learned(client),
                                    seen -> seen.containsKey("notTakenUp"))
                            .getString("notTakenUp"))
                    .contains("with model two now, so learning begins anew");
            Eventually.see("nothing is known", () -> ways(client), ways -> ways == 0);
            oneMoreSnapshot(client);
            LearnedFile file = new LearnedFile(state, "demo", LedgerFiles.SYSTEM);
            Found found = file.read(EngineAddress.identity(emulator.uri(), Optional.of("two")));
            assertThat(((Found.Whole) found).snapshot().learned().prefixes()).isEmpty();
        }
    }

    @Test
    void cacheOfBlocksOfAnotherSize_isLearnedAnew() {
        int port;
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar first = sidecar(emulator);
                SidecarClient client = new SidecarClient(first.uri())) {
            port = emulator.uri().getPort();
            share(client, engine);
        }
        try (Emulator emulator =
                        Emulator.start(vertx, SETTINGS.withPageTokens(32).withHttpPort(port));
                Sidecar next = sidecar(emulator);
                SidecarClient client = new SidecarClient(next.uri())) {
            assertThat(Eventually.see(
                                    "why it is not taken up",
                                    () -> learned(client),
                                    seen -> seen.containsKey("notTakenUp"))
                            .getString("notTakenUp"))
                    .contains("it is of blocks of 16 tokens, and the engine's have 32 now");
            assertThat(ways(client)).isZero();
        }
    }

    @Test
    void diskThatFillsUp_isANote_untilItTakesASnapshot() {
        WatchedDisk disk = new WatchedDisk();
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = sidecar(emulator, "", Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            disk.trouble(WatchedDisk.failing(call -> call.contains("demo.learned")));
            Http.Answer ready = Eventually.see(
                    "the note",
                    () -> client.http.get("/readyz"),
                    answer -> answer.text()
                            .contains("what is learned is not on the disk (No space left on device), so that a start"
                                    + " would learn it anew: free space on the disk of the state directory"));
            assertThat(ready.status())
                    .as("it looks after its engine all the same")
                    .isEqualTo(200);
            engine.generate(PinnedEngine.PREFIX);
            client.held(PinnedEngine.PREFIX);
            assertThat(learned(client).getString("notWritten")).contains("No space left on device");

            disk.trouble(call -> {});
            Eventually.see(
                    "no note",
                    () -> client.http.get("/readyz").text(),
                    text -> !text.contains("what is learned is not on the disk"));
            assertThat(learned(client).containsKey("notWritten")).isFalse();
        }
    }

    @Test
    void brokenFile_isSaid_andLeftAside() throws IOException {
        Files.writeString(state.resolve("demo.learned"), "holdfast learned 1.2 crc32c 00000000 bytes 2\n{}");
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                Sidecar sidecar = sidecar(emulator);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            assertThat(Eventually.see(
                                    "what is wrong with it",
                                    () -> learned(client),
                                    seen -> seen.containsKey("notTakenUp"))
                            .getString("notTakenUp"))
                    .contains("is damaged: its checksum is of something else");
            client.ready();
            assertThat(state.resolve("demo.learned.aside")).exists();
        }
    }

    /** Nothing is read before the engine said which one it is, and nothing is written over what was not read. */
    @Test
    void engineThatDoesNotAnswer_leavesTheFileAsItIs() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri());
                Gate gate = new Gate(emulator.uri())) {
            try (Sidecar first = throughGate(gate, emulator);
                    SidecarClient client = new SidecarClient(first.uri())) {
                share(client, engine);
            }
            byte[] before = Files.readAllBytes(state.resolve("demo.learned"));
            gate.shut();
            try (Sidecar next = throughGate(gate, emulator);
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see(
                        "the engine is asked",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("the engine's identity is not known"));
                assertThat(learned(client).containsKey("since")).isFalse();
            }
            assertThat(Files.readAllBytes(state.resolve("demo.learned"))).isEqualTo(before);
        }
    }

    private Sidecar throughGate(Gate gate, Emulator emulator) {
        String yaml = TestBed.yaml(state, gate.uri(), "events: '" + emulator.eventsEndpoint() + "'")
                .replace("engines:", "snapshotSeconds: 1\nengines:");
        return Sidecar.start(vertx, SidecarConfig.parse(yaml, "test.yaml"));
    }

    @Test
    void wallThatIsSetBackOrForward_changesNothingButAges() {
        AtomicReference<Duration> off = new AtomicReference<>(Duration.ZERO);
        Seams seams = Seams.none().withWall(() -> Instant.now().plus(off.get()));
        try (Emulator emulator = Emulator.start(vertx, SETTINGS);
                EngineClient engine = new EngineClient(emulator.uri())) {
            try (Sidecar first = sidecar(emulator, "", seams);
                    SidecarClient client = new SidecarClient(first.uri())) {
                share(client, engine);
                off.set(Duration.ofDays(1));
                oneMoreSnapshot(client);
                assertThat(learned(client).getInteger("snapshotAgeSeconds")).isLessThan(3_600);
                off.set(Duration.ofDays(-1));
                oneMoreSnapshot(client);
            }
            off.set(Duration.ofDays(-30));
            try (Sidecar next = sidecar(emulator, "", seams);
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see("the prefix is known", () -> ways(client), ways -> ways >= 3);
                assertThat(learned(client).getInteger("snapshotAgeSeconds")).isZero();
            }
        }
    }
}
