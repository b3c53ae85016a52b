package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.LoadLeg;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FixedLoadsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));

    @TempDir
    Path folder;

    @Test
    void simple_sendsTheSameHundredAtOnce_andPrintsTwoLines() {
        Preset simple = VirtualPreset.preset("simple");
        VirtualPreset ran = VirtualPreset.run(simple, VirtualPreset.server(65_536, 16), folder.resolve("a"));
        LoadLeg leg = ran.leg("simple");
        long firstAnswer =
                leg.measured().stream().mapToLong(RequestRecord::done).min().orElseThrow();
        assertThat(leg.measured()).hasSize(100).allMatch(request -> request.sent() < firstAnswer);
        assertThat(simple.legs(VirtualPreset.server(64, 1).engine().facts())
                        .getFirst()
                        .load()
                        .requests())
                .allSatisfy(request -> {
                    assertThat(request.maxTokens()).isEqualTo(50);
                    assertThat(request.messages()).singleElement().satisfies(message -> {
                        assertThat(message.role()).isEqualTo("user");
                        assertThat(message.content()).isEqualTo("Hello!");
                    });
                });
        assertThat(simple.definition().requestTimeout()).isEqualTo(Duration.ofMinutes(2));
        assertThat(ran.outcome().lines()).hasSize(2);
        assertThat(ran.outcome().lines().getFirst()).matches("Completed 100 requests in \\d+\\.\\d\\ds");
        assertThat(ran.outcome().lines().getLast()).matches("Throughput: \\d+\\.\\d\\d req/s");
        assertThat(ran.outcome().files())
                .containsOnlyKeys("simple_a-model_20261122_101112.json", "simple_a-model_20261122_101112.txt");
    }

    @Test
    void failedRequests_areInNoThroughput() {
        VirtualServer server = VirtualServer.sglang(
                SglangSettings.defaults().withSizes(65_536, 16, 8_192),
                new Speed(40, 10_000, 1_000, 1),
                1,
                new HttpFault.EmptyOutputs(50));
        VirtualPreset ran = VirtualPreset.run(VirtualPreset.preset("simple"), server, folder.resolve("a"));
        long answered = ran.leg("simple").measured().stream()
                .filter(RequestRecord::isOk)
                .count();
        assertThat(answered).isBetween(30L, 70L);
        assertThat(ran.outcome().lines().getFirst()).startsWith("Completed " + answered + " requests in ");
        assertThat(ran.results().results().getFirst().measures().of(Metric.ERRORS))
                .hasValue(100.0 - answered);
    }

    @Test
    void story_tellsTheStagesOfOneRequest() {
        VirtualPreset ran = VirtualPreset.run(
                VirtualPreset.preset("baseline-story", "requests=" + (DEEP ? 100 : 10)),
                VirtualPreset.server(131_072, 16),
                folder.resolve("a"));
        LoadLeg leg = ran.leg("baseline-story");
        assertThat(leg.measured())
                .hasSize(DEEP ? 100 : 10)
                .allMatch(request -> request.promptTokens().orElse(0) == 512
                        && request.completionTokens().orElse(0) == 128);
        // 10 ms and 512 tokens of 40 us; 127 tokens of 1 ms.
        assertThat(ran.outcome().lines())
                .containsSubsequence(
                        "├── prompt read, first token        30.5 ms",
                        "├── further tokens                 127.0 ms, 1.00 ms each",
                        "├── end of the stream                0.0 ms",
                        "└── all of it                      157.5 ms");
        assertThat(ran.outcome().files().keySet())
                .allMatch(name -> name.startsWith("baseline-story_a-model_20261122_101112."));
    }

    @Test
    void story_asksForAsManyAsItWasToldTo() {
        assertThat(VirtualPreset.preset("baseline-story", "requests=10")
                        .legs(VirtualPreset.server(131_072, 16).engine().facts())
                        .getFirst()
                        .load()
                        .requests())
                .hasSize(10);
    }

    @Test
    void negativeLoads_leaveNothingToGain() {
        VirtualPreset ran = VirtualPreset.run(
                VirtualPreset.preset("negative", "requests=" + (DEEP ? Integer.MAX_VALUE : 60)),
                VirtualPreset.server(262_144, 16, new Speed(5, 1_000, 1_000, 1)),
                folder.resolve("a"));
        assertThat(ran.outcome().lines())
                .containsExactly(
                        "fixed-load: the server kept up; nothing was found in the cache.",
                        "high-rate: the server kept up; nothing was found in the cache.",
                        "short-sequences: the server kept up; nothing was found in the cache.");
        assertThat(ran.legs()).extracting(LoadLeg::id).isEqualTo(List.of("fixed-load", "high-rate", "short-sequences"));
    }
}
