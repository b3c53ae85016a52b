package io.holdfast.app.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Figures of the parts on the hot path, each with the command that makes it. */
@Command(
        name = "bench",
        description = "Measures the block index and the event codec on this machine.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {IndexCommand.class, DecodeCommand.class, GrowthCommand.class})
public final class BenchCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    public BenchCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
