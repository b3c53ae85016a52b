package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
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
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
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
 * first statement of the chunk handler; parsing comes after. All events of a buffer share its stamp.
 *
 * What is left out on purpose. No redirects, no decompression, no retry: a retried request would measure a warmer
 * cache than the first one found.
 */

/** The load generator's side of the wire. Handed-in times are bounds, not measurements. */
final class EngineClient implements AutoCloseable {
    private static final int CONNECT_MILLIS = 10_000;

    private final Vertx vertx;
    private final Context context;
    private final HttpClientAgent http;
    private final URI engine;
    private final CompletionRoute route;
    private final String path;
    private final Map<String, String> headers;
    private final long timeoutMillis;
    private final LongSupplier nanos;
    private final ArrayDeque<Lane> lanes = new ArrayDeque<>();

    EngineClient(Vertx vertx, URI engine, HttpSettings settings, LongSupplier nanos) {
        this.vertx = vertx;
        this.engine = engine;
        this.route = settings.route();
        this.path = ControlHttp.withoutEndSlashes(engine.getRawPath()) + route.path();
        this.headers = settings.headers();
        this.timeoutMillis = settings.requestTimeout().toMillis();
        this.nanos = nanos;
        this.context = vertx.getOrCreateContext();
        this.http = vertx.createHttpClient(new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_1_1)
                .setKeepAlive(true)
                .setTcpNoDelay(true)
                .setDecompressionSupported(false)
                .setConnectTimeout(CONNECT_MILLIS));
    }

    /** Closes the connections there are and opens this many. */
    Future<Void> open(int count) {
        return onContext(() -> closeLanes().compose(closed -> {
            List<Future<HttpClientConnection>> opening = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                Lane lane = new Lane();
                lanes.add(lane);
                opening.add(lane.connection());
            }
            return Future.all(opening).mapEmpty();
        }));
    }

    /**
     * Sends all requests in order, as many at a time as there are lanes to use.
     *
     * @return one record for each, in the order of the list; a request that fails is a record, never a failed future
     */
    Future<List<RequestRecord>> closedLoop(List<Prepared> requests, int concurrency) {
        return onContext(() -> {
            Iterator<Prepared> rest = requests.iterator();
            RequestRecord[] records = new RequestRecord[requests.size()];
            int first = requests.isEmpty() ? 0 : requests.getFirst().number();
            List<Future<Void>> loops = new ArrayList<>();
            lanes.stream().limit(concurrency).forEach(lane -> {
                Promise<Void> idle = Promise.promise();
                loops.add(idle.future());
                loop(lane, rest, record -> records[record.number() - first] = record, idle);
            });
            return Future.all(loops).map(all -> List.of(records));
        });
    }

    /** One lane's share of the list. Futures are not chained from request to request: chains of thousands overflow. */
    private void loop(Lane lane, Iterator<Prepared> rest, Consumer<RequestRecord> records, Promise<Void> idle) {
        if (!rest.hasNext()) {
            idle.complete();
            return;
        }
        lane.send(rest.next()).onComplete(sent -> {
            records.accept(sent.result());
            loop(lane, rest, records, idle);
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

    /** A request with its bytes, made before the load starts. */
    record Prepared(int number, LoadRequest request, Buffer body) {}

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

        Future<RequestRecord> send(Prepared prepared) {
            Exchange exchange = new Exchange(prepared.number(), prepared.request(), route, nanos);
            Promise<RequestRecord> over = Promise.promise();
            long timer = vertx.setTimer(timeoutMillis, fired -> end(over, exchange.timedOut(timeoutMillis)));
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
            response.handler(exchange::body);
            response.exceptionHandler(cause -> end(over, exchange.broken(cause)));
            response.endHandler(whole -> {
                if ("close".equalsIgnoreCase(response.getHeader("connection"))) {
                    drop();
                }
                end(over, exchange.whole());
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
