package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.EngineOptions;
import io.holdfast.app.cli.ErrorText;
import io.holdfast.app.cli.FindingText;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.client.Calibration;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.look.Doctor;
import io.holdfast.sidecar.look.Finding;
import io.holdfast.sidecar.look.Finding.Status;
import io.holdfast.workbench.bed.BedInspection;
import io.holdfast.workbench.bed.Check;
import io.holdfast.workbench.bed.MachineTools;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether a load test would measure anything here. */
@Command(
        name = "doctor",
        description = {
            "Checks that a load test can measure here: the engine, its flags and events, what its answers report of"
                    + " cached tokens, this machine's client, clock, open files, shared memory and GPUs.",
            "Sends three small requests. Exit code 1 when something is missing, 3 when it could not" + " be determined."
        },
        sortOptions = false)
public final class LoadtestDoctorCommand implements Callable<Integer> {
    private static final int MOST_STREAMS = 4_096;

    /** Of the client's own server, between two tokens: a pace that inference servers have. */
    private static final Duration PACE = Duration.ofMillis(20);

    private static final int CALIBRATION_PROMPT = 32;
    private static final int CALIBRATION_TOKENS = 16;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Mixin
    private RouteOptions route = new RouteOptions();

    @Option(
            names = "--streams",
            paramLabel = "N",
            defaultValue = "64",
            description = "Number of concurrent requests that the load will have (default: ${DEFAULT-VALUE}).")
    private int streams;

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            defaultValue = "3s",
            description = "Time to wait for an event of the small request, at most 1m (default: ${DEFAULT-VALUE}).")
    private String wait = "3s";

    @Option(
            names = "--shared-memory",
            paramLabel = "DIR",
            defaultValue = "/dev/shm",
            description = "Mount point of shared memory (default: ${DEFAULT-VALUE}).")
    private Path sharedMemory = Path.of("/dev/shm");

    @Option(names = "--require-idle-gpu", description = "Exit with 1 if another process computes on a GPU.")
    private boolean requireIdleGpu;

    @Option(
            names = "--tools",
            paramLabel = "DIR",
            description = "Folder with nvidia-smi (default: PATH is" + " searched).")
    private @Nullable Path tools;

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    LoadtestDoctorCommand() {}

    @Override
    public Integer call() {
        OptionValues.between("--streams", streams, 1, MOST_STREAMS);
        Duration patience = TimeSpan.parse("--wait", wait, Duration.ZERO);
        if (patience.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new CommandException("--wait is '" + wait + "'; wait at most 1m.");
        }
        // A name that cannot be one is told by the engine's own look.
        List<Finding> findings = new ArrayList<>(engine(patience));
        URI server = ServerAddress.withoutVersion(URI.create(engine.url()));
        boolean answers = findings.stream()
                .noneMatch(finding ->
                        finding.status() == Status.MISSING && finding.subject().equals("engine"));
        BedInspection.Found found = machine(server, answers);
        found.checks().forEach(check -> findings.add(finding(check)));
        print(server, findings, found);
        return FindingText.code(findings);
    }

    /** What the sidecar's doctor finds, but for what is the sidecar's alone. */
    private List<Finding> engine(Duration patience) {
        try {
            return Doctor.examine(engine.target(Optional.empty()), patience, true, new SplittableRandom())
                    .findings();
        } catch (SidecarException e) {
            String told = ErrorText.of(e.getMessage(), ".").replaceFirst(": start .*", ".");
            return List.of(new Finding(
                    Status.MISSING, "engine", told, Optional.of("start it, or write its address as --engine")));
        }
    }

    private BedInspection.Found machine(URI server, boolean answers) {
        RunClock clock = RunClock.system();
        MachineTools machine = Optional.ofNullable(tools)
                .map(folder -> new MachineTools(folder.toString()))
                .orElseGet(MachineTools::ofThisProcess);
        HttpSettings http = HttpSettings.defaults().withHeaders(engine.headers(System.getenv()));
        Vertx vertx = OwnVertx.start();
        try {
            Calibration calibration = new Calibration(
                    vertx,
                    http.withRoute(CompletionRoute.OPENAI_COMPLETIONS),
                    clock::nanos,
                    new Calibration.Plan(1, CALIBRATION_PROMPT, CALIBRATION_TOKENS, PACE));
            BedInspection inspection =
                    new BedInspection(new BedInspection.Wanted(server, streams, sharedMemory, requireIdleGpu), machine);
            if (!answers) {
                return inspection.inspect(
                        Optional.empty(), Map.of(), calibration::againstItself, clock::nanos, new SplittableRandom());
            }
            HttpSettings asked = route.on(server, http, clock);
            try (HttpEngine answering = new HttpEngine(vertx, new ExistingServer(server), asked, clock)) {
                return inspection.inspect(
                        Optional.of(answering),
                        answering.flags(),
                        calibration::againstItself,
                        clock::nanos,
                        new SplittableRandom());
            }
        } finally {
            vertx.close().await();
        }
    }

    private static Finding finding(Check check) {
        return new Finding(Status.valueOf(check.state().name()), check.subject(), check.text(), check.mend());
    }

    private void print(URI server, List<Finding> findings, BedInspection.Found found) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode root = JsonText.object().put("format", 1).put("server", server.toString());
            FindingText.write(findings, root);
            ObjectNode environment = root.putObject("environment");
            found.environment().values().forEach(environment::put);
            out.println(JsonText.of(root));
        } else {
            TerminalText text = TerminalText.plain(out);
            text.line("The test bed of " + server);
            text.blank();
            FindingText.print(findings, text);
            text.blank();
            text.line("What a number that is measured here was measured on:");
            text.blank();
            found.environment().lines().forEach(line -> text.line("  " + line));
            text.blank();
            text.paragraph("", FindingText.verdict(findings));
        }
        out.flush();
    }
}
