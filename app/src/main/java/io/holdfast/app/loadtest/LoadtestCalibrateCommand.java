package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ModelOptions;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.client.Calibration;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.RunClock;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What this client on this machine can measure. */
@Command(
        name = "calibrate",
        description = {
            "Measures this client on this machine: the error of its time stamps of first tokens and of gaps,"
                    + " compared with its own server whose stamps are known; how many tokens per second it reads;"
                    + " and the cost of a token.",
            "With --engine the same load goes to that server, whose time stamps are unknown."
        },
        sortOptions = false)
public final class LoadtestCalibrateCommand implements Callable<Integer> {
    private static final int MOST_STREAMS = 4_096;
    private static final int PROMPT_TOKENS = 32;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @FormerName("--url")
    @Option(
            names = "--engine",
            paramLabel = "URL",
            description = "Server to stream from, in place of the client's own.")
    private @Nullable URI url;

    @Option(
            names = "--route",
            paramLabel = "NAME",
            defaultValue = "OPENAI_COMPLETIONS",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private CompletionRoute route = CompletionRoute.OPENAI_COMPLETIONS;

    @Mixin
    private ModelOptions model = new ModelOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Option(
            names = "--streams",
            paramLabel = "N,N",
            hideParamSyntax = true,
            split = ",",
            defaultValue = "1,64,256",
            description = "Numbers of concurrent answers (default: ${DEFAULT-VALUE}).")
    private List<Integer> streams = List.of();

    @Option(
            names = "--requests",
            paramLabel = "N",
            defaultValue = "4",
            description = "Requests of each stream, one after another (default: ${DEFAULT-VALUE}).")
    private int requests;

    @FormerName("--tokens")
    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Tokens of each answer (default: ${DEFAULT-VALUE}).")
    private int tokens;

    @Option(
            names = "--pace-ms",
            paramLabel = "N",
            defaultValue = "5",
            description = "Time between two tokens of the client's own server; 0: as fast as possible (default:"
                    + " ${DEFAULT-VALUE}).")
    private int paceMillis;

    @Option(
            names = "--records",
            paramLabel = "FILE",
            description = "File for the time stamps of every request, one JSON line each, in nanoseconds of this"
                    + " machine's monotonic clock.")
    private @Nullable Path records;

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestCalibrateCommand() {}

    @Override
    public Integer call() {
        streams.forEach(count -> OptionValues.between("--streams", count, 1, MOST_STREAMS));
        OptionValues.between("--requests", requests, 1, 10_000);
        OptionValues.between("--output-tokens", tokens, 1, 100_000);
        OptionValues.between("--pace-ms", paceMillis, 0, 60_000);
        Optional<URI> server = Optional.ofNullable(url).map(ServerAddress::withoutVersion);
        server.ifPresent(address -> ServerAddress.check("--engine", address));
        RunClock clock = RunClock.system();
        HttpSettings http = ask.on(HttpSettings.defaults().withRoute(route), System.getenv());
        HttpSettings asked =
                model.on(http, () -> server.flatMap(address -> HttpEngine.firstModel(address, http, clock)));
        Vertx vertx = OwnVertx.start();
        List<Calibration.Level> levels = new ArrayList<>();
        try {
            Calibration calibration = new Calibration(
                    vertx,
                    asked,
                    clock::nanos,
                    new Calibration.Plan(requests, PROMPT_TOKENS, tokens, Duration.ofMillis(paceMillis)));
            calibration.warm();
            for (int count : streams) {
                levels.add(server.map(address -> calibration.against(address, count))
                        .orElseGet(() -> calibration.againstItself(count)));
            }
        } finally {
            vertx.close().await();
        }
        Optional.ofNullable(records).ifPresent(file -> write(file, levels));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(document(levels));
        } else {
            print(out, levels, server);
        }
        out.flush();
        return levels.stream().anyMatch(level -> level.failed() > 0) ? ExitCode.CHECK_FAILED : ExitCode.OK;
    }

    private static void print(PrintWriter out, List<Calibration.Level> levels, Optional<URI> server) {
        out.println("What this client measures "
                + server.map(address -> "at " + address).orElse("against a server of its own") + ":");
        out.println();
        out.println("  streams   tokens/s   CPU a token      first token late by      gap wrong by      longest");
        out.println("                       loop, process    median, p99              median, p99       standstill");
        for (Calibration.Level level : levels) {
            out.println(String.format(
                    Locale.ROOT,
                    "  %7d %10.0f   %4.1f, %4.1f us    %-24s %-17s %.1f ms",
                    level.streams(),
                    level.tokensPerSecond(),
                    level.loopMicros(),
                    level.processMicros(),
                    text(level.first()),
                    text(level.gaps()),
                    level.stillMillis()));
        }
        out.println();
        out.println("  "
                + (server.isPresent()
                        ? "What that server wrote when is not known here. 'holdfast emulate --stamps' writes its own."
                        : "The server and the client share this process, so the process's CPU is that of both."));
        levels.stream()
                .filter(level -> level.failed() > 0)
                .forEach(level -> out.println("  At " + level.streams() + " streams " + level.failed() + " of "
                        + level.records().size() + " requests failed."));
    }

    private static String text(Optional<Calibration.Misreading> error) {
        return error.map(of -> String.format(Locale.ROOT, "%.0f, %.0f us", of.median(), of.p99()))
                .orElse("not known");
    }

    private static ObjectNode document(List<Calibration.Level> levels) {
        ObjectNode document = new ObjectMapper().createObjectNode();
        ArrayNode all = document.putArray("levels");
        for (Calibration.Level level : levels) {
            ObjectNode one = all.addObject()
                    .put("streams", level.streams())
                    .put("requests", level.records().size())
                    .put("failed", level.failed())
                    .put("tokens", level.tokens())
                    .put("tokensPerSecond", level.tokensPerSecond())
                    .put("loopCpuMicrosPerToken", level.loopMicros())
                    .put("processCpuMicrosPerToken", level.processMicros())
                    .put("longestStandstillMillis", level.stillMillis());
            level.ttftMillis().ifPresent(ttft -> one.put("ttftMillis", ttft));
            level.first()
                    .ifPresent(error -> one.putObject("firstTokenLateMicros")
                            .put("median", error.median())
                            .put("p99", error.p99()));
            level.gaps()
                    .ifPresent(error -> one.putObject("gapWrongMicros")
                            .put("median", error.median())
                            .put("p99", error.p99()));
        }
        return document;
    }

    private static void write(Path file, List<Calibration.Level> levels) {
        ObjectMapper mapper = new ObjectMapper();
        List<String> lines = new ArrayList<>();
        for (Calibration.Level level : levels) {
            for (RequestRecord record : level.records()) {
                ObjectNode line = mapper.createObjectNode()
                        .put("streams", level.streams())
                        .put("status", record.status().name())
                        .put("sent", record.sent())
                        .put("firstToken", record.firstToken().orElse(0))
                        .put("lastToken", record.lastToken().orElse(0));
                ArrayNode gaps = line.putArray("gapsMillis");
                for (double gap : record.tokens().gapsMillis()) {
                    gaps.add(gap);
                }
                lines.add(line.toString());
            }
        }
        try {
            Files.write(file, lines);
        } catch (IOException e) {
            throw new CommandException(
                    "--records names " + file + ", which cannot be written: " + FileTrouble.why(e) + ".");
        }
    }
}
