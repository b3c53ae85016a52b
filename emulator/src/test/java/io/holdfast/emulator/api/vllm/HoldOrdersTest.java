package io.holdfast.emulator.api.vllm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.vllm.Connector;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Proofs of orders; those that are written out were made by {@code openssl dgst -sha256 -hmac}. */
class HoldOrdersTest {
    private static final String SECRET = "swordfish-0123456789";
    private static final long NOW = Math.round(VirtualClock.START * 1e3);
    private static final int[] PROMPT = {1, 2, 300, 70_000, 5};
    private static final String HOLD = "bf2fc4c2006425ef7e2f66216a5945a65baa595b1fdf2972e91ea66209711546";
    private static final String RELEASE = "3c1d7750d4d09d9dc1d9518069f14239bd7fddfcb603adb47d6ebd89c2fae119";
    private static final String LIST = "f0298e84a5094e747a941e75851d28e48685998a0abc0b62adae24a47d6cd665";

    private final Wall clock = new Wall();
    private final HoldOrders orders = new HoldOrders(Connector.of(SECRET), clock);

    @Test
    void provenOrders_areTaken() {
        assertThat(order(take(hold()))).contains(new HoldOrder.Hold("prefix:1", 30));
        assertThat(order(take(release()))).contains(new HoldOrder.Release(List.of("prefix:1", "prefix:2")));
        assertThat(order(take(list().put("later", "field")))).contains(new HoldOrder.Listing());
    }

    /** Judged by the connector's own tests as well. */
    @Test
    void bodiesOfTheConnectorsTests_areJudgedAsThere() throws IOException {
        Path file = Path.of("../connectors/vllm/tests/vectors.json");
        assumeThat(file).exists();
        JsonObject vectors = new JsonObject(Files.readString(file));
        for (Object each : vectors.getJsonArray("proofs")) {
            JsonObject vector = (JsonObject) each;
            assertThat(HoldOrders.proof(vector.getString("secret"), vector.getString("message")))
                    .isEqualTo(vector.getJsonObject("body").getString("proof"));
        }
        assertThat(vectors.getJsonArray("bodies")).hasSizeGreaterThan(40).allSatisfy(each -> {
            JsonObject vector = (JsonObject) each;
            clock.seconds = vector.getLong("now") / 1e3;
            Optional<String> refused = new HoldOrders(Connector.of(vector.getString("secret")), clock)
                    .take(body(vector.getJsonObject("body")), ask(tokens(vector)))
                    .refusal()
                    .map(refusal -> refusal.getString("refused"));
            assertThat(refused).isEqualTo(Optional.ofNullable(vector.getString("refused")));
        });
    }

    private static int[] tokens(JsonObject vector) {
        return vector.getJsonArray("tokens").stream()
                .mapToInt(token -> ((Number) token).intValue())
                .toArray();
    }

    @Test
    void message_isTheProtocols() {
        assertThat(HoldOrders.message(new HoldOrder.Hold("prefix:1", 30), NOW, PROMPT))
                .isEqualTo("holdfast/1\nhold\n1700000000000\nprefix:1\n30\n"
                        + "d159cbe471d96504a985ea7fa8aae13e57632b764e640d46dfdae7a21af855fe");
    }

    @Test
    void requestsWithoutAnOrder_areLeftAlone() {
        for (String body : List.of("{}", "{\"kv_transfer_params\":null}", "{\"kv_transfer_params\":{\"other\":1}}")) {
            HoldOrders.Taken taken = take(ValidatedBody.parse(body.getBytes(StandardCharsets.UTF_8)), PROMPT);
            assertThat(order(taken)).isEmpty();
            assertThat(taken.refusal()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"proof\":\"bf2fc4c2006425ef7e2f66216a5945a65baa595b1fdf2972e91ea66209711547\"}",
                "{\"id\":\"prefix:2\"}",
                "{\"ttl\":31}",
                "{\"at\":1700000000001}",
                "{\"op\":\"list\"}",
                "{\"op\":\"release\",\"ids\":[\"*\"]}"
            })
    void whatTheProofDoesNotSay_isRefused(String change) {
        assertThat(take(hold().mergeIn(new JsonObject(change))).refusal())
                .contains(new JsonObject("{\"v\":1,\"refused\":\"proof\"}"));
        assertThat(order(take(hold())))
                .as("that it failed took nothing from the proof")
                .isPresent();
    }

    @Test
    void proofForOtherTokensOrOfAnotherSecret_isRefused() {
        HoldOrders.Taken taken = take(body(hold()), new int[] {1, 2, 300, 70_000, 6});
        assertThat(taken.refusal()).contains(refused("proof"));
        HoldOrders others = new HoldOrders(Connector.of(SECRET + "0"), clock);
        assertThat(others.take(body(hold()), ask(PROMPT)).refusal()).contains(refused("proof"));
        assertThat(new HoldOrders(Connector.of(" " + SECRET + "\n"), clock)
                        .take(body(hold()), ask(PROMPT))
                        .refusal())
                .as("a secret is stripped")
                .isEmpty();
    }

    @Test
    void proof_isGoodOnce() {
        take(hold());
        assertThat(take(hold()).refusal()).contains(refused("seen"));
        assertThat(take(hold().put("ttl", 30.0)).refusal()).isPresent();
    }

    @ParameterizedTest
    @CsvSource({"300, true", "301, false", "-300, true", "-301, false"})
    void proof_isGoodForFiveMinutesAroundTheEnginesClock(int secondsLater, boolean good) {
        clock.seconds += secondsLater;
        assertThat(take(hold()).refusal())
                .isEqualTo(
                        good ? Optional.empty() : Optional.of(refused("clock").put("now", NOW + secondsLater * 1_000)));
    }

    @Test
    void proofsSeen_areForgottenWhenTheyAreTooOldAnyway_orBeyondTheirNumber() {
        take(list());
        clock.seconds += 301;
        assertThat(take(list()).refusal())
                .as("still not good")
                .contains(refused("clock").put("now", NOW + 301_000));
        clock.seconds -= 301;
        assertThat(take(list()).refusal()).contains(refused("seen"));

        HoldOrders forgetful = new HoldOrders(Connector.of(SECRET), clock, 100);
        for (int i = 0; i < 100; i++) {
            String proof = HoldOrders.proof(SECRET, "holdfast/1\nlist\n" + (NOW + i));
            JsonObject one = list().put("at", NOW + i).put("proof", proof);
            assertThat(forgetful.take(body(one), ask(PROMPT)).refusal()).isEmpty();
        }
        assertThat(forgetful.take(body(list()), ask(PROMPT)).refusal()).contains(refused("seen"));
        assertThat(forgetful.take(body(release()), ask(PROMPT)).refusal()).isEmpty();
        assertThat(forgetful.take(body(list()), ask(PROMPT)).refusal())
                .as("the oldest went")
                .isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"v\":2}",
                "{\"v\":\"1\"}",
                "{\"v\":true}",
                "{\"op\":\"pin\"}",
                "{\"op\":null}",
                "{\"op\":[\"hold\"]}",
                "{\"id\":\"\"}",
                "{\"id\":\"with blank\"}",
                "{\"id\":\"a\\n\"}",
                "{\"id\":7}",
                "{\"ttl\":0}",
                "{\"ttl\":1.5}",
                "{\"ttl\":\"30\"}",
                "{\"ttl\":1e300}",
                "{\"at\":-1}",
                "{\"at\":null}",
                "{\"proof\":null}",
                "{\"proof\":\"\"}",
                "{\"proof\":\"BF2FC4C2006425EF7E2F66216A5945A65BAA595B1FDF2972E91EA66209711546\"}",
                "{\"op\":\"release\"}",
                "{\"op\":\"release\",\"ids\":[]}",
                "{\"op\":\"release\",\"ids\":\"*\"}",
                "{\"op\":\"release\",\"ids\":[\"a\",\"*\"]}",
                "{\"op\":\"release\",\"ids\":[1]}"
            })
    void malformedOrder_isRefusedWithThatAlone(String change) {
        assertThat(take(hold().mergeIn(new JsonObject(change))).refusal()).contains(refused("request"));
    }

    @Test
    void namesBeyondTheirLengthOrNumber_areMalformed() {
        assertThat(take(hold().put("id", "a".repeat(129))).refusal()).contains(refused("request"));
        JsonArray names = new JsonArray(
                IntStream.rangeClosed(0, 1_000).mapToObj(i -> "h" + i).toList());
        assertThat(take(release().put("ids", names)).refusal()).contains(refused("request"));
        assertThat(take(hold().put("id", "a".repeat(128))).refusal()).contains(refused("proof"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "7", "\"hold\"", "[]", "{}"})
    void fieldThatIsNoOrder_isMalformed(String field) {
        String body = "{\"kv_transfer_params\":{\"holdfast\":" + field + "}}";
        assertThat(take(ValidatedBody.parse(body.getBytes(StandardCharsets.UTF_8)), PROMPT)
                        .refusal())
                .contains(refused("request"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "fifteen letters", "  fifteen letters  "})
    void withoutASecret_nothingIsTaken(String secret) {
        assertThat(new HoldOrders(Connector.of(secret), clock)
                        .take(body(hold()), ask(PROMPT))
                        .refusal())
                .contains(refused("no secret"));
    }

    private static JsonObject hold() {
        return new JsonObject()
                .put("v", 1)
                .put("op", "hold")
                .put("id", "prefix:1")
                .put("ttl", 30)
                .put("at", NOW)
                .put("proof", HOLD);
    }

    private static JsonObject release() {
        return new JsonObject()
                .put("v", 1)
                .put("op", "release")
                .put("ids", JsonArray.of("prefix:1", "prefix:2"))
                .put("at", NOW)
                .put("proof", RELEASE);
    }

    private static JsonObject list() {
        return new JsonObject().put("v", 1).put("op", "list").put("at", NOW).put("proof", LIST);
    }

    private static JsonObject refused(String why) {
        return new JsonObject().put("v", 1).put("refused", why);
    }

    private HoldOrders.Taken take(JsonObject order) {
        return take(body(order), PROMPT);
    }

    private HoldOrders.Taken take(ValidatedBody body, int[] prompt) {
        return orders.take(body, ask(prompt));
    }

    private static ValidatedBody body(JsonObject order) {
        return ValidatedBody.parse(new JsonObject()
                .put("kv_transfer_params", new JsonObject().put("holdfast", order))
                .encode()
                .getBytes(StandardCharsets.UTF_8));
    }

    private static GenerationRequest ask(int[] prompt) {
        return new GenerationRequest(
                List.of(new GenerationRequest.Prompt(prompt, () -> "", RequestOptions.of(1))),
                1,
                false,
                GenerationRequest.Stops.NONE,
                new GenerationRequest.ResponseOptions(
                        List.of(), "m", false, false, false, false, false, false, 1, false, "assistant"));
    }

    private static Optional<HoldOrder> order(HoldOrders.Taken taken) {
        return taken.ask().prompts().getFirst().terms().order();
    }

    /** Stands still until it is set. */
    private static final class Wall implements EngineClock {
        private double seconds = VirtualClock.START;

        @Override
        public long nanos() {
            return 0;
        }

        @Override
        public double unixSeconds() {
            return seconds;
        }

        @Override
        public void await(long deadlineNanos) {}
    }
}
