package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SeveralModelsTest {
    private static final BenchConfig CONFIG = BenchConfig.of("bench-config.yaml", """
        models: [{name: a, path: org/a, port: 8001}, {name: b, path: org/b, port: 8002}]
        benchmark: {request_rates: [1, 8], num_requests: 30, input_len: 128, output_len: 16}
        """);
    private static final SeveralModels MODELS =
            new SeveralModels(VirtualPreset.values("multi-model", "config=x"), CONFIG);

    @TempDir
    Path folder;

    @Test
    void ramps_climbFromTheLowestToTheHighestRate_oneModelAfterTheOther() {
        List<Suite.Leg> legs = MODELS.ramps(Duration.ofSeconds(5));
        assertThat(legs).extracting(Suite.Leg::id).containsExactly("a", "b");
        assertThat(legs.get(1).load().parts().getFirst().part().pause()).hasSeconds(5);
        List<Long> turns = legs.getFirst().load().parts().getFirst().turns();
        assertThat(turns.get(1) - turns.get(0)).isGreaterThan(4 * (turns.get(29) - turns.get(28)));
        List<LoadLeg> over = together(legs, new Speed(40, 10_000, 1_000, 1));
        assertThat(over.get(0).parts().getFirst().began()).isZero();
        assertThat(over.get(1).parts().getFirst().began()).isEqualTo(5_000_000_000L);
        assertThat(over).allSatisfy(leg -> assertThat(leg.measured()).hasSize(30));
        assertThat(LoadFolder.open(folder.resolve("f")).legs()).isEqualTo(over);
    }

    @Test
    void steps_addAModelEach_withTheirOwnRequests() {
        assertThat(MODELS.legs()).extracting(Suite.Leg::id).containsExactly("models1/a", "models2/a", "models2/b");
        assertThat(MODELS.legs().stream().map(leg -> leg.load().id()).distinct())
                .hasSize(3);
    }

    @Test
    void modelsThatAreTooSlow_areTooMany() {
        List<LoadLeg> over = together(MODELS.steps().getLast(), new Speed(400, 10_000, 1_000, 1));
        assertThat(SeveralModels.tooMany(over, Optional.of(Slo.of("ttft=10s")))).isEmpty();
        assertThat(SeveralModels.tooMany(over, Optional.of(Slo.of("ttft=20ms"))))
                .hasValueSatisfying(why -> assertThat(why).startsWith("models2/a kept the limits in 0.0 %"));
        assertThat(SeveralModels.tooMany(over, Optional.empty())).isEmpty();
    }

    @Test
    void capacity_isToldAgainstAFixedSplit() {
        assertThat(SeveralModels.told(4, 6, Optional.of("models5/e failed 3 of 30 requests: x."), Optional.of(2)))
                .containsExactly(
                        "models5/e failed 3 of 30 requests: x.",
                        "4 of 6 models fit.",
                        "Against 2 with a fixed split that is 2.0x.");
        assertThat(SeveralModels.told(6, 6, Optional.empty(), Optional.empty()))
                .containsExactly("6 of 6 models fit; there may be room for more than the file has.");
    }

    /** Each server has a time of its own here, so they are asked one after the other. */
    private List<LoadLeg> together(List<Suite.Leg> legs, Speed speed) {
        LoadFolder files = LoadFolder.create(folder.resolve("f"), Suite.plan("several", Map.of(), legs));
        List<SeveralModels.Seat> seats = legs.stream()
                .map(leg -> VirtualPreset.server(65_536, 16, speed))
                .map((VirtualServer server) ->
                        new SeveralModels.Seat(server.engine(), server.clock(), ColdLegs.asFound()))
                .toList();
        return SeveralModels.together(legs, seats, Runnable::run, files);
    }
}
