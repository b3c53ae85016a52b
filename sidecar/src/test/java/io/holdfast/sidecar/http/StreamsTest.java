package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.Listening;
import io.holdfast.sidecar.Listening.Event;
import io.holdfast.sidecar.RawClient;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Engines at a glance and decisions, once and as streams, over real sockets. */
class StreamsTest {
    private static final String OVERVIEW = "/api/v1/overview";
    private static final String DECISIONS = "/api/v1/decisions";

    @TempDir
    Path state;

    @Test
    void summary_requestedHoldThatWaits_isNamedWithWhatItWaitsFor() {
        try (TestBed bed = TestBed.pinning(state)) {
            Http.Answer asked = bed.client.hold(EngineClient.prompt(7, 512), 3600);
            assertThat(asked.status()).as(asked.text()).isEqualTo(201);
            String id = asked.json().getString("id");
            String why = bed.client.holdIn(id, "requested").getString("reason");

            Eventually.see(
                    "the summary names it",
                    () -> bed.client
                            .http
                            .get(OVERVIEW)
                            .json()
                            .getJsonArray("engines")
                            .getJsonObject(0)
                            .getString("summary"),
                    summary -> summary.contains("; the requested hold " + id + " waits: " + why));
        }
    }

    @Test
    void overviewStream_tellsWhatChangesAndNothingTwice() {
        try (TestBed bed = TestBed.pinning(state);
                Listening listening = new Listening(bed.sidecar.uri().resolve(OVERVIEW + "/stream"))) {
            assertThat(listening.status()).isEqualTo(200);
            assertThat(listening.header("content-type")).startsWith("text/event-stream");
            assertThat(listening.header("cache-control")).isEqualTo("no-store");
            int[] prompt = EngineClient.prompt(1, 512);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);

            Event told = last(listening, event -> state(event, id).equals("held"));

            JsonObject engine = told.json().getJsonArray("engines").getJsonObject(0);
            assertThat(engine.getString("verdict")).isEqualTo("cannot_tell");
            assertThat(engine.getString("says")).isEqualTo("cannot tell yet");
            assertThat(engine.getJsonObject("holds").getInteger("held")).isEqualTo(1);
            assertThat(engine.getJsonObject("holds").getInteger("tokens")).isEqualTo(512);
            assertThat(engine.getJsonObject("pressure")
                            .getJsonObject("capacityTokens")
                            .getInteger("value"))
                    .isEqualTo(TestBed.CAPACITY);
            assertThat(engine.getJsonObject("pressure")
                            .getJsonObject("residenceSeconds")
                            .getString("unknown"))
                    .isEqualTo("no untouched block was removed for want of room yet");
            assertThat(engine.getString("summary"))
                    .startsWith("Engine demo holds 1 prefix (512 tokens, 13 % of its cache)")
                    .contains("; whether holding helps: cannot tell yet")
                    .contains("; it would need this: ")
                    .endsWith(".");
            assertThat(bed.client.release(id).status()).isEqualTo(200);
            last(
                    listening,
                    event -> event.json()
                                    .getJsonArray("engines")
                                    .getJsonObject(0)
                                    .getJsonObject("holds")
                                    .getInteger("held")
                            == 0);
            List<String> texts = listening.events().stream()
                    .map(event -> event.data().replaceFirst("\"at\":\"[^\"]*\",", ""))
                    .toList();
            for (int i = 1; i < texts.size(); i++) {
                assertThat(texts.get(i)).isNotEqualTo(texts.get(i - 1));
            }
            assertThat(bed.client
                            .http
                            .get(OVERVIEW)
                            .json()
                            .getJsonObject("detail")
                            .getString("id"))
                    .isEqualTo("demo");
        }
    }

    @Test
    void decisions_areOneLineAHoldAndResumeByLastEventId() {
        try (TestBed bed = TestBed.pinning(state);
                Listening listening = new Listening(bed.sidecar.uri().resolve(DECISIONS + "/stream"))) {
            for (int i = 1; i <= 2; i++) {
                int[] prompt = EngineClient.prompt(i, 256);
                bed.engine.generate(prompt);
                String id = bed.client.held(prompt);
                decided(listening, id, "held");
                assertThat(bed.client.release(id).status()).isEqualTo(200);
                decided(listening, id, "released");
                assertThat(listening.events().stream()
                                .filter(event -> id.equals(event.json().getString("hold")))
                                .filter(event -> event.json().getString("what").equals("held")))
                        .hasSize(1);
            }
            List<String> told = listening.events().stream().map(Event::id).toList();
            assertThat(told)
                    .doesNotHaveDuplicates()
                    .isSortedAccordingTo((a, b) -> Long.compare(Long.parseLong(a), Long.parseLong(b)));

            for (String[] from : new String[][] {{"Last-Event-ID", told.get(1)}, {"X-None", "x"}}) {
                boolean header = from[0].equals("Last-Event-ID");
                URI again = bed.sidecar.uri().resolve(DECISIONS + "/stream" + (header ? "" : "?after=" + told.get(1)));
                try (Listening resumed = new Listening(again, from)) {
                    Eventually.see("the rest is told", () -> resumed.events().size(), size -> size >= told.size() - 2);
                    assertThat(resumed.events().stream().map(Event::id).toList())
                            .isEqualTo(told.subList(2, told.size()));
                }
            }
            try (Listening late =
                    new Listening(bed.sidecar.uri().resolve(DECISIONS + "/stream"), "Last-Event-ID", "1")) {
                Eventually.see("all is told", () -> late.events().size(), size -> size >= told.size() + 1);
                assertThat(late.events().getFirst().name()).isEqualTo("gap");
                assertThat(late.events().getFirst().data()).contains("not kept any more");
                assertThat(late.events().get(1).name()).isEqualTo("decision");
            }
        }
    }

    @Test
    void decisions_arePagesThatMeet() {
        try (TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 256);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);
            // Of what changes twice between two looks the second is told.
            Eventually.see(
                    "the hold is told",
                    () -> bed.client.http.get(DECISIONS).json(),
                    seen -> !seen.getJsonArray("decisions").isEmpty());
            assertThat(bed.client.release(id).status()).isEqualTo(200);
            JsonObject all = Eventually.see(
                    "two decisions",
                    () -> bed.client.http.get(DECISIONS).json(),
                    seen -> seen.getJsonArray("decisions").size() >= 2);
            List<String> ids = ids(all);

            List<String> paged = new ArrayList<>();
            Optional<String> before = Optional.empty();
            do {
                JsonObject page = bed.client
                        .http
                        .get(DECISIONS + "?engine=demo&limit=1"
                                + before.map(next -> "&before=" + next).orElse(""))
                        .json();
                assertThat(page.getJsonArray("decisions")).hasSize(1);
                paged.addAll(ids(page));
                before = Optional.ofNullable(page.getString("next"));
            } while (before.isPresent());

            assertThat(paged).isEqualTo(ids);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/overview?engine=other | 404 | There is no engine 'other'; known are demo.",
                "/overview/stream?engine=other | 404 | There is no engine 'other'; known are demo.",
                "/decisions?limit=0 | 400 | limit is '0'; write 1 to 500.",
                "/decisions?limit=501 | 400 | limit is '501'; write 1 to 500.",
                "/decisions?before=x | 400 | before is 'x'; write the id of a decision.",
                "/decisions/stream?after=-3 | 400 | after is '-3'; write the id of a decision."
            })
    void badParameter_isOneSentence(String path, int status, String sentence) throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            Http.Answer answer = api.http.get("/api/v1" + path);

            assertThat(answer.status()).isEqualTo(status);
            assertThat(answer.text()).contains(sentence);
        }
    }

    @Test
    void reasons_areForThoseWhoMayAct() throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.of("READ"), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            String act = "Bearer " + ServedApi.ACT;
            String read = "Bearer " + ServedApi.READ;
            Http.Answer held = api.http.send(
                    "POST", SidecarClient.HOLDS, "{\"hashes\":[7],\"leaseSeconds\":600}", "Authorization", act);
            String secret = held.json().getString("reason");
            Eventually.see(
                    "the hold is decided about",
                    () -> {
                        api.overviews.look();
                        return api.http
                                .send("GET", DECISIONS, "", "Authorization", act)
                                .text();
                    },
                    text -> text.contains(secret));
            long first = Long.parseLong(ids(api.http
                            .send("GET", DECISIONS, "", "Authorization", act)
                            .json())
                    .getLast());

            for (String path : List.of(DECISIONS, OVERVIEW)) {
                assertThat(api.http.get(path).status()).isEqualTo(401);
                assertThat(api.http.get(path + "/stream").status()).isEqualTo(401);
                assertThat(api.http.send("GET", path, "", "Authorization", read).text())
                        .doesNotContain(secret)
                        .contains("callers who may act see why");
                assertThat(api.http.send("GET", path, "", "Authorization", act).text())
                        .contains(secret);
                for (String token : List.of(read, act)) {
                    URI stream =
                            api.uri.resolve(path + "/stream" + (path.equals(DECISIONS) ? "?after=" + (first - 1) : ""));
                    try (Listening listening = new Listening(stream, "Authorization", token)) {
                        String told = Eventually.see(
                                "something is told",
                                () -> listening.events().toString(),
                                text -> text.contains(token.equals(act) ? secret : "callers who may act see why"));
                        assertThat(told.contains(secret)).isEqualTo(token.equals(act));
                    }
                }
            }
        }
    }

    @Test
    void listeners_areBoundedAndMakeRoomWhenTheyGo() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            List<Listening> all = IntStream.range(0, EventStreams.MOST)
                    .mapToObj(i -> new Listening(api.uri.resolve((i % 2 == 0 ? OVERVIEW : DECISIONS) + "/stream")))
                    .toList();
            assertThat(all).allSatisfy(each -> assertThat(each.status()).isEqualTo(200));

            Http.Answer more = api.http.get(OVERVIEW + "/stream");

            assertThat(more.status()).isEqualTo(503);
            assertThat(more.text())
                    .contains("As many as may listen do so already (32); close one of them, or ask for the same without"
                            + " /stream.");
            assertThat(api.http.get(OVERVIEW).status()).isEqualTo(200);
            all.getFirst().close();
            Eventually.see(
                    "another may listen",
                    () -> {
                        try (Listening another = new Listening(api.uri.resolve(DECISIONS + "/stream"))) {
                            return another.status();
                        }
                    },
                    status -> status == 200);
            all.forEach(Listening::close);
        }
    }

    @Test
    void silentStream_outlivesTheDeadlinesOfAnswers() throws IOException {
        HttpLimits hasty = HttpLimits.defaults().withTimes(Duration.ofMillis(300));
        try (ServedApi api = new ServedApi(state, Listen.defaults(), hasty);
                Listening listening = new Listening(api.uri.resolve(DECISIONS + "/stream"))) {
            Eventually.see("a comment in the silence", listening::comments, seen -> !seen.isEmpty());

            assertThat(listening.comments().getFirst()).isEqualTo(": nothing has changed");
            assertThat(listening.over()).isFalse();
        }
    }

    @Test
    void sidecarThatEnds_tellsItsListeners() {
        TestBed bed = TestBed.pinning(state);
        try (bed;
                Listening overview = new Listening(bed.sidecar.uri().resolve(OVERVIEW + "/stream"));
                Listening decisions = new Listening(bed.sidecar.uri().resolve(DECISIONS + "/stream"))) {
            Eventually.see("the first overview", overview::events, seen -> !seen.isEmpty());

            bed.sidecar.close();

            for (Listening each : List.of(overview, decisions)) {
                Eventually.see("the stream is over", each::over, over -> over);
                assertThat(each.events().getLast().name()).isEqualTo("end");
                assertThat(each.events().getLast().data()).contains("The sidecar is shutting down.");
            }
        }
    }

    @Test
    void page_needsNoTokenAndTheDataDoes() throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.of("READ"), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults());
                RawClient raw = new RawClient(api.uri)) {
            for (String path : List.of("/", "/page/page.js", "/page/page.css", "/page/icon.svg")) {
                assertThat(raw.exchange(RawClient.get(path)))
                        .startsWith("HTTP/1.1 200 ")
                        .contains("content-security-policy: default-src 'none'; script-src 'self';")
                        .contains("frame-ancestors 'none'", "x-content-type-options: nosniff")
                        .doesNotContain("demo");
            }
            assertThat(raw.exchange(RawClient.get("/page/none.js"))).startsWith("HTTP/1.1 404 ");
            assertThat(raw.exchange(RawClient.get("/page/../api/v1/engines"))).startsWith("HTTP/1.1 401 ");
            assertThat(raw.exchange(RawClient.get("/page/%2e%2e/metrics"))).startsWith("HTTP/1.1 401 ");
        }
    }

    private static Event last(Listening listening, Predicate<Event> wanted) {
        return Eventually.see(
                        "an event of that kind",
                        () -> listening.events().stream().filter(wanted).toList(),
                        found -> !found.isEmpty())
                .getFirst();
    }

    private static void decided(Listening listening, String hold, String what) {
        last(
                listening,
                event -> hold.equals(event.json().getString("hold"))
                        && what.equals(event.json().getString("what")));
    }

    private static String state(Event event, String hold) {
        JsonArray holds = event.json().getJsonObject("detail").getJsonArray("holds");
        return IntStream.range(0, holds.size())
                .mapToObj(holds::getJsonObject)
                .filter(each -> each.getString("id").equals(hold))
                .map(each -> each.getString("state"))
                .findFirst()
                .orElse("");
    }

    private static List<String> ids(JsonObject page) {
        JsonArray decisions = page.getJsonArray("decisions");
        return IntStream.range(0, decisions.size())
                .mapToObj(i -> decisions.getJsonObject(i).getString("id"))
                .toList();
    }

    @Test
    void decisionStreamOfOneEngine_isOfThatAlone() {
        Vertx vertx = Vertx.vertx();
        String yaml = TestBed.yaml(state, URI.create("http://127.0.0.1:9"), "")
                + "  other: {type: sglang, url: 'http://127.0.0.1:10'}\n";
        try (Sidecar sidecar = Sidecar.start(vertx, SidecarConfig.parse(yaml, "test.yaml"));
                SidecarClient demo = new SidecarClient(sidecar.uri());
                SidecarClient other = new SidecarClient(sidecar.uri(), "other");
                Listening listening = new Listening(sidecar.uri().resolve(DECISIONS + "/stream?engine=demo"))) {
            assertThat(other.hold(new long[] {7}, 600).status()).isEqualTo(201);
            Eventually.see(
                    "the other one is decided about",
                    () -> ids(other.http.get(DECISIONS + "?engine=other").json()),
                    ids -> !ids.isEmpty());
            assertThat(demo.hold(new long[] {7}, 600).status()).isEqualTo(201);
            Eventually.see(
                    "this one is told",
                    listening::events,
                    events -> events.stream()
                            .anyMatch(event -> "demo".equals(event.json().getString("engine"))));
            assertThat(listening.events())
                    .extracting(event -> event.json().getString("engine"))
                    .containsOnly("demo");
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    @Test
    void stream_asksProxiesNotToCollectIt() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults());
                Listening listening = new Listening(api.uri.resolve(DECISIONS + "/stream"))) {
            assertThat(listening.header("x-accel-buffering")).isEqualTo("no");
        }
    }

    @Test
    void sidecarThatEnds_isNotReady() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            api.closing.set(true);
            Http.Answer ready = api.http.get("/readyz");
            assertThat(ready.status()).isEqualTo(503);
            assertThat(ready.json().getJsonArray("reasons")).contains("the sidecar is shutting down");
            assertThat(api.http.get("/livez").status()).isEqualTo(200);
        }
    }

    @Test
    void sidecarThatEnds_takesNoHold() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            api.closing.set(true);
            Http.Answer refused = api.http.post(SidecarClient.HOLDS, "{\"hashes\":[7],\"leaseSeconds\":60}");
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.error()).isEqualTo("The sidecar is shutting down; ask the next one.");
        }
    }

    /** What was let go of a moment ago would be held again, and stay so. */
    @Test
    void sidecarThatEnds_doesNotResume() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            api.closing.set(true);
            Http.Answer refused = api.http.post("/api/v1/engines/demo/resume", "");
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.error()).isEqualTo("The sidecar is shutting down; ask the next one.");
        }
    }
}
