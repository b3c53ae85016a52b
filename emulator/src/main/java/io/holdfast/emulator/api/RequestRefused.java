package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;

/** A request that is answered with an error, in the engine's words. */
public final class RequestRefused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final transient JsonObject body;
    private final boolean inStream;

    public RequestRefused(int status, JsonObject body) {
        this(status, body, false);
    }

    private RequestRefused(int status, JsonObject body, boolean inStream) {
        super("The request is refused with " + status + ".", null, false, false);
        this.status = status;
        this.body = body;
        this.inStream = inStream;
    }

    /** Returns a refusal told as the one event of a stream that had already begun. */
    public static RequestRefused inStream(JsonObject body) {
        return new RequestRefused(200, body, true);
    }

    public boolean isInStream() {
        return inStream;
    }

    public int status() {
        return status;
    }

    public JsonObject body() {
        return body;
    }
}
