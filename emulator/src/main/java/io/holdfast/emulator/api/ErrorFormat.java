package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;

/** The bodies in which an engine reports errors. */
public interface ErrorFormat {
    JsonObject invalid(ValidationError error);

    /** The engine refuses a request, or fails over it. */
    JsonObject refusal(int status, String message);
}
