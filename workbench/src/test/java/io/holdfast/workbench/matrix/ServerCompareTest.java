package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.sweep.Cliff;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ServerCompareTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final String TWO = """
        command: "serve --port {port} --attention {backend}"
        variants:
          flashinfer: {set: {backend: flashinfer}, env: {CUDA_VISIBLE_DEVICES: "0,1", HF_TOKEN: secret}}
          triton: {set: {backend: triton}, unset: [NCCL_DEBUG]}
        cells: {batch: [1, 8, 32], length: [512, 2048, 8192]}
        """;
    private static final String SMALL = """
        command: serve
        variants: {one: {}, other: {}}
        cells: {batch: [%s], length: [64], answer: 16, waves: 1}
        decode: {batch: [1, 8], answer: 64}
        """.formatted(DEEP ? "1, 2, 4, 8" : "4");

    @TempDir
    private Path folder = Path.of("");

    @Test
    void twoBackends_areEighteenCellsOfTheSameRequestsInADrawnOrder() {
        List<Suite.Leg> legs = new ServerCompare(contents(TWO), 1).rounds(1);
        assertThat(legs)
                .hasSize(18)
                .extracting(Suite.Leg::id)
                .doesNotHaveDuplicates()
                .contains("triton/b8/2048tok/pass1");
        Map<String, Set<String>> loads = new LinkedHashMap<>();
        legs.forEach(leg -> loads.computeIfAbsent(leg.id().substring(leg.id().indexOf('/')), any -> new HashSet<>())
                .add(leg.load().id()));
        assertThat(loads).hasSize(9).allSatisfy((cell, ids) -> assertThat(ids).hasSize(1));
        assertThat(legs)
                .extracting(leg -> leg.settings().getOrDefault("life", ""))
                .startsWith("1", "1")
                .endsWith("2", "2");
        assertThat(orders(1)).isNotEqualTo(orders(4));
    }

    private static List<String> orders(long seed) {
        return new ServerCompare(contents(TWO), seed)
                .rounds(4).stream()
                        .map(leg -> leg.settings().getOrDefault("life", "")
                                + leg.settings().getOrDefault("variant", ""))
                        .distinct()
                        .toList();
    }

    @Test
    void settingsOfALeg_tellTheVariantButNoSecret() {
        Suite.Leg leg = new ServerCompare(contents(TWO), 1)
                .rounds(1).stream()
                        .filter(each -> each.id().startsWith("flashinfer"))
                        .findFirst()
                        .orElseThrow();
        assertThat(leg.settings())
                .containsEntry("variant", "flashinfer")
                .containsEntry("backend", "flashinfer")
                .containsEntry("env.CUDA_VISIBLE_DEVICES", "0,1")
                .containsEntry("env.HF_TOKEN", "set");
        assertThat(leg.settings()).doesNotContainValue("secret");
    }

    @Test
    void pairs_haveBothOrdersAndTheReferenceTwice() {
        List<Suite.Leg> legs = new ServerCompare(contents(SMALL), 1).pairs(2);
        Map<String, List<String>> variants = new LinkedHashMap<>();
        legs.forEach(leg -> {
            List<String> its = variants.computeIfAbsent(
                    leg.settings().getOrDefault("pair", "") + leg.settings().getOrDefault("order", ""),
                    any -> new ArrayList<>());
            if (its.isEmpty() || !leg.id().contains("decode") || its.size() < 2) {
                its.add(leg.settings().getOrDefault("variant", ""));
            }
        });
        assertThat(variants.keySet().stream()
                        .map(key -> key.replaceAll("\\d", ""))
                        .collect(Collectors.toList()))
                .containsExactlyInAnyOrder("AA", "BP", "PB", "AA", "BP", "PB");
        assertThat(legs)
                .filteredOn(leg -> leg.settings().getOrDefault("order", "").equals("AA"))
                .allMatch(leg -> leg.settings().getOrDefault("variant", "").equals("one"));
    }

    /** Steps of a published profile: graphs against eager decoding. */
    @Test
    void decodeCells_giveBackTheTimeOfAStep() {
        for (double step : new double[] {17.9, 31.6, 10.8, 15.3, 10.0, 12.9}) {
            ServerReport report = run("d" + step, SMALL, 1, Map.of("one", step, "other", step))
                    .report();
            List<List<String>> decode = report.table().stream()
                    .filter(row -> row.getFirst().equals("b8/decode"))
                    .toList();
            assertThat(Double.parseDouble(decode.getFirst().get(3).replace(" ms", "")))
                    .isEqualTo(step, within(0.05 * step));
        }
    }

    @Test
    void unequalSteps_areRealAndEqualOnesNoEffect() {
        ServerReport faster =
                run("faster", SMALL, 4, Map.of("one", 15.3, "other", 12.9)).report();
        assertThat(faster.judged()).hasSize(DEEP ? 6 : 3);
        assertThat(faster.judged())
                .filteredOn(each -> each.cell().equals("b8/decode"))
                .singleElement()
                .satisfies(each -> {
                    assertThat(each.verdict().finding()).isEqualTo(Finding.REAL);
                    assertThat(each.metric()).isEqualTo(Metric.percentile(Quantity.ITL, 50));
                    assertThat(each.text("one")).contains("ITL P50 changes by -15.");
                });
        assertThat(faster.judged())
                .filteredOn(each -> each.cell().equals("b4/64tok"))
                .singleElement()
                .satisfies(each -> assertThat(each.text("one")).contains("output throughput changes by +"));
        ServerReport same =
                run("same", SMALL, 4, Map.of("one", 12.9, "other", 12.9)).report();
        assertThat(same.judged())
                .allSatisfy(each -> assertThat(each.verdict().finding()).isEqualTo(Finding.NO_EFFECT));
    }

    /** Who asks in six cells has six chances of an error: what is REAL alone is not where five others show nothing. */
    @Test
    void cellsOfAVariant_areCorrectedTogether() {
        assertThat(judged("1").getFirst().verdict().finding()).isEqualTo(Finding.REAL);
        List<ServerReport.Judged> six = judged("1, 2, 4, 8, 16, 32");
        assertThat(six).hasSize(6);
        assertThat(six.getFirst().verdict().finding()).isEqualTo(Finding.INCONCLUSIVE);
        assertThat(six.getFirst().verdict().reason()).contains("Holm");
    }

    /** The other server takes a tenth less in the first cell, and in all others as much as the reference. */
    private static List<ServerReport.Judged> judged(String batches) {
        VariantFile.Contents contents = contents("""
            command: serve
            variants: {one: {}, other: {}}
            cells: {batch: [%s], length: [64]}
            """.formatted(batches));
        List<LoadResult> results = new ArrayList<>();
        contents.cells().forEach(cell -> {
            boolean first = results.isEmpty();
            int pair = 0;
            for (int round = 0; round < 4; round++) {
                double noise = round % 2 == 0 ? 0.065 : -0.065;
                for (PairOrder order : List.of(PairOrder.AA, PairOrder.BP, PairOrder.PB)) {
                    pair++;
                    double change =
                            order == PairOrder.AA ? 0 : noise + (!first ? 0 : order == PairOrder.BP ? -0.1 : 0.1);
                    results.add(life(cell.id(), pair, order, 1, 100));
                    results.add(life(cell.id(), pair, order, 2, 100 * Math.exp(-change)));
                }
            }
        });
        return ServerReport.of(
                        contents,
                        List.of(),
                        new ResultFile("server-compare", "m", "", Map.of(), results),
                        Metric.OUTPUT_THROUGHPUT)
                .judged();
    }

    private static LoadResult life(String cell, int pair, PairOrder order, int place, double rate) {
        return new LoadResult(
                "life/" + cell + "/pass" + (2 * pair + place),
                cell,
                Optional.empty(),
                "test",
                Map.of("against", "other", "pair", Integer.toString(pair), "order", order.name(), "decode", "false"),
                1,
                Map.of(),
                new Measures(Map.of(Metric.OUTPUT_THROUGHPUT, rate)));
    }

    @Test
    void variantThatDoesNotStart_isARowAndTheOthersGoOn() {
        Ran ran = run("dead", SMALL, 1, Map.of("one", 10.0));
        assertThat(ran.report().notStarted())
                .isEqualTo(Map.of(
                        "other", "did not start: the server's command ended on its own with exit code 1 (no memory)"));
        assertThat(ran.report().table())
                .filteredOn(row -> row.get(1).equals("other"))
                .hasSize(DEEP ? 6 : 3)
                .allSatisfy(row -> assertThat(row).contains("did not start").contains("-"));
        assertThat(ran.report().table())
                .filteredOn(row -> row.get(1).equals("one"))
                .allSatisfy(row -> assertThat(row).endsWith("1.00 x", "1"));
        assertThat(ran.files().missing()).isEmpty();
        assertThat(SuiteState.of(ran.files()).word()).isEqualTo(SuiteState.Word.FAILED);
        ServerReport withoutReference = run("gone", "reference: other\n" + SMALL, 1, Map.of("one", 10.0))
                .report();
        assertThat(withoutReference.says())
                .anySatisfy(said -> assertThat(said).contains("The reference other did not start"));
    }

    @Test
    void results_areThoseThatOtherTablesRead() {
        ResultFile results = MatrixLegs.results(
                run("r", SMALL, 1, Map.of("one", 10.0, "other", 12.0)).files());
        Path file = folder.resolve("results.json");
        results.write(file);
        assertThat(ResultFile.read(file).results()).hasSize(results.results().size());
        LoadResult read = ResultFile.read(file).results().getFirst();
        assertThat(read.settings()).containsKeys("variant", "batch", "length", "pass");
        assertThat(read.workloadId()).isPresent();
    }

    @Test
    void publishedSweep_fallsOffBetween20And24() {
        assertThat(ServerReport.cliff(List.of(
                        new Cliff.Point("12/768", 293.9),
                        new Cliff.Point("16/1024", 318.1),
                        new Cliff.Point("20/1280", 326.2),
                        new Cliff.Point("24/2048", 121.4))))
                .hasValue("From 20/1280 to 24/2048 the server falls off a cliff, from 326.2 to 121.4 tok/s, a factor of"
                        + " 2.7; stay at 16/1024 (318.1 tok/s), which is within 5 % of the best, 20/1280 (326.2), and"
                        + " further from the cliff.");
        assertThat(ServerReport.cliff(List.of(new Cliff.Point("a", 1), new Cliff.Point("b", 2))))
                .hasValue("Throughput falls by half nowhere. Take b (2.0 tok/s).");
        assertThat(ServerReport.cliff(List.of(new Cliff.Point("a", 1)))).isEmpty();
    }

    @Test
    void sweepOfValuesThatGoTogether_isAVariantForEachPlace() {
        VariantFile.Contents contents = contents("""
            command: "serve --port {port} --max-running {batch} --blocks {blocks}"
            sweep: {batch: [12, 16, 20, 24], blocks: [768, 1024, 1280, 2048]}
            cells: {batch: [32], length: [256]}
            """);
        assertThat(contents.swept()).isTrue();
        assertThat(contents.variants())
                .extracting(ServerVariant::name)
                .containsExactly(
                        "batch=12_blocks=768", "batch=16_blocks=1024", "batch=20_blocks=1280", "batch=24_blocks=2048");
        assertThat(new ServerCompare(contents, 1).rounds(1).getFirst().settings())
                .containsKeys("blocks");
    }

    @Test
    void variableThatChangesWhatIsMeasured_isTheSameForAllOrRefused() {
        String differing = SMALL.replace("one: {}", "one: {env: {CUDA_LAUNCH_BLOCKING: \"1\"}}");
        assertThatThrownBy(() -> contents(differing))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("CUDA_LAUNCH_BLOCKING is not the same")
                .hasMessageContaining("set it alike");
        Map<String, String> inherited = Map.of("CUDA_LAUNCH_BLOCKING", "1");
        assertThat(VariantFile.of("v.yaml", SMALL, inherited).warnings())
                .singleElement()
                .asString()
                .contains("is 1 for all");
        String unset = SMALL.replace("one: {}", "one: {unset: [CUDA_LAUNCH_BLOCKING]}");
        assertThatThrownBy(() -> VariantFile.of("v.yaml", unset, inherited)).hasMessageContaining("one=0, other=1");
        assertThat(contents(SMALL).warnings()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{variants: {a: {command: x}}, cells: {batch: [1], length: [1]}}|two servers at least",
                "{variants: {a: {}, b: {}}, cells: {batch: [1], length: [1]}}|'variants.a.command'",
                "{command: x, variants: {a: {}, b: {}}}|'cells'",
                "{command: x, variants: {a: {}, b: {flag: 1}}, cells: {batch: [1], length: [1]}}|'variants.b.flag'",
                "{command: x, variants: {a: {}, b: {}}, cells: {batch: 1, length: [1]}}|as [1, 8, 32]",
                "{command: x, variants: {a: {}, b: {}}, cells: {batch: [0], length: [1]}}|'cells.batch[0]' is a whole"
                        + " number from 1 to 2000000",
                "{command: x, reference: c, variants: {a: {}, b: {}}, cells: {batch: [1], length: [1]}}|there are a, b",
                "{command: x, sweep: {a: [1, 2], b: [1]}, cells: {batch: [1], length: [1]}}|equally long",
                "{command: x, variants: {a/b: {}, b: {}}, cells: {batch: [1], length: [1]}}|letters, digits",
                "{command: [|is no YAML",
                "[]|has keys with values"
            })
    void badFile_isRefusedInASentence(String text, String mend) {
        assertThatThrownBy(() -> contents(text))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(mend)
                .message()
                .doesNotContain("\n");
    }

    private static VariantFile.Contents contents(String text) {
        return VariantFile.of("v.yaml", text, Map.of());
    }

    private record Ran(LoadFolder files, ServerReport report) {}

    /**
     * With a decode step of so many milliseconds for each variant; one without does not start.
     *
     * @param rounds of pairs, or for 1 a single life of each
     */
    private Ran run(String name, String text, int rounds, Map<String, Double> steps) {
        VariantFile.Contents contents = contents(text);
        ServerCompare compare = new ServerCompare(contents, 1);
        List<Suite.Leg> legs = rounds > 1 ? compare.pairs(rounds) : compare.rounds(1);
        LoadFolder files = LoadFolder.create(folder.resolve(name), Suite.plan("server-compare", Map.of(), legs));
        VirtualServer first = VirtualServer.usual();
        Map<String, VirtualServer> lives = new LinkedHashMap<>();
        new Suite(
                        legs,
                        leg -> lives.computeIfAbsent(
                                        leg.settings().getOrDefault("life", ""),
                                        life -> first.another(
                                                SglangSettings.defaults().withSizes(32_768, 16, 16_384),
                                                new Speed(20, 1_000, 1e3 * step(steps, leg), 1),
                                                new GpuFault.Noise(1, 0, 1, 1 + Integer.parseInt(life))))
                                .engine(),
                        Suite.Between.nothing(),
                        first.clock(),
                        MatrixLegs.silent())
                .run(files);
        ResultFile results = MatrixLegs.results(files);
        return new Ran(files, ServerReport.of(contents, files.legs(), results, Metric.OUTPUT_THROUGHPUT));
    }

    private static double step(Map<String, Double> steps, Suite.Leg leg) {
        return Optional.ofNullable(steps.get(leg.settings().getOrDefault("variant", "")))
                .orElseThrow(() -> new Suite.NoServerException(
                        "did not start: the server's command ended on its own with exit code 1 (no memory)"));
    }

    /** Of real units, one of which does not start. */
    @Test
    void serverOfVariants_isANewProcessForEachLife() {
        List<String> started = new ArrayList<>();
        VariantFile.Contents contents = contents(SMALL);
        VirtualServer engine = VirtualServer.usual();
        VariantServer server =
                new VariantServer(URI.create("http://127.0.0.1:1"), contents.variants(), variant -> new ServerUnit() {
                    @Override
                    public URI uri() {
                        return URI.create("http://127.0.0.1:1");
                    }

                    @Override
                    public void restart() {
                        if (variant.name().equals("one")) {
                            throw new LoadTestException("It has no memory.");
                        }
                        started.add(variant.name());
                    }

                    @Override
                    public void close() {
                        started.add("end of " + variant.name());
                    }
                });
        server.restart();
        assertThat(started).containsExactly("end of one", "other");
        Suite.Servers servers = server.servers(engine.engine());
        List<Suite.Leg> legs = new ServerCompare(contents, 1).rounds(1);
        List<String> refused = new ArrayList<>();
        for (Suite.Leg leg : legs) {
            try {
                assertThat(servers.of(leg)).isSameAs(engine.engine());
                assertThat(leg.id()).startsWith("other/");
            } catch (Suite.NoServerException e) {
                refused.add(leg.id() + " " + e.getMessage());
            }
        }
        assertThat(refused)
                .hasSize(legs.size() / 2)
                .allSatisfy(each -> assertThat(each).startsWith("one/").endsWith("did not start: It has no memory."));
        int before = started.size();
        server.restart();
        assertThat(started).as("it has served nothing yet").hasSize(before);
        server.used();
        server.restart();
        assertThat(started.subList(before, started.size())).containsExactly("end of other", "other");
        server.close();
        assertThat(started).endsWith("end of other");
        assertThat(Arrays.asList(server.uri().getPort())).containsExactly(1);
    }
}
