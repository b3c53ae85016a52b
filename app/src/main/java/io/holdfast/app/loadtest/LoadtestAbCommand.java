package io.holdfast.app.loadtest;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Baseline and pinned legs against a server, judged. */
@Command(
        name = "ab",
        aliases = "run",
        description = {
            "Runs A/A pairs and pairs in normal and reversed order, in seeded random rounds, and judges them with"
                    + " controls. In pinned legs the prefix is held by --hold, a sidecar or a command of your own.",
            "The engine's cache is flushed before every leg where it has a route for that: use an engine that serves"
                    + " nobody else."
        },
        footer = {
            "",
            "Examples:",
            "  holdfast loadtest ab --engine http://127.0.0.1:30000 --hold session --plan",
            "  holdfast loadtest ab --engine http://127.0.0.1:8000 --hold keep-warm",
            "  holdfast loadtest ab --engine http://127.0.0.1:30000 --hold automatic \\",
            "      --sidecar http://127.0.0.1:8471 --engine-id main",
            "  holdfast loadtest ab --router http://127.0.0.1:8080 --hold keep-warm \\",
            "      --engine http://127.0.0.1:8000 --engine http://127.0.0.1:8001"
        },
        sortOptions = false)
public final class LoadtestAbCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private AbOptions options = new AbOptions();

    @Mixin
    private JournalOptions journal = new JournalOptions();

    @Option(
            names = "--plan",
            description =
                    "Print what would be sent and an estimated duration, measured by a few requests, and" + " exit.")
    private boolean planOnly;

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    @Mixin
    private OutputOptions output = new OutputOptions();

    LoadtestAbCommand() {}

    @Override
    public Integer call() {
        return output.run(spec.commandLine(), options.test(), journal, planOnly, options.again(), expect);
    }
}
