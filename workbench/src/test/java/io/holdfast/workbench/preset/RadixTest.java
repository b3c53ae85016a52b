package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.LoadLeg;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RadixTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int REQUESTS = DEEP ? 100 : 20;
    private static final int CAPACITY = DEEP ? 150_000 : 32_768;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"1, 511", "16, 496"})
    void scenarios_showWhatTheyAreThereFor(int page, int repeated) throws IOException {
        VirtualPreset ran = VirtualPreset.run(
                radix(REQUESTS, "A", "B", "C", "D"), VirtualPreset.server(CAPACITY, page), folder.resolve("a"));
        assertThat(ran.outcome().problems()).isEmpty();
        assertThat(ran.outcome().files())
                .containsOnlyKeys("radix_a-model_20261122_101112.json", "radix_a-model_20261122_101112.txt");
        Path file = folder.resolve("a/radix_a-model_20261122_101112.json");
        assertThat(ResultFile.read(file)).isEqualTo(ran.results());
        JsonNode root = new ObjectMapper().readTree(file.toFile());
        JsonNode summary = root.path("summary");
        assertThat(summary.path("full").asInt()
                        + summary.path("partial").asInt()
                        + summary.path("miss").asInt())
                .isEqualTo(summary.path("requests").asInt());
        long cached = ran.leg("radix").parts().stream()
                .filter(part -> !part.name().startsWith("D-flood"))
                .flatMap(part -> part.requests().stream())
                .mapToLong(request -> request.cachedTokens().orElseThrow())
                .sum();
        assertThat(summary.path("savedTokens").asLong()).isEqualTo(cached);
        // 10 ms for the pass and 40 us for each token, as the engine was told.
        assertThat(summary.path("prefill").path("millisPerToken").asDouble()).isBetween(0.039, 0.041);
        for (JsonNode request : root.path("requests")) {
            switch (request.path("part").asText().substring(0, 1)) {
                case "A" -> assertThat(request.path("cachedTokens").asInt()).isZero();
                case "B" -> assertThat(request.path("cachedTokens").asInt()).isEqualTo(256);
                case "C" -> assertThat(request.path("cachedTokens").asInt()).isEqualTo(repeated);
                default -> assertThat(request.path("part").asText()).startsWith("D");
            }
        }
    }

    @Test
    void oldPrompts_areLostOnlyWhenTheCacheIsFull() {
        VirtualPreset ran = VirtualPreset.run(
                radix(REQUESTS, "A", "B", "C", "D"), VirtualPreset.server(CAPACITY, 16), folder.resolve("a"));
        RadixStory story = RadixStory.of(
                ran.leg("radix"), VirtualPreset.server(CAPACITY, 16).engine().facts(), OptionalLong.of(CAPACITY), 256);
        List<RadixStory.Told> probes = story.requests().stream()
                .filter(told -> told.part().startsWith("D-probe"))
                .toList();
        assertThat(probes.getFirst().hit()).isEqualTo(HitClass.FULL);
        assertThat(probes.getLast().hit()).isEqualTo(HitClass.MISS);
        assertThat(story.requests())
                .filteredOn(told -> told.hit() == HitClass.MISS && told.part().startsWith("D-probe"))
                .allMatch(told -> told.before() == CAPACITY && told.evicted() > 0);
    }

    @Test
    void otherOrder_failsTheCheckOfWhatHasNothingToFind() {
        VirtualPreset ran = VirtualPreset.run(
                radix(REQUESTS, "B", "A", "C", "D"), VirtualPreset.server(CAPACITY, 16), folder.resolve("a"));
        assertThat(ran.outcome().problems())
                .anyMatch(problem -> problem.startsWith("Check B failed: " + (REQUESTS * 45 / 100 - 1) + " of "));
        assertThatThrownBy(() -> radix(REQUESTS, "D", "A", "B", "C").legs(facts(OptionalLong.of(CAPACITY))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("repeats 'A-oldest-1', which is no part before it");
        assertThatThrownBy(() -> radix(REQUESTS, "A", "A", "C", "D"))
                .hasMessage("The order is A,A,C,D; write each of A,B,C,D once.");
    }

    @Test
    void cacheThatIsTooSmallOrUnknown_isRefused() {
        assertThatThrownBy(() -> radix(100, "A", "B", "C", "D").legs(facts(OptionalLong.of(20_000))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("holds 20,000 tokens")
                .hasMessageContaining("--requests");
        assertThatThrownBy(() -> radix(100, "A", "B", "C", "D").legs(facts(OptionalLong.empty())))
                .hasMessageContaining("--capacity-tokens");
    }

    @Test
    void serverThatDoesNotCount_isSaidSo() {
        LoadLeg leg = leg(new LoadLeg.Part("A-cold", true, 0, 1, List.of(request(0, 512, OptionalInt.empty(), 38))));
        RadixStory story = RadixStory.of(leg, facts(OptionalLong.of(150_000)), OptionalLong.of(150_000), 256);
        assertThat(story.checks()).singleElement().satisfies(check -> {
            assertThat(check.holds()).isFalse();
            assertThat(check.text()).contains("--enable-cache-report");
        });
    }

    @Test
    void requests_areToldWithWhatTheCacheHeld() {
        LoadLeg leg = leg(
                new LoadLeg.Part("A-cold", true, 0, 1, List.of(request(0, 256, OptionalInt.of(0), 18.5))),
                new LoadLeg.Part("B-shared", true, 0, 1, List.of(request(1, 384, OptionalInt.of(256), 8.2))));
        RadixStory story = RadixStory.of(leg, facts(OptionalLong.of(150_000)), OptionalLong.of(150_000), 256);
        assertThat(new RadixText(story, "a model", facts(OptionalLong.of(150_000)), Optional.of("lru")).text())
                .contains("""
                    Request 1 (A-cold): 256 tokens
                    ├── MISS, all computed
                    ├── TTFT 18.5 ms
                    └── cache 0/150000 (0.0 %) -> 256/150000 (0.2 %)

                    Request 2 (B-shared): 384 tokens
                    ├── PARTIAL, 256 cached, 128 computed
                    ├── TTFT 8.2 ms
                    └── cache 256/150000 (0.2 %) -> 384/150000 (0.3 %)
                    """)
                .contains("Cache        150,000 tokens, page of 1 tokens");
        assertThat(RadixText.faster(22, 8.2)).isEqualTo("cold by the fitted line 22.0 ms: 2.7x");
        assertThat(RadixText.faster(38, 15)).endsWith(": 2.5x");
    }

    @Test
    void shares_areThoseOfThePlan() {
        assertThat(List.of(RadixText.share(12, 100), RadixText.share(45, 100), RadixText.share(43, 100)))
                .containsExactly("12 of 100 (12.0 %)", "45 of 100 (45.0 %)", "43 of 100 (43.0 %)");
    }

    @ParameterizedTest
    @CsvSource({"512,0,1,MISS", "512,256,1,PARTIAL", "512,511,1,FULL", "512,496,16,FULL", "512,495,16,PARTIAL"})
    void hitClass_countsTheLastPageAsComputed(int prompt, int cached, int page, HitClass expected) {
        assertThat(HitClass.of(prompt, cached, page)).isEqualTo(expected);
    }

    private static Preset radix(int requests, String... order) {
        return VirtualPreset.preset(
                "radix", "requests=" + requests, "output-tokens=4", "order=" + String.join(",", order));
    }

    private static EngineFacts facts(OptionalLong capacity) {
        return new EngineFacts(
                EngineFacts.Family.SGLANG, OptionalInt.of(1), capacity, OptionalLong.of(8_192), Optional.empty());
    }

    private static LoadLeg leg(LoadLeg.Part... parts) {
        return new LoadLeg(
                "radix", "radix", "", "", Map.of(), "", List.of(parts), Map.of(), Optional.empty(), Optional.empty());
    }

    private static RequestRecord request(int number, int prompt, OptionalInt cached, double millis) {
        long first = Math.round(1e6 * millis);
        return new RequestRecord(
                number,
                Role.LOAD,
                0,
                RequestStatus.OK,
                0,
                0,
                OptionalLong.of(first),
                OptionalLong.of(first),
                OptionalLong.of(first),
                first,
                OptionalInt.of(prompt),
                OptionalInt.of(1),
                cached,
                "");
    }
}
