package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.PrefixSource;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the API refuses, and how. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ApiStrictnessTest {
    private TestBed bed;

    @BeforeAll
    void start(@TempDir Path state) {
        bed = TestBed.pinning(state);
    }

    @AfterAll
    void stop() {
        bed.close();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        GET    | /nothing                              |      | 404 | There is nothing at '/nothing'.
        GET    | /api/v1                               |      | 404 | There is nothing at '/api/v1'.
        GET    | /api/v1/engines/nope                  |      | 404 | There is no engine 'nope'; known are demo.
        GET    | /api/v1/engines/nope/holds            |      | 404 | There is no engine 'nope'
        POST   | /api/v1/engines/nope/holds            | {"tokens":[1],"leaseSeconds":1} | 404 | There is no engine
        DELETE | /api/v1/engines/nope/holds            |      | 404 | There is no engine 'nope'
        GET    | /api/v1/engines/demo/holds/999        |      | 404 | Engine demo has no hold '999'.
        GET    | /api/v1/engines/demo/holds/seven      |      | 404 | Engine demo has no hold 'seven'.
        DELETE | /api/v1/engines/demo/holds/999        |      | 404 | Engine demo has no hold '999'.
        DELETE | /api/v1/engines/demo/holds/-          |      | 404 | Engine demo has no hold '-'.
        DELETE | /api/v1/engines/demo/holds/           |      | 404 | There is nothing at '/api/v1/engines/demo/holds/'; a hold's id
        DELETE | /api/v1/engines/demo/holds/9/..       |      | 404 | There is nothing at '/api/v1/engines/demo/holds/9/..'
        PUT    | /api/v1/engines/demo/holds            | {}   | 405 | '/api/v1/engines/demo/holds' does not take PUT.
        POST   | /api/v1/engines                       | {}   | 405 | '/api/v1/engines' does not take POST.
        POST   | /livez                                | {}   | 405 | '/livez' does not take POST.
        POST   | /api/v1/engines/demo/holds            |      | 415 | The body must be JSON and say so, and its type is empty
        POST   | /api/v1/engines/nope/resume           |      | 404 | There is no engine 'nope'
        POST   | /api/v1/engines/demo/holds            | nope | 400 | The body is not valid JSON at line 1
        POST   | /api/v1/engines/demo/holds            | {"leaseSeconds":1} | 400 | The body has none of tokens
        POST   | /api/v1/engines/demo/holds            | {"tokens":[1],"leaseSeconds":-1} | 400 | leaseSeconds is '-1'
        POST   | /api/v1/engines/demo/holds            | {"tokens":[1,2],"leaseSeconds":1} | 400 | The prefix has 2 tokens
        POST   | /api/v1/engines/demo/holds            | {"hashes":["x"],"leaseSeconds":1} | 400 | hashes[0] is 'x'
        POST   | /api/v1/engines/demo/holds            | {"hashes":[5],"leaseSeconds":1,"pin":true} | 400 | The field 'pin'
        """)
    void refusal_isAStatusAndOneSentence(String method, String path, String body, int status, String sentence) {
        Http.Answer answer = bed.client.http.send(method, path, body == null ? "" : body);

        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        assertThat(answer.json().fieldNames()).containsExactly("type", "title", "status", "detail");
        assertThat(answer.json().getInteger("status")).isEqualTo(status);
        assertThat(answer.error()).startsWith(sentence).matches("[^\\n]+\\.");
    }

    @Test
    void bodyAboveTheBound_isRefused() {
        String spaces = " ".repeat(8 << 20);

        Http.Answer answer =
                bed.client.http.post(SidecarClient.HOLDS, "{\"tokens\":[1]," + spaces + "\"leaseSeconds\":1}");

        assertThat(answer.status()).isEqualTo(413);
        assertThat(answer.error()).isEqualTo("The body is larger than 8 MiB; no prefix is that long.");
    }

    @ParameterizedTest
    @CsvSource({
        "application/json, 201",
        "Application/JSON ; charset=utf-8, 201",
        "application/x-www-form-urlencoded, 415",
        "multipart/form-data; boundary=x, 415",
        "text/plain, 415",
        "application/jsonx, 415"
    })
    void bodyThatDoesNotSayItIsJson_isRefusedWithTheMend(String type, int status) {
        String wish = "{\"hashes\":[7],\"leaseSeconds\":1}" + " ".repeat(20_000);

        Http.Answer answer = bed.client.http.send("POST", SidecarClient.HOLDS, wish, "content-type", type);

        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        if (status == 415) {
            assertThat(answer.error()).endsWith("; add -H 'Content-Type: application/json'.");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/%", "/api/v1/engines/%zz", "/livez%4"})
    void pathWithABrokenEscape_isRefused(String path) {
        try (RawClient raw = new RawClient(bed.sidecar.uri())) {
            assertThat(raw.exchange(RawClient.get(path)))
                    .startsWith("HTTP/1.1 400 ")
                    .contains("The path has a % that no two hexadecimal digits follow; escape it as %25.");
        }
    }

    @Test
    void queryWithABrokenEscape_isRefused() {
        try (RawClient raw = new RawClient(bed.sidecar.uri())) {
            assertThat(raw.exchange(RawClient.get(SidecarClient.HOLDS + "?limit=%zz")))
                    .startsWith("HTTP/1.1 400 ")
                    .contains("The query has a % that no two hexadecimal digits follow; escape it as %25.");
        }
    }

    @ParameterizedTest
    @CsvSource({"4200, 0, 414", "0, 8300, 431"})
    void headThatIsTooLarge_isAProblem(int path, int header, int status) {
        try (RawClient raw = new RawClient(bed.sidecar.uri())) {
            assertThat(raw.exchange("GET /" + "x".repeat(path) + " HTTP/1.1\r\nHost: localhost\r\nX: "
                            + "y".repeat(header) + "\r\n\r\n"))
                    .contains(" " + status + " ")
                    .contains("content-type: application/problem+json")
                    .contains("\"status\":" + status);
            assertThat(raw.exchange("no request at all\r\n\r\n")).contains("\"status\":400");
        }
    }

    @Test
    void http2InTheClear_isNotSpoken() throws IOException {
        try (RawClient raw = new RawClient(bed.sidecar.uri())) {
            Socket priorKnowledge = raw.open();
            RawClient.send(priorKnowledge, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");
            Socket upgrade = raw.open();
            String settings = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__";
            RawClient.send(upgrade, "GET /livez HTTP/1.1\r\nHost: localhost\r\n" + settings + "\r\n\r\n");

            assertThat(RawClient.head(priorKnowledge)).get().asString().startsWith("HTTP/2.0 501 ");
            assertThat(RawClient.head(upgrade)).get().asString().startsWith("HTTP/1.1 200 ");
        }
    }

    @Test
    void promptOfAMillionTokens_isReadAndRefusedAsTooLarge() {
        int[] tokens = EngineClient.prompt(5, PrefixSource.MOST_TOKENS);

        Http.Answer answer = bed.client.hold(tokens, 1);

        assertThat(answer.status()).as(answer.text()).isEqualTo(409);
        assertThat(answer.error()).contains("never fit");
    }

    @Test
    void pageOfAnotherSite_isTurnedAway() {
        Http.Answer answer =
                bed.client.http.send("DELETE", SidecarClient.HOLDS, "", "Origin", "https://elsewhere.example");

        assertThat(answer.status()).isEqualTo(403);
        assertThat(answer.error()).isEqualTo("Pages of other sites may not use this API.");
    }

    @ParameterizedTest
    @CsvSource({
        "elsewhere.example, 403",
        "127.elsewhere.example, 403",
        "localhost.elsewhere.example, 403",
        "192.168.0.7, 403",
        "LocalHost, 200",
        "127.8.0.1, 200",
        "[::1], 200"
    })
    void nameThatWasMadeToLeadHere_isTurnedAway(String host, int status) throws IOException {
        int port = bed.sidecar.uri().getPort();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            String request = "GET /livez HTTP/1.1\r\nHost: " + host + ":" + port + "\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

            assertThat(answer).startsWith("HTTP/1.1 " + status + " ");
            assertThat(answer.contains("ask for localhost or 127.0.0.1.")).isEqualTo(status == 403);
        }
    }

    @Test
    void pageOfItsOwn_isLetIn() {
        String own = bed.sidecar.uri().toString();

        assertThat(bed.client
                        .http
                        .send("GET", "/api/v1/engines", "", "Origin", own)
                        .status())
                .isEqualTo(200);
    }

    @Test
    void livenessAndReadiness_areJson() {
        assertThat(bed.client.http.get("/livez").json()).isEqualTo(new JsonObject().put("live", true));
        JsonObject ready = bed.client.http.get("/readyz").json();
        assertThat(ready.getBoolean("ready")).isTrue();
        assertThat(ready.getJsonArray("reasons")).isEmpty();
    }

    @Test
    void metrics_arePrometheusTextWithoutHashes() {
        bed.client.hold(new long[] {1234567890123456789L}, 1);

        String text = bed.client.http.get("/metrics").text();

        assertThat(text)
                .contains("# TYPE holdfast_holds gauge")
                .contains("# TYPE holdfast_backend_calls_seconds summary");
        assertThat(text).doesNotContain("1234567890123456789");
        assertThat(text.lines().filter(line -> line.startsWith("holdfast_holds{")))
                .hasSize(10);
    }
}
