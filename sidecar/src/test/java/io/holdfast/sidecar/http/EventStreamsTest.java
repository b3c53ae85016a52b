package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.Listening;
import io.holdfast.sidecar.RawClient;
import io.holdfast.sidecar.config.HttpLimits;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Readers who do not read. */
class EventStreamsTest {
    private static final String PIECE = "x".repeat(64 << 10);

    private final Vertx vertx = Vertx.vertx();
    private final AtomicLong clock = new AtomicLong();
    private final AtomicInteger news = new AtomicInteger();
    private final AtomicInteger asked = new AtomicInteger();
    private final EventStreams streams =
            new EventStreams(vertx, new ConnectionGuard(HttpLimits.defaults(), clock::get), clock::get);
    private URI uri = URI.create("http://127.0.0.1");

    @BeforeEach
    void serve() {
        Router router = Router.router(vertx);
        router.get("/stream").handler(context -> {
            int[] told = {-1};
            streams.open(context, () -> {
                int latest = news.get();
                if (told[0] == latest) {
                    return Optional.empty();
                }
                told[0] = latest;
                asked.incrementAndGet();
                return Optional.of(EventStreams.event("news", Optional.of(Integer.toString(latest)), PIECE));
            });
        });
        HttpServer server =
                vertx.createHttpServer(HttpApi.serverOptions("127.0.0.1", 0)).requestHandler(router);
        server.listen().toCompletionStage().toCompletableFuture().join();
        uri = URI.create("http://127.0.0.1:" + server.actualPort() + "/stream");
    }

    @AfterEach
    void close() {
        streams.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void slowReader_isToldWhatIsNewAndThatSomethingWasPassedOver() throws IOException {
        try (RawClient raw = new RawClient(uri)) {
            Socket slow = unread(raw);
            int before = asked.get();

            for (int i = 0; i < 500; i++) {
                publish();
            }
            settle();

            assertThat(asked.get()).as("nothing is made for who takes nothing").isEqualTo(before);
            assertThat(streams.listening()).isEqualTo(1);
            String latest = "id: " + news.get() + "\n";
            StringBuilder read = new StringBuilder();
            byte[] buffer = new byte[1 << 20];
            while (read.indexOf(latest) < 0) {
                int count = slow.getInputStream().read(buffer);
                assertThat(count).isPositive();
                read.append(new String(buffer, 0, count, StandardCharsets.ISO_8859_1));
            }
            assertThat(read.toString())
                    .contains(": you read slowly, so something in between may have been passed over");
        }
    }

    @Test
    void readerWhoTakesNothing_isCutOffAndOthersAreNot() throws IOException {
        try (RawClient raw = new RawClient(uri);
                Listening reads = new Listening(uri)) {
            Socket stuck = unread(raw);
            assertThat(streams.listening()).isEqualTo(2);
            clock.addAndGet(29_000_000_000L);
            streams.beat();
            settle();
            assertThat(streams.listening()).as("within the time that it has").isEqualTo(2);

            publish();
            settle();
            clock.addAndGet(2_000_000_000L);
            streams.beat();

            Eventually.see("one is cut off", streams::listening, left -> left == 1);
            RawClient.read(stuck);
            publish();
            Eventually.see(
                    "the other one is told",
                    () -> reads.events().stream().map(Listening.Event::id).toList(),
                    ids -> ids.contains(Integer.toString(news.get())));
        }
    }

    @Test
    void sourceThatFails_endsItsStreamAlone() {
        Router router = Router.router(vertx);
        router.get("/stream")
                .handler(context -> streams.open(context, () -> {
                    throw new IllegalStateException("a fault of the test");
                }));
        HttpServer server =
                vertx.createHttpServer(HttpApi.serverOptions("127.0.0.1", 0)).requestHandler(router);
        server.listen().toCompletionStage().toCompletableFuture().join();
        try (RawClient raw = new RawClient(URI.create("http://127.0.0.1:" + server.actualPort()))) {
            assertThat(raw.exchange(RawClient.get("/stream"))).doesNotContain("event:");

            assertThat(streams.listening()).isZero();
        }
    }

    /** A listener whose connection is full. */
    private Socket unread(RawClient raw) throws IOException {
        Socket socket = raw.open();
        RawClient.send(socket, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
        int listening = streams.listening();
        Eventually.see("it listens", streams::listening, count -> count > listening || asked.get() > 0);
        int[] before = {-1};
        Eventually.see(
                "its connection is full",
                () -> {
                    before[0] = asked.get();
                    for (int i = 0; i < 20; i++) {
                        publish();
                    }
                    settle();
                    return asked.get() - before[0];
                },
                more -> more == (streams.listening() > 1 ? more : 0) && full());
        return socket;
    }

    /** Whether at least one listener is not asked any more. */
    private boolean full() {
        int before = asked.get();
        publish();
        settle();
        return asked.get() - before < streams.listening();
    }

    private void publish() {
        news.incrementAndGet();
        streams.tell();
    }

    /** Waits until every listener's context has done what it was told to. */
    private void settle() {
        // A round through the event loop after what tell() has queued there.
        for (int i = 0; i < 2; i++) {
            try (Http http = new Http(uri)) {
                assertThat(http.get("/none").status()).isEqualTo(404);
            }
        }
    }
}
