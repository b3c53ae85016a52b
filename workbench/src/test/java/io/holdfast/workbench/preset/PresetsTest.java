package io.holdfast.workbench.preset;

import static io.holdfast.workbench.preset.VirtualPreset.preset;
import static io.holdfast.workbench.preset.VirtualPreset.values;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.matrix.Pace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
        return Presets.all().stream()
                .map(Definition::name)
                .filter(name -> !ELSEWHERE.contains(name))
                .map(PresetsTest::small)
                .toList();
    }

    /** A preset with few requests; one of loads alone needs no case of its own. */
    private static Preset small(String name) {
        return switch (name) {
            case "serving" -> preset(name, "workload=baseline", "requests=2");
            case "radix" -> preset(name, "requests=10", "output-tokens=1");
            case "kvcached-overhead" ->
                new KvcachedOverhead(
                        values(name, "config=x", "arrivals=constant"), BenchConfig.of("bench-config.yaml", """
                            models: [{name: m, path: org/m, port: 8001}]
                            benchmark: {request_rates: [8], num_requests: 4, input_len: 64, output_len: 4}
                            """));
            default -> preset(name, "requests=4");
        };
    }

    @ParameterizedTest
    @MethodSource("presets")
    void preset_leavesTheFilesThatTheListNames(Preset preset) throws IOException {
        VirtualPreset.run(preset, VirtualPreset.server(16_384, 16), folder.resolve("a"));
        TreeSet<String> expected = new TreeSet<>(List.of("plan.json", "legs"));
        preset.definition()
                .leaves()
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
        List<String> listed = Presets.all().stream().map(Definition::name).toList();
        List<String> tested = presets().stream().map(Preset::name).toList();
        assertThat(listed).doesNotHaveDuplicates().containsAll(ELSEWHERE).containsAll(tested);
        assertThat(tested).hasSize(listed.size() - ELSEWHERE.size());
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
        Preset serving = preset("serving", "requests=2");
        VirtualPreset ran = VirtualPreset.run(serving, VirtualPreset.server(65_536, 16), folder.resolve("a"));
        Files.delete(folder.resolve("a/legs/chunked_prefill.jsonl"));
        var server = VirtualPreset.server(65_536, 16);
        LoadFolder again = LoadFolder.open(folder.resolve("a"));
        again.refuseOtherThan(VirtualPreset.plan(serving, server));
        VirtualPreset.go(
                serving, server, again, 0, new Pace.Limits(Duration.ZERO, Optional.empty()), new ArrayList<>());
        assertThat(again.legs()).hasSize(5);
        assertThat(again.legs().get(3).loadId())
                .isEqualTo(ran.leg("chunked_prefill").loadId());
    }

    /** What is not declared is refused with what there is, and a number outside its range with the range. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "radix|reqests=5|The preset radix has no parameter 'reqests' (did you mean requests?); it has"
                        + " requests,",
                "radix|nosuch=5|The preset radix has no parameter 'nosuch'; it has requests,",
                "radix|5|'5' is no parameter of radix; write NAME=VALUE with one of requests,",
                "radix|requests=0|--requests is 0; write 1 to 100000.",
                "radix|requests=100001|--requests is 100001; write 1 to 100000.",
                "radix|requests=x|--requests is 'x'; write a whole number.",
                "radix|requests=1 requests=2|--requests is given more than once; write it once.",
                "serving|requests=0|--requests is 0; write at least 1.",
                "serving|workload-set=blocks=3|--workload-set is 'blocks=3'; write WORKLOAD:NAME=VALUE, as",
                "kvcached-overhead|pairs=2|--config is missing; write --config FILE.",
                "kvcached-overhead|config=c pairs=2 pairs=3|--pairs is given more than once"
            })
    void values_areHeldToTheirDefinition(String name, String given, String sentence) {
        assertThatThrownBy(() -> preset(name, given.split(" ", -1)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith(sentence);
    }

    @Test
    void numbers_mayBeTheEndsOfTheirRange() {
        assertThat(values("radix", "requests=1").whole("requests")).isEqualTo(1);
        assertThat(values("radix", "requests=100000").whole("requests")).isEqualTo(100_000);
    }

    @Test
    void flag_isSetUnlessItIsFalse() {
        assertThat(values("cache-matrix").isSet("yes")).isFalse();
        assertThat(values("cache-matrix", "yes=false").isSet("yes")).isFalse();
        assertThat(values("cache-matrix", "yes=true").isSet("yes")).isTrue();
    }

    @Test
    void formerNames_areReadAsThoseOfNow() {
        assertThat(values("baseline-story", "prompt-len=7").whole("prompt-tokens"))
                .isEqualTo(7);
        assertThat(values("staggered").span("delay")).hasSeconds(2);
        assertThat(Presets.all())
                .allSatisfy(each -> assertThat(each.parameters())
                        .allSatisfy(parameter -> assertThat(parameter.help()).endsWith(".")));
    }
}
