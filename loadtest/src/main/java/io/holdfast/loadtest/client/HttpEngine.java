package io.holdfast.loadtest.client;

import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.net.URI;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/** An engine behind HTTP: what is measured goes through an {@link EngineClient}, all else through plain blocking calls. */
public final class HttpEngine implements EngineUnderTest {
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(60);

    private final ServerUnit unit;
    private final HttpSettings settings;
    private final EngineControl control;
    private final EngineClient client;

    /** @param vertx runs the client */
    public HttpEngine(Vertx vertx, ServerUnit unit, HttpSettings settings, RunClock clock) {
        this(vertx, unit, settings, clock, sentence -> {});
    }

    /**
     * @param vertx runs the client
     * @param waiting told, in a sentence, what is being waited for when a life is long in beginning
     */
    public HttpEngine(Vertx vertx, ServerUnit unit, HttpSettings settings, RunClock clock, Consumer<String> waiting) {
        if (Context.isOnEventLoopThread()) {
            throw new IllegalStateException("A load test blocks for long; run it on a thread of its own.");
        }
        this.unit = unit;
        this.settings = settings;
        this.control = new EngineControl(unit.uri(), settings, clock, waiting);
        this.client = new EngineClient(vertx, unit.uri(), settings, clock::nanos);
    }

    /** The name of the first model that a server says it serves; absent where it does not say. */
    public static Optional<String> firstModel(URI server, HttpSettings settings, RunClock clock) {
        try (EngineControl control = new EngineControl(server, settings, clock, sentence -> {})) {
            return control.firstModel();
        }
    }

    @Override
    public String name() {
        return unit.name();
    }

    @Override
    public Map<String, String> client() {
        Map<String, String> client = new TreeMap<>();
        client.put("java", Runtime.version().toString());
        client.put("route", settings.route().name());
        settings.model().ifPresent(model -> client.put("model", model));
        return client;
    }

    @Override
    public boolean givesFreshLives() {
        return unit.givesFreshLives();
    }

    @Override
    public void beginLife() {
        unit.restart();
        control.awaitReady(unit.givesFreshLives());
    }

    @Override
    public EngineFacts facts() {
        return control.facts();
    }

    @Override
    public Optional<String> flush() {
        return control.flush();
    }

    @Override
    public Load prepare(List<LoadRequest> requests) {
        return new HttpLoad(requests);
    }

    @Override
    public void close() {
        try {
            client.close();
        } finally {
            control.close();
        }
    }

    private final class HttpLoad implements Load {
        private final List<Prepared> prepared = new ArrayList<>();
        private final String digest;
        private int next;

        HttpLoad(List<LoadRequest> requests) {
            MessageDigest sha = Sha256.start();
            for (LoadRequest request : requests) {
                byte[] body = settings.route().body(settings.model(), request);
                sha.update(body);
                prepared.add(new Prepared(prepared.size(), request, Buffer.buffer(body)));
            }
            digest = HexFormat.of().formatHex(sha.digest());
        }

        @Override
        public String digest() {
            return digest;
        }

        @Override
        public void connect(int lanes) {
            EngineClient.await(client.open(lanes), CONNECT_LIMIT, "opening the load connections");
        }

        @Override
        public List<RequestRecord> send(int count, int concurrency) {
            List<Prepared> now = List.copyOf(prepared.subList(next, next + count));
            next += count;
            Duration limit = settings.requestTimeout()
                    .multipliedBy(count / concurrency + 2L)
                    .plusSeconds(60);
            return EngineClient.await(client.closedLoop(now, concurrency), limit, "the load");
        }
    }
}
