package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.ErrorFormat;
import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.ValidationError;
import io.vertx.core.json.JsonObject;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** vLLM's error bodies: OpenAI's error object, which names the field that is to blame. */
final class VllmErrors implements ErrorFormat {
    @Override
    public JsonObject invalid(ValidationError error) {
        String location = error.location().stream().map(String::valueOf).collect(Collectors.joining("."));
        String problem =
                "{'type': '" + error.type() + "', 'loc': '" + location + "', 'msg': '" + error.problem() + "'}";
        return error(400, "Bad Request", location, "1 validation error:\n  " + problem);
    }

    @Override
    public JsonObject refusal(int status, String message) {
        return error(
                status,
                status == 503 ? "ServiceUnavailableError" : status < 500 ? "BadRequestError" : "InternalServerError",
                null,
                message);
    }

    static RequestRefused bad(String message) {
        return new RequestRefused(400, error(400, "BadRequestError", null, message));
    }

    /** One that names the parameter, but not what it was. */
    static RequestRefused bad(String message, String parameter) {
        return new RequestRefused(
                400, error(400, "BadRequestError", parameter, message + " (parameter=" + parameter + ")"));
    }

    static RequestRefused bad(String message, String parameter, String value) {
        return new RequestRefused(
                400,
                error(
                        400,
                        "BadRequestError",
                        parameter,
                        message + " (parameter=" + parameter + ", value=" + value + ")"));
    }

    static RequestRefused unknownModel(String asked, String served, boolean old) {
        String message = "The model `" + asked + "` does not exist." + (old ? "" : " Valid aliases: " + served + ".");
        return new RequestRefused(404, error(404, "NotFoundError", "model", message));
    }

    static RequestRefused mediaType() {
        return new RequestRefused(
                400,
                error(
                        400,
                        "Bad Request",
                        null,
                        "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"));
    }

    static JsonObject error(int code, String type, @Nullable String parameter, String message) {
        return new JsonObject()
                .put(
                        "error",
                        new JsonObject()
                                .put("message", message)
                                .put("type", type)
                                .put("param", parameter)
                                .put("code", code));
    }

    /** The event that tells of a failure in the middle of a stream. */
    static JsonObject inStream(String message) {
        return error(500, "InternalServerError", null, message);
    }
}
