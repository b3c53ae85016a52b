package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.report.TextTree;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.bed.ServerStages.Stage;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;

class RequestTraceTest {
    private static final long FIRST = 40_800_000;

    /** A request of 512 tokens whose answer's tokens come after these times. */
    private static RequestRecord request(int tokens, IntToDoubleFunction millis) {
        long[] stamps = new long[tokens];
        int[] counts = new int[tokens];
        Arrays.fill(counts, 1);
        stamps[0] = FIRST;
        for (int i = 1; i < tokens; i++) {
            stamps[i] = stamps[i - 1] + Math.round(1e6 * millis.applyAsDouble(i));
        }
        return new RequestRecord(
                0,
                Role.PROBE,
                0,
                RequestStatus.OK,
                0,
                300_000,
                OptionalLong.of(40_700_000),
                OptionalLong.of(FIRST),
                OptionalLong.of(stamps[tokens - 1]),
                stamps[tokens - 1] + 500_000,
                OptionalInt.of(512),
                OptionalInt.of(tokens),
                OptionalInt.of(0),
                "",
                OptionalInt.of(512),
                OptionalLong.empty(),
                TokenStamps.of(stamps, counts, tokens));
    }

    private static RequestTrace trace(IntToDoubleFunction millis, ServerStages server) {
        return new RequestTrace(1.2, request(129, millis), server, List.of());
    }

    @Test
    void tokenTimes_areSampledByPlaceAndContext() {
        RequestTrace trace = trace(token -> 8.2 + 0.0165 * (token - 1), ServerStages.none());
        assertThat(trace.samples()).extracting(RequestTrace.TokenTime::token).containsExactly(1, 32, 64, 128);
        assertThat(trace.samples())
                .extracting(sample -> sample.context().orElseThrow())
                .containsExactly(513, 544, 576, 640);
        assertThat(trace.samples().getFirst().millis()).isCloseTo(8.2, within(0.001));
        assertThat(trace.samples().getLast().millis()).isCloseTo(10.3, within(0.01));
    }

    @Test
    void slopeOfALongerContext_isRecoveredFromNoise() {
        SplittableRandom noise = new SplittableRandom(7);
        RequestTrace trace =
                trace(token -> 8.2 + 0.0165 * (token - 1) + 0.2 * (noise.nextDouble() - 0.5), ServerStages.none());
        Interval interval = trace.slope().orElseThrow().slopeInterval(0.95);
        assertThat(interval.low()).isLessThan(0.0165).isPositive();
        assertThat(interval.high()).isGreaterThan(0.0165).isLessThan(0.018);
        assertThat(trace.slopeText()).startsWith("The time for a token grows with its place: +0.016");
    }

    @Test
    void evenPace_hasAnIntervalAroundZero() {
        SplittableRandom noise = new SplittableRandom(7);
        RequestTrace trace = trace(token -> 8.2 + 0.2 * (noise.nextDouble() - 0.5), ServerStages.none());
        assertThat(trace.slope().orElseThrow().slopeInterval(0.95).excludesZero())
                .isFalse();
        assertThat(trace.slopeText()).contains("does not visibly depend");
    }

    @Test
    void treeWithoutServerStages_saysNotMeasured() {
        assertThat(trace(token -> 8, ServerStages.none()).tree().toString()).isEqualTo("""
            request                     1,065.300 ms  512 tokens in, 129 out, 0 cached
            ├─ connect                      1.200 ms  client, before its turn
            ├─ sent                         0.300 ms  client
            ├─ first byte                  40.400 ms  client
            │  ├─ tokenize and receive  not measured
            │  ├─ queue and schedule    not measured
            │  └─ prefill               not measured
            ├─ first token                  0.100 ms  client
            ├─ decode                   1,024.000 ms  client
            │  └─ decode                not measured
            ├─ end of the stream            0.500 ms  client
            └─ server, beside these
               ├─ detokenize            not measured
               ├─ cache insertion       not measured
               └─ whole request         not measured\
            """);
    }

    @Test
    void treeWithServerStages_hasThemWhereTheyBelong() {
        ServerStages stages = new ServerStages(Map.of(
                Stage.PROCESS,
                2.1,
                Stage.QUEUE,
                0.3,
                Stage.PREFILL,
                36.0,
                Stage.DECODE,
                1_023.0,
                Stage.WHOLE,
                1_063.0));
        RequestTrace trace = trace(token -> 8, stages);
        assertThat(trace.tree().toString())
                .contains("│  ├─ tokenize and receive      2.100 ms  server")
                .contains("│  ├─ queue and schedule        0.300 ms  server")
                .contains("│  └─ prefill                  36.000 ms  server")
                .contains("│  └─ decode                1,023.000 ms  server")
                .contains("├─ cache insertion       not measured");
        assertThat(trace.sums()).isEmpty();
    }

    @Test
    void stagesOfTheClient_addUp() {
        RequestTrace trace = trace(token -> 8.123, ServerStages.none());
        assertThat(trace.sums()).isEmpty();
        assertThat(trace.client().stream()
                        .mapToDouble(RequestTrace.Span::millis)
                        .sum())
                .isCloseTo(trace.totalMillis(), within(1e-9));
    }

    /** 40.8 until the first token, 1,109 of decode and 0.8 after that are not the 1,152 that were printed beside them. */
    @Test
    void publishedSample_doesNotAddUp() {
        assertThat(RequestTrace.sum("The request", 1_152.0, List.of(40.8, 1_109.0, 0.8)))
                .contains("The request took 1152.0 ms and its parts add up to 1150.6 ms, which is -1.4 ms.");
        assertThat(RequestTrace.sum("The request", 1_150.6, List.of(40.8, 1_109.0, 0.8)))
                .isEmpty();
    }

    @Test
    void serverThatCountsMoreThanTheClientSaw_isTold() {
        RequestTrace trace = trace(token -> 8, new ServerStages(Map.of(Stage.WHOLE, 2_000.0)));
        assertThat(trace.sums()).hasSize(1).first().asString().startsWith("The server counted 2000.0 ms");
    }

    @Test
    void histograms_areStagesWhereTheyCountedOneRequest() {
        String before = """
            vllm:request_queue_time_seconds_sum{engine="0"} 1.5
            vllm:request_queue_time_seconds_count{engine="0"} 3.0
            vllm:request_prefill_time_seconds_sum{engine="0"} 0.1
            vllm:request_prefill_time_seconds_count{engine="0"} 3.0
            """;
        String after = """
            vllm:request_queue_time_seconds_sum{engine="0"} 1.507
            vllm:request_queue_time_seconds_count{engine="0"} 4.0
            vllm:request_prefill_time_seconds_sum{engine="0"} 0.2
            vllm:request_prefill_time_seconds_count{engine="0"} 5.0
            sglang:per_stage_req_latency_seconds_sum{stage="request_process",tp_rank="0"} 0.0021
            sglang:per_stage_req_latency_seconds_count{stage="request_process",tp_rank="0"} 1.0
            """;
        ServerStages stages = ServerStages.between(before, after);
        assertThat(stages.of(Stage.QUEUE).orElseThrow()).isCloseTo(7.0, within(1e-6));
        assertThat(stages.of(Stage.PROCESS).orElseThrow()).isCloseTo(2.1, within(1e-6));
        assertThat(stages.of(Stage.PREFILL))
                .as("another request was counted as well")
                .isEmpty();
        assertThat(stages.of(Stage.DECODE)).isEmpty();
    }

    @Test
    void box_framesItsLines() {
        assertThat(TextTree.box("ITL", List.of("token 1  8.2", "token 32")))
                .containsExactly("┌─ ITL ────────┐", "│ token 1  8.2 │", "│ token 32     │", "└──────────────┘");
    }
}
