package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.loadtest.AskedServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.TextAsker;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.preset.Accuracy;
import io.holdfast.workbench.preset.Preset;
import io.holdfast.workbench.preset.PresetRun;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether answers are still right. */
@Command(
        name = "accuracy",
        description = {
            "Asks questions with a number as their answer, greedily and behind a few that are answered already, and"
                    + " says how many were answered rightly. With --against, whether that differs from an earlier run."
                    + " Leaves accuracy_MODEL_TIME.json."
        },
        sortOptions = false)
final class LoadtestAccuracyCommand implements Callable<Integer> {
    private static final int MOST_PARALLEL = 256;
    private static final Duration LIMIT = Duration.ofMinutes(10);
    private static final String END = "\n\nQuestion:";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private AskedServer server = new AskedServer();

    @Option(
            names = "--questions",
            paramLabel = "FILE",
            required = true,
            description = "A JSON object with 'question' and 'answer' in each line; the answer ends in a whole number.")
    private Path questions = Path.of("");

    @Option(
            names = "--num-questions",
            paramLabel = "N",
            defaultValue = "100",
            description = "That are asked (default: ${DEFAULT-VALUE}).")
    private int number;

    @Option(
            names = "--num-shots",
            paramLabel = "N",
            defaultValue = "5",
            description = "The first of the file, which each prompt begins with and which are not asked (default:"
                    + " ${DEFAULT-VALUE}).")
    private int shots;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "8",
            description = "Under way at a time (default: ${DEFAULT-VALUE}).")
    private int parallel;

    @FormerName("--max-tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "256",
            description = "Of an answer (default: ${DEFAULT-VALUE}).")
    private int tokens;

    @Option(names = "--against", paramLabel = "FILE", description = "What an earlier run left, of the same questions.")
    private @Nullable Path against;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            defaultValue = ".",
            description = "Where the file goes, a folder that is made where it is not there (default: this folder).")
    private Path out = Path.of(".");

    @Option(names = "--plan", description = "Say what would be asked, and end.")
    private boolean planOnly;

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    LoadtestAccuracyCommand() {}

    @Override
    public Integer call() {
        URI url = server.server();
        if (number < 1 || shots < 0 || tokens < 1 || parallel < 1 || parallel > MOST_PARALLEL) {
            throw new CommandException(
                    "--num-questions and --output-tokens are at least 1, --num-shots at least 0, and --parallel is 1"
                            + " to "
                            + MOST_PARALLEL + ".");
        }
        Optional<Accuracy> before = Optional.ofNullable(against).map(Accuracy::read);
        List<Accuracy.Question> all = Accuracy.questions(questions);
        List<String> prompts = Accuracy.prompts(all, shots, number);
        PrintWriter print = spec.commandLine().getOut();
        TerminalText beside =
                new TerminalText(spec.commandLine().getErr(), TerminalText.onTerminal(), RunClock.system()::nanos);
        if (prompts.size() < number) {
            beside.text("The file has " + all.size() + " questions, of which " + shots + " begin each prompt, so "
                    + prompts.size() + " are asked and not " + number + ".");
        }
        if (planOnly) {
            TerminalText.plain(print)
                    .text(String.format(
                            Locale.ROOT,
                            "%d questions, %d at a time, of %,d letters in all; answers of at most %d tokens.",
                            prompts.size(),
                            parallel,
                            prompts.stream().mapToInt(String::length).sum(),
                            tokens));
            return ExitCode.OK;
        }
        makeFolder();
        Instant begun = Instant.now();
        Optional<String> asked =
                server.model().name().or(() -> HttpEngine.firstModel(url, HttpSettings.defaults(), RunClock.system()));
        Accuracy accuracy;
        try (TextAsker asker = new TextAsker(url, asked, LIMIT)) {
            accuracy = Accuracy.of(asked.orElse("unknown"), all, shots, said(asker, prompts, beside));
        }
        Path file = ResultFile.freeName(out, "accuracy", accuracy.model(), begun, ".json");
        PresetRun.write(
                out, new Preset.Outcome(Map.of(file.getFileName().toString(), accuracy.text()), List.of(), List.of()));
        if (json) {
            print.print(accuracy.text());
            print.flush();
            return ExitCode.OK;
        }
        print.println(String.format(
                Locale.ROOT, "Accuracy: %.2f, %d of %d.", accuracy.share(), accuracy.right(), prompts.size()));
        before.ifPresent(other -> TerminalText.plain(print).text(accuracy.against(other)));
        print.println("Every answer is in " + file + ".");
        return ExitCode.OK;
    }

    private void makeFolder() {
        try {
            Files.createDirectories(out);
        } catch (IOException e) {
            throw new CommandException("--out is '" + out + "', which cannot be made a folder; name another one.");
        }
    }

    private List<String> said(TextAsker asker, List<String> prompts, TerminalText beside) {
        try (ExecutorService lanes = Executors.newFixedThreadPool(parallel)) {
            List<Future<String>> asked = new ArrayList<>();
            prompts.forEach(prompt -> asked.add(lanes.submit(() -> asker.said(prompt, tokens, END))));
            beside.line("Asking " + prompts.size() + " questions, " + parallel + " at a time.");
            List<String> said = new ArrayList<>();
            for (Future<String> each : asked) {
                said.add(each.get());
                beside.live(said.size() + " of " + prompts.size() + " are answered");
            }
            return said;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException("The questions were broken off; ask them again.");
        }
    }
}
