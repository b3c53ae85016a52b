package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.workbench.preset.Radix;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a prefix cache finds. */
@Command(
        name = "radix",
        description = {
            "Empties the server's prefix cache and then asks for cold prompts (A), for prompts that begin alike (B),"
                + " for exact repeats (C), and for so much else that the cache has to give something up (D). Says of"
                + " each request what was found, and of each scenario whether it shows what it is there for. The"
                + " server has to serve nobody else.",
            "Exit code 1 when a check fails."
        },
        sortOptions = false)
final class LoadtestRadixCommand implements Callable<Integer> {
    private static final int MOST_REQUESTS = 100_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @FormerName("--num-requests")
    @Option(
            names = "--requests",
            paramLabel = "N",
            defaultValue = "100",
            description = "Of scenarios A to C together (default: ${DEFAULT-VALUE}).")
    private int requests;

    @FormerName("--answer-tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            description = "Tokens of each answer (default: 128; 1 in the floods).")
    private @Nullable Integer answer;

    @Option(
            names = "--order",
            paramLabel = "A,B,C,D",
            hideParamSyntax = true,
            split = ",",
            defaultValue = "A,B,C,D",
            description = "In which order the scenarios run; B finds nothing before A (default: ${DEFAULT-VALUE}).")
    private List<String> order = Radix.Settings.ORDER;

    @Option(
            names = "--capacity-tokens",
            paramLabel = "N",
            description = "Tokens that the cache holds, where the server does not say.")
    private @Nullable Long capacity;

    @Mixin
    private SeedOption seed = new SeedOption();

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestRadixCommand() {}

    @Override
    public Integer call() {
        OptionValues.between("--requests", requests, 1, MOST_REQUESTS);
        Integer tokens = answer;
        Long holds = capacity;
        if ((tokens != null && tokens < 1) || (holds != null && holds < 1)) {
            throw new CommandException("--output-tokens and --capacity-tokens are at least 1.");
        }
        return suite.run(
                spec.commandLine(),
                new Radix(new Radix.Settings(
                        seed.seed(),
                        requests,
                        tokens == null ? OptionalInt.empty() : OptionalInt.of(tokens),
                        order,
                        holds == null ? OptionalLong.empty() : OptionalLong.of(holds))));
    }
}
