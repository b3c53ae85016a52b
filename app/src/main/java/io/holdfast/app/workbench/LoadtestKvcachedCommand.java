package io.holdfast.app.workbench;

import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.workbench.preset.BenchConfig;
import io.holdfast.workbench.preset.KvcachedOverhead;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A server without kvcached and with it. */
@Command(
        name = "kvcached-overhead",
        description = {
            "Starts the same server without kvcached and with it, and sends both the same requests at the same rates."
                + " Which of the two is first is drawn, and turned round from pair to pair. Leaves baseline.json and"
                + " kvcached.json for 'loadtest compare'."
        },
        sortOptions = false)
final class LoadtestKvcachedCommand implements Callable<Integer> {
    private static final int MOST_PAIRS = 100;
    private static final Pattern ENV = Pattern.compile("([a-z]+):([A-Za-z_][A-Za-z0-9_]*)=(.*)");

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            required = true,
            description = "kvcached's bench-config.yaml: models, rates, lengths, and how kvcached is set.")
    private Path config = Path.of("");

    @Option(
            names = "--bench-model",
            paramLabel = "NAME",
            description = "Of the models in the file this one; its path is {model} in --server-command (default: the"
                    + " first).")
    private @Nullable String name;

    @Option(
            names = "--arrivals",
            paramLabel = "HOW",
            defaultValue = "poisson",
            description = "poisson or constant, each at the rates of the file (default: ${DEFAULT-VALUE}).")
    private String arrivals = "poisson";

    @Option(
            names = "--pairs",
            paramLabel = "N",
            defaultValue = "1",
            description = "How often both are measured, each time by processes of their own (default:"
                    + " ${DEFAULT-VALUE}).")
    private int pairs;

    @Mixin
    private MostRequests requests = new MostRequests();

    @Option(
            names = "--variant-env",
            paramLabel = "VARIANT:NAME=VALUE",
            description = "An environment variable that one of baseline and kvcached gets, as"
                    + " kvcached:KVCACHED_LOG_LEVEL=DEBUG; again for each.")
    private @Nullable List<String> environment;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestKvcachedCommand() {}

    @Override
    public Integer call() {
        OptionValues.between("--pairs", pairs, 1, MOST_PAIRS);
        int most = requests.most();
        BenchConfig read = BenchConfig.read(config);
        BenchConfig.Model model = name == null ? read.models().getFirst() : read.model(name);
        return suite.run(
                spec.commandLine(),
                new KvcachedOverhead(new KvcachedOverhead.Settings(
                        read,
                        model,
                        seed.seed(),
                        arrivals,
                        pairs,
                        most,
                        OptionValues.byOwner(
                                "--variant-env",
                                environment,
                                ENV,
                                "VARIANT:NAME=VALUE, as kvcached:KVCACHED_LOG_LEVEL=DEBUG"))));
    }
}
