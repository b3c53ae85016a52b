package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the connector is asked, and what follows from its answers. The proofs were computed by openssl. */
class ConnectorBackendTest {
    private static final String COMPLETIONS = "/v1/completions";
    private static final String ID = "holdfast-0000000000000005-3-4";
    private static final PinCommand FOUR_TOKENS =
            new PinCommand(3, 4, new HoldRequest(new long[] {1, 2}, new int[] {7, 8, 9, 10}, Duration.ofMinutes(5)), 2);

    private CannedEngine engine;

    @BeforeEach
    void start() throws IOException {
        engine = new CannedEngine().answers("/v1/models", 200, "{\"data\":[{\"id\":\"m\"}]}");
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    private ConnectorBackend backend(Optional<ConnectorSecret> secret) {
        RandomGenerator random = () -> 5;
        return new ConnectorBackend(engine.http(), secret, () -> Instant.ofEpochMilli(1_764_370_000_000L), random);
    }

    private ConnectorBackend backend() {
        return backend(Optional.of(ConnectorSecret.of("0123456789abcdef0123456789abcdef")));
    }

    private void says(String connector, String cached) {
        engine.answers(
                COMPLETIONS,
                200,
                "{\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":" + cached + "}},\"kv_transfer_params\":"
                        + connector + "}");
    }

    @Test
    void nothingIsAskedWithoutASecret() {
        Capabilities can =
                backend(Optional.empty()).probe().toCompletableFuture().join();
        assertThat(can.canPin()).isFalse();
        assertThat(can.why()).contains("engines.ID.connectorSecretEnv");
        assertThat(engine.asked()).isEmpty();
    }

    @Test
    void probe_isAListOfOneToken_andTellsTheShare() {
        says(
                "{\"holdfast\":{\"v\":1,\"holds\":{},\"blocks_held\":0,\"blocks_most\":63,\"blocks_total\":255,\"block_size\":32}}",
                "0");
        Capabilities can = backend().probe().toCompletableFuture().join();
        assertThat(can)
                .isEqualTo(new Capabilities(
                                true,
                                "The engine's connector holds until told, up to 63 of 255 blocks, and gives way where"
                                        + " the engine could not go on.")
                        .upTo(63 * 32));
        assertThat(engine.asked())
                .last()
                .isEqualTo("POST " + COMPLETIONS
                        + " {\"model\":\"m\",\"prompt\":[0],\"max_tokens\":1,\"temperature\":0,\"kv_transfer_params\":"
                        + "{\"holdfast\":{\"v\":1,\"op\":\"list\",\"at\":1764370000000,\"proof\":"
                        + "\"73d8004a5a812de1670f055b2a0809edbe3a6127a069b432e7fcfe4d55d751c6\"}}}");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        null                                    | The engine has no connector of Holdfast's. Put holdfast_connector.py on its PYTHONPATH
        {"holdfast":{"refused":"no secret"}}    | The engine's connector has no secret
        {"holdfast":{"refused":"proof"}}        | The engine's connector has another secret than engines.ID.connectorSecretEnv names.
        {"holdfast":{"refused":"clock"}}        | The clocks of the engine's machine and of this one are more than five minutes apart
        {"holdfast":{"refused":"engine"}}       | The engine's connector does not know this version of vLLM
        {"holdfast":{"refused":"seen"}}         | The engine's connector refused: seen.
        """)
    void connectorThatCannot_isNotChosen_withTheMend(String said, String why) {
        says(said, "0");
        Capabilities can = backend().probe().toCompletableFuture().join();
        assertThat(can.canPin()).isFalse();
        assertThat(can.why()).startsWith(why);
    }

    @Test
    void engineThatDoesNotAnswer_isNotChosen() {
        engine.answers(COMPLETIONS, 500, "broken");
        assertThat(backend().probe().toCompletableFuture().join())
                .satisfies(can -> assertThat(can.canPin()).isFalse())
                .satisfies(can -> assertThat(can.why()).contains("HTTP 500"));
    }

    @Test
    void hold_isTheirPrefixWithOneTokenMore_provenWithItsTokens() {
        says("{\"holdfast\":{\"v\":1,\"held\":2,\"ttl\":180}}", "4");
        Outcome outcome = backend().pin(FOUR_TOKENS).toCompletableFuture().join();
        assertThat(outcome)
                .isEqualTo(new Outcome(Kind.ACCEPTED, "The connector holds its 4 tokens.", OptionalLong.of(4)));
        assertThat(engine.asked())
                .last()
                .isEqualTo("POST " + COMPLETIONS
                        + " {\"model\":\"m\",\"prompt\":[7,8,9,10,10],\"max_tokens\":1,\"temperature\":0,"
                        + "\"kv_transfer_params\":{\"holdfast\":{\"v\":1,\"op\":\"hold\",\"at\":1764370000000,\"proof\":"
                        + "\"19f352ac1b14391dfdb1f3782280bddb47c0bb37ec9d54d6d5b522d02cfb9735\",\"id\":\"" + ID
                        + "\",\"ttl\":180}}}");
        assertThat(backend().handle(FOUR_TOKENS)).isEqualTo(ID);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        {"holdfast":{"held":2,"ttl":180}}                                                    | 0 | ACCEPTED | MISSING
        {"holdfast":{"held":2,"ttl":180}}                                                    | 4 | ACCEPTED | ACCEPTED
        {"holdfast":{"held":1,"ttl":180}}                                                    | 4 | CLIPPED  | CLIPPED
        {"holdfast":{"held":0,"refused":"share","blocks_held":60,"blocks_most":63}}          | 4 | REJECTED | REJECTED
        {"holdfast":{"held":2,"ttl":60}}                                                     | 4 | REJECTED | REJECTED
        {"holdfast":{"held":0,"refused":"aborted"}}                                          | 4 | REJECTED | REJECTED
        null                                                                                 | 4 | REJECTED | REJECTED
        """)
    void answers_ofAHoldAndOfItsRenewal(String said, String cached, Kind pinned, Kind renewed) {
        says(said, cached);
        assertThat(backend().pin(FOUR_TOKENS).toCompletableFuture().join().kind())
                .isEqualTo(pinned);
        assertThat(backend().renew(FOUR_TOKENS).toCompletableFuture().join().kind())
                .isEqualTo(renewed);
    }

    @Test
    void fullShare_isARefusalForNow() {
        says("{\"holdfast\":{\"held\":0,\"refused\":\"share\",\"blocks_held\":60,\"blocks_most\":63}}", "4");
        assertThat(backend().pin(FOUR_TOKENS).toCompletableFuture().join())
                .isEqualTo(Outcome.refusedForNow("The connector's share is full: 60 of 63 blocks (its max_share)."));
    }

    @Test
    void lostAnswer_saysNothingClear() {
        engine.answers(COMPLETIONS, 503, "{}");
        assertThat(backend().pin(FOUR_TOKENS).toCompletableFuture().join().kind())
                .isEqualTo(Kind.DEFERRED);
        assertThat(backend().unpin(List.of("a")).toCompletableFuture().join().kind())
                .isEqualTo(Kind.DEFERRED);
    }

    @Test
    void release_namesAllAtOnce() {
        says("{\"holdfast\":{\"v\":1,\"released\":1}}", "0");
        assertThat(backend()
                        .unpin(List.of("a", "b"))
                        .toCompletableFuture()
                        .join()
                        .kind())
                .isEqualTo(Kind.ACCEPTED);
        assertThat(engine.asked())
                .last()
                .asString()
                .endsWith(
                        "\"proof\":"
                            + "\"b628e0f14dae452266904d8f90f730f3a266faf0d784d9a283adc6aa64df2022\",\"ids\":[\"a\",\"b\"]}}}");
    }

    @Test
    void secret_isNeverSaid() {
        ConnectorSecret secret = ConnectorSecret.of("0123456789abcdef0123456789abcdef");
        assertThat(secret).asString().doesNotContain("0123");
    }
}
