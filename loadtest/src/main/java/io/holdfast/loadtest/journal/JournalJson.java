package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The JSON of a journal's lines: records by their components, an absent value as null. */
final class JournalJson {
    static final String RUN = "run";
    static final String LEG = "leg";
    static final String VOIDED = "voided";
    static final String RESUMED = "resumed";
    private static final String OF = "of";

    private static final JsonMapper MAPPER = JsonMapper.builder()
            .visibility(PropertyAccessor.GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
            .visibility(PropertyAccessor.FIELD, Visibility.ANY)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .addModule(new AbsentValues())
            .build();

    private JournalJson() {}

    /** The line that a run begins with. */
    static String head(RunHeader header) {
        return text(Map.of(RUN, header));
    }

    /** A line of the run with this id. */
    static String line(String kind, Object content, String run) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put(kind, content);
        line.put(OF, run);
        return text(line);
    }

    static String text(Object line) {
        try {
            return MAPPER.writeValueAsString(line);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    static JsonNode tree(Object content) {
        return MAPPER.valueToTree(content);
    }

    static <T> T read(String line, Class<T> type) throws IOException {
        return MAPPER.readValue(line, type);
    }

    /** A line, whatever kind it is of. */
    static Line read(String text) throws IOException {
        JsonNode line = MAPPER.readTree(text);
        String kind = Stream.of(RUN, LEG, VOIDED, RESUMED)
                .filter(name -> line.path(name).isObject())
                .findFirst()
                .orElseThrow(() -> new IOException("it is no line of a journal"));
        return new Line(kind, line.path(kind), line.path(OF).asText());
    }

    /**
     * A line that was read.
     *
     * @param of the id of its run; empty in the line that a run begins with
     */
    record Line(String kind, JsonNode content, String of) {
        <T> T as(Class<T> type) throws IOException {
            return MAPPER.treeToValue(content, type);
        }

        /** The head of a journal of that format. */
        RunHeader header(int format) throws IOException {
            if (content.path("plan") instanceof ObjectNode plan) {
                // Came without a format of its own: before it a run was looked at once, when it was over.
                plan.putIfAbsent("looks", plan.arrayNode());
            }
            if (content.path("workload") instanceof ObjectNode workload) {
                // Came without a format of its own: before it there was nothing else.
                workload.putIfAbsent("arrivals", workload.textNode(Arrivals.CLOSED));
            }
            if (format < RunHeader.FORMAT && content instanceof ObjectNode header) {
                try {
                    OlderHeader.renew(header, MAPPER.treeToValue(content.path("plan"), CrossoverPlan.class));
                } catch (NumberFormatException e) {
                    throw new IOException("an option of the run is no number: " + e.getMessage(), e);
                }
            }
            return as(RunHeader.class);
        }

        Journal.Voiding voiding(int format) throws IOException {
            if (format == RunHeader.OLDEST_FORMAT && content instanceof ObjectNode voiding) {
                voiding.putIfAbsent("bySurroundings", voiding.booleanNode(false));
            }
            return as(Journal.Voiding.class);
        }

        /** A leg of a journal of that format; what an older one has no word for is absent. */
        LegRecord leg(int format) throws IOException {
            if (content instanceof ObjectNode leg) {
                // Came without formats of their own: a reader that does not know them loses nothing of the rest.
                leg.putIfAbsent("serverLog", leg.nullNode());
                leg.putIfAbsent("shares", leg.arrayNode());
                if (leg.path("serverLog") instanceof ObjectNode log) {
                    log.putIfAbsent("prefills", log.numberNode(0));
                    log.putIfAbsent("cachedTokens", log.numberNode(0));
                }
                requests(leg).forEach(request -> request.putIfAbsent("output", request.nullNode()));
                if (format == RunHeader.OLDEST_FORMAT) {
                    leg.putIfAbsent("client", leg.nullNode());
                    requests(leg).forEach(request -> {
                        request.putIfAbsent("sentTokens", request.nullNode());
                        request.putIfAbsent("firstAnswer", request.nullNode());
                        request.putIfAbsent("tokens", request.textNode(""));
                    });
                }
            }
            return as(LegRecord.class);
        }

        private static Stream<ObjectNode> requests(ObjectNode leg) {
            return Stream.of("requests", "own")
                    .flatMap(list -> StreamSupport.stream(leg.path(list).spliterator(), false))
                    .filter(ObjectNode.class::isInstance)
                    .map(ObjectNode.class::cast);
        }
    }
}
