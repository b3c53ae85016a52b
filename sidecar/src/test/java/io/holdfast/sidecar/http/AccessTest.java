package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.RawClient;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.config.ApiTokens;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may do what: by name, by page, by token, and by where the API listens. */
class AccessTest {
    private static final String HOLDS = SidecarClient.HOLDS;
    private static final String RESUME = "/api/v1/engines/demo/resume";
    private static final String WISH = "{\"hashes\":[7],\"leaseSeconds\":600}";

    @TempDir
    Path state;

    @ParameterizedTest
    @CsvSource({
        "evil.example, , 403",
        "evil.example, http://evil.example, 403",
        "10.9.8.7:8471, , 403",
        "127.0.0.1:8471, , 200",
        "localhost, , 200",
        "Holdfast.Example:8471, , 200",
        "holdfast.example, http://holdfast.example, 200",
        "holdfast.example, http://evil.example, 403",
        "localhost, http://localhost:3000, 403",
        "127.0.0.1:8471, https://holdfast.example, 200",
        "127.0.0.1:8471, null, 403"
    })
    void beyondLoopback_onlyNamesThatLeadHereAreAnswered(String host, String origin, int status) throws IOException {
        try (ServedApi api = beyond(Optional.empty(), Optional.empty());
                RawClient raw = new RawClient(api.uri)) {
            String answer = raw.exchange("GET " + HOLDS + " HTTP/1.1\r\nHost: " + host + "\r\n"
                    + (origin == null ? "" : "Origin: " + origin + "\r\n") + "Connection: close\r\n\r\n");

            assertThat(answer).startsWith("HTTP/1.1 " + status + " ");
        }
    }

    @ParameterizedTest
    @CsvSource({"localhost, evil.example", "evil.example, localhost", "localhost, localhost"})
    void requestWithTwoHosts_isRefusedInOneSentence(String first, String second) throws IOException {
        try (ServedApi api = beyond(Optional.empty(), Optional.empty());
                RawClient raw = new RawClient(api.uri)) {
            String answer = raw.exchange("GET " + HOLDS + " HTTP/1.1\r\nHost: " + first + "\r\nHost: " + second
                    + "\r\nConnection: close\r\n\r\n");

            assertThat(answer)
                    .startsWith("HTTP/1.1 400 ")
                    .endsWith("\"status\":400,\"detail\":\"The request has more than one Host header; send one.\"}");
        }
    }

    @Test
    void beyondLoopbackWithoutAnActToken_nobodyActs() throws IOException {
        try (ServedApi api = beyond(Optional.empty(), Optional.empty())) {
            for (Http.Answer refused : List.of(
                    api.http.post(HOLDS, WISH),
                    api.http.delete(HOLDS),
                    api.http.delete(HOLDS + "/1"),
                    api.http.post(RESUME, ""),
                    api.http.send("POST", HOLDS, WISH, "Authorization", "Bearer " + ServedApi.ACT))) {
                assertThat(refused.status()).as(refused.text()).isEqualTo(403);
                assertThat(refused.error()).contains("nobody may act").contains("listen.actTokenEnv");
            }
            assertThat(api.http.get(HOLDS).status()).isEqualTo(200);
            assertThat(api.http.get("/metrics").status()).isEqualTo(200);
        }
    }

    @Test
    void actToken_isNeededToActAndForNothingElse() throws IOException {
        try (ServedApi api = beyond(Optional.empty(), Optional.of("ACT"))) {
            Http.Answer without = api.http.delete(HOLDS);
            Http.Answer wrong = as(api, "DELETE", HOLDS, ServedApi.ACT.substring(1));
            Http.Answer with = as(api, "DELETE", HOLDS, ServedApi.ACT);

            assertThat(without.status()).isEqualTo(401);
            assertThat(without.error())
                    .isEqualTo("Acting needs the act token: send it as Authorization: Bearer TOKEN.");
            assertThat(wrong.status()).isEqualTo(401);
            assertThat(with.status()).as(with.text()).isEqualTo(200);
            assertThat(api.http.get(HOLDS).status()).isEqualTo(200);
        }
    }

    @Test
    void everyActingRoute_withoutAToken_is401WithProblemDetails() throws IOException {
        List<String> tried = new ArrayList<>();
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            ApiContract.OF_THE_SIDECAR.operations((name, operation) -> {
                String method = name.substring(0, name.indexOf(' '));
                if (method.equals("GET")) {
                    return;
                }
                String path = name.substring(method.length() + 1)
                        .replace("{engine}", "demo")
                        .replaceAll("\\{[a-z]+}", "1");
                String body = ApiContract.bodies(operation).stream().findFirst().orElse("");
                tried.add(name);
                for (String authorization : List.of("", "Bearer " + ServedApi.READ, "Basic " + ServedApi.ACT)) {
                    Http.Answer answer = authorization.isEmpty()
                            ? api.http.send(method, path, body)
                            : api.http.send(method, path, body, "Authorization", authorization);
                    assertThat(answer.status()).as(name).isEqualTo(401);
                    assertThat(answer.json())
                            .as(name)
                            .isEqualTo(new JsonObject()
                                    .put("type", "about:blank")
                                    .put("title", "Unauthorized")
                                    .put("status", 401)
                                    .put(
                                            "detail",
                                            "Acting needs the act token: send it as Authorization: Bearer TOKEN."));
                }
            });
        }
        assertThat(tried).hasSizeGreaterThan(17);
    }

    @Test
    void readToken_isNeededToReadAllButProbes() throws IOException {
        try (ServedApi api = beyond(Optional.of("READ"), Optional.of("ACT"))) {
            for (String path :
                    List.of(HOLDS, "/api/v1/engines", "/api/v1/engines/demo", "/metrics", "/livez/", "/no")) {
                assertThat(api.http.get(path).status()).as(path).isEqualTo(401);
            }
            for (String token : List.of(ServedApi.READ, ServedApi.ACT)) {
                assertThat(as(api, "GET", HOLDS, token).status()).isEqualTo(200);
                assertThat(as(api, "GET", "/metrics", token).status()).isEqualTo(200);
            }
            assertThat(as(api, "DELETE", HOLDS, ServedApi.READ).status()).isEqualTo(403);
            String tree = "/api/v1/engines/demo/tree";
            assertThat(as(api, "GET", tree, ServedApi.READ).status()).isEqualTo(403);
            assertThat(as(api, "GET", tree, ServedApi.ACT).status())
                    .as("nothing is certain there yet")
                    .isEqualTo(409);
            assertThat(api.http.get("/livez").status()).isEqualTo(200);
            assertThat(api.http.get("/readyz").text())
                    .contains("callers who may read see why")
                    .doesNotContain("demo");
            assertThat(as(api, "GET", "/readyz", ServedApi.READ).text()).contains("demo");
        }
    }

    @Test
    void reasonsOfHolds_areForThoseWhoMayAct() throws IOException {
        try (ServedApi api = beyond(Optional.of("READ"), Optional.of("ACT"))) {
            Http.Answer held = as(api, "POST", HOLDS, ServedApi.ACT, WISH);
            assertThat(held.status()).as(held.text()).isEqualTo(201);
            String secret = held.json().getString("reason");
            String id = held.json().getString("id");

            for (String path : List.of(HOLDS, HOLDS + "/" + id, "/api/v1/engines", "/api/v1/engines/demo")) {
                assertThat(as(api, "GET", path, ServedApi.READ).text())
                        .as(path)
                        .doesNotContain(secret)
                        .contains("callers who may act see why");
            }
            assertThat(as(api, "GET", HOLDS, ServedApi.ACT).text()).contains(secret);
        }
    }

    @Test
    void actTokenOnLoopback_isNeededThereToo() throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            assertThat(api.http.delete(HOLDS).status()).isEqualTo(401);
            assertThat(as(api, "DELETE", HOLDS, ServedApi.ACT).status()).isEqualTo(200);
        }
    }

    @Test
    void tokenThatIsMissing_isRefusedByTheNameOfItsVariable() {
        Listen listen = new Listen("0.0.0.0", 0, List.of(), Optional.of("READ"), Optional.of("ACT"));

        assertThatThrownBy(() -> ApiTokens.of(listen, Map.of("ACT", ServedApi.ACT)))
                .isInstanceOf(IOException.class)
                .hasMessage("The environment variable READ, which listen.readTokenEnv names, is not set; set it or"
                        + " leave readTokenEnv out.");
    }

    @Test
    void tokensThatAreEqual_areRefusedWithoutShowingThem() {
        Listen listen = new Listen("0.0.0.0", 0, List.of(), Optional.of("READ"), Optional.of("ACT"));

        assertThatThrownBy(() -> ApiTokens.of(listen, Map.of("ACT", ServedApi.ACT, "READ", ServedApi.ACT + "\n")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("READ and ACT hold the same token")
                .hasMessageNotContaining(ServedApi.ACT);
    }

    private ServedApi beyond(Optional<String> read, Optional<String> act) throws IOException {
        return new ServedApi(
                state, new Listen("0.0.0.0", 0, List.of("holdfast.example"), read, act), HttpLimits.defaults());
    }

    private static Http.Answer as(ServedApi api, String method, String path, String token) {
        return as(api, method, path, token, "");
    }

    private static Http.Answer as(ServedApi api, String method, String path, String token, String body) {
        return api.http.send(method, path, body, "Authorization", "Bearer " + token);
    }

    @Test
    void nameOfTheScheme_isReadInAnyCase() throws IOException {
        try (ServedApi api = beyond(Optional.of("READ"), Optional.of("ACT"))) {
            for (String scheme : List.of("bearer ", "BEARER  ")) {
                assertThat(api.http
                                .send("GET", HOLDS, "", "Authorization", scheme + ServedApi.READ)
                                .status())
                        .as(scheme)
                        .isEqualTo(200);
            }
        }
    }

    @Test
    void missingToken_isAskedFor() throws IOException {
        try (ServedApi api = beyond(Optional.of("READ"), Optional.of("ACT"));
                RawClient raw = new RawClient(api.uri)) {
            assertThat(raw.exchange(RawClient.get(HOLDS)))
                    .startsWith("HTTP/1.1 401 ")
                    .containsIgnoringCase("www-authenticate: Bearer");
        }
    }
}
