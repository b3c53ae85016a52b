package io.holdfast.app;

import io.holdfast.loadtest.preset.Presets;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Load tests that are known by a name. */
@Command(
        name = "preset",
        description = "Runs a load test that is known by a name: its loads, its order and its files are fixed.",
        synopsisSubcommandLabel = "NAME",
        subcommands = {
            LoadtestPinPocCommand.class,
            LoadtestServingCommand.class,
            LoadtestRadixCommand.class,
            LoadtestKvcachedCommand.class,
            LoadtestFixedCommands.Story.class,
            LoadtestFixedCommands.Simple.class,
            LoadtestFixedCommands.Negative.class,
            LoadtestSeveralCommands.Benefit.class,
            LoadtestSeveralCommands.Capacity.class,
            LoadtestAccuracyCommand.class,
            LoadtestCacheMatrixCommand.class,
            LoadtestStaggeredCommand.class,
            LoadtestServerCompareCommand.class
        },
        sortOptions = false)
final class LoadtestPresetCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--list", description = "One line for each preset, and the files that it leaves.")
    private boolean list;

    LoadtestPresetCommand() {}

    @Override
    public Integer call() {
        if (!list) {
            spec.commandLine().usage(spec.commandLine().getOut());
            return ExitCode.OK;
        }
        int width = Presets.all().stream()
                .mapToInt(each -> each.name().length())
                .max()
                .orElse(1);
        Presets.all()
                .forEach(each -> spec.commandLine()
                        .getOut()
                        .println(String.format(
                                Locale.ROOT,
                                "%-" + width + "s  %s Leaves %s.",
                                each.name(),
                                each.says(),
                                String.join(", ", each.leaves()))));
        return ExitCode.OK;
    }
}
