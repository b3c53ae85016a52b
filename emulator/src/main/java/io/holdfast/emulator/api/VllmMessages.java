package io.holdfast.emulator.api;

import java.util.List;
import java.util.Optional;

/**
 * What vLLM says about a message that is none of its nine kinds: what each kind misses in it. Kinds beyond the plain ones
 * complain of no more than one thing here.
 */
final class VllmMessages {
    private record Kind(String name, String role, boolean holdsLists, List<String> wants) {}

    private static final List<Kind> KINDS = List.of(
            new Kind("ChatCompletionDeveloperMessageParam", "developer", true, List.of()),
            new Kind("ChatCompletionSystemMessageParam", "system", true, List.of()),
            new Kind("ChatCompletionUserMessageParam", "user", true, List.of()),
            new Kind("ChatCompletionAssistantMessageParam", "assistant", true, List.of()),
            new Kind("ChatCompletionToolMessageParam", "tool", true, List.of("tool_call_id")),
            new Kind("ChatCompletionFunctionMessageParam", "function", false, List.of("name")),
            new Kind("CustomChatCompletionMessageParam", "", true, List.of()),
            new Kind("Message", "", false, List.of("author")));

    private VllmMessages() {}

    static void complain(Json value, List<Object> place, List<Complaint> complaints) {
        for (Kind kind : KINDS) {
            List<Object> below = Complaint.below(place, kind.name());
            if (!(value instanceof Json.Obj message)) {
                complaints.add(Complaint.of("dict_type", below, "Input should be a valid dictionary", value));
                continue;
            }
            boolean first = kind.name().equals("ChatCompletionFunctionMessageParam")
                    || kind.name().equals("Message");
            if (first) {
                missing(message, kind, below, complaints);
            }
            role(message, kind, below, complaints);
            if (!first) {
                missing(message, kind, below, complaints);
            }
        }
    }

    private static void missing(Json.Obj message, Kind kind, List<Object> place, List<Complaint> complaints) {
        for (String wanted : kind.wants()) {
            if (message.get(wanted).isEmpty()) {
                complaints.add(Complaint.of("missing", Complaint.below(place, wanted), "Field required", message));
            }
        }
    }

    private static void role(Json.Obj message, Kind kind, List<Object> place, List<Complaint> complaints) {
        boolean roleFirst = kind.role().equals("assistant");
        if (!roleFirst) {
            content(message, kind, place, complaints);
        }
        Optional<Json> role = message.get("role");
        List<Object> below = Complaint.below(place, "role");
        if (role.isEmpty()) {
            complaints.add(Complaint.of("missing", below, "Field required", message));
        } else if (!kind.role().isEmpty()) {
            Rule.literal(kind.role()).read(role.get(), below, complaints);
        } else {
            Rule.text().read(role.get(), below, complaints);
        }
        if (roleFirst && message.get("content").filter(Json.Null.NULL::equals).isEmpty()) {
            content(message, kind, place, complaints);
        }
    }

    private static void content(Json.Obj message, Kind kind, List<Object> place, List<Complaint> complaints) {
        message.get("content")
                .filter(content -> !(content instanceof Json.Str) && !(content instanceof Json.Arr))
                .ifPresent(content -> {
                    List<Object> below = Complaint.below(place, "content");
                    complaints.add(Complaint.of("string_type", below, "Input should be a valid string", content));
                    if (kind.holdsLists()) {
                        complaints.add(Complaint.of("iterable_type", below, "Input should be iterable", content));
                    }
                });
    }
}
