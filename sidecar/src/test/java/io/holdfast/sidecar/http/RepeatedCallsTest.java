package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.RawClient;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that are sent again, and calls that come too often. */
class RepeatedCallsTest {
    private static final byte[] BODY = {1};
    private final AtomicLong clock = new AtomicLong();
    private final RepeatedCalls calls = new RepeatedCalls(clock::get);

    @TempDir
    Path state;

    @Test
    void sameKeyAndBody_isAnsweredTheSame_forAnHour() {
        assertThat(calls.begin("k", BODY)).isEmpty();
        calls.ended("k", answer(201, "made"));
        clock.addAndGet(Duration.ofMinutes(59).toNanos());
        assertThat(calls.begin("k", BODY)).contains(answer(201, "made"));
        assertThat(calls.begin("other", BODY)).isEmpty();
        clock.addAndGet(Duration.ofMinutes(2).toNanos());
        assertThat(calls.begin("k", BODY)).isEmpty();
    }

    @Test
    void sameKeyAndAnotherBody_isRefused() {
        calls.begin("k", BODY);
        calls.ended("k", answer(201, "made"));
        assertThatThrownBy(() -> calls.begin("k", new byte[] {2})).satisfies(refused(422));
    }

    @Test
    void callUnderWay_isRefused() {
        calls.begin("k", BODY);
        assertThatThrownBy(() -> calls.begin("k", BODY)).satisfies(refused(409));
        calls.forget("k");
        assertThat(calls.begin("k", BODY)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 503, 429})
    void whatWentWrongHere_isTriedAgain(int status) {
        calls.begin("k", BODY);
        calls.ended("k", answer(status, "later"));
        assertThat(calls.begin("k", BODY)).isEmpty();
    }

    @Test
    void whatIsRemembered_hasABound() {
        String large = "x".repeat(60_000);
        for (int i = 0; i < 2_000; i++) {
            calls.begin("k" + i, BODY);
            calls.ended("k" + i, answer(200, large));
        }
        int remembered = 0;
        for (int i = 0; i < 2_000; i++) {
            remembered += calls.begin("k" + i, BODY).isPresent() ? 1 : 0;
        }
        assertThat(remembered).isBetween(10, 140);
    }

    @Test
    void callWithTwoKeys_isRefused() {
        try (TestBed bed = TestBed.pinning(state)) {
            Http.Answer answer = bed.client.http.send(
                    "POST",
                    SidecarClient.HOLDS,
                    "{\"hashes\":[7],\"leaseSeconds\":1}",
                    RepeatedCalls.HEADER,
                    "one",
                    RepeatedCalls.HEADER,
                    "two");

            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.error()).startsWith("Idempotency-Key comes 2 times; ");
        }
    }

    @Test
    void hold_askedTwiceWithOneKey_isOneHold() {
        try (TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 128);
            bed.engine.generate(prompt);
            String wish = new JsonObject()
                    .put("tokens", EngineClient.array(prompt))
                    .put("leaseSeconds", 60)
                    .encode();
            Http.Answer first = keyed(bed.client.http, SidecarClient.HOLDS, wish, "one");
            Http.Answer again = keyed(bed.client.http, SidecarClient.HOLDS, wish, "one");
            assertThat(first.status()).isEqualTo(201);
            assertThat(again).isEqualTo(first);
            assertThat(keyed(bed.client.http, SidecarClient.HOLDS, wish, "two")
                            .json()
                            .getString("id"))
                    .isNotEqualTo(first.json().getString("id"));
            Http.Answer other = keyed(
                    bed.client.http,
                    SidecarClient.HOLDS,
                    wish.replace("\"leaseSeconds\":60", "\"leaseSeconds\":61"),
                    "one");
            assertThat(other.status()).isEqualTo(422);
            assertThat(other.error()).startsWith("This Idempotency-Key came with another body before");
            assertThat(bed.client.holds()).hasSize(2);
            String pause = "/api/v1/engines/demo/pause";
            assertThat(keyed(bed.client.http, pause, "", "one").status())
                    .as("of another path")
                    .isEqualTo(200);
            assertThat(keyed(bed.client.http, "/api/v1/engines/demo/resume", "", "r")
                            .json()
                            .getBoolean("resumed"))
                    .isTrue();
            assertThat(keyed(bed.client.http, "/api/v1/engines/demo/resume", "", "r")
                            .json()
                            .getBoolean("resumed"))
                    .as("as it was answered then")
                    .isTrue();
            assertThat(keyed(bed.client.http, SidecarClient.HOLDS, "nonsense", "bad")
                            .status())
                    .isEqualTo(400);
            assertThat(keyed(bed.client.http, SidecarClient.HOLDS, "nonsense", "bad")
                            .status())
                    .isEqualTo(400);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "with space", "ümlaut"})
    void keyThatIsNone_isRefused(String key) throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults());
                RawClient raw = new RawClient(api.uri)) {
            assertThat(raw.exchange(
                            "POST /api/v1/engines/demo/resume HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    + "Idempotency-Key: " + key + "\r\n\r\n"))
                    .startsWith("HTTP/1.1 400 ")
                    .contains("write 1 to 255 visible ASCII characters");
        }
    }

    @Test
    void actingCalls_moreThanMayCome_areRefusedWith429() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withRates(1, 50));
                RawClient raw = new RawClient(api.uri)) {
            String resume = "POST /api/v1/engines/demo/resume HTTP/1.1\r\nHost: localhost\r\n";
            String last = "";
            for (int i = 0; i < 20 && !last.contains(" 429 "); i++) {
                last = raw.exchange(resume + "Connection: close\r\n\r\n");
            }
            assertThat(last)
                    .startsWith("HTTP/1.1 429 ")
                    .containsIgnoringCase("retry-after: 1")
                    .contains("\"detail\":\"More than 1 acting calls a second come");
            assertThat(api.http.post("/query", "{\"token_ids\":[1]}").status())
                    .as("counted apart")
                    .isEqualTo(200);
            assertThat(api.http.get("/api/v1/engines/demo/holds").status())
                    .as("reading")
                    .isEqualTo(200);
            assertThat(api.http.delete("/api/v1/engines/demo/holds").status())
                    .as("releasing")
                    .isEqualTo(200);
            assertThat(api.http
                            .post("/api/v1/engines/demo/release", "{\"requester\":\"a\"}")
                            .status())
                    .as("releasing for a requester")
                    .isEqualTo(200);
        }
    }

    @Test
    void queries_moreThanMayCome_areRefusedWith429() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withRates(50, 1))) {
            int status = 200;
            for (int i = 0; i < 20 && status != 429; i++) {
                status = api.http.post("/query", "{\"token_ids\":[1]}").status();
            }
            assertThat(status).isEqualTo(429);
        }
    }

    @Test
    void rate_letsInSoManyASecond() {
        CallRate rate = new CallRate(10, clock::get);
        assertThat(taken(rate)).isEqualTo(20);
        clock.addAndGet(Duration.ofMillis(500).toNanos());
        assertThat(taken(rate)).isEqualTo(5);
        clock.addAndGet(Duration.ofHours(1).toNanos());
        assertThat(taken(rate)).isEqualTo(20);
    }

    private static int taken(CallRate rate) {
        int taken = 0;
        try {
            while (taken < 1_000) {
                rate.take("calls");
                taken++;
            }
        } catch (ApiError tooMany) {
            assertThat(tooMany.status()).isEqualTo(429);
        }
        return taken;
    }

    private ServedApi serve(HttpLimits limits) throws IOException {
        return new ServedApi(state, new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.empty()), limits);
    }

    private static Http.Answer keyed(Http http, String path, String body, String key) {
        return body.isEmpty()
                ? http.send("POST", path, body, "Idempotency-Key", key)
                : http.send("POST", path, body, "content-type", "application/json", "Idempotency-Key", key);
    }

    private static RepeatedCalls.Answer answer(int status, String text) {
        return new RepeatedCalls.Answer(status, "application/json", Buffer.buffer(text), Optional.empty());
    }

    private static Consumer<Throwable> refused(int status) {
        return thrown -> assertThat(((ApiError) thrown).status()).isEqualTo(status);
    }

    @Test
    void changesOfLeases_moreThanMayCome_areRefusedWith429() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withRates(1, 50))) {
            int status = 0;
            for (int i = 0; i < 20 && status != 429; i++) {
                status = api.http
                        .send("PATCH", SidecarClient.HOLDS + "/1", "{\"leaseSeconds\":1}")
                        .status();
            }
            assertThat(status).isEqualTo(429);
        }
    }

    @Test
    void repeatedAnswer_saysWhereTheHoldIs() throws IOException {
        String wish = "{\"hashes\":[7],\"leaseSeconds\":60}";
        String request = "POST " + SidecarClient.HOLDS + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nIdempotency-Key: one\r\nContent-Length: " + wish.length()
                + "\r\n\r\n" + wish;
        try (ServedApi api = serve(HttpLimits.defaults());
                RawClient raw = new RawClient(api.uri)) {
            assertThat(raw.exchange(request)).startsWith("HTTP/1.1 201 ").contains("location: ");
            assertThat(raw.exchange(request))
                    .contains("idempotent-replayed: true")
                    .contains("location: /api/v1/engines/demo/holds/1");
        }
    }
}
