package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * One thing that is wrong with a body, as Pydantic says it.
 *
 * @param place names and indexes on the way from the body to the value
 * @param context what else is said of it, as Python prints it
 */
record Complaint(String type, List<Object> place, String message, Json input, Optional<String> context) {
    /** A body that breaks rules: nothing of it is done. */
    static final class Invalid extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final transient List<Complaint> complaints;

        Invalid(List<Complaint> complaints) {
            super("The body breaks rules.", null, false, false);
            this.complaints = List.copyOf(complaints);
        }

        List<Complaint> complaints() {
            return complaints;
        }
    }

    Complaint {
        place = List.copyOf(place);
    }

    static Complaint of(String type, List<Object> place, String message, Json input) {
        return new Complaint(type, place, message, input, Optional.empty());
    }

    /** What a validator of the engine's own says. */
    static Complaint value(List<Object> place, String message, Json input) {
        return new Complaint(
                "value_error",
                place,
                "Value error, " + message,
                input,
                Optional.of("{'error': ValueError(" + Python.repr(message) + ")}"));
    }

    static Complaint notJson(int at, String problem) {
        return new Complaint(
                "json_invalid",
                List.of("body", (Object) at),
                "JSON decode error",
                new Json.Obj(Map.of()),
                Optional.of("{'error': " + Python.repr(problem) + "}"));
    }

    static Complaint noBody() {
        return of("missing", List.of("body"), "Field required", Json.Null.NULL);
    }

    static List<Object> below(List<Object> place, Object step) {
        List<Object> longer = new ArrayList<>(place);
        longer.add(step);
        return longer;
    }

    String repr() {
        String steps = place.stream()
                .map(step -> step instanceof String name ? Python.repr(name) : step.toString())
                .collect(Collectors.joining(", "));
        return "{'type': " + Python.repr(type)
                + ", 'loc': (" + steps + (place.size() == 1 ? "," : "") + "), 'msg': " + Python.repr(message)
                + ", 'input': " + input.repr()
                + context.map(more -> ", 'ctx': " + more).orElse("") + "}";
    }
}
