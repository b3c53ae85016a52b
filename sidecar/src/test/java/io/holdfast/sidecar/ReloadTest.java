package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.ConfigSources;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Reloads;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.ledger.StateDirectory;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A sidecar that runs gets to another configuration, by files, sockets and names. */
class ReloadTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final URI NOBODY = URI.create("http://127.0.0.1:9");

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Vertx vertx = Sidecar.instrumented(registry);

    @TempDir
    Path directory;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private static String engine(String id, URI url, String keys) {
        return "  " + id + ": {type: sglang, url: '" + url
                + "', maxOutputTokens: 16, largestPromptTokens: 1024, readingsMillis: 50, tickMillis: 10,"
                + " priming: false, backend: pin_blocks" + keys + "}\n";
    }

    private Path write(String... engines) {
        return writeAll("engines:" + (engines.length == 0 ? " {}" : "\n" + String.join("", engines)));
    }

    private Path writeAll(String rest) {
        try {
            return Files.writeString(
                    directory.resolve("holdfast.yaml"),
                    "listen: {port: 0}\nstateDirectory: '" + directory.resolve("state") + "'\n" + rest);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Sidecar start(Path config, Seams seams) {
        ConfigSources sources = ConfigSources.of(Optional.of(config), Map.of("HOME", directory.toString()), List.of());
        return Sidecar.start(
                vertx, new Reloads.Sources(() -> sources.read().config(), sources::stamp), registry, seams);
    }

    private Sidecar start(Path config) {
        return start(config, Seams.none());
    }

    private static JsonObject reload(Sidecar sidecar) {
        try (Http http = new Http(sidecar.uri())) {
            Http.Answer answer = http.post("/api/v1/reload", "");
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
            return answer.json();
        }
    }

    private Emulator emulator() {
        return Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
    }

    @Test
    void addedEngine_holdsAndTheOthersKeepTheirs() {
        try (Emulator first = emulator();
                Emulator second = emulator();
                EngineClient one = new EngineClient(first.uri());
                EngineClient two = new EngineClient(second.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a");
                SidecarClient b = new SidecarClient(sidecar.uri(), "b")) {
            a.meet(one);
            one.generate(PREFIX);
            String held = a.held(PREFIX);

            write(engine("a", first.uri(), ""), engine("b", second.uri(), ""));
            JsonObject report = reload(sidecar);

            assertThat(report.getJsonArray("added")).isEqualTo(new JsonArray().add("b"));
            assertThat(report.getJsonObject("changed")).isEqualTo(new JsonObject());
            b.meet(two);
            two.generate(PREFIX);
            b.held(PREFIX);
            assertThat(two.usedTokens()).isEqualTo(512);
            assertThat(one.usedTokens()).isEqualTo(512);
            assertThat(a.holdById(held).getString("state")).isEqualTo("held");
            assertThat(b.metric("holdfast_ready{engine=\"b\"}")).isEqualTo(1);
        }
    }

    @Test
    void removedEngine_isLetGoOfAndIsNotShownAnyMore() {
        try (Emulator first = emulator();
                Emulator second = emulator();
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), ""), engine("b", second.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            a.meet(one);
            one.generate(PREFIX);
            String held = a.held(PREFIX);
            assertThat(a.http.get("/metrics").text()).contains("engine=\"a\"");

            write(engine("b", second.uri(), ""));
            JsonObject report = reload(sidecar);

            assertThat(report.getJsonArray("removed")).isEqualTo(new JsonArray().add("a"));
            assertThat(report.getJsonArray("problems")).isEmpty();
            assertThat(one.usedTokens()).isZero();
            assertThat(a.http.get("/api/v1/engines/a").status()).isEqualTo(404);
            assertThat(a.http.get("/metrics").text())
                    .doesNotContain("engine=\"a\"")
                    .contains("engine=\"b\"");
            write(engine("a", first.uri(), ""), engine("b", second.uri(), ""));
            reload(sidecar);
            a.meet(one);
            one.generate(PREFIX);

            assertThat(a.holdIn(held, "held").getString("state"))
                    .as("what was asked for is there again with its engine")
                    .isEqualTo("held");
        }
    }

    @Test
    void removedEngineThatDoesNotAnswer_isSaidAndListed() throws IOException {
        Emulator first = emulator();
        try (Emulator second = emulator();
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), ""), engine("b", second.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            a.meet(one);
            one.generate(PREFIX);
            a.held(PREFIX);
            first.close();

            write(engine("b", second.uri(), ""));
            JsonObject report = reload(sidecar);

            assertThat(report.getJsonArray("removed")).isEqualTo(new JsonArray().add("a"));
            assertThat(report.getJsonArray("problems").getString(0))
                    .contains("1 pins of engine a are still listed in its ledger")
                    .contains("holdfast ledger release");
            assertThat(StateDirectory.at(directory.resolve("state")).ledger("a").pins())
                    .hasSize(1);
        }
    }

    @Test
    void keysThatChangeInPlace_leaveTheHoldAlone() {
        try (Emulator first = Emulator.start(
                        vertx, TestBed.fast().withVariant(Variant.PIN_GPU).withCapacityTokens(65_536));
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            a.meet(one);
            one.generate(PREFIX);
            String held = a.held(PREFIX);
            long batches = a.engine().getJsonObject("events").getLong("batches");
            assertThat(a.engine().getBoolean("automaticHolds")).isFalse();
            double before = automatic(a);

            write(engine("a", first.uri(), ", share: 0.1, automaticHolds: true, leastSavingMillis: 0"));
            JsonObject report = reload(sidecar);

            assertThat(report.getJsonObject("changed").getJsonArray("a"))
                    .containsExactlyInAnyOrder("share", "automaticHolds", "leastSavingMillis");
            assertThat(report.getJsonArray("followedAnew")).isEmpty();
            assertThat(a.engine().getBoolean("automaticHolds")).isTrue();
            Eventually.see("the budget has the new share", () -> automatic(a), now -> now < before && now > 0);
            assertThat(a.engine().getJsonObject("events").getLong("batches")).isGreaterThanOrEqualTo(batches);
            assertThat(a.holdById(held).getString("state")).isEqualTo("held");
            assertThat(a.http.get("/metrics").text()).contains("holdfast_engine");
            assertThat(one.usedTokens()).isEqualTo(512);
        }
    }

    private static double automatic(SidecarClient client) {
        return client.metric("holdfast_budget_automatic_tokens{engine=\"a\"}");
    }

    @Test
    void declaredHolds_comeAndGoWithTheFile() {
        try (Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            a.meet(one);
            one.generate(PREFIX);

            write(engine(
                    "a",
                    first.uri(),
                    ", holds: {rules: {tokens: " + EngineClient.array(PREFIX).encode() + "}}"));
            reload(sidecar);
            Eventually.see("it is held", one::usedTokens, used -> used == 512);
            Eventually.see("it is shown as held", () -> heldToBeMeasured(a), held -> held.equals(List.of(false)));

            write(engine(
                    "a",
                    first.uri(),
                    ", holds: {rules: {measure: true, tokens: "
                            + EngineClient.array(PREFIX).encode() + "}}"));
            assertThat(reload(sidecar).getJsonObject("changed").getJsonArray("a"))
                    .containsExactly("holds");
            Eventually.see("it may be released now", () -> heldToBeMeasured(a), held -> held.equals(List.of(true)));

            write(engine("a", first.uri(), ""));
            assertThat(reload(sidecar).getJsonObject("changed").getJsonArray("a"))
                    .containsExactly("holds");
            Eventually.see("it is let go of", one::usedTokens, used -> used == 0);
        }
    }

    /** Of each hold that is held, whether it may be let go of to be measured. */
    private static List<Boolean> heldToBeMeasured(SidecarClient client) {
        return client.http.get("/api/v1/engines/a/holds").json().getJsonArray("holds").stream()
                .map(JsonObject.class::cast)
                .filter(hold -> hold.getString("state").equals("held"))
                .map(hold -> hold.getBoolean("measure", false))
                .toList();
    }

    @Test
    void keyThatNeedsANewLink_keepsTheRequestedHold() {
        try (Emulator first = emulator();
                Emulator second = emulator();
                EngineClient one = new EngineClient(first.uri());
                EngineClient two = new EngineClient(second.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), ""), engine("b", second.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a");
                SidecarClient b = new SidecarClient(sidecar.uri(), "b")) {
            a.meet(one);
            b.hear(two);
            one.generate(PREFIX);
            String held = a.held(PREFIX);
            long batchesOfB = b.engine().getJsonObject("events").getLong("batches");

            write(engine("a", first.uri(), ", automaticLeaseSeconds: 30"), engine("b", second.uri(), ""));
            JsonObject report = reload(sidecar);

            assertThat(report.getJsonArray("followedAnew")).isEqualTo(new JsonArray().add("a"));
            assertThat(report.getJsonObject("changed").getJsonArray("a")).containsExactly("automaticLeaseSeconds");
            a.meet(one);
            one.generate(PREFIX);
            a.holdIn(held, "held");
            assertThat(one.usedTokens()).isEqualTo(512);
            assertThat(b.engine().getJsonObject("events").getLong("batches")).isGreaterThanOrEqualTo(batchesOfB);
        }
    }

    @Test
    void engineThatCannotBeFollowedAnew_isSaidToBeAbsent_untilItIs() throws IOException {
        Path ledger = directory.resolve("state").resolve("a.ledger");
        try (Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(write(engine("a", first.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            a.meet(one);
            Files.deleteIfExists(ledger);
            Files.writeString(ledger, "garbage\n");

            write(engine("a", first.uri(), ", automaticLeaseSeconds: 30"));
            JsonObject report = reload(sidecar);

            String why = "Line 1 of the ledger " + ledger + " cannot be read";
            assertThat(report.getJsonArray("problems").getString(0)).startsWith("engine a is not looked after: " + why);
            for (String asked : List.of("/api/v1/engines/a", "/api/v1/engines/a/holds")) {
                Http.Answer answer = a.http.get(asked);
                assertThat(answer.status()).as(asked).isEqualTo(503);
                assertThat(answer.error()).startsWith("Engine 'a' is not looked after at the moment: " + why);
            }
            assertThat(a.http.post("/query", "{\"token_ids\":[1]}").status()).isEqualTo(503);
            assertThat(a.http.get("/api/v1/engines/b").error())
                    .isEqualTo("There is no engine 'b'; none is looked after.");
            assertThat(a.http.get("/readyz").status()).isEqualTo(503);
            assertThat(a.http.get("/readyz").text()).contains("engine a is not looked after: " + why);

            Files.delete(ledger);
            assertThat(reload(sidecar).getJsonArray("followedAnew")).containsExactly("a");
            a.meet(one);
            one.generate(PREFIX);
            a.held(PREFIX);
            assertThat(a.http.get("/readyz").status()).isEqualTo(200);
        }
    }

    @Test
    void engineThatCannotBeFollowedAnew_isTriedAgain() throws IOException {
        Path ledger = directory.resolve("state").resolve("a.ledger");
        Seams soon = Seams.none().withPace(100).withClock(new FastClock(100)::nanos);
        try (Emulator first = emulator();
                Sidecar sidecar = start(write(engine("a", first.uri(), "")), soon);
                Http http = new Http(sidecar.uri())) {
            Files.deleteIfExists(ledger);
            Files.writeString(ledger, "garbage\n");
            write(engine("a", first.uri(), ", automaticLeaseSeconds: 30"));
            reload(sidecar);
            assertThat(http.get("/api/v1/engines/a").status()).isEqualTo(503);

            Files.delete(ledger);
            Eventually.see("it is there", () -> http.get("/api/v1/engines/a").status(), status -> status == 200);
        }
    }

    @Test
    void badFile_changesNothingAndSaysWhy() {
        Path config = write(engine("a", NOBODY, ""));
        try (Sidecar sidecar = start(config);
                Http http = new Http(sidecar.uri())) {
            write(engine("a", NOBODY, ", share: 3"), engine("b", URI.create("http://127.0.0.1:10"), ""));

            Http.Answer answer = http.post("/api/v1/reload", "");

            assertThat(answer.status()).isEqualTo(422);
            assertThat(answer.error())
                    .isEqualTo(config + ": engines.a.share is '3.0'; write a number above 0 and at most 1, such as"
                            + " 0.5 (line 4).");
            assertThat(http.get("/api/v1/engines").json().getJsonArray("engines"))
                    .hasSize(1);
            assertThat(http.get("/readyz").json().getJsonArray("notes").encode())
                    .contains("the new configuration is rejected: ")
                    .contains("engines.a.share");

            write(engine("a", NOBODY, ""));
            assertThat(http.post("/api/v1/reload", "").status()).isEqualTo(200);
            assertThat(http.get("/readyz").json().getJsonArray("notes").encode())
                    .doesNotContain("not taken");
        }
    }

    @Test
    void listen_isLeftToARestart() {
        Path config = write(engine("a", NOBODY, ""));
        try (Sidecar sidecar = start(config);
                Http http = new Http(sidecar.uri())) {
            writeAll("engines:\n" + engine("a", NOBODY, "") + engine("b", URI.create("http://127.0.0.1:10"), "")
                    + "devices: {g: {memory: 8G, weights: 1G}}\n");

            Http.Answer answer = http.post("/api/v1/reload", "");

            assertThat(answer.status()).isEqualTo(422);
            assertThat(answer.error())
                    .isEqualTo("devices is taken at a start alone, and nothing was changed; restart the sidecar, or"
                            + " write it as it was.");
            assertThat(http.get("/api/v1/engines").json().getJsonArray("engines"))
                    .hasSize(1);
        }
    }

    @Test
    void snapshotSeconds_areLeftToARestart() {
        try (Sidecar sidecar = start(write(engine("a", NOBODY, "")));
                Http http = new Http(sidecar.uri())) {
            writeAll("snapshotSeconds: 5\nengines:\n" + engine("a", NOBODY, ""));

            Http.Answer answer = http.post("/api/v1/reload", "");

            assertThat(answer.status()).isEqualTo(422);
            assertThat(answer.error()).startsWith("snapshotSeconds is taken at a start alone, and nothing was changed");
        }
    }

    @Test
    void engineListedTwice_isRefusedWithNothingChanged() {
        try (Sidecar sidecar = start(write(engine("a", NOBODY, "")));
                Http http = new Http(sidecar.uri())) {
            write(engine("a", NOBODY, ""), engine("b", URI.create("http://127.0.0.2:9"), ""));

            assertThat(http.post("/api/v1/reload", "").error()).contains("may be listed only once");
            assertThat(http.get("/api/v1/engines/b").status()).isEqualTo(404);
        }
    }

    @Test
    void secondReload_isTurnedAwayWhileOneRuns() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        SidecarConfig config = SidecarConfig.load(write(engine("a", NOBODY, "")));
        boolean[] started = {false};
        Reloads.Sources slow = new Reloads.Sources(
                () -> {
                    if (started[0]) {
                        reading.countDown();
                        try {
                            goOn.await();
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    }
                    return config;
                },
                List::of);
        try (Sidecar sidecar = Sidecar.start(vertx, slow, registry, Seams.none());
                Http http = new Http(sidecar.uri())) {
            started[0] = true;
            CompletableFuture<Http.Answer> first = http.postLater("/api/v1/reload", "");
            reading.await();

            Http.Answer second = http.post("/api/v1/reload", "");
            goOn.countDown();

            assertThat(second.status()).isEqualTo(409);
            assertThat(second.error()).isEqualTo("A reload is under way; ask again when it has ended.");
            assertThat(first.join().status()).isEqualTo(200);
        }
    }

    @Test
    void foundFiles_comeAndGoByThemselves() throws IOException {
        Path found = Files.createDirectories(directory.resolve("engines.d"));
        try (Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri());
                Sidecar sidecar = start(
                        writeAll("discovery: {file: 'engines.d/*.yaml', everySeconds: 1}\n"),
                        Seams.none().withPace(20));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            assertThat(a.http.get("/api/v1/engines").json().getJsonArray("engines"))
                    .isEmpty();

            Files.writeString(found.resolve("a.yaml"), engine("a", first.uri(), ""));
            Eventually.see(
                    "it is followed", () -> a.http.get("/api/v1/engines/a").status(), status -> status == 200);
            a.meet(one);
            one.generate(PREFIX);
            a.held(PREFIX);

            Files.writeString(found.resolve("b.yaml"), "b: {tpe: sglang}");
            Eventually.see(
                    "the bad file is said",
                    () -> a.http.get("/readyz").text(),
                    text -> text.contains("b.yaml: engines.b.tpe is an unknown key; did you mean type? (line 1)"));
            assertThat(one.usedTokens()).isEqualTo(512);
            Files.delete(found.resolve("b.yaml"));
            Eventually.see("it is over", () -> a.http.get("/readyz").text(), text -> !text.contains("not taken"));

            Files.delete(found.resolve("a.yaml"));
            Eventually.see("it is let go of", one::usedTokens, used -> used == 0);
            Eventually.see("it is gone", () -> a.http.get("/api/v1/engines/a").status(), status -> status == 404);
        }
    }

    /** Files as a kubelet mounts a ConfigMap: links through ..data, which is replaced by another link in one step. */
    private final class MountedConfigMap {
        private final Path mount = directory.resolve("etc");
        private int version;

        private Path swap(Map<String, String> files) throws IOException {
            Path data = Files.createDirectories(mount.resolve("..version-" + ++version));
            for (Map.Entry<String, String> each : files.entrySet()) {
                Path written = Files.writeString(data.resolve(each.getKey()), each.getValue());
                // Neither the time nor the size has to differ.
                Files.setLastModifiedTime(written, FileTime.fromMillis(0));
            }
            Path next = Files.createSymbolicLink(mount.resolve("..data_tmp"), data.getFileName());
            Files.move(
                    next, mount.resolve("..data"), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            for (String name : files.keySet()) {
                if (!Files.isSymbolicLink(mount.resolve(name))) {
                    Files.createSymbolicLink(mount.resolve(name), Path.of("..data", name));
                }
            }
            return mount.resolve("holdfast.yaml");
        }
    }

    @Test
    void mountedConfigMap_isTakenWhenItsLinkChanges() throws IOException {
        MountedConfigMap mounted = new MountedConfigMap();
        try (Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri())) {
            String head = "listen: {port: 0}\nstateDirectory: '" + directory.resolve("state")
                    + "'\ndiscovery: {file: 'engines*.yaml', everySeconds: 1}\nengines:\n";
            String held =
                    ", holds: {rules: {tokens: " + EngineClient.array(PREFIX).encode() + "}}";
            String none = head + engine("a", first.uri(), "");
            String some = head + engine("a", first.uri(), held);
            // A comment fills up to the same size.
            String padded = none + "#".repeat(some.length() - none.length() - 1) + "\n";
            try (Sidecar sidecar = start(
                            mounted.swap(Map.of("holdfast.yaml", padded)),
                            Seams.none().withPace(20));
                    SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
                a.meet(one);
                one.generate(PREFIX);

                Path _ = mounted.swap(Map.of("holdfast.yaml", some));
                Eventually.see("the declared hold is held", one::usedTokens, used -> used == 512);

                Path _ = mounted.swap(Map.of("holdfast.yaml", padded, "engines-more.yaml", engine("b", NOBODY, "")));
                Eventually.see("it is released", one::usedTokens, used -> used == 0);
                Eventually.see(
                        "the other file's engine is followed",
                        () -> a.http.get("/api/v1/engines/b").status(),
                        status -> status == 200);
            }
        }
    }

    @Test
    void enginesOfAName_comeStayThroughFailuresAndGoAfterGrace() throws IOException {
        try (NameServer names = new NameServer();
                Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri())) {
            names.gives(new InetSocketAddress(
                    InetAddress.getLoopbackAddress(), first.uri().getPort()));
            String id = "127.0.0.1-" + first.uri().getPort();
            FastClock clock = new FastClock(20);
            try (Sidecar sidecar = start(
                            writeAll("discovery: {everySeconds: 1, graceSeconds: 20, dns: {name: engines.example, type:"
                                    + " sglang, port: "
                                    + first.uri().getPort() + ", server: '" + names.address()
                                    + "', engine: {backend: pin_blocks, maxOutputTokens: 16,"
                                    + " largestPromptTokens: 1024, priming: false}}}\n"),
                            Seams.none().withPace(20).withClock(clock::nanos));
                    SidecarClient a = new SidecarClient(sidecar.uri(), id)) {
                Eventually.see(
                        "it is followed",
                        () -> a.http.get("/api/v1/engines/" + id).status(),
                        status -> status == 200);
                a.meet(one);
                one.generate(PREFIX);
                a.held(PREFIX);

                names.breaks(true);
                Eventually.see(
                        "the failure is said",
                        () -> a.http.get("/readyz").text(),
                        text -> text.contains("looking up engines.example failed")
                                && text.contains("the 1 engines found before stay"));
                assertThat(one.usedTokens()).isEqualTo(512);

                names.breaks(false);
                names.gives();
                Eventually.see(
                        "its absence is said",
                        () -> a.http.get("/readyz").text(),
                        text -> text.contains("no longer lists 1 of its engines"));
                Eventually.see("it is let go of", one::usedTokens, used -> used == 0);
                Eventually.see(
                        "it is gone", () -> a.http.get("/api/v1/engines/" + id).status(), status -> status == 404);
            }
        }
    }

    @Test
    void serviceRecords_haveTheirPorts() throws IOException {
        try (NameServer names = new NameServer()) {
            names.gives(
                    InetSocketAddress.createUnresolved("localhost", 4001),
                    InetSocketAddress.createUnresolved("localhost", 4000));
            try (Sidecar sidecar = start(
                            writeAll("discovery: {mostEngines: 2, dns: {name: _http._tcp.engines, type: vllm, records:"
                                    + " srv, server: '"
                                    + names.address() + "'}}\n"),
                            Seams.none().withPace(20));
                    Http http = new Http(sidecar.uri())) {
                JsonArray engines = Eventually.see(
                        "both are followed",
                        () -> http.get("/api/v1/engines").json().getJsonArray("engines"),
                        all -> all.size() == 2);
                assertThat(engines.getJsonObject(0).getString("id")).isEqualTo("localhost-4000");

                names.gives(
                        InetSocketAddress.createUnresolved("localhost", 3999),
                        InetSocketAddress.createUnresolved("localhost", 4001),
                        InetSocketAddress.createUnresolved("localhost", 4000));
                Eventually.see(
                        "the third is too many",
                        () -> http.get("/readyz").text(),
                        text -> text.contains("gives 1 engines more than mostEngines, 2, allows"));
            }
        }
    }

    @Test
    void pinsLeftInAnotherUsualPlace_areSaidUntilTheyAreReleased() throws IOException {
        try (Emulator first = emulator();
                EngineClient one = new EngineClient(first.uri())) {
            Path config = write(engine("a", first.uri(), ""));
            try (ChildSidecar killed = ChildSidecar.start(config);
                    SidecarClient a = new SidecarClient(killed.uri(), "a")) {
                a.meet(one);
                one.generate(PREFIX);
                a.held(PREFIX);
            }
            Path other = directory.resolve("state");
            SidecarConfig moved = SidecarConfig.load(config);
            SidecarConfig elsewhere = new SidecarConfig(
                    moved.listen(),
                    directory.resolve("new"),
                    moved.snapshots(),
                    List.of(),
                    moved.engines(),
                    Optional.empty(),
                    FleetConfig.NONE,
                    false,
                    List.of(other));
            try (Sidecar sidecar = Sidecar.start(vertx, elsewhere, registry);
                    Http http = new Http(sidecar.uri())) {
                Eventually.see(
                        "the pins are said",
                        () -> http.get("/readyz"),
                        answer -> answer.status() == 503
                                && answer.text().contains(other.resolve("a.ledger") + " lists 1 pins of this engine"));
                assertThat(http.get("/readyz").json().getJsonArray("notes").encode())
                        .contains("holdfast ledger show --state-directory " + other);
            }
        }
    }

    @Test
    void startedAndHealthy_waitForNoEngine() {
        try (Sidecar sidecar = start(write(engine("a", NOBODY, "")));
                Http http = new Http(sidecar.uri())) {
            assertThat(http.get("/startupz").json()).isEqualTo(new JsonObject().put("started", true));
            assertThat(http.get("/healthz").status()).isEqualTo(200);
            assertThat(http.get("/readyz").status()).isEqualTo(503);
        }
    }

    @Test
    void discoveryThatAReloadBrings_isLookedAtFromThenOn() throws IOException {
        Path found = Files.createDirectories(directory.resolve("engines.d"));
        try (Sidecar sidecar =
                        start(write(engine("a", NOBODY, "")), Seams.none().withPace(20));
                Http http = new Http(sidecar.uri())) {
            writeAll("discovery: {file: 'engines.d/*.yaml', everySeconds: 1}\nengines:\n" + engine("a", NOBODY, ""));
            reload(sidecar);
            Files.writeString(found.resolve("b.yaml"), engine("b", URI.create("http://127.0.0.1:10"), ""));
            Eventually.see("it is followed", () -> http.get("/api/v1/engines/b").status(), status -> status == 200);
        }
    }

    @Test
    void pauseOfAPerson_outlivesAnEngineThatIsFollowedAnew() {
        try (Emulator first = emulator();
                Sidecar sidecar = start(write(engine("a", first.uri(), "")));
                SidecarClient a = new SidecarClient(sidecar.uri(), "a")) {
            assertThat(a.http.post("/api/v1/engines/a/pause", "").status()).isEqualTo(200);
            write(engine("a", first.uri(), ", automaticLeaseSeconds: 30"));
            assertThat(reload(sidecar).getJsonArray("followedAnew")).containsExactly("a");
            Eventually.see("the pause", a::engine, seen -> seen.getBoolean("keepsHeld"));
        }
    }
}
