package io.holdfast.emulator.api;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpServerRequest;

/** A server's HTTP side as a whole. */
public interface Front extends Handler<HttpServerRequest> {
    /** Answers what is not HTTP. */
    void invalid(HttpServerRequest request);
}
