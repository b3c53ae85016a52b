package io.holdfast.app.workbench;

import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.workbench.preset.FixedLoads;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Presets that are loads and nothing else. */
final class LoadtestFixedCommands {
    private LoadtestFixedCommands() {}

    /** Chats of one word. */
    @Command(
            name = "simple",
            description = "Sends 100 chats of one word at once and says how many were answered, and how many a second.",
            sortOptions = false)
    static final class Simple implements Callable<Integer> {
        @Spec
        private CommandSpec spec = CommandSpec.create();

        @FormerName("--num-requests")
        @Option(
                names = "--requests",
                paramLabel = "N",
                defaultValue = "100",
                description = "At once (default: ${DEFAULT-VALUE}).")
        private int requests;

        @Mixin
        private SuiteOptions suite = new SuiteOptions();

        Simple() {}

        @Override
        public Integer call() {
            return suite.run(spec.commandLine(), FixedLoads.simple(OptionValues.atLeastOne("--requests", requests)));
        }
    }

    /** What one request goes through. */
    @Command(
            name = "baseline-story",
            description =
                    "Sends requests one after the other and tells what one goes through: until the first token, the"
                            + " further tokens, the end.",
            sortOptions = false)
    static final class Story implements Callable<Integer> {
        @Spec
        private CommandSpec spec = CommandSpec.create();

        @FormerName("--num-requests")
        @Option(
                names = "--requests",
                paramLabel = "N",
                defaultValue = "100",
                description = "One after the other (default: ${DEFAULT-VALUE}).")
        private int requests;

        @FormerName("--prompt-len")
        @Option(
                names = "--prompt-tokens",
                paramLabel = "N",
                defaultValue = "512",
                description = "Tokens of each prompt (default: ${DEFAULT-VALUE}).")
        private int prompt;

        @FormerName("--output-len")
        @Option(
                names = "--output-tokens",
                paramLabel = "N",
                defaultValue = "128",
                description = "Tokens of each answer (default: ${DEFAULT-VALUE}).")
        private int answer;

        @Mixin
        private SeedOption seed = new SeedOption();

        @Mixin
        private SuiteOptions suite = new SuiteOptions();

        Story() {}

        @Override
        public Integer call() {
            return suite.run(
                    spec.commandLine(),
                    FixedLoads.baselineStory(
                            seed.seed(),
                            OptionValues.atLeastOne("--requests", requests),
                            OptionValues.atLeastOne("--prompt-tokens", prompt),
                            OptionValues.atLeastOne("--output-tokens", answer)));
        }
    }

    /** Loads that nothing can be gained on. */
    @Command(
            name = "negative",
            description =
                    "Sends loads that nothing can be gained on: one that never changes, one of more than a hundred"
                            + " requests a second, one of short requests that hardly differ. A controller beside the"
                            + " server has to stay idle.",
            sortOptions = false)
    static final class Negative implements Callable<Integer> {
        @Spec
        private CommandSpec spec = CommandSpec.create();

        @Mixin
        private MostRequests requests = new MostRequests();

        @Mixin
        private SeedOption seed = new SeedOption();

        @Mixin
        private SuiteOptions suite = new SuiteOptions();

        Negative() {}

        @Override
        public Integer call() {
            return suite.run(spec.commandLine(), FixedLoads.negative(seed.seed(), requests.most()));
        }
    }
}
