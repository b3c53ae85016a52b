package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.EngineOptions;
import io.holdfast.app.cli.ErrorText;
import io.holdfast.app.cli.FindingText;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.workbench.MachineOptions;
import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.look.Diagnosis;
import io.holdfast.sidecar.look.Doctor;
import io.holdfast.workbench.bed.BedInspection;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Reports what an engine can do, what is missing, and what mends it: for a sidecar, or for a load test. */
@Command(
        name = "doctor",
        description = {
            "Reports what a running SGLang, vLLM or TensorRT-LLM can do for Holdfast, what is missing, and the flag"
                + " that mends it. Prints a sidecar configuration for it. It only reads, unless --try lets it send one"
                + " small request.",
            "With --for-load-test it checks that a load test can measure here; 'holdfast loadtest doctor' is the same.",
            "Exit code 0: nothing that matters is missing, 1: something is, 2: nothing answers, 3: could not be"
                    + " determined."
        },
        sortOptions = false)
public class DoctorCommand implements Callable<Integer> {
    /** Alias of the command among those of the load test. */
    @Command(
            name = "doctor",
            description = {
                "Checks that a load test can measure here: the engine, its flags and events, what its"
                        + " answers report of cached tokens, this machine's client, clock, open files, shared"
                        + " memory and GPUs.",
                "Sends three small requests. Exit code 1 when something is missing, 3 when it could not be determined."
            },
            sortOptions = false)
    public static final class OfLoadtest extends DoctorCommand {
        OfLoadtest() {
            super(true);
        }
    }

    private final boolean ofLoadtest;

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
            description = "Time to wait for events, at most 1m (default: 5s for events of other requests, 3s for those"
                    + " of the small request before a load test).")
    private @Nullable String wait;

    @Option(
            names = "--try",
            description = "Send the engine one small request, so that an event comes; it computes some 200 tokens. A"
                    + " check before a load test always does.")
    private boolean tries;

    @Option(
            names = "--for-load-test",
            description = "Check this machine and the engine's answers too, with three small requests.")
    private boolean forLoadTest;

    @Mixin
    private MachineOptions machine = new MachineOptions();

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    DoctorCommand() {
        this(false);
    }

    private DoctorCommand(boolean ofLoadtest) {
        this.ofLoadtest = ofLoadtest;
    }

    @Override
    public Integer call() {
        boolean measures = ofLoadtest || forLoadTest;
        MachineOptions.NAMES.stream()
                .filter(name -> !measures && spec.commandLine().getParseResult().hasMatchedOption(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new CommandException(name + " is about a load test; add --for-load-test, or leave it out.");
                });
        machine.check();
        String longest = Optional.ofNullable(wait).orElse(measures ? "3s" : "5s");
        Duration patience = TimeSpan.parse("--wait", longest, Duration.ZERO);
        if (patience.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new CommandException("--wait is '" + longest + "'; wait at most 1m.");
        }
        return FindingText.code(measures ? beforeLoadTest(patience) : beforeSidecar(patience));
    }

    private Diagnosis examine(Duration patience, boolean mayTry) {
        return Doctor.examine(engine.target(Optional.ofNullable(segment)), patience, mayTry, new SplittableRandom());
    }

    private List<Finding> beforeSidecar(Duration patience) {
        Diagnosis found = examine(patience, tries);
        if (json) {
            ObjectNode root = JsonText.object().put("engine", found.engine());
            FindingText.write(found.findings(), root);
            print(root.put("backend", found.backend())
                    .put("why", found.why())
                    .put("configuration", found.configuration()));
        } else {
            print(found.engine(), found.findings(), text -> {
                text.paragraph(
                        "",
                        (found.holds() ? "The sidecar would hold with " + found.backend() + ". " : "") + found.why());
                text.blank();
                text.line("Its configuration (holdfast sidecar --config FILE):");
                text.blank();
                found.configuration().lines().forEach(text::line);
            });
        }
        return found.findings();
    }

    private List<Finding> beforeLoadTest(Duration patience) {
        // The look at the engine refuses a name that cannot be one.
        List<Finding> findings = new ArrayList<>(atEngine(patience));
        URI server = ServerAddress.withoutVersion(URI.create(engine.url()));
        boolean answers = findings.stream()
                .noneMatch(finding ->
                        finding.status() == Status.MISSING && finding.subject().equals("engine"));
        BedInspection.Found found = machine.look(server, engine.headers(System.getenv()), answers);
        findings.addAll(found.findings());
        if (json) {
            ObjectNode root = JsonText.object().put("format", 1).put("server", server.toString());
            FindingText.write(findings, root);
            ObjectNode environment = root.putObject("environment");
            found.environment().values().forEach(environment::put);
            print(root);
        } else {
            print("The test bed of " + server, findings, text -> {
                text.line("What a number that is measured here was measured on:");
                text.blank();
                found.environment().lines().forEach(line -> text.line("  " + line));
            });
        }
        return findings;
    }

    private void print(ObjectNode document) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(JsonText.of(document));
        out.flush();
    }

    private void print(String title, List<Finding> findings, Consumer<TerminalText> more) {
        PrintWriter out = spec.commandLine().getOut();
        TerminalText text = TerminalText.plain(out);
        text.line(title);
        text.blank();
        FindingText.print(findings, text);
        text.blank();
        more.accept(text);
        text.blank();
        text.paragraph("", FindingText.verdict(findings));
        out.flush();
    }

    /** Returns the findings about the engine; a silent engine is one of them, since the machine is looked at all the same. */
    private List<Finding> atEngine(Duration patience) {
        try {
            return examine(patience, true).findings();
        } catch (SidecarException e) {
            return List.of(Finding.missing(
                    "engine",
                    ErrorText.of(e.getMessage(), ".").replaceFirst(": start .*", "."),
                    "start it, or write its address as --engine"));
        }
    }
}
