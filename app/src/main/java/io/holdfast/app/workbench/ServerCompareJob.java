package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.ServerCompare;
import io.holdfast.workbench.matrix.ServerReport;
import io.holdfast.workbench.matrix.ServerVariant;
import io.holdfast.workbench.matrix.SuiteState;
import io.holdfast.workbench.matrix.VariantFile;
import io.holdfast.workbench.matrix.VariantServer;
import io.holdfast.workbench.preset.Values;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;

/** Servers that are started differently, by batch and length. */
final class ServerCompareJob implements SuiteJob {
    static final String NAME = "server-compare";

    private final Values values;
    private final SuiteOptions suite;
    private final CommandLine command;
    private final Metric judged;
    private final VariantFile.Contents contents;
    private Optional<VariantServer> server = Optional.empty();

    ServerCompareJob(Values values, SuiteOptions suite, CommandLine command) {
        this.values = values;
        this.suite = suite;
        this.command = command;
        this.judged = Metric.named(values.text("judge"))
                .orElseThrow(() -> new CommandException("--judge is '" + values.text("judge")
                        + "', which is no metric; write one as output_throughput, ttft_p50 or e2e_mean."));
        suite.started().refuse("The file of --variants says");
        this.contents = VariantFile.read(values.path("variants"), System.getenv());
    }

    int run() {
        PrintWriter beside = suite.output().beside(command);
        List<Suite.Leg> legs = legs();
        contents.warnings().forEach(beside::println);
        beside.println(
                contents.variants().size() + " servers x " + contents.cells().size() + " cells, "
                        + legs.stream()
                                .map(leg -> leg.settings().getOrDefault("life", ""))
                                .distinct()
                                .count() + " lives: " + legs.size()
                        + " legs");
        beside.flush();
        return suite.run(command, this);
    }

    private List<Suite.Leg> legs() {
        ServerCompare compare = new ServerCompare(contents, values.seed());
        return values.given("rounds").isPresent()
                ? compare.pairs(values.whole("rounds"))
                : compare.rounds(values.whole("repeat"));
    }

    @Override
    public String name() {
        return NAME;
    }

    /** One server that is now this variant and now that. */
    @Override
    public ServerUnit unit(ServerOptions options, URI address, Optional<String> model, Path log, LoadtestBench bench) {
        VariantServer all = new VariantServer(
                address, contents.variants(), variant -> started(variant, address, model, log, bench));
        server = Optional.of(all);
        return all;
    }

    private StartedServer started(
            ServerVariant variant, URI address, Optional<String> model, Path log, LoadtestBench bench) {
        Map<String, String> filled = new HashMap<>(variant.values());
        model.ifPresent(name -> filled.putIfAbsent("model", name));
        return new StartedServer(
                new StartedServer.Plan(
                        address,
                        variant.command(),
                        Optional.empty(),
                        filled,
                        variant.environment(),
                        variant.unset(),
                        Path.of(log + "." + variant.name()),
                        StartedServer.Restart.LIFE,
                        Duration.ofSeconds(values.whole("start-seconds"))),
                bench.clock(),
                bench::tell);
    }

    @Override
    public Planned plan(Seat seat) {
        return new Planned(
                Map.of("reference", contents.reference()),
                legs(),
                Suite.Between.nothing(),
                server.orElseThrow().servers(seat.engine()),
                (leg, result) -> result);
    }

    @Override
    public int finish(Over over) {
        SuiteState state = SuiteState.of(over.folder());
        ServerReport report = ServerReport.of(contents, over.folder().legs(), over.results(), judged);
        suite.conclude(
                over,
                "Servers against each other",
                text -> print(state, report, text),
                over.results().text());
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
