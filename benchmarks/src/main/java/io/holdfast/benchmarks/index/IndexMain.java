package io.holdfast.benchmarks.index;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The command of this room: workload files are written, and the block index and the decoder are measured. */
@Command(
        name = "measure",
        description = "Measures the block index, on workload files and with many blocks, and what decoding costs.",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {WorkloadCommand.class, IndexCommand.class, GrowthCommand.class, DecodeCommand.class})
final class IndexMain implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    private IndexMain() {}

    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String... args) {
        CommandLine command = new CommandLine(new IndexMain());
        command.setExecutionExceptionHandler((fault, line, parsed) -> {
            if (fault instanceof BenchException) {
                line.getErr().println("measure: " + fault.getMessage());
                return ExitCode.USAGE;
            }
            throw fault;
        });
        return command.execute(args);
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
