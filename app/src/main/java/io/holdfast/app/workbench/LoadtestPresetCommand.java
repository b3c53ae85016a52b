package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.loadtest.LoadtestAbCommand;
import io.holdfast.workbench.preset.Presets;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IFactory;
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
public final class LoadtestPresetCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--list", description = "Says of each preset what it is, and the files that it leaves.")
    private boolean list;

    LoadtestPresetCommand() {}

    /** The load test with a verdict under the name that it has among these. */
    public static void withVerdict(CommandLine presets, IFactory factory) {
        CommandLine flood = new CommandLine(LoadtestAbCommand.class, factory);
        flood.getCommandSpec().name("probe-flood-probe").aliases();
        presets.addSubcommand(flood);
    }

    @Override
    public Integer call() {
        if (!list) {
            spec.commandLine().usage(spec.commandLine().getOut());
            return ExitCode.OK;
        }
        TerminalText text = TerminalText.plain(spec.commandLine().getOut());
        for (Presets.Entry each : Presets.all()) {
            text.line(each.name());
            text.paragraph("  ", each.says());
            text.paragraph("  ", "Leaves " + String.join(", ", each.leaves()) + ".");
        }
        return ExitCode.OK;
    }
}
