package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.LoadFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class PresetsTest {
    /** Those that are other rooms' work, and tested there. */
    private static final Set<String> ELSEWHERE = Set.of(
            "probe-flood-probe",
            "accuracy",
            "latency-benefit",
            "multi-model",
            "pin-poc",
            "cache-matrix",
            "staggered",
            "server-compare");

    @TempDir
    Path folder;

    private static List<Preset> presets() {
        BenchConfig config = BenchConfig.of("bench-config.yaml", """
            models: [{name: m, path: org/m, port: 8001}]
            benchmark: {request_rates: [8], num_requests: 4, input_len: 64, output_len: 4}
            """);
        return List.of(
                new Serving(new Serving.Settings("baseline", 42, 2, Optional.empty(), Map.of(), List.of())),
                new Radix(new Radix.Settings(42, 10, OptionalInt.of(1), Radix.Settings.ORDER, OptionalLong.empty())),
                new KvcachedOverhead(new KvcachedOverhead.Settings(
                        config, config.models().getFirst(), 42, "constant", 1, 4, Map.of())),
                FixedLoads.baselineStory(42, 2),
                FixedLoads.simple(4),
                FixedLoads.negative(42, 4));
    }

    @ParameterizedTest
    @MethodSource("presets")
    void preset_leavesTheFilesThatTheListNames(Preset preset) throws IOException {
        VirtualPreset.run(preset, VirtualPreset.server(16_384, 16), folder.resolve("a"));
        Presets.Entry entry = Presets.all().stream()
                .filter(each -> each.name().equals(preset.name()))
                .findFirst()
                .orElseThrow();
        TreeSet<String> expected = new TreeSet<>(List.of("plan.json", "legs"));
        entry.leaves()
                .forEach(name -> expected.add(name.replace("MODEL", "a-model").replace("TIME", "20261122_101112")));
        TreeSet<String> there = new TreeSet<>();
        try (var files = Files.list(folder.resolve("a"))) {
            files.forEach(file -> there.add(file.getFileName().toString()));
        }
        assertThat(there).isEqualTo(expected);
        assertThat(LoadFolder.open(folder.resolve("a")).missing()).isEmpty();
    }

    @Test
    void everyPresetOfTheList_isTested() {
        assertThat(presets())
                .extracting(Preset::name)
                .containsExactlyElementsOf(Presets.all().stream()
                        .map(Presets.Entry::name)
                        .filter(name -> !ELSEWHERE.contains(name))
                        .toList());
    }

    @ParameterizedTest
    @MethodSource("presets")
    void sameSeed_isTheSameLoads(Preset preset) {
        var facts = VirtualPreset.server(16_384, 16).engine().facts();
        assertThat(preset.legs(facts).stream().map(leg -> leg.load().id()))
                .containsExactlyElementsOf(
                        preset.legs(facts).stream().map(leg -> leg.load().id()).toList());
    }

    @Test
    void legs_goOnWithWarmUpsAndRest_whenResumed() throws IOException {
        Preset serving = new Serving(new Serving.Settings(Serving.ALL, 42, 2, Optional.empty(), Map.of(), List.of()));
        VirtualPreset ran = VirtualPreset.run(serving, VirtualPreset.server(65_536, 16), folder.resolve("a"));
        Files.delete(folder.resolve("a/legs/chunked_prefill.jsonl"));
        var server = VirtualPreset.server(65_536, 16);
        LoadFolder again = LoadFolder.open(folder.resolve("a"));
        PresetRun run = new PresetRun(
                serving,
                server.engine(),
                variant -> {},
                server.clock(),
                VirtualPreset.quiet(),
                PresetRun.Pace.of(serving),
                ColdLegs.asFound());
        again.refuseOtherThan(run.plan(Map.of()));
        run.run(again);
        assertThat(again.legs()).hasSize(5);
        assertThat(again.legs().get(3).loadId())
                .isEqualTo(ran.leg("chunked_prefill").loadId());
    }
}
