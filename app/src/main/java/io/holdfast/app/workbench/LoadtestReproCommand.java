package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.CurlCommand;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The requests of one leg as commands. */
@Command(
        name = "repro",
        description = {
            "Prints curl commands, as a script for sh, that send the requests of one leg again with the same"
                    + " bytes and in the same order.",
            "They run one after another, even where the leg had several under way. To reproduce a failure that"
                    + " needs concurrency, append '&' to them."
        },
        sortOptions = false)
public final class LoadtestReproCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private LegOfJournal leg = new LegOfJournal();

    @FormerName("--url")
    @Option(
            names = "--engine",
            paramLabel = "URL",
            description = "Address of the server, if it has changed (default: that of the journal).")
    private @Nullable URI url;

    @Option(names = "--failed", description = "Print only the requests that failed.")
    private boolean failed;

    LoadtestReproCommand() {}

    @Override
    public Integer call() {
        Journal.Contents run = leg.read();
        RunHeader header = run.header();
        LegRecord record = leg.of(run);
        URI server = ServerAddress.withoutVersion(
                Optional.ofNullable(url).orElse(header.test().targetAgain().server()));
        ServerAddress.check("--engine", server);
        List<LoadRequest> requests = requests(header, record, leg.repeatsBefore(record));
        HttpSettings asked = asked(header);
        List<String> headers = Stream.of(
                        header.client().getOrDefault(RunHeader.HEADERS, "").split(", ", -1))
                .filter(name -> !name.isEmpty())
                .toList();
        List<RequestRecord> shown = record.requests().stream()
                .filter(request -> !failed || !request.isOk())
                .filter(request -> request.number() < requests.size())
                .toList();
        if (shown.isEmpty()) {
            throw new CommandException("No request of " + record.label() + " failed; leave --failed out.");
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println("#!/bin/sh");
        out.println(
                "# " + record.label() + record.problem().map(why -> ": " + why).orElse(""));
        for (RequestRecord request : shown) {
            out.println("# " + request.role() + " " + request.cycle() + ", request " + request.number() + ": "
                    + request.status() + (request.problem().isEmpty() ? "" : ", " + request.problem()));
            out.println(CurlCommand.of(server, asked, requests.get(request.number()), headers));
        }
        out.flush();
        return ExitCode.OK;
    }

    private static List<LoadRequest> requests(RunHeader header, LegRecord record, int repeats) {
        Workload workload = header.test().workload();
        if (!workload.id().equals(header.workload().id())) {
            throw new CommandException("The requests that this version draws are others than those of the journal; use"
                    + " the version that wrote it.");
        }
        List<LoadRequest> requests = workload.requests(record.position());
        return header.test()
                .salt()
                .map(salt -> new Salt(salt.nonce(), repeats).on(requests, record.life(), record.position()))
                .orElse(requests);
    }

    private static HttpSettings asked(RunHeader header) {
        HttpSettings http = HttpSettings.defaults()
                .withRoute(CompletionRoute.valueOf(
                        Optional.ofNullable(header.client().get("route")).orElse("")));
        HttpSettings ended = header.client().containsKey(RunHeader.ENDS) ? http.endingWithTheModel() : http;
        return Optional.ofNullable(header.client().get("model"))
                .map(ended::withModel)
                .orElse(ended);
    }
}
