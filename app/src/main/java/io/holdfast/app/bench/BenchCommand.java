package io.holdfast.app.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What following an engine costs on this machine. */
@Command(
        name = "bench",
        description = "Measures what following engines costs on this machine.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = DecodeCommand.class)
public final class BenchCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    public BenchCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
