package io.holdfast.emulator.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Requests that were sent to a real server, with what it answered.
 *
 * <p>Two answers are the same when they have the same status and headers and, in their bodies, the same fields in the same
 * order with the same nulls, kinds and values; but for what no two servers have in common: ids, times, and what the model
 * says.
 */
public final class RecordedHttp {
    private static final Set<String> OWN = Set.of(
            "id",
            "created",
            "created_at",
            "text",
            "content",
            "timestamp",
            "forward_entry_time",
            "prefill_finished_time",
            "queue_time",
            "e2e_latency",
            "request_received_ts",
            "first_token_latency",
            "api_server_dispatch_finish_ts",
            "request_finished_ts",
            "decode_throughput",
            "response_sent_to_client_ts",
            "output_ids",
            "token_ids",
            "response_token_ids",
            "prompt_token_ids",
            "token_strs",
            "prompt",
            "tokens");

    /** Requests, by a pattern of their names, that are answered otherwise, and why. */
    public record Otherwise(String names, String reason) {
        public static boolean has(List<Otherwise> all, String name) {
            return all.stream().anyMatch(one -> name.matches(one.names()));
        }
    }

    /** Of a prompt that was text, which each tokenizer cuts its own way. */
    private static final Set<String> PROMPTS = Set.of("tokens", "token_strs", "prompt_token_ids");

    /** Of an error: what it says in words, which is compared for the errors that clients branch on. */
    private static final Set<String> WORDS = Set.of("message", "param", "error");

    private final String model;
    private final Set<String> more;
    private final String wordForWord;

    /**
     * @param more fields whose values are this server's own
     * @param wordForWord a pattern of the names of requests whose errors are compared in their words, too
     */
    public RecordedHttp(String model, Set<String> more, String wordForWord) {
        this.model = model;
        this.more = more;
        this.wordForWord = wordForWord;
    }

    public byte[] request(JsonNode recorded) {
        String request = recorded.path("request").asText().replace("@M@", model);
        int body = request.length() - (request.indexOf("\r\n\r\n") + 4);
        return request.replaceFirst("@L@", Integer.toString(body)).getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Whether the request gives its prompt as numbers, so that all servers count the same. */
    public static boolean asksByTokens(JsonNode recorded) {
        return recorded.path("request").asText().matches("(?s).*\"(prompt|input_ids)\": \\[+\\d.*");
    }

    /** What is different, empty when nothing is. */
    public List<String> differences(JsonNode recorded, RawHttp.Answer answer) {
        List<String> found = new ArrayList<>();
        int status = recorded.path("end").asText().startsWith("timeout")
                ? -1
                : recorded.path("status").asInt(0);
        if (answer.status() != status) {
            found.add("status " + answer.status() + " in place of " + status + ": " + shortened(answer.body()));
            return found;
        }
        for (String header : List.of("content-type", "allow", "vary")) {
            if (!answer.header(header).equals(recorded.path(header).asText(""))) {
                found.add(header + ": " + answer.header(header) + " in place of " + recorded.path(header));
            }
        }
        if (!found.isEmpty()) {
            found.add(shortened(answer.body()));
            return found;
        }
        if (recorded.has("events")) {
            List<JsonNode> events = answer.events();
            if (events.size() != recorded.path("events").size()) {
                found.add(events.size() + " events in place of "
                        + recorded.path("events").size());
            } else {
                for (int i = 0; i < events.size(); i++) {
                    compare("event " + i, recorded.path("events").get(i), events.get(i), found);
                }
            }
            if (recorded.path("chunks").asInt() != answer.chunks().size()) {
                found.add(answer.chunks().size() + " chunks in place of "
                        + recorded.path("chunks").asInt());
            }
        } else if (recorded.has("json")) {
            boolean words = status < 400 || recorded.path("case").asText().matches(wordForWord);
            compare("", worded(recorded.path("json"), words), worded(answer.json(), words), found);
        } else if (recorded.has("text")
                && !answer.body().equals(recorded.path("text").asText())) {
            found.add("text " + shortened(answer.body()) + " in place of "
                    + shortened(recorded.path("text").asText()));
        }
        return found;
    }

    /** An error without its words, or with them as far as both say the same: the engines go on about their input and code. */
    private static JsonNode worded(JsonNode body, boolean words) {
        JsonNode copy = body.deepCopy();
        for (JsonNode object : List.of(copy, copy.path("error"))) {
            for (String name : WORDS) {
                if (object instanceof ObjectNode fields && fields.path(name).isValueNode()) {
                    String text = fields.path(name).asText();
                    fields.put(name, words ? text.replaceAll("(?s)(, 'input'|}).*", "") : "");
                }
            }
        }
        return copy;
    }

    private void compare(String path, JsonNode theirs, JsonNode ours, List<String> found) {
        String name = path.substring(path.lastIndexOf('.') + 1).replaceAll("\\[\\d+]$", "");
        boolean own = OWN.contains(name) || more.contains(name);
        if (theirs.isObject() && ours.isObject() && !own) {
            List<String> their = names(theirs);
            List<String> our = names(ours);
            if (!their.equals(our)) {
                found.add(path + ": fields " + our + " in place of " + their);
                return;
            }
            their.forEach(field -> compare(path + "." + field, theirs.get(field), ours.get(field), found));
        } else if (theirs.isArray() && ours.isArray()) {
            if (theirs.size() != ours.size() && !PROMPTS.contains(name)) {
                found.add(path + ": " + ours.size() + " in place of " + theirs.size());
            } else if (!own) {
                for (int i = 0; i < theirs.size(); i++) {
                    compare(path + "[" + i + "]", theirs.get(i), ours.get(i), found);
                }
            }
        } else if (!more.contains(name)
                && (theirs.getNodeType() != ours.getNodeType()
                        || theirs.isIntegralNumber() != ours.isIntegralNumber())) {
            found.add(path + ": " + ours + " in place of " + theirs);
        } else if (!own && !same(theirs, ours)) {
            found.add(path + ": " + shortened(ours.toString()) + " in place of " + shortened(theirs.toString()));
        }
    }

    private boolean same(JsonNode theirs, JsonNode ours) {
        return theirs.isTextual() ? theirs.asText().replace("@M@", model).equals(ours.asText()) : theirs.equals(ours);
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        for (Iterator<Map.Entry<String, JsonNode>> fields = object.properties().iterator(); fields.hasNext(); ) {
            names.add(fields.next().getKey());
        }
        return names;
    }

    private static String shortened(String text) {
        return text.length() <= 900 ? text : text.substring(0, 900) + "...";
    }
}
