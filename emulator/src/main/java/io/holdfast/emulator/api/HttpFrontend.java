package io.holdfast.emulator.api;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;

/** A server's HTTP side as a whole. */
public interface HttpFrontend extends Handler<HttpServerRequest> {
    /** In bytes. */
    int LONGEST_HEAD = 256 << 10;

    /** Listens as uvicorn does: HTTP/1 alone, with heads as long as they like. */
    static HttpServerOptions options() {
        return new HttpServerOptions()
                .setMaxInitialLineLength(LONGEST_HEAD)
                .setMaxHeaderSize(LONGEST_HEAD)
                .setHttp2ClearTextEnabled(false);
    }

    /** Answers what is not HTTP. */
    void invalid(HttpServerRequest request);
}
