package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.ChildSidecar;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requested holds that outlive the sidecar's process, however it ends, and declared ones. */
class LastingHoldsTest {
    private static final String RULES = "Answer in one sentence, and always name the page you found it on. ".repeat(12);

    @TempDir
    Path directory;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Path config(Emulator engine, String keys) throws IOException {
        return Files.writeString(
                directory.resolve("holdfast.yaml"), TestBed.yaml(directory.resolve("state"), engine.uri(), keys));
    }

    private Emulator engine(EmulatorSettings settings) {
        return Emulator.start(vertx, settings);
    }

    private Sidecar sidecar(Path config) {
        return Sidecar.start(vertx, SidecarConfig.load(config));
    }

    private static EmulatorSettings sessions() {
        return TestBed.fast().withSglang(engine -> engine.withSessions(true));
    }

    @Test
    void holdOfAKilledSidecar_comesBackWithItsNumber() throws IOException {
        int[] prefix = EngineClient.prompt(1, 512);
        try (Emulator emulator = engine(TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Path config = config(emulator, "");
            String id;
            String released;
            double left;
            try (ChildSidecar killed = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(killed.uri())) {
                client.meet(engine);
                engine.generate(prefix);
                id = client.held(prefix);
                released = client.hold(EngineClient.prompt(2, 256), 3600).json().getString("id");
                assertThat(client.http
                                .delete(SidecarClient.HOLDS + "/" + released)
                                .status())
                        .isEqualTo(200);
                left = client.holdById(id).getDouble("leaseSeconds");
            }
            try (ChildSidecar next = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                JsonObject back = client.holdById(id);
                assertThat(back.getString("state")).isIn("requested", "held");
                assertThat(back.getInteger("wantedBlocks")).isEqualTo(32);
                assertThat(back.getDouble("leaseSeconds")).isLessThanOrEqualTo(left);
                assertThat(client.http.get(SidecarClient.HOLDS + "/" + released).status())
                        .isEqualTo(404);

                client.ready();
                engine.flush();
                client.meet(engine);
                engine.generate(prefix);
                client.holdIn(id, "held");
                assertThat(Long.parseLong(client.hold(EngineClient.prompt(3, 256), 60)
                                .json()
                                .getString("id")))
                        .as("a number of its own")
                        .isGreaterThan(Long.parseLong(id));
            }
        }
    }

    @Test
    void claimsOnAHoldOfAKilledSidecar_comeBackAsTheyWere() throws IOException {
        int[] prefix = EngineClient.prompt(1, 512);
        JsonObject asked = new JsonObject().put("tokens", EngineClient.array(prefix));
        try (Emulator emulator = engine(TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Path config = config(emulator, "");
            String shared;
            String extended;
            try (ChildSidecar killed = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(killed.uri())) {
                client.meet(engine);
                engine.generate(prefix);
                JsonObject first = asked.copy().put("leaseSeconds", 600).put("requester", "router-a");
                shared = client.http
                        .post(SidecarClient.HOLDS, first.encode())
                        .json()
                        .getString("id");
                for (String requester : List.of("router-b", "router-c")) {
                    client.http.post(
                            SidecarClient.HOLDS,
                            first.copy()
                                    .put("requester", requester)
                                    .put("refreshOnHit", true)
                                    .put("atMostSeconds", 1200)
                                    .put("weight", 9)
                                    .encode());
                }
                client.http.delete(SidecarClient.HOLDS + "/" + shared + "?requester=router-c");
                extended = client.hold(prefix, 60).json().getString("id");
                client.http.send("PATCH", SidecarClient.HOLDS + "/" + extended, "{\"leaseSeconds\":7200}");
            }
            try (ChildSidecar next = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                assertThat(client.holdById(extended).getDouble("leaseSeconds")).isBetween(7_000.0, 7_200.0);
                JsonObject back = client.holdById(shared);
                assertThat(back.getInteger("weight")).isEqualTo(9);
                assertThat(back.getJsonArray("requesters")).hasSize(2);
                JsonObject one = back.getJsonArray("requesters").getJsonObject(0);
                JsonObject other = back.getJsonArray("requesters").getJsonObject(1);
                assertThat(one.getString("requester")).isEqualTo("router-a");
                assertThat(one.getBoolean("refreshOnHit")).isNull();
                assertThat(other.getString("requester")).isEqualTo("router-b");
                assertThat(other.getBoolean("refreshOnHit")).isTrue();
                assertThat(other.getDouble("leaseSeconds")).isBetween(500.0, 600.0);
                assertThat(other.getDouble("atMostSeconds")).isBetween(1_100.0, 1_200.0);
            }
        }
    }

    @Test
    void useThatProlongedALease_isKeptForTheNextProcess() throws IOException {
        int[] prefix = EngineClient.prompt(1, 512);
        try (Emulator emulator = engine(TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Path config = config(emulator, "");
            String id;
            try (ChildSidecar killed = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(killed.uri())) {
                client.meet(engine);
                engine.generate(prefix);
                JsonObject asked = new JsonObject()
                        .put("tokens", EngineClient.array(prefix))
                        .put("leaseSeconds", 3600)
                        .put("refreshOnHit", true);
                id = client.http
                        .post(SidecarClient.HOLDS, asked.encode())
                        .json()
                        .getString("id");
                client.http.send("PATCH", SidecarClient.HOLDS + "/" + id, "{\"leaseSeconds\":300}");
                asked.remove("leaseSeconds");
                asked.remove("refreshOnHit");
                client.http.post(
                        "/api/v1/engines/demo/hints",
                        asked.put("says", "goes_on").encode());
                assertThat(client.holdById(id).getDouble("leaseSeconds")).isGreaterThan(3_000);
                Path kept = directory.resolve("state").resolve("demo.holds");
                Eventually.see(
                        "the next look writes it",
                        () -> lines(kept),
                        lines -> lines.stream()
                                        .filter(line -> line.startsWith("{\"claimed\":" + id))
                                        .count()
                                == 2);
            }
            try (ChildSidecar next = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                assertThat(client.holdById(id).getDouble("leaseSeconds")).isGreaterThan(3_000);
            }
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void holdByText_outlivesAFlush_eitherProcess_andBoth() throws IOException {
        JsonObject asked = new JsonObject().put("text", RULES).put("leaseSeconds", 86_400);
        EmulatorSettings settings = TestBed.fast().withVariant(Variant.PIN_GPU);
        Emulator emulator = engine(settings);
        settings = settings.withHttpPort(emulator.uri().getPort())
                .withEventsPort(URI.create(emulator.eventsEndpoint()).getPort());
        Path config = config(emulator, "");
        ChildSidecar sidecar = ChildSidecar.start(config);
        try {
            String id;
            try (SidecarClient client = new SidecarClient(sidecar.uri());
                    EngineClient engine = new EngineClient(emulator.uri())) {
                client.meet(engine);
                id = client.http
                        .post(SidecarClient.HOLDS, asked.encode())
                        .json()
                        .getString("id");
            }
            heldAndFound(sidecar, emulator, id);
            for (String what : List.of("flush", "engine", "sidecar", "both")) {
                if (what.equals("flush")) {
                    try (EngineClient engine = new EngineClient(emulator.uri())) {
                        assertThat(engine.flush()).isEqualTo(200);
                    }
                }
                if (what.equals("sidecar") || what.equals("both")) {
                    sidecar.close();
                }
                if (what.equals("engine") || what.equals("both")) {
                    emulator.close();
                    emulator = engine(settings);
                }
                if (what.equals("sidecar") || what.equals("both")) {
                    sidecar = ChildSidecar.start(config);
                }
                heldAndFound(sidecar, emulator, id);
            }
        } finally {
            sidecar.close();
            emulator.close();
        }
    }

    /** Once a user of the text has brought it back, the next one finds it after any flood; the hold has its number still. */
    private static void heldAndFound(ChildSidecar sidecar, Emulator emulator, String id) {
        try (SidecarClient client = new SidecarClient(sidecar.uri());
                EngineClient engine = new EngineClient(emulator.uri())) {
            client.ready();
            int[] user = {0};
            Eventually.see(
                    "what is held outlives a flood",
                    () -> {
                        engine.complete(RULES + "Question " + user[0]++ + "?");
                        engine.flood(100, 60, 200);
                        return engine.complete(RULES + "One more question.");
                    },
                    cached -> cached > 0);
            // What was held in part at first is pinned anew when all of it can be.
            JsonObject hold = Eventually.see(
                    "all of it is held",
                    () -> client.holdById(id),
                    seen -> seen.getString("state").equals("held")
                            && seen.getInteger("heldBlocks").equals(seen.getInteger("wantedBlocks")));
            assertThat(hold.getDouble("leaseSeconds")).isBetween(86_000.0, 86_400.0);
        }
    }

    @Test
    void holdThatWasLetGoWithAll_staysReleased() throws IOException {
        try (Emulator emulator = engine(TestBed.fast().withVariant(Variant.PIN_GPU))) {
            Path config = config(emulator, "");
            try (Sidecar sidecar = sidecar(config);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                assertThat(client.hold(EngineClient.prompt(1, 256), 3600).status())
                        .isEqualTo(201);
                client.http.delete(SidecarClient.HOLDS);
            }
            try (Sidecar sidecar = sidecar(config);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                assertThat(client.holds()).isEmpty();
            }
        }
    }

    @Test
    void declaredHolds_areAskedForAtEveryStart_andGoWithTheirNames() throws IOException {
        Path text = Files.writeString(directory.resolve("rules.txt"), RULES);
        String declared = "backend: session_hold, holds: {rules: {file: '" + text + "'},"
                + " chat: {messages: [{role: system, content: '" + RULES + "'}]}}";
        try (Emulator emulator = engine(sessions());
                EngineClient engine = new EngineClient(emulator.uri())) {
            String rules;
            try (Sidecar sidecar = sidecar(config(emulator, declared));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(engine);
                engine.complete(RULES + "What is a cache?");
                rules = named(client, "rules").getString("id");
                client.holdIn(rules, "held");
                assertThat(named(client, "chat").getString("state")).isEqualTo("requested");
            }
            try (Sidecar sidecar =
                            sidecar(config(emulator, "backend: session_hold, holds: {rules: {file: '" + text + "'}}"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                assertThat(named(client, "rules").getString("id")).isEqualTo(rules);
                Eventually.see(
                        "the other is released",
                        client::holds,
                        holds -> holds.stream()
                                .noneMatch(hold -> "requested".equals(hold.getString("state"))
                                        && !rules.equals(hold.getString("id"))));

                Files.writeString(text, RULES + RULES);
            }
            try (Sidecar sidecar =
                            sidecar(config(emulator, "backend: session_hold, holds: {rules: {file: '" + text + "'}}"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                Eventually.see(
                        "what the file says by now is asked for",
                        () -> named(client, "rules"),
                        hold -> !rules.equals(hold.getString("id")));
            }
        }
    }

    @Test
    void declaredHoldThatCannotBeMade_isANoteWithTheReason() throws IOException {
        Path missing = directory.resolve("missing.txt");
        try (Emulator emulator = engine(sessions());
                Sidecar sidecar =
                        sidecar(config(emulator, "backend: session_hold, holds: {rules: {file: '" + missing + "'}}"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see(
                    "the note",
                    () -> client.http.get("/readyz").text(),
                    ready -> ready.contains(
                            "the declared hold rules is not requested yet: The file " + missing + " cannot be read"));
        }
    }

    @Test
    void anotherModel_putsAHoldAside_untilItsOwnIsBack() throws IOException {
        String id;
        EmulatorSettings settings = TestBed.fast().withVariant(Variant.PIN_GPU);
        Path config;
        try (Emulator emulator = engine(settings.withModel("one"))) {
            config = config(emulator, "");
            try (Sidecar sidecar = sidecar(config);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                id = client.hold(EngineClient.prompt(1, 256), 3600).json().getString("id");
            }
        }
        try (Emulator emulator = engine(settings.withModel("two"));
                Sidecar sidecar = sidecar(config(emulator, ""));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            assertThat(client.holdIn(id, "released").getString("reason"))
                    .contains("requested while the engine served one, and it serves two now");
            Eventually.see(
                    "the note",
                    () -> client.http.get("/readyz").text(),
                    ready -> ready.contains("1 kept holds are of a model that the engine does not serve"));
        }
        try (Emulator emulator = engine(settings.withModel("one"));
                Sidecar sidecar = sidecar(config(emulator, ""));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.holdIn(id, "requested");
        }
    }

    @Test
    void tokensAskedForInADryRun_areSentByTheNextBackend() throws IOException {
        try (Emulator emulator = engine(sessions());
                EngineClient engine = new EngineClient(emulator.uri())) {
            String id;
            try (Sidecar sidecar = sidecar(config(emulator, "backend: dry_run"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(engine);
                JsonObject asked =
                        client.hold(EngineClient.prompt(1, 512), 3600).json();
                assertThat(asked.getString("reason")).doesNotContain("with its tokens");
                id = asked.getString("id");
            }
            try (Sidecar sidecar = sidecar(config(emulator, "backend: session_hold, priming: true"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                client.hear(engine);
                // Only now is the cache known, and the hold's prefix is sent at once.
                assertThat(engine.flush()).isEqualTo(200);
                client.holdIn(id, "held");
            }
        }
    }

    @Test
    void holdByHashes_waitsForItsTokens_whereTheNextBackendSendsThem() throws IOException {
        int[] prefix = EngineClient.prompt(1, 512);
        try (Emulator emulator = engine(sessions());
                EngineClient engine = new EngineClient(emulator.uri())) {
            String id;
            try (Sidecar sidecar = sidecar(config(emulator, "backend: dry_run"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                id = client.hold(SglangBlockNames.of(prefix, TestBed.BLOCK), 3600)
                        .json()
                        .getString("id");
            }
            // A second restart finds it as the first one did.
            for (int start = 0; start < 2; start++) {
                try (Sidecar sidecar = sidecar(config(emulator, "backend: session_hold"));
                        SidecarClient client = new SidecarClient(sidecar.uri())) {
                    client.ready();
                    JsonObject hold = Eventually.see(
                            "it waits, and says for what",
                            () -> client.holdById(id),
                            seen -> seen.getString("reason").contains("held when the engine's events report them"));
                    assertThat(hold.getString("state")).isEqualTo("requested");
                }
            }
            try (Sidecar sidecar = sidecar(config(emulator, "backend: session_hold"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(engine);
                engine.generate(prefix);
                client.holdIn(id, "held");
                assertThat(client.hold(new long[] {7}, 60).error()).contains("ask for it by its tokens");
            }
        }
    }

    @Test
    void texts_areShownOnlyByASidecarThatIsToldTo() throws IOException {
        try (Emulator emulator = engine(sessions())) {
            SidecarConfig config = SidecarConfig.load(config(emulator, "backend: session_hold"));
            String id;
            try (Sidecar sidecar = Sidecar.start(vertx, config);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                id = client.http
                        .post(
                                SidecarClient.HOLDS,
                                new JsonObject()
                                        .put("text", RULES)
                                        .put("leaseSeconds", 60)
                                        .encode())
                        .json()
                        .getString("id");
                assertThat(client.http.get("/api/v1/engines/demo").text()).doesNotContain("name the page");
                assertThat(client.holdById(id).getMap()).doesNotContainKeys("text", "tokens");
            }
            try (Sidecar sidecar = Sidecar.start(vertx, config.withShowText(true));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                Eventually.see("the text", () -> client.holdById(id), hold -> RULES.equals(hold.getString("text")));
            }
        }
    }

    private static JsonObject named(SidecarClient client, String name) {
        return Eventually.see(
                        "the hold " + name,
                        client::holds,
                        holds -> holds.stream().anyMatch(hold -> name.equals(hold.getString("name"))))
                .stream()
                .filter(hold -> name.equals(hold.getString("name")))
                .findFirst()
                .orElseThrow();
    }
}
