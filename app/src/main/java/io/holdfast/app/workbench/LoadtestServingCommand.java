package io.holdfast.app.workbench;

import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.preset.Serving;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Five workloads of an inference server. */
@Command(
        name = "serving",
        description = {
            "Five workloads, one after the other: one request at a time, a steady stream, a burst, long prompts among"
                + " short ones, prompts that begin alike. Leaves serving_MODEL_TIME.json and report.md with a table of"
                + " all workloads and one of each."
        },
        sortOptions = false)
final class LoadtestServingCommand implements Callable<Integer> {
    private static final Pattern SET = Pattern.compile("([a-z_]+):([a-z][a-z0-9-]*)=(.*)");

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--workload",
            paramLabel = "NAME",
            defaultValue = Serving.ALL,
            description = "all, baseline, continuous_batching, paged_attention, chunked_prefill or prefix_caching"
                    + " (default: ${DEFAULT-VALUE}).")
    private String workload = Serving.ALL;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Mixin
    private MostRequests requests = new MostRequests();

    @Option(
            names = "--phase",
            paramLabel = "NAME",
            description = "What the server's state is called, where it is one of several that are compared.")
    private @Nullable String phase;

    @Option(
            names = "--workload-set",
            paramLabel = "WORKLOAD:NAME=VALUE",
            description = "A value for {NAME} in --server-command that a workload has of its own, as"
                    + " prefix_caching:blocks=1536; again for each. The server is started anew where it changes.")
    private @Nullable List<String> sets;

    @Option(
            names = "--beside",
            paramLabel = "FILE",
            description = "Results of another model, shown in a column of their own; again for each.")
    private @Nullable List<Path> beside;

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestServingCommand() {}

    @Override
    public Integer call() {
        return suite.run(
                spec.commandLine(),
                new Serving(new Serving.Settings(
                        workload,
                        seed.seed(),
                        requests.most(),
                        Optional.ofNullable(phase),
                        OptionValues.byOwner(
                                "--workload-set", sets, SET, "WORKLOAD:NAME=VALUE, as prefix_caching:blocks=1536"),
                        beside == null
                                ? List.of()
                                : beside.stream().map(ResultFile::read).toList())));
    }
}
