package io.holdfast.app.loadtest;

import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Workload;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The rest of a run that was stopped or killed. */
@Command(
        name = "resume",
        description = {
            "Goes on with a run that was stopped or killed, from its journal: the pairs that are missing, with the same"
                    + " plan, seed, requests and arm. A pair that was not finished is run again as a whole.",
            "The server has to be the one that it began with: same engine, model and sizes."
        },
        sortOptions = false)
public final class LoadtestResumeCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "JOURNAL", description = "The file that 'loadtest run' or 'loadtest aa' wrote.")
    private Path journal = Path.of("");

    @FormerName({"--url", "--router"})
    @Option(
            names = "--engine",
            paramLabel = "URL",
            description =
                    "The address of the engine, or of the router before engines, where it is another one now (default:"
                            + " that of the journal).")
    private @Nullable URI url;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Option(
            names = "--arm-command",
            paramLabel = "on=COMMAND off=COMMAND",
            arity = "1..2",
            description = "The commands of the run, where it has such an arm: no journal can make one run.")
    private @Nullable Map<String, String> commands;

    @Option(
            names = "--arm-server-command",
            paramLabel = "COMMAND",
            description = "The command for the server of pinned legs, where the run has such an arm.")
    private @Nullable String serverCommand;

    @Mixin
    private BedOptions bed = new BedOptions();

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    @Mixin
    private OutputOptions output = new OutputOptions();

    LoadtestResumeCommand() {}

    @Override
    public Integer call() {
        output.check();
        bed.check();
        Journal.Contents before = Journal.read(journal);
        RunHeader header = before.header();
        RunStatus.refuseFinished(before);
        RunAgain again = RunAgain.of(header);
        URI server = ServerAddress.withoutVersion(Optional.ofNullable(url).orElse(again.url()));
        ServerAddress.check("--engine", server);
        ArmOptions.Way way = ArmOptions.again(
                again.arm(),
                Optional.ofNullable(commands),
                Optional.ofNullable(serverCommand),
                !again.engines().isEmpty());
        HttpSettings asked = asked(header, again);
        Workload workload = IdlePrefixFlood.workload(
                header.seed(), again.shape(), again.arrivals(), 1 + header.measuredLegsOfALife());
        if (output.isBackground()) {
            long lines = lines();
            return output.begin(spec.commandLine(), journal, true, () -> lines() > lines);
        }
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter beside = output.beside(spec.commandLine());
        String rest = ask.again()
                + ArmOptions.again(Optional.ofNullable(commands), Optional.ofNullable(serverCommand))
                + started.again();
        return LoadtestBench.untilStopped(out, beside, output, journal, rest, bench -> {
            try (ServerUnit unit = started.unit(
                    server,
                    asked.model(),
                    Optional.ofNullable(serverCommand),
                    again.engines(),
                    Map.of(),
                    journal,
                    bench)) {
                started.refuseAnother(unit, header);
                unit.restart();
                return bench.with(unit, asked, way, (engine, without) -> {
                    RunEnvironment environment = without.with(bed.around(server, journal, bench));
                    Progress terminal = output.progress(spec.commandLine(), environment.clock());
                    boolean[] told = {false};
                    Progress shown = event -> {
                        // Only now is it known that it can go on.
                        if (!told[0]) {
                            told[0] = true;
                            beside.println(goingOn(before));
                            bench.tell(engine.warm());
                        }
                        terminal.on(event);
                    };
                    if (header.plan().isOnlyControls()) {
                        return output.report(
                                spec.commandLine(), LoadTestRun.resumeControls(environment, workload, journal, shown));
                    }
                    return output.report(
                            spec.commandLine(), LoadTestRun.resume(environment, workload, journal, shown), expect);
                });
            }
        });
    }

    /** A resumed run writes a line that says so, once it is known that it can go on. */
    private long lines() {
        try (Stream<String> lines = Files.lines(journal, StandardCharsets.ISO_8859_1)) {
            return lines.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String goingOn(Journal.Contents before) {
        return "Going on with " + journal + ": " + before.wholePairs() + " of "
                + before.header().plan().lives().size() + " pairs stand."
                + (before.header().rehearsal() && before.finishedLives() > 0
                        ? " One pair runs first that counts for nothing, since this process is new."
                        : "");
    }

    private HttpSettings asked(RunHeader header, RunAgain again) {
        CompletionRoute route = CompletionRoute.valueOf(
                Optional.ofNullable(header.client().get("route")).orElse(""));
        HttpSettings http = ask.again(HttpSettings.defaults().withRoute(route), System.getenv(), header, again);
        HttpSettings flushed = again.flushPath().map(http::withFlushPath).orElse(http);
        return Optional.ofNullable(header.client().get("model"))
                .map(flushed::withModel)
                .orElse(flushed);
    }
}
