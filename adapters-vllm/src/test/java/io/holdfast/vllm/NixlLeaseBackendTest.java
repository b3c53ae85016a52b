package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What NIXL is asked, and what follows from its answers, which are those of vLLM 0.32.0. */
class NixlLeaseBackendTest {
    private static final String COMPLETIONS = "/v1/completions";
    private static final String METRICS = "/metrics";
    private static final String ONE_CACHE =
            "vllm:cache_config_info{block_size=\"16\",enable_prefix_caching=\"True\",engine=\"0\"} 1.0\n";
    private static final String NIXL = "vllm:nixl_num_kv_expired_reqs_total{engine=\"0\",model_name=\"m\"} 0.0\n";
    private static final PinCommand FOUR_TOKENS =
            new PinCommand(3, 4, new HoldRequest(new long[] {1, 2}, new int[] {7, 8, 9, 10}, Duration.ofMinutes(5)), 2);

    private CannedEngine engine;

    @BeforeEach
    void start() throws IOException {
        engine = new CannedEngine()
                .answers("/v1/models", 200, "{\"data\":[{\"id\":\"m\"}]}")
                .answers(METRICS, 200, ONE_CACHE + NIXL);
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    private NixlLeaseBackend backend(int seconds) {
        return new NixlLeaseBackend(engine.http(), engine.timer(), Duration.ofSeconds(seconds));
    }

    private NixlLeaseBackend backend() {
        return backend(30);
    }

    private void says(String usage, String receipt) {
        engine.answers(COMPLETIONS, 200, "{\"usage\":" + usage + ",\"kv_transfer_params\":" + receipt + "}");
    }

    private void leases(int prompt, int computed, int cached) {
        says(
                "{\"prompt_tokens\":" + prompt + ",\"prompt_tokens_details\":{\"cached_tokens\":" + cached + "}}",
                "{\"do_remote_prefill\":true,\"do_remote_decode\":false,\"remote_block_ids\":[[4,5,6]],"
                        + "\"remote_engine_id\":\"f24bbac6-9e6b\",\"remote_host\":\"10.1.2.3\",\"remote_port\":5600,"
                        + "\"remote_num_tokens\":" + computed + "}");
    }

    /** Probes an engine whose metrics do not show NIXL. */
    private Capabilities probed() {
        engine.answers(METRICS, 200, ONE_CACHE);
        return backend().probe().toCompletableFuture().join();
    }

    private Outcome pinned() {
        return backend().pin(FOUR_TOKENS).toCompletableFuture().join();
    }

    private Outcome renewed() {
        return backend().renew(FOUR_TOKENS).toCompletableFuture().join();
    }

    @Test
    void pins_takeMemory_endWithTheLease_andAreRenewedThreeTimesInIt() {
        BackendTraits traits = backend(45).traits();
        assertThat(traits.takesMemory()).isTrue();
        assertThat(traits.onlyRunsOut()).isTrue();
        assertThat(traits.endsAfter()).isEqualTo(Duration.ofSeconds(45));
        assertThat(traits.renewedEvery()).isEqualTo(Duration.ofSeconds(15));
        assertThat(traits.blocksBeside()).isEqualTo(4);
        assertThat(traits.needsLedger()).isFalse();
    }

    @Test
    void hold_isThePrefixWithOneTokenMore_forOneTokenOfAnswer() {
        leases(5, 5, 0);
        assertThat(pinned())
                .isEqualTo(new Outcome(Kind.ACCEPTED, "The engine leases its 4 tokens for 30 s.", OptionalLong.of(0)));
        assertThat(engine.asked())
                .last()
                .isEqualTo("POST " + COMPLETIONS
                        + " {\"model\":\"m\",\"prompt\":[7,8,9,10,10],\"max_tokens\":1,\"temperature\":0,"
                        + "\"kv_transfer_params\":{\"do_remote_decode\":true}}");
        assertThat(backend().handle(FOUR_TOKENS)).isEqualTo("2");
    }

    @Test
    void receipt_isNeverSaid() {
        leases(5, 5, 0);
        assertThat(List.of(pinned().reason(), renewed().reason(), probed().why()))
                .allSatisfy(reason -> assertThat(reason)
                        .doesNotContain("f24bbac6")
                        .doesNotContain("10.1.2.3")
                        .doesNotContain("5600"));
    }

    @ParameterizedTest
    @CsvSource({"0, MISSING", "3, MISSING", "4, ACCEPTED"})
    void renewalThatFoundLess_isALoss(int cached, Kind kind) {
        leases(5, 5, cached);
        assertThat(pinned().kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(renewed().kind()).isEqualTo(kind);
    }

    @Test
    void engineThatDoesNotTellWhatItFound_isTakenAtItsWord() {
        says(
                "{\"prompt_tokens\":5,\"prompt_tokens_details\":null}",
                "{\"remote_block_ids\":[[4]],\"remote_engine_id\":\"e\"}");
        assertThat(renewed().kind()).isEqualTo(Kind.ACCEPTED);
    }

    @Test
    void promptThatIsShortened_isHeldByNone_andCountsUntilItsLeaseIsOver() {
        leases(5, 4, 0);
        assertThat(pinned().kind()).isEqualTo(Kind.CLIPPED);
        assertThat(pinned().reason()).startsWith("The engine shortens what is to be leased (4 tokens of 5)");
        leases(4, 5, 0);
        assertThat(pinned().kind()).as("the usage tells it as well").isEqualTo(Kind.CLIPPED);
        leases(16, 15, 0);
        assertThat(probed().canPin()).isFalse();
        assertThat(probed().why()).contains("models with states and for those that draft");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        null
        {"remote_engine_id":"e","remote_block_ids":[]}
        {"remote_block_ids":[[1]]}
        {"holdfast":{"refused":"request"}}
        """)
    void engineThatLeasesNothing_isRefused_withTheMend(String receipt) {
        says("{\"prompt_tokens\":16}", receipt);
        assertThat(pinned().kind()).isEqualTo(Kind.REJECTED);
        assertThat(probed().canPin()).isFalse();
        assertThat(probed().why()).startsWith("The engine leases nothing. Start it with --kv-transfer-config");
    }

    @Test
    void probe_leasesNothingWhereMetricsShowNixl_andSaysTheCost() {
        Capabilities can = backend().probe().toCompletableFuture().join();
        assertThat(can.canPin()).isTrue();
        assertThat(can.why())
                .startsWith("The engine leases what it computed for 30 s at a time. A request that does not fit beside"
                        + " what is held waits up to 30 s, and everybody behind it. While anything is leased");
        assertThat(engine.asked()).allMatch(asked -> asked.equals("GET " + METRICS));
        assertThat(backend(90).probe().toCompletableFuture().join().why())
                .contains("behind it: start the engine with a shorter kv_lease_duration.");
    }

    @Test
    void probe_leasesABlockWhereTheyDoNot() {
        leases(16, 16, 0);
        assertThat(probed().canPin()).isTrue();
        assertThat(engine.asked()).last().asString().contains("[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"max_tokens\":1");
    }

    @Test
    void look_leasesNothing() {
        assertThat(look().canPin()).isTrue();
        assertThat(engine.asked()).as("the page shows all").containsExactly("GET " + METRICS);
        assertThat(look().why()).startsWith("The engine runs NIXL, which holds for a lease at a time");
        engine.answers(METRICS, 200, ONE_CACHE);
        assertThat(look().canPin()).isFalse();
        assertThat(look().why()).startsWith("The engine runs no NIXL. Start it with --kv-transfer-config");
        assertThat(engine.asked()).allMatch(asked -> asked.equals("GET " + METRICS));
    }

    private Capabilities look() {
        return NixlLeaseBackend.look(engine.http(), engine.timer())
                .toCompletableFuture()
                .join();
    }

    @Test
    void severalRanks_holdNothing() {
        engine.answers(METRICS, 200, ONE_CACHE + ONE_CACHE.replace("engine=\"0\"", "engine=\"1\"") + NIXL);
        Capabilities can = backend().probe().toCompletableFuture().join();
        assertThat(can.canPin()).isFalse();
        assertThat(can.why()).contains("data-parallel ranks");
        assertThat(look().canPin()).isFalse();
        assertThat(engine.asked()).noneMatch(asked -> asked.startsWith("POST"));
    }

    @Test
    void lostAnswer_saysNothingClear() {
        engine.answers(COMPLETIONS, 503, "{}");
        assertThat(pinned().kind()).isEqualTo(Kind.DEFERRED);
        assertThat(probed().canPin()).isFalse();
    }

    @Test
    void prefixWithoutTokens_isRefused() {
        PinCommand unknown = new PinCommand(3, 4, new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(5)), 2);
        assertThat(backend().pin(unknown).toCompletableFuture().join().kind()).isEqualTo(Kind.REJECTED);
        assertThat(engine.asked()).isEmpty();
    }

    @Test
    void nothingTakesALeaseBack() {
        assertThat(backend().unpin(List.of("2")).toCompletableFuture().join().kind())
                .isEqualTo(Kind.REJECTED);
        assertThat(engine.asked()).isEmpty();
    }
}
