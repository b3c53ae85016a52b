package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How vLLM words errors: short, with big values described and not shown, and the field that is to blame by name. */
final class VllmWords implements Wording {
    private static final int MOST_COMPLAINTS = 10;
    private static final int LONGEST_INPUT = 200;
    private static final int LONGEST_COMPLAINT = 1000;

    /** Steps of a place that are the validator's own and not the client's. */
    private static final Set<String> INTERNAL = Set.of("str", "int", "float", "bool", "list", "dict", "union", "none");

    @Override
    public JsonObject invalid(Call call, List<Complaint> complaints) {
        int count = complaints.size();
        String all = complaints.stream()
                .limit(MOST_COMPLAINTS)
                .map(complaint -> "\n  " + shortened(repr(complaint), LONGEST_COMPLAINT))
                .collect(Collectors.joining());
        String rest = count > MOST_COMPLAINTS ? "\n  ...and " + (count - MOST_COMPLAINTS) + " more errors" : "";
        String head = count + (count == 1 ? " validation error:" : " validation errors:");
        return error(400, "Bad Request", place(complaints.getFirst().place()), head + all + rest);
    }

    @Override
    public JsonObject refusal(int status, String message) {
        return error(
                status,
                status == 503 ? "ServiceUnavailableError" : status < 500 ? "BadRequestError" : "InternalServerError",
                null,
                message);
    }

    static Refused bad(String message) {
        return new Refused(400, error(400, "BadRequestError", null, message));
    }

    /** One that names the parameter, but not what it was. */
    static Refused bad(String message, String parameter) {
        return new Refused(400, error(400, "BadRequestError", parameter, message + " (parameter=" + parameter + ")"));
    }

    static Refused bad(String message, String parameter, String value) {
        return new Refused(
                400,
                error(
                        400,
                        "BadRequestError",
                        parameter,
                        message + " (parameter=" + parameter + ", value=" + value + ")"));
    }

    static Refused unknownModel(String asked, String served, boolean old) {
        String message = "The model `" + asked + "` does not exist." + (old ? "" : " Valid aliases: " + served + ".");
        return new Refused(404, error(404, "NotFoundError", "model", message));
    }

    static Refused mediaType() {
        return new Refused(
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

    private static String repr(Complaint complaint) {
        return "{'type': " + Python.repr(complaint.type())
                + ", 'loc': " + Python.repr(place(complaint.place()))
                + ", 'msg': " + Python.repr(complaint.message())
                + ", 'input': " + Python.repr(summary(complaint.input()))
                + complaint.context().map(more -> ", 'ctx': " + more).orElse("") + "}";
    }

    private static String place(List<Object> steps) {
        return steps.stream()
                .map(String::valueOf)
                .filter(step -> !isInternal(step))
                .collect(Collectors.joining("."));
    }

    private static boolean isInternal(String step) {
        return step.chars().anyMatch(c -> "[](){}".indexOf(c) >= 0) || INTERNAL.contains(step.toLowerCase(Locale.ROOT));
    }

    private static String summary(Json value) {
        return switch (value) {
            case Json.Str(String text) -> shortened(text, LONGEST_INPUT);
            case Json.Arr(List<Json> items) -> "<list of " + items.size() + " items>";
            case Json.Obj object -> "<dict of " + object.fields().size() + " items>";
            default -> shortened(value.repr(), LONGEST_INPUT);
        };
    }

    private static String shortened(String text, int most) {
        return text.length() > most ? text.substring(0, most) + "...[truncated]" : text;
    }

    /** The event that tells of a failure in the middle of a stream. */
    static JsonObject inStream(String message) {
        return error(500, "InternalServerError", null, message);
    }
}
