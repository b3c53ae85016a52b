package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.ErrorFormat;
import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.ValidationError;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.Collectors;

/** SGLang's error bodies: OpenAI's fields at the top level, and a bare message on its native routes. */
final class SglangErrors implements ErrorFormat {
    @Override
    public JsonObject invalid(ValidationError error) {
        return error(
                400,
                "Bad Request",
                "1 validation error:\n  {'type': '" + error.type() + "', 'loc': (" + location(error.location())
                        + "), 'msg': '" + error.problem() + "'}");
    }

    private static String location(List<Object> steps) {
        return steps.stream()
                        .map(step -> step instanceof String name ? "'" + name + "'" : step.toString())
                        .collect(Collectors.joining(", "))
                + (steps.size() == 1 ? "," : "");
    }

    @Override
    public JsonObject refusal(int status, String message) {
        return error(status, status < 500 ? "BadRequestError" : "InternalServerError", message);
    }

    static RequestRefused bad(String message) {
        return new RequestRefused(400, error(400, "BadRequestError", message));
    }

    /** Refuses as {@code /generate} and routes about sessions do. */
    static RequestRefused plainly(String message) {
        return new RequestRefused(400, plain(message));
    }

    /** Refuses a wrong sampling parameter as the native route does. */
    static RequestRefused strictly(ValidationError error) {
        return new RequestRefused(400, new JsonObject().put("error", "invalid type: " + error.problem()));
    }

    static JsonObject plain(String message) {
        return new JsonObject().put("error", new JsonObject().put("message", message));
    }

    /** Writes the error at the head of a stream, which begins before anything is looked at. */
    static JsonObject inStream(String message) {
        return new JsonObject()
                .put(
                        "error",
                        new JsonObject()
                                .put("message", message)
                                .put("type", "invalid_request_error")
                                .put("code", 400)
                                .put("retryable", false));
    }

    /** A body of another kind than JSON. */
    static RequestRefused mediaType() {
        return new RequestRefused(
                400,
                error(
                        400,
                        "Bad Request",
                        "1 validation error:\n  {'loc': ['header', 'content-type'], 'msg': \"Unsupported Media Type:"
                                + " Only 'application/json' is allowed\", 'type': 'value_error'}"));
    }

    static JsonObject error(int code, String type, String message) {
        return new JsonObject()
                .put("object", "error")
                .put("message", message)
                .put("type", type)
                .putNull("param")
                .put("code", code);
    }
}
