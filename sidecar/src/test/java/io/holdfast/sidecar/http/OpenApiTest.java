package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.vertx.ext.web.Route;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The document and the API say the same: routes, examples, and what is answered. */
class OpenApiTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final ApiContract contract = ApiContract.OF_THE_SIDECAR;

    @Test
    void routes_areInTheDocument_andTheReverse(@TempDir Path state) throws IOException {
        Set<String> routed = new TreeSet<>();
        try (ServedApi api = new ServedApi(
                state,
                new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.empty()),
                HttpLimits.defaults())) {
            for (Route route : api.router().getRoutes()) {
                if (route.getPath() != null && !PageRoutes.isPage(route.getPath())) {
                    String path = route.getPath().replaceAll(":([a-z]+)", "{$1}");
                    route.methods().forEach(method -> routed.add(method.name() + " " + path));
                }
            }
        }
        Set<String> documented = new TreeSet<>();
        contract.operations((name, operation) -> documented.add(name));
        assertThat(routed).hasSizeGreaterThan(30).isEqualTo(documented);
    }

    @Test
    void document_hasEveryReference_andEachOperationAName() {
        Set<String> ids = new HashSet<>();
        contract.operations((name, operation) -> {
            assertThat(ids.add(operation.path("operationId").asText())).as(name).isTrue();
            assertThat(operation.path("summary").asText()).as(name).isNotEmpty();
            assertThat(operation.path("responses").has("default")).as(name).isTrue();
        });
        contract.document()
                .findValues("$ref")
                .forEach(reference -> assertThat(contract.document()
                                .at(reference.asText().substring(1))
                                .isMissingNode())
                        .as(reference.asText())
                        .isFalse());
    }

    @Test
    void pathParameters_areDeclared() {
        contract.document().path("paths").properties().forEach(path -> {
            Set<String> named = new TreeSet<>();
            Matcher names = Pattern.compile("\\{([^}]+)}").matcher(path.getKey());
            while (names.find()) {
                named.add(names.group(1));
            }
            Set<String> declared = new TreeSet<>();
            path.getValue()
                    .path("parameters")
                    .forEach(each ->
                            declared.add(contract.resolved(each).path("name").asText()));
            assertThat(declared).as(path.getKey()).isEqualTo(named);
        });
    }

    @Test
    void examplesOfAnswers_fitTheirSchemas() {
        List<String> seen = new ArrayList<>();
        contract.operations((name, operation) -> operation
                .path("responses")
                .properties()
                .forEach(response -> contract.resolved(response.getValue())
                        .path("content")
                        .forEach(content -> {
                            if (content.has("example")) {
                                seen.add(name);
                                assertThat(contract.faults(content.path("schema"), content.path("example")))
                                        .as("%s %s", name, response.getKey())
                                        .isEmpty();
                            }
                        })));
        assertThat(seen).hasSizeGreaterThan(15);
    }

    @Test
    void examplesOfRequests_areTakenByARunningSidecar(@TempDir Path state) {
        List<String> sent = new ArrayList<>();
        // Which of them takes messages is the engine's to say.
        try (TestBed bed = TestBed.pinning(state.resolve("a"));
                TestBed chatting = TestBed.with(TestBed.fast(), state.resolve("b"), "backend: keep_warm")) {
            JsonNode tokens =
                    example("POST /api/v1/engines/{engine}/holds", "tokens").path("tokens");
            int[] prompt = Stream.iterate(0, i -> i < tokens.size(), i -> i + 1)
                    .mapToInt(i -> tokens.path(i).asInt())
                    .toArray();
            bed.engine.generate(prompt);
            bed.heard();
            String hold = bed.client.held(prompt);
            contract.operations((name, operation) -> operation
                    .path("requestBody")
                    .path("content")
                    .path("application/json")
                    .path("examples")
                    .properties()
                    .forEach(example -> {
                        JsonNode body = example.getValue().path("value");
                        String method = name.substring(0, name.indexOf(' '));
                        String path = name.substring(method.length() + 1)
                                .replace("{engine}", "demo")
                                .replace("{hold}", hold);
                        SidecarClient client = body.has("messages") ? chatting.client : bed.client;
                        Http.Answer answer = client.http.send(method, path, body.toString());
                        sent.add(name + " " + example.getKey());
                        assertThat(answer.status())
                                .as("%s %s: %s", name, example.getKey(), answer.text())
                                .isBetween(200, 299);
                        assertThat(contract.faults(
                                        operation
                                                .path("requestBody")
                                                .path("content")
                                                .path("application/json")
                                                .path("schema"),
                                        body))
                                .as("%s %s", name, example.getKey())
                                .isEmpty();
                        sameMembers(name, operation, answer);
                    }));
        }
        assertThat(sent).hasSizeGreaterThan(14);
    }

    /** An example of an answer has the members that a real one has, and a real one those of the example. */
    private void sameMembers(String name, JsonNode operation, Http.Answer answer) {
        JsonNode shown = operation
                .path("responses")
                .path(Integer.toString(answer.status()))
                .path("content")
                .path("application/json")
                .path("example");
        if (shown.isMissingNode()) {
            return;
        }
        try {
            JsonNode real = JSON.readTree(answer.text());
            assertThat(List.of(real.fieldNames().next()))
                    .as(name)
                    .containsExactly(shown.fieldNames().next());
            shown.fieldNames().forEachRemaining(member -> {
                boolean always = !Set.of("provenSecondsAgo", "note").contains(member);
                assertThat(!always || real.has(member))
                        .as("%s answers %s: %s", name, member, real)
                        .isTrue();
            });
        } catch (IOException e) {
            throw new AssertionError(answer.text(), e);
        }
    }

    @Test
    void document_isServed_asItIsAndAsJson(@TempDir Path state) throws IOException {
        try (ServedApi api = new ServedApi(
                state,
                new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.empty()),
                HttpLimits.defaults())) {
            assertThat(api.http.get("/openapi.yaml").text())
                    .isEqualTo(new String(DocumentRoutes.document(), StandardCharsets.UTF_8));
            assertThat(JSON.readTree(api.http.get("/openapi.json").text())).isEqualTo(contract.document());
        }
    }

    @Test
    void contract_seesWhatIsNotDocumented() {
        String path = "/api/v1/engines/demo/resume";
        assertThat(contract.faults("POST", path, 200, "application/json", "{\"resumed\":true}"))
                .isEmpty();
        for (String wrong : List.of("{}", "{\"resumed\":1}", "{\"resumed\":true,\"more\":1}", "nonsense", "[]")) {
            assertThat(contract.faults("POST", path, 200, "application/json", wrong))
                    .as(wrong)
                    .isNotEmpty();
        }
        assertThat(contract.faults("POST", path, 204, "application/json", "")).isNotEmpty();
        assertThat(contract.faults("POST", path, 409, "application/json", "{\"error\":\"x\"}"))
                .isNotEmpty();
        assertThat(contract.faults("POST", path, 200, "text/html", "<p>")).isNotEmpty();
        JsonNode origin = contract.document().at("/components/schemas/Hold/properties/origin");
        assertThat(contract.faults(origin, new TextNode("requested"))).isEmpty();
        assertThat(contract.faults(origin, new TextNode("nobody"))).isNotEmpty();
    }

    private JsonNode example(String operation, String name) {
        JsonNode[] found = new JsonNode[1];
        contract.operations((each, node) -> {
            if (each.equals(operation)) {
                found[0] = node.path("requestBody")
                        .path("content")
                        .path("application/json")
                        .path("examples")
                        .path(name)
                        .path("value");
            }
        });
        return found[0];
    }
}
