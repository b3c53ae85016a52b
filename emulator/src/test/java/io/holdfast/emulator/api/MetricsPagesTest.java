package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.testing.Recording;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The pages of metrics beside those of real servers. */
class MetricsPagesTest {
    private static final Speed SPEED = new Speed(1, 1_000, 1_000, 1);

    @Test
    void sglang_pageOfAUsedServer_hasTheRealOnesMetricsInItsOrder() {
        String real = Recording.text("sglang_metrics.txt.gz").replace("model_tiny", "m");
        try (Served<SglangEngine> served = sglang(SglangSettings.defaults())) {
            String page = use(served.port());
            Predicate<String> recordedOnly = line -> line.contains("inter_token_latency");
            assertThat(heads(page).stream().filter(recordedOnly.negate()).toList())
                    .isEqualTo(heads(real));
            assertThat(labels(page, "sglang:scheduler_stage_seconds_total"))
                    .isEqualTo(labels(real, "sglang:scheduler_stage_seconds_total"));
            assertThat(labels(page, "sglang:time_to_first_token_seconds_sum"))
                    .contains("{engine_type=\"unified\",is_streaming=\"false\",model_name=\"m\"}")
                    .contains("{engine_type=\"unified\",is_streaming=\"true\",model_name=\"m\"}");
            assertThat(buckets(page, "sglang:time_to_first_token_seconds"))
                    .isEqualTo(buckets(real, "sglang:time_to_first_token_seconds"));
            assertThat(buckets(page, "sglang:prompt_tokens_histogram"))
                    .isEqualTo(buckets(real, "sglang:prompt_tokens_histogram"));
            assertThat(value(page, "sglang:generation_tokens_total")).isEqualTo(10);
            assertThat(value(page, "sglang:num_requests_total")).isEqualTo(2);
            assertThat(value(page, "sglang:max_total_num_tokens")).isEqualTo(4096);
        }
    }

    @Test
    void sglang_hostTier_hasItsMetrics() {
        String real = Recording.text("sglang_metrics_hicache.txt.gz");
        try (Served<SglangEngine> served = sglang(SglangSettings.defaults().withHostRatio(3))) {
            assertThat(heads(use(served.port()))).containsAll(heads(real));
        }
    }

    @Test
    void vllm_pageOfAUsedServer_hasTheRealOnesMetricsInItsOrder() {
        String real = Recording.text("vllm_metrics.txt.gz");
        try (Served<VllmEngine> served = Served.vllm(
                VllmSettings.defaults(), Served.api().withModel("m"), Faults.none(), new VirtualClock(), SPEED)) {
            String page = use(served.port());
            Predicate<String> ofTheProcess = line -> line.matches("# (HELP|TYPE) (python_|process_|http_).*");
            assertThat(heads(page))
                    .isEqualTo(
                            heads(real).stream().filter(ofTheProcess.negate()).toList());
            assertThat(buckets(page, "vllm:time_to_first_token_seconds"))
                    .isEqualTo(buckets(real, "vllm:time_to_first_token_seconds"));
            assertThat(buckets(page, "vllm:request_prompt_tokens"))
                    .isEqualTo(buckets(real, "vllm:request_prompt_tokens"));
            assertThat(value(page, "vllm:generation_tokens_total")).isEqualTo(10);
            assertThat(value(page, "vllm:request_success_total")).isEqualTo(2);
            assertThat(page)
                    .contains("vllm:cache_config_info{_block_size_resolved=\"True\",block_size=\"16\",")
                    .contains("num_gpu_blocks=\"256\"")
                    .contains("prefix_caching_hash_algo=\"sha256\"");
        }
    }

    @Test
    void sglang_ranks_tellTheirOwnNumbers() {
        ApiSettings api = Served.api().withModel("m").withRanks(2);
        try (Served<SglangEngine> served =
                Served.sglang(SglangSettings.defaults(), api, Faults.none(), new VirtualClock(), SPEED)) {
            String page = use(served.port());
            assertThat(labels(page, "sglang:num_running_reqs"))
                    .hasSize(2)
                    .allMatch(labels -> labels.matches("\\{dp_rank=\"[01]\",engine_type=\"unified\",.*"));
            assertThat(samples(page, "sglang:realtime_tokens_total\\{.*mode=\"decode\".*"))
                    .as("each rank had one of the two requests")
                    .containsExactly(4.0, 4.0);
            assertThat(new RawHttp(served.port(), 30_000).get("/v1/loads").body())
                    .containsSubsequence("\"dp_rank\":0", "\"dp_rank\":1");
        }
    }

    @Test
    void vllm_ranks_tellTheirOwnNumbers() {
        ApiSettings api = Served.api().withModel("m").withRanks(2);
        try (Served<VllmEngine> served =
                Served.vllm(VllmSettings.defaults(), api, Faults.none(), new VirtualClock(), SPEED)) {
            String page = use(served.port());
            assertThat(labels(page, "vllm:generation_tokens_total"))
                    .containsExactly("{engine=\"0\",model_name=\"m\"}", "{engine=\"1\",model_name=\"m\"}");
            assertThat(samples(page, "vllm:generation_tokens_total.*")).containsExactly(5.0, 5.0);
            assertThat(samples(page, "vllm:time_to_first_token_seconds_count.*"))
                    .containsExactly(1.0, 1.0);
        }
    }

    private static Served<SglangEngine> sglang(SglangSettings settings) {
        return Served.sglang(settings, Served.api().withModel("m"), Faults.none(), new VirtualClock(), SPEED);
    }

    private static String use(int port) {
        RawHttp client = new RawHttp(port, 30_000);
        for (boolean stream : new boolean[] {false, true}) {
            assertThat(client.post(
                                    "/v1/completions",
                                    "{\"prompt\": \"one two three four\", \"max_tokens\": 5, \"stream\": " + stream
                                            + "}")
                            .status())
                    .isEqualTo(200);
        }
        return client.get("/metrics").body();
    }

    private static List<String> heads(String page) {
        return page.lines().filter(line -> line.startsWith("#")).toList();
    }

    private static List<String> labels(String page, String name) {
        return page.lines()
                .filter(line -> line.startsWith(name + "{"))
                .map(line -> line.substring(name.length(), line.lastIndexOf(' ')))
                .toList();
    }

    private static List<String> buckets(String page, String name) {
        Pattern bound = Pattern.compile("le=\"([^\"]*)\"");
        return page.lines()
                .filter(line -> line.startsWith(name + "_bucket{"))
                .flatMap(line -> bound.matcher(line).results().map(found -> found.group(1)))
                .distinct()
                .toList();
    }

    private static List<Double> samples(String page, String pattern) {
        return page.lines()
                .filter(line -> line.matches(pattern))
                .map(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .toList();
    }

    private static double value(String page, String name) {
        return page.lines()
                .filter(line -> line.startsWith(name + "{"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }
}
