package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.loadtest.ExpectOptions;
import io.holdfast.app.loadtest.LoadtestAbCommand;
import io.holdfast.workbench.preset.Definition;
import io.holdfast.workbench.preset.Presets;
import io.holdfast.workbench.preset.SeveralModels;
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
        description = "Runs a named load test with fixed loads, order and files.",
        synopsisSubcommandLabel = "NAME",
        sortOptions = false)
public final class LoadtestPresetCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--list", description = "Print what each preset does and which files it leaves.")
    private boolean list;

    LoadtestPresetCommand() {}

    /** Adds a command for each preset. */
    public static void addAll(CommandLine presets, IFactory factory) {
        Presets.all().forEach(each -> presets.addSubcommand(command(each, factory)));
    }

    /** Makes a command of its definition, unless it ends in the load test's own verdict and has a class of its own. */
    private static CommandLine command(Definition definition, IFactory factory) {
        SuiteOptions suite = new SuiteOptions();
        return switch (definition.name()) {
            case "probe-flood-probe" -> {
                CommandLine flood = new CommandLine(LoadtestAbCommand.class, factory);
                flood.getCommandSpec().name(definition.name()).aliases();
                yield flood;
            }
            case "pin-poc" -> {
                yield new CommandLine(LoadtestPinPocCommand.class, factory);
            }
            case "accuracy" -> {
                AccuracyAsker asker = new AccuracyAsker();
                yield PresetCommand.of(definition, asker::run, asker);
            }
            case SeveralModels.BENEFIT, SeveralModels.CAPACITY -> {
                SeveralServers servers = new SeveralServers();
                yield PresetCommand.of(definition, servers::run, servers);
            }
            case CacheMatrixJob.NAME -> {
                yield PresetCommand.of(
                        definition, (command, values) -> new CacheMatrixJob(values, suite, command).run(), suite);
            }
            case StaggeredJob.NAME -> {
                ExpectOptions expect = new ExpectOptions();
                yield PresetCommand.of(
                        definition,
                        (command, values) -> new StaggeredJob(values, suite, expect, command).run(),
                        expect,
                        suite);
            }
            case ServerCompareJob.NAME -> {
                yield PresetCommand.of(
                        definition, (command, values) -> new ServerCompareJob(values, suite, command).run(), suite);
            }
            default -> {
                yield PresetCommand.of(
                        definition,
                        (command, values) -> new PresetJob(Presets.of(values), suite, command).run(),
                        suite);
            }
        };
    }

    @Override
    public Integer call() {
        if (!list) {
            spec.commandLine().usage(spec.commandLine().getOut());
            return ExitCode.OK;
        }
        TerminalText text = TerminalText.plain(spec.commandLine().getOut());
        for (Definition each : Presets.all()) {
            text.line(each.name());
            text.paragraph("  ", each.does());
            text.paragraph("  ", "Leaves " + String.join(", ", each.leaves()) + ".");
        }
        return ExitCode.OK;
    }
}
