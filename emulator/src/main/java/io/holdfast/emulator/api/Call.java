package io.holdfast.emulator.api;

import io.holdfast.rules.engine.EngineClock;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One HTTP request in hand, with the answers to it that any route may give. */
public final class Call {
    private static final Logger log = LoggerFactory.getLogger(Call.class);
    private static final String JSON = "application/json";

    /** The engines take bodies of any size; beyond this one the connection is cut, so that memory lasts. */
    private static final long LARGEST_BODY = 1L << 28;

    /** Bodies above this are read by a worker: an event loop has other connections to serve. */
    private static final int LARGE_BODY = 1 << 20;

    private final Vertx vertx;
    private final HttpServerRequest request;
    private final ErrorFormat errors;
    private final EngineClock clock;
    private long received;
    private final List<Runnable> afterwards = new ArrayList<>();

    public Call(Vertx vertx, EngineClock clock, HttpServerRequest request, ErrorFormat errors) {
        this.vertx = vertx;
        this.clock = clock;
        this.received = clock.nanos();
        this.request = request;
        this.errors = errors;
        response().exceptionHandler(_ -> {});
        response().endHandler(_ -> over());
        response().closeHandler(_ -> over());
    }

    /** Runs an action once the answer has been sent, or can no longer be. */
    public void whenOver(Runnable action) {
        afterwards.add(action);
    }

    private void over() {
        List<Runnable> actions = List.copyOf(afterwards);
        afterwards.clear();
        actions.forEach(Runnable::run);
    }

    /** Time at which the last byte of the request had been read. */
    public long received() {
        return received;
    }

    public String method() {
        return request.method().name();
    }

    public String path() {
        return Objects.requireNonNullElse(request.path(), "/");
    }

    public int port() {
        return request.localAddress() == null ? 0 : request.localAddress().port();
    }

    public Optional<String> header(String name) {
        return Optional.ofNullable(request.getHeader(name));
    }

    public Optional<String> query(String name) {
        return Optional.ofNullable(request.getParam(name));
    }

    public HttpServerResponse response() {
        return request.response();
    }

    public Vertx vertx() {
        return vertx;
    }

    public boolean isOpen() {
        return !response().ended() && !response().closed();
    }

    /** Returns true if the body is declared as JSON, with whatever parameters. */
    public boolean isJson() {
        String type = header("content-type").orElse("");
        int parameters = type.indexOf(';');
        String bare = (parameters < 0 ? type : type.substring(0, parameters)).strip();
        return bare.equalsIgnoreCase(JSON);
    }

    public void json(int status, JsonObject body) {
        text(status, JSON, body.encode());
    }

    /**
     * Answers with JSON.
     *
     * @param body already encoded
     */
    public void json(int status, String body) {
        text(status, JSON, body);
    }

    public void text(int status, String type, String body) {
        if (isOpen()) {
            response().putHeader("content-type", type);
            bare(status, body);
        }
    }

    /** A body whose kind is not told. */
    public void bare(int status, String body) {
        if (isOpen()) {
            response().setStatusCode(status).end(method().equals("HEAD") ? "" : body);
        }
    }

    public void empty(int status) {
        if (isOpen()) {
            response().setStatusCode(status).end();
        }
    }

    /** Ends the call like a server whose process is gone: no answer, and no connection. */
    public void cut() {
        request.connection().close();
    }

    /** Answers what turned out not to be HTTP, where there is still someone to hear it. */
    public void invalid() {
        if (isOpen()) {
            response().putHeader("connection", "close");
            text(400, "text/plain; charset=utf-8", "Invalid HTTP request received.");
        }
    }

    public String uri() {
        return request.uri();
    }

    public boolean isNewest() {
        return request.version() == HttpVersion.HTTP_1_1;
    }

    /** Reads the body with {@code reader}, on a worker when it is large, and hands on what it made of it. */
    public <T> void read(BodyReader<T> reader, Consumer<T> next) {
        body(bytes -> {
            Callable<T> work = () -> reader.read(bytes);
            if (bytes.length > LARGE_BODY) {
                vertx.executeBlocking(work, false)
                        .onSuccess(made -> attempt(() -> next.accept(made)))
                        .onFailure(this::failed);
            } else {
                attempt(() -> next.accept(reader.read(bytes)));
            }
        });
    }

    /** Reading of a body by a route. */
    @FunctionalInterface
    public interface BodyReader<T> {
        T read(byte[] body);
    }

    /** Does something that may end in an error, and answers with the error if it does. */
    public void attempt(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException e) {
            failed(e);
        }
    }

    public void failed(Throwable failure) {
        switch (failure) {
            case RequestRefused refused -> {
                if (refused.isInStream()) {
                    events(refused.body());
                } else {
                    json(refused.status(), refused.body());
                }
            }
            case ValidationError error -> json(400, errors.invalid(error));
            case EngineCrash _ -> cut();
            default -> {
                log.error("A request to {} failed.", path(), failure);
                broken();
            }
        }
    }

    /** A stream of this event alone. */
    private void events(JsonObject event) {
        if (isOpen()) {
            response().setChunked(true).putHeader("content-type", Reply.EVENTS);
            response().write("data: " + event.encode() + "\n\n");
            response().write(Reply.DONE);
            response().end();
        }
    }

    /** Answers as the framework does when the engine's own code fails. */
    public void broken() {
        if (isOpen()) {
            response().headers().remove("vary");
            response().putHeader("connection", "close");
            text(500, "text/plain; charset=utf-8", "Internal Server Error");
        }
    }

    private void body(Handler<byte[]> handler) {
        List<Buffer> parts = new ArrayList<>();
        long[] size = new long[1];
        request.handler(part -> {
            size[0] += part.length();
            if (size[0] > LARGEST_BODY) {
                parts.clear();
                cut();
            } else {
                parts.add(part);
            }
        });
        request.exceptionHandler(_ -> {
            parts.clear();
            invalid();
        });
        request.endHandler(_ -> {
            received = clock.nanos();
            byte[] bytes = new byte[(int) size[0]];
            int at = 0;
            for (Buffer part : parts) {
                part.getBytes(bytes, at);
                at += part.length();
            }
            parts.clear();
            handler.handle(bytes);
        });
    }
}
