package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.index.Tier;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.testing.GateClock;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.testing.Recording;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Whole server lives: events, restarts, pins under floods, clients that leave, engines that stop. */
class EmulatedServerTest {
    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void closeVertx() {
        vertx.close();
    }

    private static EmulatorSettings small() {
        return EmulatorSettings.defaults().withCapacityTokens(160).withVariant(Variant.PIN_GPU);
    }

    private static long lastBlock(int[] prompt) {
        long[] names = SglangBlockNames.of(prompt, 16);
        return names[names.length - 1];
    }

    private static void flood(Client client) {
        for (int i = 50; i < 60; i++) {
            client.cachedTokens(Client.prompt(i, 48));
        }
    }

    private static void awaitThat(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void flood_takesAnIdlePrefix_butNotAPinnedOne_untilItIsUnpinned() {
        try (Emulator emulator = Emulator.start(vertx, small(), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            int[] idle = Client.prompt(1, 32);
            int[] pinned = Client.prompt(2, 32);
            client.cachedTokens(idle);
            client.cachedTokens(pinned);
            assertThat(client.pin("pin", lastBlock(pinned))).isEqualTo(1);
            assertThat(client.metric("num_used_tokens")).isEqualTo(32);
            flood(client);
            assertThat(client.cachedTokens(Client.prompt(1, 33))).isZero();
            assertThat(client.cachedTokens(Client.prompt(2, 33))).isEqualTo(32);
            assertThat(client.pin("unpin", lastBlock(pinned))).isEqualTo(1);
            flood(client);
            assertThat(client.cachedTokens(Client.prompt(2, 33))).isZero();
        }
    }

    @Test
    void pinnedTwice_survivesOneUnpin_andAFlushEndsIt() {
        try (Emulator emulator = Emulator.start(vertx, small(), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            int[] prompt = Client.prompt(1, 32);
            client.cachedTokens(prompt);
            client.pin("pin", lastBlock(prompt));
            client.pin("pin", lastBlock(prompt));
            client.pin("unpin", lastBlock(prompt));
            flood(client);
            assertThat(client.cachedTokens(Client.prompt(1, 33))).isEqualTo(32);
            assertThat(client.post("/flush_cache", "").statusCode()).isEqualTo(200);
            assertThat(client.pin("unpin", lastBlock(prompt))).isZero();
        }
    }

    @Test
    void overPinning_leavesARequestWaitingForGood_andARestartMendsIt() throws Exception {
        EmulatorSettings settings = small();
        try (Emulator emulator = Emulator.start(vertx, settings, new VirtualClock());
                Client client = new Client(emulator.uri())) {
            int[] prompt = Client.prompt(1, 64);
            client.cachedTokens(prompt);
            client.pin("pin", lastBlock(prompt));
            var stuck = client.postAsync("/generate", Client.generate(Client.prompt(2, 96), 1));
            awaitThat(() -> client.metric("num_queue_reqs") == 1);
            var behind = client.postAsync("/generate", Client.generate(Client.prompt(3, 4), 1));
            awaitThat(() -> client.metric("num_queue_reqs") == 2);
            assertThat(client.metric("num_running_reqs")).isZero();
            assertThat(client.post("/flush_cache", "").statusCode()).isEqualTo(400);
            assertThat(client.pin("unpin", lastBlock(prompt))).isEqualTo(1);
            assertThat(client.metric("num_queue_reqs")).isEqualTo(2);
            assertThat(stuck).isNotDone();
            assertThat(behind).isNotDone();
            settings = settings.withHttpPort(emulator.uri().getPort());
        }
        try (Emulator emulator = Emulator.start(vertx, settings, new VirtualClock());
                Client client = new Client(emulator.uri())) {
            assertThat(client.cachedTokens(Client.prompt(2, 96))).isZero();
        }
    }

    /** A request that decodes for 20 s of real time unless somebody ends it. */
    private static final JsonObject LONG = Client.generate(Client.prompt(1, 32), 4000);

    @Test
    void flush_whileARequestRuns_isRefused() {
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults());
                Client client = new Client(emulator.uri())) {
            var running = client.postAsync("/generate", LONG);
            awaitThat(() -> client.metric("num_running_reqs") == 1);
            HttpResponse<String> flush = client.post("/flush_cache", "");
            assertThat(flush.statusCode()).isEqualTo(400);
            assertThat(flush.body()).isEqualTo("Flush cache failed.\n");
            assertThat(running).isNotDone();
        }
    }

    @Test
    void metrics_whileTheGpuIsBusy_countTheRequest() throws Exception {
        GateClock clock = new GateClock();
        try (Emulator emulator = Emulator.start(vertx, small(), clock);
                Client client = new Client(emulator.uri())) {
            var running = client.postAsync("/generate", Client.generate(Client.prompt(1, 32), 2));
            clock.awaitBusy();
            assertThat(client.metric("num_running_reqs")).isEqualTo(1);
            clock.open();
            assertThat(running.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void close_whileTheGpuIsBusy_doesNotWaitForIt() throws Exception {
        GateClock clock = new GateClock();
        Emulator emulator = Emulator.start(vertx, small(), clock);
        try (Client client = new Client(emulator.uri())) {
            var running = client.postAsync("/generate", Client.generate(Client.prompt(1, 32), 2));
            clock.awaitBusy();
            emulator.close();
            emulator.close();
            assertThat(running).failsWithin(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void clientThatLeaves_endsItsRequest() throws Exception {
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults());
                Client client = new Client(emulator.uri())) {
            try (Socket leaving = connect(emulator)) {
                ask(leaving, LONG.copy().put("stream", true));
                assertThat(leaving.getInputStream().read()).as("it has begun").isEqualTo('H');
            }
            awaitThat(() -> client.counted("num_aborted_requests_total", 1));
            try (Socket leaving = connect(emulator)) {
                ask(leaving, LONG);
                awaitThat(() -> client.metric("num_running_reqs") == 1);
            }
            awaitThat(() -> client.counted("num_aborted_requests_total", 2));
            awaitThat(() -> client.metric("num_running_reqs") == 0);
            assertThat(client.metric("num_used_tokens")).isZero();
            assertThat(client.cachedTokens(Client.prompt(1, 33))).isEqualTo(32);
        }
    }

    @Test
    void clientThatLeavesTheQueue_isTakenOutOfIt() throws Exception {
        try (Emulator emulator = Emulator.start(vertx, small(), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            client.cachedTokens(Client.prompt(1, 64));
            client.pin("pin", lastBlock(Client.prompt(1, 64)));
            try (Socket leaving = connect(emulator)) {
                ask(leaving, Client.generate(Client.prompt(2, 96), 1));
                awaitThat(() -> client.metric("num_queue_reqs") == 1);
            }
            awaitThat(() -> client.metric("num_queue_reqs") == 0);
            assertThat(client.metric("num_aborted_requests_total")).isEqualTo(1);
        }
    }

    private static Socket connect(Emulator emulator) throws IOException {
        return new Socket(InetAddress.getLoopbackAddress(), emulator.uri().getPort());
    }

    private static void ask(Socket socket, JsonObject body) throws IOException {
        String text = body.encode();
        socket.getOutputStream()
                .write(("POST /generate HTTP/1.1\r\n"
                                + "Host: x\r\n"
                                + "Connection: close\r\n"
                                + "Content-Type: application/json\r\n"
                                + "Content-Length: "
                                + text.length() + "\r\n\r\n" + text)
                        .getBytes(StandardCharsets.US_ASCII));
    }

    @Test
    void clientThatDoesNotRead_doesNotHoldUpOthers() throws Exception {
        EmulatorSettings settings =
                EmulatorSettings.defaults().withCapacityTokens(16_384).withContextTokens(16_384);
        try (Emulator emulator = Emulator.start(vertx, settings, new VirtualClock());
                Client client = new Client(emulator.uri());
                Socket slow = new Socket()) {
            slow.setReceiveBufferSize(4096);
            slow.connect(new InetSocketAddress(
                    InetAddress.getLoopbackAddress(), emulator.uri().getPort()));
            ask(slow, Client.generate(Client.prompt(1, 16), 2500).put("stream", true));
            awaitThat(() -> client.get("/metrics").body().contains("sglang:num_requests_total{"));
            assertThat(client.cachedTokens(Client.prompt(2, 32))).isZero();
            InputStream in = slow.getInputStream();
            String all = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
            assertThat(all).contains("\"completion_tokens\":2500").contains("data: [DONE]\n\n");
            assertThat(all.split("data: ", -1))
                    .as("tokens that found the socket full came together")
                    .hasSizeLessThan(2500);
        }
    }

    @Test
    void carelessPinning_killsTheServer_bothPortsClose() {
        try (Emulator emulator = Emulator.start(vertx, small(), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            int[] shared = Client.prompt(1, 48);
            int[] branch = shared.clone();
            branch[47] = 7;
            client.cachedTokens(shared);
            client.cachedTokens(branch);
            client.cachedTokens(Client.prompt(2, 48));
            client.cachedTokens(Client.prompt(3, 32));
            client.cachedTokens(Client.prompt(4, 16));
            long inside = SglangBlockNames.of(shared, 16)[0];
            assertThat(client.pin("pin", inside))
                    .as("leads to the evicted end of the first prompt")
                    .isEqualTo(1);
            assertThat(client.pin("unpin", inside)).isEqualTo(1);
            assertThatThrownBy(() -> client.cachedTokens(Client.prompt(5, 48)))
                    .isInstanceOf(UncheckedIOException.class);
            awaitThat(() -> isFree(emulator.uri().getPort())
                    && isFree(URI.create(emulator.eventsEndpoint()).getPort()));
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void portInUse_isOneSentence() {
        try (Emulator first = Emulator.start(vertx, EmulatorSettings.defaults())) {
            int http = first.uri().getPort();
            assertThatThrownBy(() ->
                            Emulator.start(vertx, EmulatorSettings.defaults().withHttpPort(http)))
                    .isInstanceOf(EmulatorException.class)
                    .hasMessage("Port " + http + " for HTTP is in use; choose another or 0 for a free one.");
            int events = URI.create(first.eventsEndpoint()).getPort();
            assertThatThrownBy(() ->
                            Emulator.start(vertx, EmulatorSettings.defaults().withEventsPort(events)))
                    .isInstanceOf(EmulatorException.class)
                    .hasMessage("Port " + events + " for events is in use; choose another or 0 for a free one.");
        }
    }

    @Test
    void events_ofAScriptedSession_areTheExpectedOnes_andTheSequenceRestarts() throws Exception {
        EmulatorSettings settings = small();
        int[] shared = Client.prompt(1, 32);
        int[] longer = Client.prompt(1, 48);
        long[] names = SglangBlockNames.of(longer, 16);
        for (int life = 0; life < 3; life++) {
            try (ZContext context = new ZContext();
                    Emulator emulator = Emulator.start(vertx, settings);
                    Client client = new Client(emulator.uri())) {
                settings = settings.withHttpPort(emulator.uri().getPort())
                        .withEventsPort(URI.create(emulator.eventsEndpoint()).getPort());
                ZMQ.Socket subscriber = context.createSocket(SocketType.SUB);
                // JeroMQ loses a handshake now and then and would try again after 30 s only.
                subscriber.setHandshakeIvl(500);
                subscriber.subscribe(new byte[0]);
                subscriber.connect(emulator.eventsEndpoint());
                long first = awaitSubscription(client, subscriber);
                client.cachedTokens(shared);
                client.cachedTokens(shared);
                client.cachedTokens(longer);
                client.post("/flush_cache", "");
                List<CacheEvent> events = new ArrayList<>();
                for (int i = 1; i <= 3; i++) {
                    Frame frame = Frame.receive(subscriber);
                    assertThat(frame.topic).isEmpty();
                    assertThat(frame.sequence).isEqualTo(first + i);
                    events.addAll(frame.events);
                }
                assertThat(Recording.perBlock(events))
                        .containsExactlyElementsOf(Recording.perBlock(List.of(
                                stored(Optional.empty(), List.of(names[0], names[1]), Tokens.of(shared)),
                                stored(
                                        Optional.of(new BlockName.Numbered(names[1])),
                                        List.of(names[2]),
                                        Tokens.between(longer, 32, 48)),
                                new CacheEvent.Cleared())));
                assertThat(first).as("flushes sent until one was heard").isLessThan(100_000);
            }
        }
    }

    /** Flushes until one is heard; nothing else happens in this life, so the number tells that it began with 0. */
    private static long awaitSubscription(Client client, ZMQ.Socket subscriber) throws IOException {
        subscriber.setReceiveTimeOut(20);
        long flushes = 0;
        while (true) {
            client.post("/flush_cache", "");
            flushes++;
            byte[] topic = subscriber.recv();
            if (topic != null) {
                subscriber.setReceiveTimeOut(30_000);
                long sequence = Frame.rest(topic, subscriber).sequence;
                while (sequence < flushes) {
                    sequence = Frame.receive(subscriber).sequence;
                }
                assertThat(sequence).as("the start's own clear was number 0").isEqualTo(flushes);
                return sequence;
            }
        }
    }

    private static CacheEvent stored(Optional<BlockName> parent, List<Long> blocks, Tokens tokens) {
        return new CacheEvent.Stored(
                parent, blocks.stream().<BlockName>map(BlockName.Numbered::new).toList(), tokens, 16, Tier.GPU, "");
    }

    private record Frame(String topic, long sequence, List<CacheEvent> events) {
        static Frame receive(ZMQ.Socket subscriber) throws IOException {
            byte[] topic = subscriber.recv();
            assertThat(topic).as("a frame in time").isNotNull();
            return rest(topic, subscriber);
        }

        static Frame rest(byte[] topic, ZMQ.Socket subscriber) throws IOException {
            long sequence = ByteBuffer.wrap(subscriber.recv()).getLong();
            try (MessageUnpacker payload = MessagePack.newDefaultUnpacker(subscriber.recv())) {
                var batch = new ObjectMapper().readTree(payload.unpackValue().toJson());
                List<CacheEvent> events = new ArrayList<>();
                batch.get(1).forEach(event -> events.add(Recording.event(event)));
                return new Frame(new String(topic, StandardCharsets.US_ASCII), sequence, events);
            }
        }
    }

    @Test
    void restart_onTheSamePorts_worksAtOnce_again() {
        EmulatorSettings settings = EmulatorSettings.defaults();
        for (int life = 0; life < 20; life++) {
            try (Emulator emulator = Emulator.start(vertx, settings);
                    Client client = new Client(emulator.uri())) {
                assertThat(client.cachedTokens(Client.prompt(1, 32)))
                        .as("life " + life)
                        .isZero();
                settings = settings.withHttpPort(emulator.uri().getPort())
                        .withEventsPort(URI.create(emulator.eventsEndpoint()).getPort());
            }
        }
    }

    @Test
    void realTime_oneRequest_isServed() {
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults());
                Client client = new Client(emulator.uri())) {
            client.cachedTokens(Client.prompt(1, 100));
            assertThat(client.metric("time_to_first_token_seconds_sum"))
                    .as("at least the emulated GPU's time")
                    .isGreaterThanOrEqualTo(0.015);
        }
    }
}
