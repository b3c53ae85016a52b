package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.ErrorFormat;
import io.holdfast.emulator.api.ValidationError;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Set;

/** TensorRT-LLM's error bodies: a flat object, or one sentence where a body has no valid form. */
final class TensorRtErrors implements ErrorFormat {
    /** Refuses fields that a request does not have: the engine's models forbid them, where vLLM passes over them. */
    static void refuseUnknown(Set<String> given, Set<String> own, Set<String> common) {
        given.stream()
                .filter(name -> !own.contains(name) && !common.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new ValidationError(
                            "extra_forbidden", List.of("body", name), "Extra inputs are not permitted");
                });
    }

    @Override
    public JsonObject invalid(ValidationError error) {
        return new JsonObject()
                .put(
                        "error",
                        "[{'type': '" + error.type() + "', 'loc': " + error.location() + ", 'msg': '" + error.problem()
                                + "'}]");
    }

    @Override
    public JsonObject refusal(int status, String message) {
        return new JsonObject()
                .put("object", "error")
                .put("message", message)
                .put("type", status < 500 ? "BadRequestError" : "InternalServerError")
                .putNull("param")
                .put("code", status);
    }
}
