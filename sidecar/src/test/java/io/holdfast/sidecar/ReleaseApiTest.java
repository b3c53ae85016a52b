package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory that is given back over real HTTP: by requester, by prefix, by session. */
class ReleaseApiTest {
    private static final int[] SYSTEM = EngineClient.prompt(1, 512);
    private static final int[] TURN = joined(SYSTEM, EngineClient.prompt(2, 256));
    private static final String RELEASE = "/api/v1/engines/demo/release";

    @TempDir
    Path state;

    private static int[] joined(int[] first, int[] second) {
        int[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private static JsonObject tokens(int[] tokens) {
        return new JsonObject().put("tokens", EngineClient.array(tokens));
    }

    private static String held(TestBed bed, int[] tokens, String requester) {
        Http.Answer answer = bed.client.http.post(
                SidecarClient.HOLDS,
                tokens(tokens)
                        .put("leaseSeconds", 600)
                        .put("requester", requester)
                        .encode());
        String id = answer.json().getString("id");
        Eventually.see(
                "it is held",
                () -> bed.client.holdById(id),
                hold -> hold.getString("state").equals("held"));
        return id;
    }

    private static JsonObject released(TestBed bed, JsonObject body) {
        Http.Answer answer = bed.client.http.post(RELEASE, body.encode());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    private static List<String> ids(JsonArray holds) {
        return holds.stream().map(hold -> ((JsonObject) hold).getString("id")).toList();
    }

    private TestBed stored() {
        TestBed bed = TestBed.pinning(state);
        bed.engine.generate(SYSTEM);
        bed.engine.generate(TURN);
        bed.heard();
        return bed;
    }

    @Test
    void requester_givesBackWhatNobodyElseWants() {
        try (TestBed bed = stored()) {
            String shared = held(bed, SYSTEM, "agent-1");
            held(bed, SYSTEM, "agent-2");
            String own = held(bed, TURN, "agent-1");

            JsonObject given = released(bed, new JsonObject().put("requester", "agent-1"));

            assertThat(ids(given.getJsonArray("holds"))).containsExactly(own);
            assertThat(ids(given.getJsonArray("wanted"))).containsExactly(shared);
            assertThat(given.getJsonObject("gaveBack")).isEqualTo(new JsonObject("""
                {"holds":1,"evictableTokens":256,"runsOutTokens":0,"runsOutSeconds":0.0,"stayingTokens":0,
                "pendingTokens":0,"sharedTokens":512}\
                """));
            assertThat(bed.engine.usedTokens()).isEqualTo(512);
            assertThat(given.getString("see")).isEqualTo("/api/v1/engines/demo");
            JsonObject shown = Eventually.see(
                    "it is counted",
                    () -> bed.client.engine().getJsonObject("released"),
                    totals -> totals.getInteger("tokens") == 256);
            assertThat(shown.getInteger("holds")).isEqualTo(1);
            assertThat(shown.getInteger("foundByOthersTokens")).isZero();
            assertThat(bed.client.metric("holdfast_released_tokens_total{engine=\"demo\"}"))
                    .isEqualTo(256);

            assertThat(released(bed, new JsonObject().put("requester", "agent-1"))
                            .getJsonObject("gaveBack")
                            .getInteger("holds"))
                    .as("nothing is left to release")
                    .isZero();
        }
    }

    @Test
    void prefix_releasesWhatGoesOnFromIt_andLeavesWhatIsShorter() {
        try (TestBed bed = stored()) {
            String system = held(bed, SYSTEM, "everybody");
            held(bed, TURN, "agent-1");
            bed.client.hold(TURN, 600);

            JsonObject given = released(bed, tokens(TURN));

            assertThat(given.getJsonArray("holds")).hasSize(2);
            assertThat(given.getJsonObject("gaveBack").getInteger("evictableTokens"))
                    .isEqualTo(256);
            assertThat(bed.client.holdById(system).getString("state")).isEqualTo("held");
            assertThat(released(bed, tokens(SYSTEM)).getJsonObject("gaveBack").getInteger("evictableTokens"))
                    .isEqualTo(512);
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @Test
    void prefix_leavesWhatTheConfigurationDeclares() {
        String declared =
                "holds: {rules: {tokens: " + EngineClient.array(SYSTEM).encode() + "}}";
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, declared)) {
            bed.engine.generate(SYSTEM);
            bed.engine.generate(TURN);
            bed.heard();
            Eventually.see(
                    "what is declared is held",
                    bed.client::holds,
                    holds -> holds.stream()
                            .anyMatch(hold -> hold.getString("state").equals("held")));
            held(bed, TURN, "agent-1");

            JsonObject given = released(bed, tokens(SYSTEM));

            assertThat(given.getJsonArray("holds")).hasSize(1);
            assertThat(given.getJsonArray("wanted")).hasSize(1);
            assertThat(given.getJsonObject("gaveBack").getInteger("evictableTokens"))
                    .isEqualTo(256);
            assertThat(bed.engine.usedTokens()).isEqualTo(512);
        }
    }

    @Test
    void over_answersWhatItGaveBack() {
        try (TestBed bed = stored()) {
            held(bed, TURN, "agent-1");
            Http.Answer answer = bed.client.http.post(
                    "/api/v1/engines/demo/hints",
                    tokens(TURN).put("says", "over").put("requester", "agent-1").encode());

            assertThat(answer.json().getJsonObject("gaveBack").getInteger("evictableTokens"))
                    .as(answer.text())
                    .isEqualTo(768);
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @Test
    void session_isClosedAtTheEngine() {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: session_hold")) {
            assertThat(bed.client.metric("holdfast_released_found_tokens_total{engine=\"demo\"}"))
                    .isNaN();
            JsonObject given = released(bed, new JsonObject().put("session", "agent-7:3"));
            assertThat(given.getValue("gaveBack")).isNull();
            assertThat(given.getString("note")).contains("does not say");
            JsonObject shown = Eventually.see(
                    "the closing",
                    () -> bed.client.engine().getJsonObject("released"),
                    released -> released.containsKey("unmeasuredHolds") && released.getInteger("unmeasuredHolds") == 1);
            assertThat(shown.getValue("foundByOthersTokens")).isNull();
            assertThat(shown.getString("why")).contains("a client's session");
        }
    }

    @Test
    void session_ofOurs_endsItsHold() throws IOException {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: session_hold")) {
            bed.engine.generate(SYSTEM);
            String id = held(bed, SYSTEM, "agent-1");
            String session = session();

            JsonObject given = released(bed, new JsonObject().put("session", session));

            assertThat(ids(given.getJsonArray("holds"))).containsExactly(id);
            assertThat(given.getJsonObject("gaveBack").getInteger("evictableTokens"))
                    .isEqualTo(512);
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("released");
        }
    }

    @Test
    void session_thatMayNotBeClosed_isRefused() {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: session_hold")) {
            Http.Answer others = bed.client.http.post(RELEASE, "{\"session\":\"holdfast-0123456789abcdef-1-1\"}");
            assertThat(others.status()).as(others.text()).isEqualTo(409);
            assertThat(others.error()).contains("ids that begin with holdfast- are those of holds; release the hold");
        }
    }

    @Test
    void session_onADryRun_isNotClosed() {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: dry_run")) {
            Http.Answer refused = bed.client.http.post(RELEASE, "{\"session\":\"agent-7\"}");
            assertThat(refused.status()).as(refused.text()).isEqualTo(409);
            assertThat(refused.error()).contains("dry run");
        }
    }

    /** The session that the ledger lists. */
    private String session() throws IOException {
        try (Stream<Path> files = Files.walk(state)) {
            return files.filter(file -> file.toString().endsWith(".ledger"))
                    .flatMap(file -> Pattern.compile("holdfast-[0-9a-f]{16}-[0-9]+-[0-9]+")
                            .matcher(read(file))
                            .results())
                    .map(MatchResult::group)
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void session_ofAnEngineWithoutAny_isRefused() {
        Vertx vertx = Vertx.vertx();
        EmulatorSettings vllm =
                EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
        try (Emulator emulator = Emulator.start(vertx, vllm);
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                "{listen: {port: 0}, stateDirectory: '" + state
                                        + "', engines: {demo: {type: vllm, url: '" + emulator.uri() + "'}}}",
                                "test.yaml"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Http.Answer answer = client.http.post(RELEASE, "{\"session\":\"a\"}");
            assertThat(answer.status()).as(answer.text()).isEqualTo(409);
            assertThat(answer.error())
                    .isEqualTo("Engine demo has no sessions that clients open; release by requester or by the prefix.");
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    @Test
    void refusals_areAStatusAndOneSentence() {
        try (TestBed bed = TestBed.pinning(state)) {
            """
            {}                               | The body names nothing to release; send one of requester, session,
            {"requester":"a","tokens":[1]}   | The body names several things to release; send one of
            {"session":"a","requester":"b"}  | The body names several things to release; send one of
            {"session":"a\\"}"}              | session is no id of a session; write 1 to 128 letters, digits
            {"session":""}                   | session is no id of a session; write 1 to 128 letters, digits
            {"session":7}                    | session is no id of a session; write 1 to 128 letters, digits
            {"requester":""}                 | requester is empty; write 1 to 64 printable
            {"says":"over"}                  | The field 'says' is unknown; a release has one of requester, session,
            """.lines().map(row -> row.split("\\|", -1)).forEach(row -> {
                Http.Answer answer = bed.client.http.post(RELEASE, row[0].strip());

                assertThat(answer.status()).as(answer.text()).isEqualTo(400);
                assertThat(answer.error()).startsWith(row[1].strip()).matches("[^\\n]+\\.");
            });
            assertThat(List.of("a".repeat(128), "a".repeat(129)))
                    .as("ids that are as long as they may be, and longer")
                    .extracting(session -> bed.client
                            .http
                            .post(
                                    RELEASE,
                                    new JsonObject().put("session", session).encode())
                            .status())
                    .containsExactly(200, 400);
        }
    }
}
