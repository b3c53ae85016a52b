package io.holdfast.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.requests.RequestRules;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/** A recording of a real server: what was sent, what it answered, and what it published meanwhile. */
record RecordedSession(String name, RequestRules rules, int blockTokens, List<Step> steps) {
    static final String PAGE_BY_PAGE = ", page by page";

    private static final ObjectMapper JSON = new ObjectMapper();

    /**
     * One operation.
     *
     * @param sent whether it was a request that the engine served
     * @param known the tokens of the prompt and after them those of the answer, as far as the recording has them
     * @param promptTokens how long the prompt was
     * @param outputTokens how many tokens were generated
     * @param cachedTokens of the prompt's tokens those that the engine found, as it said
     * @param twin whether it ran in a namespace that the hashes do not tell
     */
    record Step(
            String name,
            boolean sent,
            List<Integer> known,
            int promptTokens,
            int outputTokens,
            int cachedTokens,
            boolean twin,
            List<byte[]> frames) {}

    /** Empty for files that are no sessions of a server. */
    static List<RecordedSession> read(String name, URL place) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        InputStream bytes = place.openStream();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                name.endsWith(".gz") ? new GZIPInputStream(bytes) : bytes, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(JSON.readTree(line));
            }
        }
        JsonNode head = lines.getFirst();
        if (head.path("type").asText().equals("server")) {
            return List.of(new RecordedSession(
                    name, RequestRules.vllm(), head.get("block_size").intValue(), vllm(lines)));
        }
        // What was driven in process has another first line, and tells of no requests.
        return head.has("page_size") && head.has("kv_events")
                ? List.of(new RecordedSession(
                        name, RequestRules.sglang(), head.get("page_size").intValue(), sglang(lines)))
                : List.of();
    }

    private static List<Step> sglang(List<JsonNode> lines) {
        List<Step> steps = new ArrayList<>();
        for (JsonNode line : lines) {
            if (!line.has("op")) {
                continue;
            }
            JsonNode operation = line.get("op");
            JsonNode body = operation.path("body");
            JsonNode http = line.path("http");
            boolean sent = operation.get("op").textValue().equals("generate")
                    && http.path("status").asInt() == 200;
            List<Integer> prompt = tokens(body.path("input_ids"));
            List<Integer> output = tokens(http.path("output_ids"));
            List<byte[]> frames = new ArrayList<>();
            line.get("frames")
                    .forEach(frame -> frames.add(
                            HexFormat.of().parseHex(frame.get("payload_hex").textValue())));
            steps.add(new Step(
                    line.path("step").asText() + " " + operation.path("name").asText(),
                    sent,
                    joined(prompt, output),
                    prompt.size(),
                    output.size(),
                    http.path("cached_tokens").asInt(),
                    body.has("extra_key"),
                    frames));
        }
        return steps;
    }

    private static List<Step> vllm(List<JsonNode> lines) {
        List<Step> steps = new ArrayList<>();
        for (JsonNode line : lines) {
            if (line.path("type").asText().equals("frame")) {
                byte[] payload =
                        HexFormat.of().parseHex(line.get("frames").get(2).textValue());
                steps.getLast().frames().add(payload);
            }
            if (!line.path("type").asText().equals("request")) {
                continue;
            }
            JsonNode usage = line.path("usage");
            List<Integer> prompt = tokens(line.path("body").path("prompt"));
            List<Integer> output =
                    tokens(line.path("response").path("token_ids").path(0));
            steps.add(new Step(
                    steps.size() + " " + line.path("name").asText(),
                    line.get("status").asInt() == 200
                            && line.get("path").textValue().endsWith("/completions"),
                    joined(prompt, output),
                    usage.path("prompt_tokens").asInt(),
                    usage.path("completion_tokens").asInt(),
                    usage.path("prompt_tokens_details").path("cached_tokens").asInt(),
                    false,
                    new ArrayList<>()));
        }
        return steps;
    }

    private static List<Integer> tokens(JsonNode array) {
        List<Integer> tokens = new ArrayList<>();
        if (array.isArray()) {
            array.forEach(token -> tokens.add(token.intValue()));
        }
        return tokens;
    }

    private static List<Integer> joined(List<Integer> first, List<Integer> second) {
        List<Integer> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    /** Returns the session as SGLang 0.5.17 and those before it published it: in arrays, an event for each page, without salts. */
    RecordedSession pageByPage() {
        return new RecordedSession(
                name + PAGE_BY_PAGE,
                rules,
                blockTokens,
                steps.stream()
                        .map(step -> new Step(
                                step.name,
                                step.sent,
                                step.known,
                                step.promptTokens,
                                step.outputTokens,
                                step.cachedTokens,
                                step.twin,
                                step.frames.stream().map(PageByPage::of).toList()))
                        .toList());
    }

    static URL own(String name) {
        return Objects.requireNonNull(RecordedSession.class.getResource(RecordedFrames.SHARED + name), name);
    }

    @Override
    public String toString() {
        return name;
    }
}
