package io.holdfast.loadtest.client;

import io.holdfast.events.EventSource;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.client.EngineClient.OpenLoop;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.client.EngineClient.Repeated;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes;
import io.holdfast.loadtest.run.LifeSign;
import io.holdfast.loadtest.run.Listening;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * An engine behind HTTP: what is measured goes through an {@link EngineClient}, all else through plain blocking calls.
 */
public final class HttpEngine implements EngineUnderTest {
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(60);
    private static final Duration EVENT_LIMIT = Duration.ofSeconds(30);
    private static final Duration UNASKED_EVENT_LIMIT = Duration.ofSeconds(5);
    private static final ThreadFactory LISTENERS =
            Thread.ofPlatform().daemon().name("kv-events").factory();

    private final Vertx vertx;
    private final RunClock clock;
    private final ServerUnit unit;
    private final HttpSettings settings;
    private final Consumer<String> waiting;
    private final EngineControl control;
    private final EngineControls engines;
    private final EngineClient client;
    private final boolean streams;
    private double tokensOfAWord = 1;
    private Optional<EventSource> events = Optional.empty();
    private Optional<HttpEngine> whole = Optional.empty();

    /** @param vertx runs the client */
    public HttpEngine(Vertx vertx, ServerUnit unit, HttpSettings settings, RunClock clock) {
        this(vertx, unit, settings, clock, sentence -> {});
    }

    /**
     * @param vertx runs the client
     * @param waiting receives a sentence about what is being waited for when a life is long in beginning
     */
    public HttpEngine(Vertx vertx, ServerUnit unit, HttpSettings settings, RunClock clock, Consumer<String> waiting) {
        this(vertx, unit, settings, clock, waiting, true);
    }

    private HttpEngine(
            Vertx vertx,
            ServerUnit unit,
            HttpSettings settings,
            RunClock clock,
            Consumer<String> waiting,
            boolean streams) {
        if (Context.isOnEventLoopThread()) {
            throw new IllegalStateException("A load test blocks for long; run it on a thread of its own.");
        }
        this.vertx = vertx;
        this.clock = clock;
        this.unit = unit;
        this.settings = settings;
        this.control = new EngineControl(unit.uri(), settings, clock, waiting, unit::ended);
        this.engines = new EngineControls(unit.engines(), settings, clock);
        this.client = new EngineClient(
                vertx,
                unit.uri(),
                settings,
                streams,
                clock::nanos,
                () -> clock.now().toEpochMilli());
        this.streams = streams;
        this.waiting = waiting;
    }

    /** The name of the first model that a server says it serves; absent where it does not say. */
    public static Optional<String> firstModel(URI server, HttpSettings settings, RunClock clock) {
        try (EngineControl control = new EngineControl(server, settings, clock, sentence -> {})) {
            control.greet();
            return control.firstModel();
        }
    }

    /** Returns the engine family that a server says it is. */
    public static EngineFacts.Family family(URI server, HttpSettings settings, RunClock clock) {
        try (EngineControl control = new EngineControl(server, settings, clock, sentence -> {})) {
            control.greet();
            return control.self().facts().family();
        }
    }

    /**
     * Returns whether prompts can be sent to a server as token ids: it is an engine that takes them, and its model has
     * them.
     */
    public static boolean takesTokenIds(URI server, HttpSettings settings, RunClock clock) {
        try (EngineControl control = new EngineControl(server, settings, clock, sentence -> {})) {
            control.greet();
            return control.self().facts().family() != EngineFacts.Family.OTHER && !control.lacksTokens();
        }
    }

    /**
     * Measures, where text is sent, how many tokens the server makes of a word, so that texts come to the lengths that
     * they are to have.
     *
     * @return how lengths are to be read, in a sentence; absent where token ids are sent, whose lengths are exact
     */
    public Optional<String> fitLengths() {
        if (settings.route().sendsTokenIds()) {
            return Optional.empty();
        }
        OptionalDouble told = control.tokensOfAWord();
        tokensOfAWord = told.orElse(1);
        return Optional.of(
                told.isEmpty()
                        ? "Lengths of prompts are in words: the server has no /tokenize that would show how many"
                                + " tokens a word has."
                        : String.format(
                                Locale.ROOT,
                                "A word has %.2f tokens, by the server's /tokenize; texts have as many words as"
                                        + " give the planned lengths.",
                                tokensOfAWord));
    }

    /**
     * Streams tokens from a server of its own until the client is as fast as it gets; says in a sentence what that
     * took.
     */
    public String warm() {
        waiting.accept("Warming this client up, which takes some seconds; nothing of it goes to the server.");
        ClientWarmUp.Warmth warmth = new ClientWarmUp(vertx, settings, clock::nanos).run();
        return String.format(
                Locale.ROOT,
                "The client is warm after %,d tokens from a server of its own, in %.1f s: it sends a request %.0f"
                        + " microseconds after its turn, cold %.0f.",
                warmth.tokens(),
                warmth.took().toMillis() / 1e3,
                warmth.lastLagMicros(),
                warmth.firstLagMicros());
    }

    /**
     * Asks a server that runs already for nothing but the load. An address that takes no requests of this kind shows by
     * the first of the load that fails.
     */
    public void withoutTrial() {
        control.withoutTrial();
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
        if (!settings.headerNames().isEmpty()) {
            client.put(RunHeader.HEADERS, settings.headerNames());
        }
        if (!streams) {
            client.put("answers", "whole");
        }
        if (!settings.ignoresEnd()) {
            client.put(RunHeader.ENDS, "by the model");
        }
        control.smallVocabulary().ifPresent(size -> client.put("vocabulary", Integer.toString(size)));
        control.firstModel().ifPresent(model -> client.put("serves", model));
        return client;
    }

    /** Returns the server's start flags, as it tells them, that change what is measured. */
    public Map<String, String> flags() {
        return control.self().flags();
    }

    /** Returns the engine's page of metrics; empty where it has none. */
    public String metrics() {
        return control.self().metrics();
    }

    @Override
    public boolean givesFreshLives() {
        return unit.givesFreshLives();
    }

    @Override
    public void beginLife() {
        unit.restart();
        forget();
        control.awaitReady(unit.givesFreshLives());
    }

    /** Forgets of which family the server is: what was started in its place may be of another. */
    private void forget() {
        control.self().forget();
        engines.forget();
        whole.ifPresent(HttpEngine::forget);
    }

    @Override
    public boolean givesFreshLegs() {
        return unit.givesFreshLegs();
    }

    @Override
    public void beginLeg(Arm arm) {
        if (unit.givesFreshLegs()) {
            unit.restart(arm);
            forget();
            control.awaitReady(true);
        }
    }

    @Override
    public Duration lifeTakes() {
        return unit.lifeTakes();
    }

    @Override
    public EngineFacts facts() {
        return engines.facts();
    }

    @Override
    public Map<String, LifeSign> lifeSigns() {
        return engines.lifeSigns();
    }

    @Override
    public Optional<ServerLog> written() {
        return unit.written();
    }

    /** Listens where it says that it publishes, unless an endpoint was named. */
    @Override
    public Optional<Listening> listen() {
        if (events.isPresent()) {
            return Optional.of(KvEventCollector.start(events.get(), LISTENERS, clock, EVENT_LIMIT));
        }
        try {
            return control.self()
                    .events()
                    .map(source -> KvEventCollector.start(source, LISTENERS, clock, UNASKED_EVENT_LIMIT));
        } catch (LoadTestException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw e;
            }
            // Nobody asked for events, and a port that cannot be reached from here is no reason to end.
            return Optional.empty();
        }
    }

    /** Sets where what happens to its cache is published, in place of where it says that itself. */
    public void listenAt(String endpoint) {
        try {
            events = Optional.of(EventSource.of(endpoint, ""));
        } catch (IllegalArgumentException e) {
            throw new LoadTestException(String.valueOf(e.getMessage()), e);
        }
    }

    @Override
    public HoldRoutes holdRoutes() {
        return control.holdRoutes();
    }

    @Override
    public Optional<String> flush() {
        return engines.flush();
    }

    /** Returns how many requests of loads have ended by now, well or not; to be asked by any thread. */
    public long answered() {
        return client.answered() + whole.map(HttpEngine::answered).orElse(0L);
    }

    @Override
    public LoadRequest known(LoadRequest request) {
        return control.known(request);
    }

    @Override
    public Load prepare(List<LoadRequest> requests) {
        return new HttpLoad(requests);
    }

    @Override
    public EngineUnderTest withoutStreams() {
        if (!streams) {
            return this;
        }
        HttpEngine same = whole.orElseGet(() -> new HttpEngine(vertx, unit, settings, clock, waiting, false));
        same.tokensOfAWord = tokensOfAWord;
        same.events = events;
        same.control.knowsAs(control);
        whole = Optional.of(same);
        return same;
    }

    @Override
    public void close() {
        try {
            whole.ifPresent(HttpEngine::close);
            client.close();
        } finally {
            control.close();
            engines.close();
        }
    }

    private final class HttpLoad implements Load {
        private final List<Prepared> prepared = new ArrayList<>();
        private final String digest;
        private int next;

        HttpLoad(List<LoadRequest> requests) {
            MessageDigest sha = Sha256.start();
            for (LoadRequest request : requests) {
                prepared.add(prepared(prepared.size(), request));
                sha.update(body(request.withoutHead()));
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
        public Sent send(int count, int concurrency, Optional<Beside> beside) {
            List<Prepared> now = next(count);
            Duration limit = limit(count / concurrency, count, beside);
            return whole(() -> EngineClient.await(
                    client.closedLoop(now, concurrency, beside.map(this::repeated)), limit, "the load"));
        }

        /**
         * This thread keeps the times: each is counted from the beginning, so being late once makes nothing else late.
         */
        @Override
        public Sent sendInTurn(List<Long> turns, int most, Optional<Beside> beside) {
            List<Prepared> now = next(turns.size());
            Duration limit = limit(0, turns.size(), beside);
            return whole(() -> {
                OpenLoop load = EngineClient.await(
                        client.openLoop(now, most, beside.map(this::repeated)), CONNECT_LIMIT, "beginning the load");
                long began = clock.nanos();
                for (int i = 0; i < turns.size(); i++) {
                    long turn = began + turns.get(i);
                    clock.sleepUntil(turn);
                    load.due(i, turn);
                    refuseEnded();
                }
                return EngineClient.await(load.all(), limit, "the load");
            });
        }

        private List<Prepared> next(int count) {
            unit.used();
            List<Prepared> now = List.copyOf(prepared.subList(next, next + count));
            next += count;
            return now;
        }

        private Repeated repeated(Beside beside) {
            return new Repeated(prepared(0, beside.request()), beside.every());
        }

        /** The most that it may take from when the last request has its turn at the latest. */
        private Duration limit(int waves, int count, Optional<Beside> beside) {
            long besides = beside.map(of -> (long) count / of.every()).orElse(0L);
            return settings.requestTimeout().multipliedBy(waves + 2L + besides).plusSeconds(60);
        }

        private Sent whole(Supplier<Sent> load) {
            try {
                Sent sent = load.get();
                refuseEnded();
                return sent;
            } catch (LoadTestException e) {
                // Nobody waits for the rest, and an engine that goes on with it is in the way of what comes next.
                client.cancel();
                throw e;
            }
        }

        private void refuseEnded() {
            unit.ended().ifPresent(why -> {
                throw new LoadTestException(why);
            });
        }

        @Override
        public Optional<ClientHealth> health() {
            return Optional.of(EngineClient.await(client.health(), CONNECT_LIMIT, "asking the client how it fared"));
        }

        private Prepared prepared(int number, LoadRequest request) {
            return new Prepared(
                    number,
                    request,
                    Buffer.buffer(body(request)),
                    settings.isWhole(request),
                    Optional.of(settings.limit(request)));
        }

        private byte[] body(LoadRequest request) {
            boolean text = !settings.route().sendsTokenIds();
            return settings.body(text ? request.asWords(tokensOfAWord) : known(request), streams);
        }
    }
}
