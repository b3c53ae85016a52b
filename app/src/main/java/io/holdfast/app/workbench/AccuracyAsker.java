package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.loadtest.AskedServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.TextAsker;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.preset.Accuracy;
import io.holdfast.workbench.preset.Preset;
import io.holdfast.workbench.preset.Values;
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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Asks questions whose answers are known, and says how many of them were answered rightly. */
final class AccuracyAsker {
    private static final Duration LIMIT = Duration.ofMinutes(10);
    private static final String END = "\n\nQuestion:";

    @Mixin
    private AskedServer server = new AskedServer();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            defaultValue = ".",
            description = "Folder for the file; created if it does not exist (default: this folder).")
    private Path out = Path.of(".");

    @Option(names = "--plan", description = "Print what would be asked, and exit.")
    private boolean planOnly;

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    AccuracyAsker() {}

    int run(CommandLine command, Values values) {
        URI url = server.server();
        int shots = values.whole("num-shots");
        int parallel = values.whole("parallel");
        int tokens = values.whole("output-tokens");
        Optional<Accuracy> before = values.given("against").map(file -> Accuracy.read(Path.of(file)));
        List<Accuracy.Question> all = Accuracy.questions(values.path("questions"));
        List<String> prompts = Accuracy.prompts(all, shots, values.whole("num-questions"));
        PrintWriter print = command.getOut();
        TerminalText beside = new TerminalText(command.getErr(), TerminalText.onTerminal(), RunClock.system()::nanos);
        if (prompts.size() < values.whole("num-questions")) {
            beside.text("The file has " + all.size() + " questions, of which " + shots + " begin each prompt, so "
                    + prompts.size() + " are asked and not " + values.whole("num-questions") + ".");
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
        Optional<String> model =
                server.model().name().or(() -> HttpEngine.firstModel(url, HttpSettings.defaults(), RunClock.system()));
        Accuracy accuracy;
        try (TextAsker asker = new TextAsker(url, model, LIMIT)) {
            accuracy = Accuracy.of(model.orElse("unknown"), all, shots, said(asker, prompts, parallel, tokens, beside));
        }
        Path file = ResultFile.freeName(out, "accuracy", accuracy.model(), begun, ".json");
        new Preset.Outcome(Map.of(file.getFileName().toString(), accuracy.text()), List.of(), List.of()).write(out);
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

    private static List<String> said(
            TextAsker asker, List<String> prompts, int parallel, int tokens, TerminalText beside) {
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
