package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.run.EngineUnderTest.Sent;
import io.holdfast.loadtest.workload.LoadRequest;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientConnection;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpConnectOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.RequestOptions;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/*
 * The client
 * ==========
 *
 * Who waits where. A closed loop at concurrency C has C lanes. A lane owns one connection, sends one request at a time
 * and takes the next from the list when that one is over. There is no pool between a lane and its connection, so no
 * request can wait in a queue that nobody sees: what a request waits for its lane lies before `scheduled`, what it
 * waits for a connection that had to be opened again lies between `scheduled` and `sent`.
 *
 * Connections before load. `open` connects all lanes anew before a leg. Servers drop idle connections (uvicorn after
 * 5 s); a lane whose connection went away opens another one before it stamps `sent`, so that no connect time enters a
 * time to first token.
 *
 * One event loop. All lanes of a client live on one context: no locks, one order of stamps. The clock is read in the
 * first statement of the chunk handler. Parsing comes when all that has arrived is stamped: if 64 answers come at once,
 * the last of them would else carry the parsing of the 63 before it. All events of a buffer share its stamp.
 *
 * Closed or open. In a closed loop a request's turn comes when a lane is free. In an open one it comes by a schedule of
 * absolute times that was made before; a thread beside the loop keeps the times, so a late request never moves the ones
 * after it. Lanes are opened beforehand up to a bound, and a request above it is an error that is shown, never a queue.
 *
 * What is left out on purpose. No redirects, no decompression, no retry: a retried request would measure a warmer
 * cache than the first one found.
 */

/** The load generator's side of the wire. Handed-in times are bounds, not measurements. */
public final class EngineClient implements AutoCloseable {
    private static final int CONNECT_MILLIS = 10_000;
    private static final int STARTS_AT_A_TIME = 4;

    private final AtomicLong answered = new AtomicLong();
    private final Vertx vertx;
    private final Context context;
    private final HttpClientAgent http;
    private final URI engine;
    private final CompletionRoute route;
    private final String path;
    private final Map<String, String> headers;
    private final boolean streams;
    private final long timeoutMillis;
    private final LongSupplier nanos;
    private final ClientWatch watch;
    private final ArrayDeque<Runnable> later = new ArrayDeque<>();
    private final ArrayDeque<Lane> lanes = new ArrayDeque<>();
    /** Loops of an earlier load that nobody waits for any more send nothing; on the context only. */
    private int load;

    EngineClient(Vertx vertx, URI engine, HttpSettings settings, LongSupplier nanos) {
        this(vertx, engine, settings, true, nanos, System::currentTimeMillis);
    }

    /**
     * @param streams whether answers come in streams
     * @param dateMillis the date, which is watched beside the monotonic clock
     */
    EngineClient(
            Vertx vertx,
            URI engine,
            HttpSettings settings,
            boolean streams,
            LongSupplier nanos,
            LongSupplier dateMillis) {
        this.vertx = vertx;
        this.streams = streams;
        this.engine = engine;
        this.route = settings.route();
        this.path = ControlHttp.withoutEndSlashes(engine.getRawPath()) + route.path();
        this.headers = settings.headers();
        this.timeoutMillis = settings.requestTimeout().toMillis();
        this.nanos = nanos;
        this.context = vertx.getOrCreateContext();
        this.watch = new ClientWatch(vertx, nanos, dateMillis);
        HttpClientOptions options = new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_1_1)
                .setKeepAlive(true)
                .setTcpNoDelay(true)
                .setDecompressionSupported(false)
                .setConnectTimeout(CONNECT_MILLIS);
        settings.ca().map(TrustedCa::options).ifPresent(options::setTrustOptions);
        this.http = vertx.createHttpClient(options);
    }

    /** Closes the connections there are and opens this many. */
    Future<Void> open(int count) {
        return onContext(() -> closeLanes().compose(closed -> {
            watch.fresh();
            List<Future<HttpClientConnection>> opening = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                Lane lane = new Lane();
                lanes.add(lane);
                opening.add(lane.connection());
            }
            return Future.all(opening).mapEmpty();
        }));
    }

    /** Sends all requests in order, as many at a time as there are lanes to use. */
    Future<List<RequestRecord>> closedLoop(List<Prepared> requests, int concurrency) {
        return closedLoop(requests, concurrency, Optional.empty()).map(Sent::load);
    }

    /**
     * Sends all requests in order, as many at a time as are wanted, and another one beside them on the last lane.
     *
     * @return one record for each, in the order of the list; a request that fails is a record, never a failed future
     */
    Future<Sent> closedLoop(List<Prepared> requests, int concurrency, Optional<Repeated> beside) {
        return onContext(() -> {
            Loop loop = new Loop(requests, beside);
            Iterator<Prepared> rest = requests.iterator();
            List<Future<Void>> loops = new ArrayList<>();
            Deque<Runnable> starts = new ArrayDeque<>();
            long now = nanos.getAsLong();
            lanes.stream().limit(concurrency).forEach(lane -> {
                Promise<Void> idle = Promise.promise();
                loops.add(idle.future());
                starts.add(() -> loop(loop, lane, rest, idle, now));
            });
            start(starts);
            return Future.all(loops).compose(all -> loop.over());
        });
    }

    /**
     * Starts lanes a few at a time, and lets the loop look at its sockets in between: the first answers may come while
     * the last requests are still to be sent. A task that an event loop gives itself would run before it does.
     */
    private void start(Deque<Runnable> starts) {
        for (int i = 0; i < STARTS_AT_A_TIME && !starts.isEmpty(); i++) {
            starts.remove().run();
        }
        if (!starts.isEmpty()) {
            vertx.executeBlocking(() -> starts).onSuccess(this::start);
        }
    }

    /**
     * Sends one lane's share of the list. Futures are not chained from request to request: chains of thousands
     * overflow.
     */
    private void loop(Loop loop, Lane lane, Iterator<Prepared> rest, Promise<Void> idle, long turn) {
        if (!loop.goesOn()) {
            return;
        }
        if (!rest.hasNext()) {
            idle.complete();
            return;
        }
        lane.send(rest.next(), turn).onComplete(sent -> {
            loop.take(sent.result());
            loop(loop, lane, rest, idle, nanos.getAsLong());
        });
    }

    /**
     * Begins a load whose requests are sent when they are {@link OpenLoop#due}, whether or not those before them are
     * over.
     *
     * @param most how many may be under way at a time; what is sent beside them has a lane of its own beyond those
     */
    Future<OpenLoop> openLoop(List<Prepared> requests, int most, Optional<Repeated> beside) {
        return onContext(() -> {
            int needed = most + (beside.isPresent() ? 1 : 0);
            return lanes.size() < needed
                    ? Future.failedFuture(needed + " connections are needed and " + lanes.size() + " are open")
                    : Future.succeededFuture(new OpenLoop(requests, most, beside));
        });
    }

    /** Reports how the client fared since the lanes were opened. */
    Future<ClientHealth> health() {
        return onContext(() -> Future.succeededFuture(watch.health()));
    }

    long answered() {
        return answered.get();
    }

    /** A load under way: its records, and what is sent beside it. */
    class Loop {
        private final int its = ++load;
        private final RequestRecord[] records;
        private final int first;
        private final Optional<BesideLoop> other;

        Loop(List<Prepared> requests, Optional<Repeated> beside) {
            records = new RequestRecord[requests.size()];
            first = requests.isEmpty() ? 0 : requests.getFirst().number();
            other = beside.map(of -> new BesideLoop(lanes.getLast(), of, requests.size(), this::goesOn));
            watch.begin();
        }

        final boolean goesOn() {
            return its == load;
        }

        void take(RequestRecord record) {
            records[record.number() - first] = record;
            answered.incrementAndGet();
            other.ifPresent(BesideLoop::oneEnded);
        }

        Future<Sent> over() {
            return other.map(BesideLoop::end)
                    .orElseGet(() -> Future.succeededFuture(List.of()))
                    .map(touches -> {
                        watch.end();
                        return new Sent(List.of(records), touches);
                    });
        }
    }

    /** A load whose arrivals do not wait for answers. */
    final class OpenLoop extends Loop {
        private final List<Prepared> requests;
        private final int most;
        private final ArrayDeque<Lane> idle = new ArrayDeque<>();
        private final Promise<Sent> all = Promise.promise();
        private int left;

        private OpenLoop(List<Prepared> requests, int most, Optional<Repeated> beside) {
            super(requests, beside);
            this.requests = requests;
            this.most = most;
            this.left = requests.size();
            lanes.stream().limit(most).forEach(idle::add);
            if (left == 0) {
                over().onComplete(all);
            }
        }

        /**
         * The turn of a request of the list has come. Called from the thread that keeps the times; what lies between
         * the turn and the sending stands in the record.
         */
        void due(int index, long scheduled) {
            context.runOnContext(ignored -> send(requests.get(index), scheduled));
        }

        private void send(Prepared prepared, long scheduled) {
            if (!goesOn()) {
                return;
            }
            Optional<Lane> lane = Optional.ofNullable(idle.poll());
            if (lane.isEmpty()) {
                take(Exchange.notSent(prepared.number(), prepared.request(), scheduled, most));
                return;
            }
            lane.get().send(prepared, scheduled).onComplete(sent -> {
                idle.add(lane.get());
                take(sent.result());
            });
        }

        @Override
        void take(RequestRecord record) {
            super.take(record);
            if (--left == 0 && goesOn()) {
                over().onComplete(all);
            }
        }

        /** Completes when all are over. */
        Future<Sent> all() {
            return all.future();
        }
    }

    /** Sends one request again and again, one at a time, as the load gets on. */
    private final class BesideLoop {
        private final Lane lane;
        private final Repeated repeated;
        private final int requests;
        private final BooleanSupplier goesOn;
        private final List<RequestRecord> records = new ArrayList<>();
        private final Promise<List<RequestRecord>> over = Promise.promise();
        private int ended;
        private int due;
        private boolean underWay;
        private boolean ending;

        BesideLoop(Lane lane, Repeated repeated, int requests, BooleanSupplier goesOn) {
            this.lane = lane;
            this.repeated = repeated;
            this.requests = requests;
            this.goesOn = goesOn;
        }

        void oneEnded() {
            ended++;
            if (ended % repeated.every() == 0 && ended < requests) {
                due++;
                next();
            }
        }

        Future<List<RequestRecord>> end() {
            ending = true;
            next();
            return over.future();
        }

        private void next() {
            if (underWay || !goesOn.getAsBoolean()) {
                return;
            }
            if (due > 0) {
                due--;
                underWay = true;
                lane.send(repeated.request().numbered(records.size()), nanos.getAsLong())
                        .onComplete(sent -> {
                            records.add(sent.result());
                            underWay = false;
                            next();
                        });
            } else if (ending) {
                over.complete(List.copyOf(records));
            }
        }
    }

    /** Ends the load under way: nothing more of it is sent, and what was sent loses its connection. */
    Future<Void> cancel() {
        return onContext(() -> {
            load++;
            watch.end();
            return closeLanes();
        });
    }

    @Override
    public void close() {
        await(onContext(this::closeLanes), Duration.ofSeconds(5), "closing the connections");
        await(http.close(), Duration.ofSeconds(5), "closing the client");
    }

    private Future<Void> closeLanes() {
        List<Future<Void>> closing = new ArrayList<>();
        while (!lanes.isEmpty()) {
            closing.add(lanes.remove().close());
        }
        return Future.join(closing).mapEmpty().otherwiseEmpty().mapEmpty();
    }

    /** Does what can wait until everything that has arrived has its stamp. */
    private void later(Runnable task) {
        later.add(task);
        if (later.size() > 1) {
            return;
        }
        context.runOnContext(ignored -> {
            List<Runnable> now = List.copyOf(later);
            later.clear();
            now.forEach(Runnable::run);
        });
    }

    private <T> Future<T> onContext(Supplier<Future<T>> task) {
        Promise<T> promise = Promise.promise();
        context.runOnContext(ignored -> task.get().onComplete(promise));
        return promise.future();
    }

    /** Waits on a plain thread for what happens on the event loop. */
    static <T> T await(Future<T> future, Duration limit, String what) {
        try {
            return future.toCompletionStage().toCompletableFuture().get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new LoadTestException("There was a failure in " + what + ": " + cause.getMessage() + ".", cause);
        } catch (TimeoutException e) {
            throw new LoadTestException(
                    "The load test gave up on " + what + " after " + limit.toSeconds()
                            + " s; check that the engine still answers.",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted in " + what + ".", e);
        }
    }

    /**
     * A request with its bytes, made before the load starts.
     *
     * @param whole whether its answer does not come as a stream, though those of others do
     * @param limit the most that it may take; absent where it is that of all
     */
    record Prepared(int number, LoadRequest request, Buffer body, boolean whole, Optional<Duration> limit) {
        Prepared(int number, LoadRequest request, Buffer body) {
            this(number, request, body, false, Optional.empty());
        }

        Prepared numbered(int place) {
            return new Prepared(place, request, body, whole, limit);
        }
    }

    /**
     * A request that is sent beside a load.
     *
     * @param every how many requests of the load end before it is sent, and again each time; not after the last one
     */
    record Repeated(Prepared request, int every) {}

    /** One connection, and at most one request on it. */
    private final class Lane {
        private Optional<HttpClientConnection> open = Optional.empty();
        private Optional<Future<HttpClientConnection>> opening = Optional.empty();

        Future<HttpClientConnection> connection() {
            if (open.isPresent()) {
                return Future.succeededFuture(open.get());
            }
            if (opening.isPresent()) {
                return opening.get();
            }
            boolean ssl = "https".equals(engine.getScheme());
            int port = engine.getPort() > 0 ? engine.getPort() : ssl ? 443 : 80;
            Future<HttpClientConnection> connecting = http.connect(new HttpConnectOptions()
                            .setHost(engine.getHost())
                            .setPort(port)
                            .setSsl(ssl))
                    .onSuccess(connection -> {
                        open = Optional.of(connection);
                        connection.closeHandler(closed -> forget(connection));
                        // The record of the request under way tells it; without a handler it would be printed as well.
                        connection.exceptionHandler(told -> {});
                    })
                    .onComplete(done -> opening = Optional.empty());
            if (!connecting.isComplete()) {
                opening = Optional.of(connecting);
            }
            return connecting;
        }

        private void forget(HttpClientConnection connection) {
            if (open.filter(connection::equals).isPresent()) {
                open = Optional.empty();
            }
        }

        Future<Void> close() {
            Optional<HttpClientConnection> closing = open;
            open = Optional.empty();
            return closing.map(HttpClientConnection::close).orElseGet(Future::succeededFuture);
        }

        Future<RequestRecord> send(Prepared prepared, long scheduled) {
            Exchange exchange = new Exchange(
                    prepared.number(), prepared.request(), route, streams && !prepared.whole(), nanos, scheduled);
            Promise<RequestRecord> over = Promise.promise();
            long limit = prepared.limit().map(Duration::toMillis).orElse(timeoutMillis);
            long timer = vertx.setTimer(limit, fired -> end(over, exchange.timedOut(limit)));
            connection()
                    .compose(connection -> over.future().isComplete()
                            ? Future.failedFuture("the time was over before the connection was open")
                            : connection.request(new RequestOptions()
                                    .setMethod(HttpMethod.POST)
                                    .setURI(path)))
                    .onSuccess(request -> exchange(request, prepared, exchange, over))
                    .onFailure(cause -> end(over, exchange.broken(cause)));
            return over.future().onComplete(ended -> vertx.cancelTimer(timer));
        }

        private void exchange(
                HttpClientRequest request, Prepared prepared, Exchange exchange, Promise<RequestRecord> over) {
            if (over.future().isComplete()) {
                // Nobody waits for it any more, and sent now it would warm the cache unseen.
                request.reset();
                return;
            }
            headers.forEach(request::putHeader);
            request.putHeader("content-type", "application/json");
            request.response()
                    .onSuccess(response -> read(response, exchange, over))
                    .onFailure(cause -> end(over, exchange.broken(cause)));
            exchange.sending();
            request.end(prepared.body()).onSuccess(written -> exchange.sending());
        }

        private void read(HttpClientResponse response, Exchange exchange, Promise<RequestRecord> over) {
            exchange.head(response.statusCode());
            response.handler(buffer -> {
                exchange.body(buffer);
                later(exchange::read);
            });
            response.exceptionHandler(cause -> end(over, exchange.broken(cause)));
            response.endHandler(whole -> {
                exchange.ended();
                later(() -> {
                    if ("close".equalsIgnoreCase(response.getHeader("connection"))) {
                        drop();
                    }
                    end(over, exchange.whole());
                });
            });
        }

        /** The first end counts. After a bad one the connection may still carry the rest of the stream: it goes. */
        private void end(Promise<RequestRecord> over, RequestRecord record) {
            if (over.future().isComplete()) {
                return;
            }
            if (record.status() == RequestStatus.BROKEN_STREAM || record.status() == RequestStatus.TIMED_OUT) {
                drop();
            }
            over.complete(record);
        }

        private void drop() {
            close().otherwiseEmpty();
        }
    }
}
