package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.valkey.LocalValkey;
import io.holdfast.valkey.ValkeyFleetStore;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sidecars of one engine each, which share what they know by a real store. */
class FleetOfSidecarsTest {
    private static final int PACE = 10;

    @TempDir
    private Path state;

    private final Vertx vertx = Vertx.vertx();

    /** One engine with its sidecar. */
    private final class Node implements AutoCloseable {
        final Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        final EngineClient engine = new EngineClient(emulator.uri());
        final int port = LocalValkey.freePort();
        final Sidecar sidecar;
        final SidecarClient client;

        Node(String name, String store, String peers) {
            this(name, store, peers, "", "");
            FleetApiTest.meet(client, "main", engine);
        }

        Node(String name, String store, String peers, String keys, String fleet) {
            SidecarConfig config = SidecarConfig.parse(
                    """
                    listen: {port: %d}
                    stateDirectory: '%s'
                    fleet: {store: '%s', address: 'http://127.0.0.1:%d', peers: [%s]%s}
                    engines:
                      main: {type: sglang, url: '%s', maxOutputTokens: 16, largestPromptTokens: 1024,
                         backend: pin_blocks, readingsMillis: 500, tickMillis: 100, ownRequestSecondsAnHour: 3600%s}
                    """.formatted(port, state.resolve(name), store, port, peers, fleet, emulator.uri(), keys),
                    "test.yaml");
            Seams seams = Seams.none().withClock(new FastClock(PACE)::nanos).withPace(PACE);
            sidecar = Sidecar.start(vertx, config, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), seams);
            client = new SidecarClient(sidecar.uri());
        }

        String peer() {
            return "127.0.0.1:" + port;
        }

        JsonObject seen(String what, Predicate<JsonObject> when) {
            return Eventually.see(what, () -> FleetApiTest.cell(client), when);
        }

        JsonObject hold(String id, String what, Predicate<JsonObject> when) {
            // What its engine says of it is told where it never comes.
            return Eventually.see(
                    what,
                    () -> client.http
                            .get("/api/v1/fleet/holds/" + id)
                            .json()
                            .put(
                                    "here",
                                    client.http
                                            .get("/api/v1/engines/main/holds")
                                            .text()),
                    when);
        }

        @Override
        public void close() {
            client.close();
            sidecar.close();
            engine.close();
            emulator.close();
        }
    }

    private static int engines(JsonObject cell) {
        return cell.getJsonArray("engines", new JsonArray()).size();
    }

    private static String asked(Node node, Object copies) {
        Http.Answer asked = node.client.http.post(
                "/api/v1/fleet/holds",
                new JsonObject()
                        .put("tokens", EngineClient.array(FleetApiTest.SYSTEM))
                        .put("copies", copies)
                        .put("leaseSeconds", 7_200)
                        .encode());
        assertThat(asked.status()).as(asked.text()).isEqualTo(201);
        return asked.json().getString("id");
    }

    @Test
    void hold_isPulledByEverySidecar_whichAsksThePeerForTokens_andOutlivesTheStore() {
        try (LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node a = new Node("a", valkey.address(), "127.0.0.1");
                Node b = new Node("b", valkey.address(), a.peer())) {
            a.seen("both are seen", cell -> engines(cell) == 2);
            b.seen("both are seen", cell -> engines(cell) == 2);
            String id = asked(a, "all");

            b.hold(
                    id,
                    "both hold it, and the other sidecar says so",
                    hold -> FleetApiTest.states(hold).equals(List.of("held", "held")));
            assertThat(b.engine.generate(FleetApiTest.user(7))).isEqualTo(512);

            // An empty store is filled anew by those that live.
            valkey.kill();
            valkey.restart();
            a.hold(id, "it is there again", hold -> FleetApiTest.states(hold).equals(List.of("held", "held")));

            // Without a store what was wanted ends with its short lease, and nothing else changes.
            valkey.kill();
            Eventually.see("the other lets go", b.engine::usedTokens, used -> used == 0);
            JsonObject cell = b.seen("nothing is known of others", seen -> engines(seen) == 0);
            assertThat(cell.getDouble("touchesFollowTheCache")).isZero();
        }
    }

    @Test
    void withoutPeers_aHoldWaitsWithTheMend_untilARequestShowsIt() {
        try (LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node a = new Node("a", valkey.address(), "127.0.0.1");
                Node b = new Node("b", valkey.address(), "")) {
            a.seen("both are seen", cell -> engines(cell) == 2);
            String id = asked(a, 2);

            JsonObject waiting =
                    b.hold(id, "it waits for tokens", hold -> hold.encode().contains("no tokens"));
            assertThat(waiting.encode()).contains("write fleet.peers here");
        }
    }

    @Test
    void declaredForTheFleet_isOneHold_whoeverDeclaresIt() {
        String declared = ", holds: {rules: {copies: 1, tokens: "
                + EngineClient.array(FleetApiTest.SYSTEM).encode() + "}}";
        try (LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node a = new Node("a", valkey.address(), "127.0.0.1", declared, "");
                Node b = new Node("b", valkey.address(), a.peer(), declared, "")) {
            FleetApiTest.meet(a.client, "main", a.engine);
            FleetApiTest.meet(b.client, "main", b.engine);
            for (Node node : List.of(a, b)) {
                JsonObject holds = Eventually.see(
                        "one hold is held once",
                        () -> node.client.http.get("/api/v1/fleet/holds").json(),
                        all -> all.getInteger("count") == 1
                                && all.getJsonArray("holds").getJsonObject(0).getInteger("held") == 1);
                assertThat(holds.getJsonArray("holds").getJsonObject(0).getString("requester"))
                        .isEqualTo("rules");
            }
            assertThat(a.engine.usedTokens() + b.engine.usedTokens()).isEqualTo(512);
        }
    }

    @Test
    void newcomer_isFilledWithWhatIsHotElsewhere_beforeItIsReady_andNoTokenIsInTheStoreOrALog() {
        try (HeardLog log = new HeardLog(Logger.ROOT_LOGGER_NAME, Level.DEBUG);
                LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node old = new Node("a", valkey.address(), "127.0.0.1")) {
            for (int user = 10; user < 16; user++) {
                old.engine.generate(FleetApiTest.user(user));
            }
            old.seen(
                    "it tells what is hot",
                    cell -> !cell.getJsonArray("prefixes", new JsonArray()).isEmpty());
            try (Node fresh = new Node("b", valkey.address(), old.peer(), "", ", readyWhenWarm: 0.8")) {
                JsonObject warmed = fresh.seen(
                                "its cache is filled",
                                cell -> cell.getJsonArray("here", new JsonArray()).stream()
                                        .map(JsonObject.class::cast)
                                        .map(here -> here.getJsonObject("warming"))
                                        .anyMatch(warming ->
                                                warming.getBoolean("over") && warming.getInteger("prefixes") > 0))
                        .getJsonArray("here")
                        .getJsonObject(0)
                        .getJsonObject("warming");
                assertThat(warmed.getInteger("storedTokens")).isEqualTo(512);
                assertThat(warmed.getString("says")).isEqualTo("all of it was sent");
                fresh.client.ready();
                assertThat(fresh.engine.generate(FleetApiTest.user(7))).isEqualTo(512);
                String id = asked(old, 2);
                old.hold(id, "both hold it", hold -> FleetApiTest.states(hold).equals(List.of("held", "held")));
                hasNothingOf(FleetApiTest.SYSTEM, values(valkey));
                assertThat(log.lines).anyMatch(line -> line.contains("shares what is hot"));
                hasNothingOf(FleetApiTest.SYSTEM, String.join("\n", log.lines));
            }
        }
    }

    @Test
    void forgedHold_isNotHeldForMoreTokensThanItSays() {
        try (LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node a = new Node("a", valkey.address(), "127.0.0.1");
                ExecutorService background = Executors.newVirtualThreadPerTaskExecutor();
                FleetStore forger = ValkeyFleetStore.open(
                        valkey.address(),
                        Optional.empty(),
                        Optional.empty(),
                        Map.of(),
                        Duration.ofSeconds(30),
                        background)) {
            for (int user = 10; user < 16; user++) {
                a.engine.generate(FleetApiTest.user(user));
            }
            JsonObject cell = a.seen(
                    "it tells what is hot",
                    seen -> !seen.getJsonArray("prefixes", new JsonArray()).isEmpty());
            long name = Long.parseUnsignedLong(
                    cell.getJsonArray("prefixes").getJsonObject(0).getString("name"), 16);
            FleetHold small = forged(7, name, 1);
            FleetHold block = forged(8, name, 16);
            for (FleetHold hold : List.of(small, block)) {
                forger.put(
                                new FleetStore.Key(cell.getString("id"), "hold", hold.id()),
                                hold.bytes(cell.getString("id")),
                                Duration.ofMinutes(10))
                        .toCompletableFuture()
                        .join();
            }
            a.hold(small.id(), "one has no whole block", hold -> hold.encode().contains("another number of tokens"));
            a.hold(
                    block.id(),
                    "the prefix of that name is longer",
                    hold -> hold.encode().contains("no tokens"));
            assertThat(a.engine.usedTokens()).isZero();
        }
    }

    private static FleetHold forged(long id, long name, int tokens) {
        return FleetHold.of(id, name, 1, tokens, FleetHold.ALL, "forger", 100, Duration.ofMinutes(10), "");
    }

    private static String values(LocalValkey valkey) {
        String keys = valkey.ask("KEYS", "*");
        List<String> each = Arrays.asList(keys.substring(1, keys.length() - 1).split(", "));
        assertThat(each).hasSizeGreaterThan(5).allMatch(key -> key.startsWith("{hf:"));
        return each.stream().map(key -> key + valkey.ask("GET", key)).collect(Collectors.joining());
    }

    /** Three tokens in a row in any usual writing would be a part of the prompt. */
    private static void hasNothingOf(int[] prompt, String all) {
        for (int at = 0; at + 3 <= prompt.length; at += 3) {
            ByteBuffer big = ByteBuffer.allocate(12);
            ByteBuffer little = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
            for (int token : Arrays.copyOfRange(prompt, at, at + 3)) {
                big.putInt(token);
                little.putInt(token);
            }
            assertThat(all)
                    .doesNotContain(new String(big.array(), StandardCharsets.ISO_8859_1))
                    .doesNotContain(new String(little.array(), StandardCharsets.ISO_8859_1))
                    .doesNotContain(prompt[at] + "," + prompt[at + 1])
                    .doesNotContain(prompt[at] + ", " + prompt[at + 1]);
        }
    }

    @Test
    void newcomerWithoutPeers_staysCold_andSaysWhy() {
        try (LocalValkey valkey = LocalValkey.start(state.resolve("valkey"));
                Node old = new Node("a", valkey.address(), "127.0.0.1")) {
            for (int user = 10; user < 16; user++) {
                old.engine.generate(FleetApiTest.user(user));
            }
            old.seen(
                    "it tells what is hot",
                    cell -> !cell.getJsonArray("prefixes", new JsonArray()).isEmpty());
            try (Node fresh = new Node("b", valkey.address(), "", "", ", readyWhenWarm: 0.8")) {
                fresh.seen("it says why", cell -> cell.encode().contains("fleet.peers and fleet.address say which"));
                fresh.client.ready();
                assertThat(fresh.engine.generate(FleetApiTest.user(7))).isZero();
            }
        }
    }
}
