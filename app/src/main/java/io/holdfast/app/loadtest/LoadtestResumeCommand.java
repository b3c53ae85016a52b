package io.holdfast.app.loadtest;

import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.LoadTestSession.Emptying;
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
            "Continues a run that was stopped or killed, from its journal: runs the missing pairs with the same"
                    + " plan, seed, requests and arm. An unfinished pair runs again as a whole.",
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
            description = "Address of the engine, or of the router before engines, if it has changed (default: that of"
                    + " the journal).")
    private @Nullable URI url;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private ArmCommandOptions commands = new ArmCommandOptions();

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
        AskedTest test = test(header);
        Workload workload = test.plan().workload();
        if (output.isBackground()) {
            long lines = lines();
            return output.begin(spec.commandLine(), journal, true, () -> lines() > lines);
        }
        PrintWriter beside = output.beside(spec.commandLine());
        String rest = ask.again() + commands.again() + started.again();
        return LoadtestBench.untilStopped(
                spec.commandLine(),
                beside,
                output,
                journal,
                rest,
                bench -> output.report(
                        spec.commandLine(),
                        test.at(
                                journal,
                                bench,
                                (session, its) -> session.goOn(
                                        workload,
                                        journal,
                                        its,
                                        () -> beside.println(goingOn(before)),
                                        output.progress(spec.commandLine(), bench.clock()))),
                        expect));
    }

    /** The run of the journal, at the address that was named. */
    private AskedTest test(RunHeader header) {
        LoadTestPlan.Target target = header.test().targetAgain();
        URI server = ServerAddress.withoutVersion(Optional.ofNullable(url).orElse(target.server()));
        ServerAddress.check("--engine", server);
        HttpSettings http = ask.again(HttpSettings.defaults(), System.getenv(), header);
        Asking asking = new Asking(
                target.flushPath().map(http::withFlushPath).orElse(http),
                Optional.of(CompletionRoute.valueOf(header.client().getOrDefault("route", ""))),
                Optional.ofNullable(header.client().get("model")));
        return new AskedTest(
                header.test().toBuilder()
                        .design(header.plan().design())
                        .target(target.at(server))
                        .build(),
                commands.of(target.arm()),
                asking,
                Emptying.WHERE_POSSIBLE,
                started,
                bed,
                Map.of());
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
}
