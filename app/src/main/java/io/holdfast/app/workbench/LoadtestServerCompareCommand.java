package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.ServerCompare;
import io.holdfast.workbench.matrix.ServerReport;
import io.holdfast.workbench.matrix.ServerVariant;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.VariantFile;
import io.holdfast.workbench.matrix.VariantServer;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Servers that are started differently, by batch and length. */
@Command(
        name = "server-compare",
        description = {
            "Servers that are started differently, each as a process of its own at the same address, by batch and"
                    + " length of prompts: the same requests for all, in an order that is drawn. Leaves"
                    + " server-compare_MODEL_TIME.json and report.md.",
            "Exit code 1 when a request failed, a leg is missing or a server did not start."
        },
        footer = {
            "",
            "Examples:",
            "  holdfast loadtest preset server-compare --engine http://127.0.0.1:8000 \\",
            "      --variants attention.yaml",
            "with attention.yaml:",
            "  command: 'my-server --port {port} --attention {backend}'",
            "  variants:",
            "    sdpa:   {set: {backend: sdpa}}",
            "    triton: {set: {backend: triton}}",
            "  cells: {batch: [1, 8], length: [512, 2048]}"
        },
        sortOptions = false)
final class LoadtestServerCompareCommand implements Callable<Integer> {
    private static final String NAME = "server-compare";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--variants",
            paramLabel = "FILE",
            required = true,
            description =
                    "The servers and the loads, in YAML: 'variants' with a 'command' each, or 'sweep'; 'cells' with"
                        + " 'batch' and 'length'; 'decode' with 'batch'. {host}, {port} and {model} in a command stand"
                        + " for values, and so do the names of 'set'.")
    private Path variants = Path.of("");

    @Option(
            names = "--repeat",
            paramLabel = "N",
            defaultValue = "3",
            description = "How many lives each server has (default: ${DEFAULT-VALUE}).")
    private int repeat;

    @FormerName("--pairs")
    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Judge the reference against each other server by so many rounds of three pairs of lives, in"
                    + " place of --repeat; 4 are the fewest that can show anything.")
    private @Nullable Integer pairs;

    @Option(
            names = "--judge",
            paramLabel = "METRIC",
            defaultValue = "output_throughput",
            description = "What is judged with --rounds, as e2e_p50; cells of 'decode' are judged by itl_p50 (default:"
                    + " ${DEFAULT-VALUE}).")
    private String metric = "";

    @Option(
            names = "--start-seconds",
            paramLabel = "N",
            defaultValue = "600",
            description = "The most that a server may take until it answers (default: ${DEFAULT-VALUE}).")
    private long startSeconds;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestServerCompareCommand() {}

    @Override
    public Integer call() {
        OptionValues.between(
                "--start-seconds", startSeconds, 1, Duration.ofDays(1).toSeconds());
        Metric judged = Metric.named(metric)
                .orElseThrow(() -> new CommandException("--judge is '" + metric
                        + "', which is no metric; write one as output_throughput, ttft_p50 or e2e_mean."));
        suite.started().refuse("The file of --variants says");
        VariantFile.Contents contents = VariantFile.read(variants, System.getenv());
        PrintWriter beside = suite.beside(spec.commandLine());
        ServerCompare compare = new ServerCompare(contents, seed.seed());
        List<Suite.Leg> legs = pairs == null ? compare.rounds(repeat) : compare.pairs(pairs);
        contents.warnings().forEach(beside::println);
        beside.println(
                contents.variants().size() + " servers x " + contents.cells().size() + " cells, "
                        + legs.stream()
                                .map(leg -> leg.settings().getOrDefault("life", ""))
                                .distinct()
                                .count() + " lives: " + legs.size()
                        + " legs");
        beside.flush();
        Servers servers = new Servers(contents);
        return suite.run(
                spec.commandLine(),
                NAME,
                servers,
                (engine, clock) -> new SuiteOptions.Planned(
                        NAME,
                        Map.of("reference", contents.reference()),
                        legs,
                        Suite.Between.nothing(),
                        Optional.of(servers.made().servers(engine)),
                        (leg, result) -> result),
                (folder, results, out) -> finish(folder, results, contents, judged, out));
    }

    /** Makes the one server that is all variants, and knows it after that. */
    private final class Servers implements SuiteOptions.Units {
        private final VariantFile.Contents contents;
        private Optional<VariantServer> made = Optional.empty();

        Servers(VariantFile.Contents contents) {
            this.contents = contents;
        }

        @Override
        public ServerUnit unit(URI server, Optional<String> model, Path log, LoadtestBench bench) {
            VariantServer all = new VariantServer(
                    server, contents.variants(), variant -> started(variant, server, model, log, bench));
            made = Optional.of(all);
            return all;
        }

        VariantServer made() {
            return made.orElseThrow();
        }
    }

    private StartedServer started(
            ServerVariant variant, URI server, Optional<String> model, Path log, LoadtestBench bench) {
        Map<String, String> values = new HashMap<>(variant.values());
        model.ifPresent(name -> values.putIfAbsent("model", name));
        return new StartedServer(
                new StartedServer.Plan(
                        server,
                        variant.command(),
                        Optional.empty(),
                        values,
                        variant.environment(),
                        variant.unset(),
                        Path.of(log + "." + variant.name()),
                        StartedServer.Restart.LIFE,
                        Duration.ofSeconds(startSeconds)),
                bench.clock(),
                bench::tell);
    }

    private int finish(
            LoadFolder folder, ResultFile results, VariantFile.Contents contents, Metric judged, PrintWriter out) {
        SuiteState state = SuiteState.of(folder);
        ServerReport report = ServerReport.of(contents, folder.legs(), results, judged);
        suite.conclude(folder, "Servers against each other", text -> print(state, report, text), results.text(), out);
        return state.word() == SuiteState.Word.COMPLETE ? ExitCode.OK : ExitCode.CHECK_FAILED;
    }

    private static void print(SuiteState state, ServerReport report, PrintWriter out) {
        MatrixText.print(state, out);
        out.println();
        SuiteTable.print(report.table(), out);
        out.println("  Means over lives.");
        report.says().forEach(sentence -> out.println("  " + sentence));
    }
}
