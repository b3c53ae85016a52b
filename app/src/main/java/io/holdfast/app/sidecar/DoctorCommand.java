package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.EngineOptions;
import io.holdfast.app.cli.FindingText;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.sidecar.look.Diagnosis;
import io.holdfast.sidecar.look.Doctor;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Says what an engine can do for Holdfast, what is missing, and with which flag it would be there. */
@Command(
        name = "doctor",
        description = {
            "Reports what a running SGLang or vLLM can do for Holdfast, what is missing, and the flag that mends"
                    + " it. Prints a sidecar configuration for it. It only reads, unless --try lets it send one"
                    + " small request.",
            "Exit code 0: nothing that matters is missing, 1: something is, 2: nothing answers, 3: could not be"
                    + " determined."
        },
        sortOptions = false)
public final class DoctorCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Option(
            names = "--kvcached-segment",
            paramLabel = "NAME",
            description = "The kvcached segment that should be the engine's, a name in /dev/shm or a path.")
    private @Nullable String segment;

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            defaultValue = "5s",
            description = "Time to wait for events of other requests, at most 1m (default: ${DEFAULT-VALUE}).")
    private String wait = "5s";

    @Option(
            names = "--try",
            description = "Send the engine one small request, so that an event comes; it computes some 200 tokens.")
    private boolean tries;

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    DoctorCommand() {}

    @Override
    public Integer call() {
        Duration patience = TimeSpan.parse("--wait", wait, Duration.ZERO);
        if (patience.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new CommandException("--wait is '" + wait + "'; wait at most 1m.");
        }
        Diagnosis found =
                Doctor.examine(engine.target(Optional.ofNullable(segment)), patience, tries, new SplittableRandom());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of(document(found)));
        } else {
            print(found, TerminalText.plain(out));
        }
        out.flush();
        return FindingText.code(found.findings());
    }

    private static void print(Diagnosis found, TerminalText text) {
        text.line(found.engine());
        text.blank();
        FindingText.print(found.findings(), text);
        text.blank();
        text.paragraph(
                "", (found.holds() ? "The sidecar would hold with " + found.backend() + ". " : "") + found.why());
        text.blank();
        text.line("Its configuration (holdfast sidecar --config FILE):");
        text.blank();
        found.configuration().lines().forEach(text::line);
        text.blank();
        text.paragraph("", FindingText.verdict(found.findings()));
    }

    private static ObjectNode document(Diagnosis found) {
        ObjectNode root = JsonText.object();
        root.put("engine", found.engine());
        FindingText.write(found.findings(), root);
        root.put("backend", found.backend()).put("why", found.why()).put("configuration", found.configuration());
        return root;
    }
}
