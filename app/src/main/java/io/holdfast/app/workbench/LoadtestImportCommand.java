package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.workbench.imports.Imported;
import io.holdfast.workbench.imports.ToolResults;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Joins results of any tool in one file of ours. */
@Command(
        name = "import",
        description = "Joins result files of vllm bench serve, sglang.bench_serving, aiperf and guidellm into one file"
                + " of Holdfast. Metrics keep the tool's definition and get Holdfast's name. Files of equal"
                + " settings become repetitions of one another.",
        sortOptions = false)
public final class LoadtestImportCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", arity = "1..*", description = "Result files.")
    private List<Path> paths = List.of();

    @Option(names = "--out", paramLabel = "FILE", required = true, description = "New file to write.")
    private Path file = Path.of("");

    @Option(
            names = "--set",
            paramLabel = "NAME=VALUE",
            description = "A setting that the files do not contain, as variant=kvcached; repeatable.")
    private List<String> settings = List.of();

    LoadtestImportCommand() {}

    @Override
    public Integer call() {
        settings.stream().filter(each -> each.indexOf('=') < 1).findFirst().ifPresent(each -> {
            throw new CommandException("--set is '" + each + "'; write NAME=VALUE.");
        });
        List<Imported> all = paths.stream().map(ToolResults::read).toList();
        Imported joined = ToolResults.joined(
                all,
                settings.stream()
                        .collect(java.util.stream.Collectors.toMap(
                                each -> each.substring(0, each.indexOf('=')),
                                each -> each.substring(each.indexOf('=') + 1),
                                (first, last) -> last)));
        joined.results().write(file);
        PrintWriter out = spec.commandLine().getOut();
        TerminalText terminal = TerminalText.plain(out);
        SuiteTable.print(joined.results(), out);
        joined.notes().forEach(note -> terminal.paragraph("", note));
        terminal.line("Written: " + file);
        return ExitCode.OK;
    }
}
