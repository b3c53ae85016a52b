package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On what a real 0.5.23 server answered. */
final class SglangReadingsTest {
    private static final long NOW = 42;
    private final CannedEngine engine;
    private final SglangReadings readings;

    SglangReadingsTest() throws IOException {
        engine = new CannedEngine()
                .answers("/server_info", 200, CannedEngine.resource("server_info_sample.json"))
                .answers("/metrics", 200, CannedEngine.resource("metrics_sample.txt"));
        readings = new SglangReadings(engine.http());
    }

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void realServer_isRead() {
        EngineReadings read = read(NOW);
        assertThat(read.capacityTokens()).isEqualTo(Reading.known(4096, "/server_info max_total_num_tokens", NOW));
        assertThat(read.blockTokens()).isEqualTo(Reading.known(16, "/server_info page_size", NOW));
        assertThat(read.largestAcceptedTokens()).isEqualTo(Reading.known(4090, "/server_info max_req_input_len", NOW));
        assertThat(read.contextTokens())
                .as("the model decides, so no context is written")
                .isEqualTo(Reading.known(4096, "/server_info max_req_input_len + 6", NOW));
        assertThat(read.runningRequests()).isEqualTo(Reading.known(0, "/metrics sglang:num_running_reqs", NOW));
        assertThat(read.waitingRequests()).isEqualTo(Reading.known(0, "/metrics sglang:num_queue_reqs", NOW));
        assertThat(read.usedTokens()).isEqualTo(Reading.known(0, "/metrics sglang:num_used_tokens", NOW));
        assertThat(read.ttftSumSeconds())
                .isEqualTo(Reading.known(90.96604632709114, "/metrics sglang:time_to_first_token_seconds_sum", NOW));
        assertThat(read.ttftCount())
                .isEqualTo(Reading.known(344, "/metrics sglang:time_to_first_token_seconds_count", NOW));
        assertThat(read.promptTokens()).isEqualTo(Reading.known(102459, "/metrics sglang:prompt_tokens_total", NOW));
        assertThat(read.cachedTokens()).isEqualTo(Reading.known(12032, "/metrics sglang:cached_tokens_total", NOW));
    }

    @Test
    void ranksOfOneCache_countOnce_cachesAreSummed_andTheTotalIsNotAddedToItsParts() {
        engine.answers("/metrics", 200, """
            sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3
            sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 3
            sglang:num_running_reqs{dp_rank="1",tp_rank="2"} 4
            sglang:time_to_first_token_seconds_count{is_streaming="true"} 5
            sglang:time_to_first_token_seconds_count{is_streaming="false"} 6
            sglang:cached_tokens_total{cache_source="device"} 70
            sglang:cached_tokens_total{cache_source="host"} 30
            sglang:cached_tokens_total{cache_source="total"} 101
            """);
        EngineReadings read = read(NOW);
        assertThat(read.runningRequests().number()).hasValue(7);
        assertThat(read.ranks()).hasSize(2);
        assertThat(read.ranks().get(0).runningRequests().number()).hasValue(3);
        assertThat(read.ranks().get(1).runningRequests().number()).hasValue(4);
        assertThat(read.ranks().get(1).usedTokens()).isInstanceOf(Reading.Unknown.class);
        assertThat(read.ttftCount().number()).hasValue(11);
        assertThat(read.cachedTokens().number()).hasValue(101);
        assertThat(read.promptTokens())
                .isEqualTo(Reading.unknown(
                        "/metrics has no sglang:prompt_tokens_total yet: it appears with the first request that it"
                                + " counts."));
    }

    @Test
    void withoutMetrics_theLoadComesFromLoads_andTheRestSaysWhichFlag() throws IOException {
        engine.answers("/metrics", 404, "")
                .answers(
                        "/v1/loads",
                        200,
                        CannedEngine.resource("v1_loads_sample.json")
                                .replace("\"num_waiting_reqs\":0", "\"num_waiting_reqs\":2"));
        EngineReadings read = read(NOW);
        assertThat(read.waitingRequests()).isEqualTo(Reading.known(2, "/v1/loads num_waiting_reqs", NOW));
        assertThat(read.runningRequests().number()).hasValue(0);
        assertThat(read.usedTokens().number()).hasValue(0);
        assertThat(read.ttftCount())
                .isEqualTo(Reading.unknown("/metrics is not served: start the engine with --enable-metrics."));
        assertThat(read.capacityTokens().number()).hasValue(4096);
    }

    /** As 0.5.15 to 0.5.21 do. */
    @Test
    void replayThatTheEngineDoesNotList_isReadFromWhatItWasStartedWith() {
        engine.answers("/server_info", 200, """
            {"kv_events":{"publisher":"zmq","endpoint_host":"*","endpoint_port_base":39031,"topic":"kv-events",
             "block_size":16,"dp_size":1},
             "kv_events_config":"{\\"publisher\\":\\"zmq\\",\\"endpoint\\":\\"tcp://*:39031\\",\\"replay_endpoint\\":\\"tcp://*:39044\\"}"}
            """);

        assertThat(readings.events().toCompletableFuture().join())
                .isEqualTo(new EventEndpoints.Known(
                        List.of("tcp://127.0.0.1:39031"), Optional.of("tcp://127.0.0.1:39044"), "kv-events"));
    }

    @ParameterizedTest
    @CsvSource({"404, ''", "200, no json", "200, {}", "200, '{\"loads\":[{}]}'"})
    void withoutMetricsAndLoads_theLoadIsUnknown(int status, String body) {
        engine.answers("/metrics", 404, "").answers("/v1/loads", status, body);
        EngineReadings read = read(NOW);
        assertThat(read.runningRequests())
                .isEqualTo(Reading.unknown("/metrics is not served: start the engine with --enable-metrics."));
        assertThat(read.capacityTokens().number()).hasValue(4096);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "404 | x    | The engine answered /server_info with HTTP 404: it is older than SGLang 0.5.9, or no"
                        + " SGLang.",
                "500 | x    | The engine answered /server_info with HTTP 500.",
                "200 | oops | The engine's /server_info is no JSON.",
                "200 | []   | The engine's /server_info is no JSON object.",
                "200 | {}   | The engine's /server_info has no max_total_num_tokens."
            })
    void unreadableServerInfo_isUnknownWithItsReason(int status, String body, String why) {
        engine.answers("/server_info", status, body);
        EngineReadings read = read(NOW);
        assertThat(read.capacityTokens()).isEqualTo(Reading.unknown(why));
        assertThat(read.ttftCount().number()).hasValue(344);
    }

    @Test
    void serverInfo_isKeptForFiveSeconds_withTheTimeItWasAskedAt() {
        read(NOW);
        long later = NOW + TimeUnit.SECONDS.toNanos(5) - 1;
        EngineReadings kept = read(later);
        assertThat(engine.asked()).filteredOn("GET /server_info"::equals).hasSize(1);
        assertThat(kept.capacityTokens()).isEqualTo(Reading.known(4096, "/server_info max_total_num_tokens", NOW));
        assertThat(kept.blockTokens()).isEqualTo(Reading.known(16, "/server_info page_size", NOW));
        assertThat(kept.runningRequests()).isEqualTo(Reading.known(0, "/metrics sglang:num_running_reqs", later));
        EngineReadings fresh = read(later + 1);
        assertThat(engine.asked()).filteredOn("GET /server_info"::equals).hasSize(2);
        assertThat(fresh.capacityTokens())
                .isEqualTo(Reading.known(4096, "/server_info max_total_num_tokens", later + 1));
    }

    @Test
    void deadEngine_isUnknownThroughout_alsoItsSize() {
        read(NOW);
        engine.dies();
        read(NOW);
        EngineReadings read = read(NOW);
        String why = "Nothing listens at " + engine.http().base() + ": is the engine running?";
        assertThat(read.but().preemptions(Reading.unknown(why)).build()).isEqualTo(EngineReadings.unknown(why));
    }

    @Test
    void listedEndpoints_areSeenFromHere() {
        assertThat(events())
                .isEqualTo(new EventEndpoints.Known(
                        List.of("tcp://127.0.0.1:35567"), Optional.of("tcp://127.0.0.1:35568"), "kv-events"));
    }

    @Test
    void everyRank_hasItsEndpoint() {
        engine.answers(
                "/server_info",
                200,
                "{\"kv_events\":{\"publisher\":\"zmq\",\"endpoint_host\":\"10.0.0.7\",\"endpoint_port_base\":5557,"
                        + "\"topic\":\"\",\"dp_size\":3}}");
        assertThat(events())
                .isEqualTo(new EventEndpoints.Known(
                        List.of("tcp://10.0.0.7:5557", "tcp://10.0.0.7:5558", "tcp://10.0.0.7:5559"),
                        Optional.empty(),
                        ""));
    }

    @Test
    void ranksThatNoEngineHas_areNotSubscribedTo() {
        engine.answers(
                "/server_info",
                200,
                "{\"kv_events\":{\"publisher\":\"zmq\",\"endpoint_host\":\"10.0.0.7\",\"endpoint_port_base\":5557,"
                        + "\"topic\":\"\",\"dp_size\":2000000000}}");
        assertThat(events())
                .isEqualTo(new EventEndpoints.Unknown(
                        "The engine says that it has 2000000000 data-parallel ranks, which no"
                                + " engine has; their events are not subscribed to."));
    }

    @Test
    void olderEngine_tellsItsEndpointInItsArguments() {
        engine.answers(
                "/server_info",
                200,
                "{\"dp_size\":1,\"kv_events_config\":\"{\\\"publisher\\\":\\\"zmq\\\",\\\"topic\\\":\\\"t\\\","
                        + "\\\"replay_endpoint\\\":\\\"tcp://*:6002\\\","
                        + "\\\"endpoint\\\":\\\"tcp://*:6001\\\"}\"}");
        assertThat(events())
                .isEqualTo(new EventEndpoints.Known(
                        List.of("tcp://127.0.0.1:6001"), Optional.of("tcp://127.0.0.1:6002"), "t"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}                                                          | start it with --kv-events-config",
                "{\"kv_events\":null,\"kv_events_config\":null}              | start it with --kv-events-config",
                "{\"kv_events\":{\"publisher\":\"null\"}}                    | start it with --kv-events-config",
                "{\"kv_events\":{\"publisher\":\"zmq\"}}                     | does not say at which port",
                "{\"kv_events_config\":\"oops\"}                             | start it with --kv-events-config",
                "{\"kv_events_config\":\"{\\\"endpoint\\\":\\\"ipc://x\\\"}\"} | give it a tcp:// endpoint"
            })
    void engineWithoutReachableEvents_saysWhatWouldChangeIt(String info, String why) {
        engine.answers("/server_info", 200, info);
        assertThat(events())
                .isInstanceOfSatisfying(
                        EventEndpoints.Unknown.class,
                        unknown -> assertThat(unknown.why()).contains(why));
    }

    private EngineReadings read(long now) {
        return readings.read(now).toCompletableFuture().join();
    }

    private EventEndpoints events() {
        return readings.events().toCompletableFuture().join();
    }
}
