package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** How SGLang words errors: with what is wrong, then where in its own code it noticed, then all of it again. */
final class SglangWords implements Wording {
    private static final String SOURCE = "/sgl-workspace/sglang/python/sglang/srt/entrypoints/http_server.py";

    /** Where the release handles a route. */
    private static final Map<String, String> HANDLERS = Map.ofEntries(
            Map.entry("/v1/completions", "line 1860, in openai_v1_completions"),
            Map.entry("/v1/chat/completions", "line 1870, in openai_v1_chat_completions"),
            Map.entry("/tokenize", "line 1906, in openai_v1_tokenize"),
            Map.entry("/v1/tokenize", "line 1906, in openai_v1_tokenize"),
            Map.entry("/detokenize", "line 1924, in openai_v1_detokenize"),
            Map.entry("/v1/detokenize", "line 1924, in openai_v1_detokenize"),
            Map.entry("/generate", "line 928, in generate_request"),
            Map.entry("/flush_cache", "line 1025, in flush_cache"),
            Map.entry("/open_session", "line 1679, in open_session"),
            Map.entry("/close_session", "line 1701, in close_session"),
            Map.entry("/abort_request", "line 1721, in abort_request"),
            Map.entry("/hicache/pin_blocks", "line 741, in pin_blocks"),
            Map.entry("/hicache/unpin_blocks", "line 758, in unpin_blocks"),
            Map.entry("/hicache/pin_prefix", "line 747, in pin_prefix"));

    @Override
    public JsonObject invalid(Call call, List<Complaint> complaints) {
        List<String> each = complaints.stream().map(Complaint::repr).toList();
        String all = String.join(", ", each);
        String where = Optional.ofNullable(HANDLERS.get(call.path()))
                .map(handler ->
                        "\n\n  File \"" + SOURCE + "\", " + handler + "\n    " + call.method() + " " + call.path())
                .orElse("");
        return error(
                400,
                "Bad Request",
                count(each.size())
                        + each.stream().map(one -> "\n  " + one).collect(Collectors.joining())
                        + where + " [" + all + "]");
    }

    private static String count(int errors) {
        return errors + (errors == 1 ? " validation error:" : " validation errors:");
    }

    @Override
    public JsonObject refusal(int status, String message) {
        return error(status, status < 500 ? "BadRequestError" : "InternalServerError", message);
    }

    static Refused bad(String message) {
        return new Refused(400, error(400, "BadRequestError", message));
    }

    /** What {@code /generate} and routes about sessions say. */
    static Refused plainly(String message) {
        return new Refused(400, plain(message));
    }

    static JsonObject plain(String message) {
        return new JsonObject().put("error", new JsonObject().put("message", message));
    }

    /** As the one above, at the head of a stream, which begins before anything is looked at. */
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
    static Refused mediaType() {
        String one = "{'loc': ['header', 'content-type'], 'msg': \"Unsupported Media Type: Only 'application/json' is"
                + " allowed\", 'type': 'value_error'}";
        return new Refused(400, error(400, "Bad Request", count(1) + "\n  " + one + " [" + one + "]"));
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
