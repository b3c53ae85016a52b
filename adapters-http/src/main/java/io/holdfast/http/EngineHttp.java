package io.holdfast.http;

import io.github.resilience4j.retry.Retry;
import io.holdfast.http.Guards.Attempt;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/*
 * Every call that we make to one engine.
 *
 * Guards. A call passes, from outside in: time limit, breaker, bulkhead, rate limit. None of them waits: a call that
 * may not be made is answered at once, and has certainly not been carried out. What engines answer below 500 is an
 * answer; 500 and above, silence and broken connections are failures that the breaker counts.
 *
 * Two kinds of calls. A request that waits for its turn behind those of users may time out for no other reason than a
 * long queue, and ten of them at once. That says nothing of an unpin, which an engine answers between two batches, so
 * calls that wait have a breaker, a bulkhead and a rate of their own: what becomes of them never turns a pin, an unpin
 * or a reading away.
 *
 * Repetition. Only a GET is repeated, and only where another try may fare better at once: a refused or broken
 * connection, 502, 503, 504. A POST or a DELETE may count something in the engine (a pin does), so it is sent once, and
 * whoever sent it learns whether it may have arrived. A time-out is never repeated: the engine is busy enough.
 *
 * Time. The limit of the JDK's client ends with the headers; a body that never ends would hold a call for ever. So the
 * limit is ours, on the timer that was handed in, and covers the body.
 */

/** A guarded HTTP conversation with one engine. Stages never fail: whatever happens is a {@link Reply}. */
public final class EngineHttp implements AutoCloseable {
    private final EngineHttpSettings settings;
    private final String base;
    private final HttpRequest template;
    private final HttpClient client;
    private final Guards guards;
    private final Guards prompt;
    private final Guards queued;
    private final Guards text;

    private final ScheduledExecutorService timer;
    private final AtomicBoolean closed;

    /**
     * @param executor runs the client's work and what follows a reply
     * @param timer ends calls that take too long, and paces repetitions
     * @param nanoClock a monotonic clock in nanoseconds
     */
    public EngineHttp(
            EngineHttpSettings settings, Executor executor, ScheduledExecutorService timer, LongSupplier nanoClock) {
        this.settings = settings;
        this.timer = timer;
        base = settings.base().toString().replaceAll("/+$", "");
        template = template(settings);
        prompt = new Guards(GuardState.Calls.PROMPT, settings, nanoClock);
        guards = prompt;
        queued = new Guards(GuardState.Calls.QUEUED, settings, nanoClock);
        text = new Guards(GuardState.Calls.TEXT, settings, nanoClock);
        closed = new AtomicBoolean();
        HttpClient.Builder builder = HttpClient.newBuilder()
                .executor(executor)
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(settings.connectLimit());
        if ("http".equalsIgnoreCase(settings.base().getScheme())) {
            builder.sslContext(new PlainText());
        } else {
            settings.trust().ifPresent(builder::sslContext);
        }
        client = builder.build();
    }

    private EngineHttp(EngineHttp shared, EngineHttpSettings settings, Guards guards) {
        this.settings = settings;
        timer = shared.timer;
        base = shared.base;
        template = template(settings);
        this.guards = guards;
        prompt = shared.prompt;
        queued = shared.queued;
        text = shared.text;
        closed = shared.closed;
        client = shared.client;
    }

    private static HttpRequest template(EngineHttpSettings settings) {
        HttpRequest.Builder request = HttpRequest.newBuilder(settings.base());
        settings.headers().forEach(request::setHeader);
        return request.build();
    }

    /** Returns this conversation with other headers, such as an administrator's; connection and guards are shared. */
    public EngineHttp withHeaders(Map<String, String> headers) {
        return new EngineHttp(this, settings.withHeaders(headers), guards);
    }

    /** Returns this conversation for calls that may wait so long for their turn, with guards that only those share. */
    public EngineHttp waiting(Duration limit) {
        return new EngineHttp(this, settings.withTimeLimit(limit), queued);
    }

    /** Returns this conversation for texts of callers, with guards that only those share. */
    public EngineHttp texts() {
        return new EngineHttp(this, settings, text);
    }

    /** Address at which the engine serves. */
    public URI base() {
        return settings.base();
    }

    /** State of the guards of each kind of calls; the same in all conversations of the engine. */
    public List<GuardState> guards() {
        return List.of(prompt.state(), queued.state(), text.state());
    }

    public CompletionStage<Reply> get(String path) {
        return repeat(request(path).GET().build(), guards.attempts()).thenApply(Attempt::reply);
    }

    public CompletionStage<Reply> post(String path, String json) {
        return once("POST", path, json);
    }

    /** Sent once, as a POST is: what it deletes may be counted. */
    public CompletionStage<Reply> delete(String path, String json) {
        return once("DELETE", path, json);
    }

    private CompletionStage<Reply> once(String method, String path, String json) {
        HttpRequest request = request(path)
                .setHeader("Content-Type", "application/json")
                .method(method, BodyPublishers.ofString(json))
                .build();
        return attempt(request).thenApply(Attempt::reply);
    }

    /** Ends what is under way; later calls are answered with their refusal. */
    @Override
    public void close() {
        closed.set(true);
        client.shutdownNow();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(template, (name, value) -> true).uri(URI.create(base + path));
    }

    /** Repeats a call; keeps the result of the last attempt that was sent, which says more than a refusal here. */
    private CompletableFuture<Attempt> repeat(HttpRequest request, Retry.AsyncContext<Attempt> attempts) {
        return attempt(request).thenCompose(attempt -> {
            long pauseMillis = attempts.onResult(attempt);
            return pauseMillis < 1 || closed.get()
                    ? CompletableFuture.completedFuture(attempt)
                    : pause(pauseMillis)
                            .thenCompose(paused -> repeat(request, attempts))
                            .thenApply(later -> later.sent() ? later : attempt);
        });
    }

    private CompletableFuture<Boolean> pause(long millis) {
        CompletableFuture<Boolean> paused = new CompletableFuture<>();
        try {
            Future<?> unused = timer.schedule(() -> paused.complete(true), millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            paused.complete(false);
        }
        return paused;
    }

    private CompletableFuture<Attempt> attempt(HttpRequest request) {
        if (closed.get()) {
            return CompletableFuture.completedFuture(turnedAway("The connection to " + base + " was closed here."));
        }
        Optional<String> refusal = guards.enter();
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(turnedAway(refusal.get()));
        }
        long entered = guards.now();
        CompletableFuture<HttpResponse<String>> exchange = client.sendAsync(request, head -> new BoundedBody());
        Future<?> limit = cancelAfterLimit(exchange);
        return exchange.handle((response, failure) -> {
            limit.cancel(false);
            Attempt attempt = response == null ? lost(request, failure) : answered(response);
            guards.leave(entered, attempt);
            return attempt;
        });
    }

    private Future<?> cancelAfterLimit(CompletableFuture<?> exchange) {
        try {
            return timer.schedule(
                    () -> exchange.cancel(true), settings.timeLimit().toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // Without a timer nothing would end the call; its owner is shutting down.
            exchange.cancel(true);
            return exchange;
        }
    }

    private static Attempt turnedAway(String why) {
        return new Attempt(new Reply.NoAnswer(why, false), false, false, false);
    }

    private static Attempt answered(HttpResponse<String> response) {
        int status = response.statusCode();
        return new Attempt(
                new Reply.Answer(status, response.body()), true, status >= 500, status >= 502 && status <= 504);
    }

    private Attempt lost(HttpRequest request, @Nullable Throwable failure) {
        Throwable cause = failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
        String what = request.method() + " " + request.uri();
        if (closed.get()) {
            return new Attempt(
                    new Reply.NoAnswer(what + " was given up: the connection was closed here.", true),
                    true,
                    false,
                    false);
        }
        return switch (cause) {
            case HttpConnectTimeoutException e ->
                failed(
                        base + " did not take a connection within "
                                + settings.connectLimit().toMillis() + " ms.",
                        false,
                        true);
            case HttpTimeoutException e -> timedOut(what);
            case CancellationException e -> timedOut(what);
            case ConnectException e
            when e.getCause() instanceof UnresolvedAddressException ->
                failed("No host is known by the name of " + settings.base().getHost() + ".", false, true);
            case ConnectException e -> failed("Nothing listens at " + base + ": is the engine running?", false, true);
            case SSLHandshakeException e ->
                failed(
                        "Nothing was sent, since the certificate of " + base + " is not believed (" + e.getMessage()
                                + "): name its CA in caFile.",
                        false,
                        true);
            case BoundedBody.TooLong e -> failed(what + " was given up: " + e.getMessage() + ".", true, false);
            case null, default -> failed(what + " broke off without an answer.", true, true);
        };
    }

    private Attempt timedOut(String what) {
        guards.timedOut();
        return failed(what + " had no answer within " + settings.timeLimit().toMillis() + " ms.", true, false);
    }

    private static Attempt failed(String why, boolean maybeDone, boolean again) {
        return new Attempt(new Reply.NoAnswer(why, maybeDone), true, true, again);
    }
}
