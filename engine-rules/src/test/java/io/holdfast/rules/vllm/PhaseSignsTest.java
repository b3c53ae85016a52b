package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.fault.Faults;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The log's comparisons of one stage with the next: what became better and what became worse, for each seed. */
final class PhaseSignsTest {
    private static final List<Rates> MODELS = List.of(Rates.LLAMA, Rates.QWEN3, Rates.GEMMA3);

    static Stream<Arguments> modelsAndSeeds() {
        return MODELS.stream()
                .flatMap(model -> LongStream.rangeClosed(1, 5).mapToObj(seed -> Arguments.of(model, seed)));
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void continuousBatching_answersSoonerAndMore_andStallsDecoding(Rates model, long seed) {
        Workload workload = Workload.continuousBatching(seed);
        Played before = Played.of(Profile.STATIC, model, workload);
        Played after = Played.of(Profile.CONTINUOUS, model, workload);
        assertThat(after.throughput()).isGreaterThan(before.throughput());
        assertThat(after.ttft(0.5)).isLessThan(before.ttft(0.5));
        assertThat(after.ttft(0.99)).isLessThan(before.ttft(0.99));
        assertThat(after.itl(0.5)).isGreaterThan(before.itl(0.5));
        assertThat(after.itl(0.99)).isGreaterThan(1.3 * before.itl(0.99));
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void singleRequests_waitFiftyMillisecondsForABatch(Rates model, long seed) {
        Workload workload = Workload.baseline(seed);
        double before = Played.of(Profile.STATIC, model, workload).ttft(0.5);
        double after = Played.of(Profile.CONTINUOUS, model, workload).ttft(0.5);
        assertThat(before - after).isCloseTo(0.050, within(0.001));
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void sharedPrefixes_costThroughput_whereEachRequestIsPrefilledAlone(Rates model, long seed) {
        Workload workload = Workload.prefixCaching(seed);
        assertThat(Played.of(Profile.CONTINUOUS, model, workload).throughput())
                .isLessThan(Played.of(Profile.STATIC, model, workload).throughput());
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void pagedCache_runsMoreAtOnce_andEachMoreSlowly(Rates model, long seed) {
        Workload workload = Workload.pagedAttention(seed);
        Played before = Played.of(Profile.STATIC, model, workload);
        Played after = Played.of(Profile.PAGED, model, workload);
        assertThat(after.throughput()).isGreaterThan(before.throughput());
        assertThat(after.ttft(0.5)).isLessThan(before.ttft(0.5));
        assertThat(after.itl(0.5)).isGreaterThan(before.itl(0.5));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void longPromptsOverBlocks_collapseTheLargerModels_untilTheyAreCut(long seed) {
        Workload workload = Workload.chunkedPrefill(seed);
        for (Rates model : List.of(Rates.LLAMA, Rates.QWEN3)) {
            double paged = Played.of(Profile.PAGED, model, workload).throughput();
            assertThat(paged)
                    .isLessThan(Played.of(Profile.CONTINUOUS, model, workload).throughput() / 2);
            assertThat(Played.of(Profile.CHUNKED, model, workload).throughput()).isGreaterThan(5 * paged);
        }
        assertThat(Played.of(Profile.CHUNKED, Rates.GEMMA3, workload).throughput())
                .isCloseTo(Played.of(Profile.PAGED, Rates.GEMMA3, workload).throughput(), within(20.0));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void sharedPrefixesOverBlocks_recoverWithChunks_onTheSlowModel(long seed) {
        Workload workload = Workload.prefixCaching(seed);
        Played before = Played.of(roomy(Profile.PAGED, Rates.QWEN3), Faults.none(), workload);
        Played after = Played.of(roomy(Profile.CHUNKED, Rates.QWEN3), Faults.none(), workload);
        assertThat(after.throughput()).isGreaterThan(2 * before.throughput());
        assertThat(after.ttft(0.5)).isLessThan(before.ttft(0.5) / 2);
        assertThat(after.itl(0.5)).isLessThan(before.itl(0.5) / 2);
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void prefixTree_helpsWherePrefixesAreShared(Rates model, long seed) {
        Workload workload = Workload.prefixCaching(seed);
        Played before = Played.of(roomy(Profile.CHUNKED, model), Faults.none(), workload);
        Played after = Played.of(roomy(Profile.PREFIX, model), Faults.none(), workload);
        assertThat(after.throughput()).isGreaterThan(before.throughput());
        assertThat(after.ttft(0.5)).isLessThan(before.ttft(0.5));
        assertThat(after.itl(0.99)).isLessThan(before.itl(0.99));
    }

    @ParameterizedTest
    @MethodSource("modelsAndSeeds")
    void prefixTree_changesNothingWhereNoneAreShared(Rates model, long seed) {
        for (Workload workload : List.of(Workload.continuousBatching(seed), Workload.chunkedPrefill(seed))) {
            Played after = Played.of(Profile.PREFIX, model, workload);
            assertThat(after.throughput())
                    .isCloseTo(Played.of(Profile.CHUNKED, model, workload).throughput(), within(1e-9));
            assertThat(after.answered()).hasSameSizeAs(workload.arrivals());
        }
    }

    /** As in the log, but for two of its cells that these rates turn round: Qwen3 on long prompts, Gemma3 on a burst. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void graphs_makeItWorse_mostForSmallBatchesAndForQwen(long seed) {
        for (Rates model : MODELS) {
            assertThat(change(model, Workload.baseline(seed)).itl()).isBetween(0.4, 0.9);
            assertThat(change(model, Workload.continuousBatching(seed)).throughput())
                    .isNegative();
            assertThat(change(model, Workload.continuousBatching(seed)).itl()).isPositive();
        }
        Change llama = change(Rates.LLAMA, Workload.pagedAttention(seed));
        Change qwen = change(Rates.QWEN3, Workload.pagedAttention(seed));
        Change gemma = change(Rates.GEMMA3, Workload.pagedAttention(seed));
        assertThat(llama.throughput()).isBetween(-0.15, -0.01);
        assertThat(qwen.throughput()).isLessThan(-0.3);
        assertThat(qwen.itl()).isGreaterThan(0.6);
        assertThat(gemma.throughput()).as("shielded").isBetween(-0.05, 0.05);
        assertThat(gemma.itl()).isNegative();
        assertThat(change(Rates.LLAMA, Workload.chunkedPrefill(seed)).throughput())
                .isNegative();
        assertThat(change(Rates.GEMMA3, Workload.chunkedPrefill(seed)).throughput())
                .isNegative();
        assertThat(change(Rates.QWEN3, Workload.prefixCaching(seed)).throughput())
                .isNegative();
        assertThat(change(Rates.GEMMA3, Workload.prefixCaching(seed)).throughput())
                .isPositive();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8})
    void decodeProbe_findsTheStepsOfTheDecodeProfile(int batch) {
        Workload workload = Workload.spaced(1, batch, 0, 16, 32);
        assertThat(Played.of(Profile.PREFIX, Rates.LLAMA, workload).itl(0.5))
                .isCloseTo(batch == 1 ? 0.0100 : 0.0129, within(0.05 * 0.0100));
        assertThat(Played.of(Profile.GRAPH, Rates.LLAMA, workload).itl(0.5))
                .isCloseTo(batch == 1 ? 0.0179 : 0.0316, within(0.05 * 0.0179));
    }

    @Test
    void decodeGap_besideALongPrefill_fallsAboutFourfoldWithChunks() {
        double paged = gapBesideALongPrompt(Profile.PAGED, Rates.LLAMA);
        assertThat(paged / gapBesideALongPrompt(Profile.CHUNKED, Rates.LLAMA)).isBetween(3.2, 4.5);
    }

    private static double gapBesideALongPrompt(Profile profile, Rates model) {
        Workload.Arrival writer = Workload.spaced(1, 1, 0, 64, 256).arrivals().getFirst();
        Tokens prompt = Workload.spaced(2, 1, 0, 2048, 1).arrivals().getFirst().prompt();
        Workload workload = new Workload(List.of(writer, new Workload.Arrival(1, prompt, 16)));
        return Played.of(profile, model, workload).calls.getFirst().gaps().max().orElseThrow();
    }

    /** Returns the model's server, with a cache in which sixteen requests of the shared prefix have room. */
    private static VllmSettings roomy(Profile profile, Rates model) {
        VllmSettings settings = Stage.settings(profile, model);
        return settings.withSizes(Math.max(settings.blocks(), 1537), 16, 4096);
    }

    private record Change(double throughput, double itl) {}

    /** From the prefix tree to graphs, as parts of the former. */
    private static Change change(Rates model, Workload workload) {
        Played before = Played.of(Profile.PREFIX, model, workload);
        Played after = Played.of(Profile.GRAPH, model, workload);
        return new Change(after.throughput() / before.throughput() - 1, after.itl(0.5) / before.itl(0.5) - 1);
    }
}
