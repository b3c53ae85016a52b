package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;

/** A request that is answered with an error, in the engine's words. */
final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final transient JsonObject body;
    private final boolean inStream;

    Refused(int status, JsonObject body) {
        this(status, body, false);
    }

    private Refused(int status, JsonObject body, boolean inStream) {
        super("The request is refused with " + status + ".", null, false, false);
        this.status = status;
        this.body = body;
        this.inStream = inStream;
    }

    /** The same told as the one event of a stream that had already begun. */
    static Refused inStream(JsonObject body) {
        return new Refused(200, body, true);
    }

    boolean isInStream() {
        return inStream;
    }

    int status() {
        return status;
    }

    JsonObject body() {
        return body;
    }
}
