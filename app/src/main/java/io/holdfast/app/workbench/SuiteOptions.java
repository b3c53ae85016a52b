package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.loadtest.AskOptions;
import io.holdfast.app.loadtest.AskedServer;
import io.holdfast.app.loadtest.DetailOptions;
import io.holdfast.app.loadtest.FlushOptions;
import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.app.loadtest.StatusReport;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.matrix.Pace;
import io.holdfast.workbench.preset.Preset;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What every suite of loads without arms is told: which server, how it is asked, where the results go. */
final class SuiteOptions {
    private static final int MOST_WARM_UPS = 100_000;

    /** How the server is asked. */
    enum Api {
        completions(CompletionRoute.OPENAI_TEXT),
        chat(CompletionRoute.OPENAI_CHAT),
        tokens(CompletionRoute.OPENAI_COMPLETIONS),
        generate(CompletionRoute.SGLANG_GENERATE);

        private final CompletionRoute route;

        Api(CompletionRoute route) {
            this.route = route;
        }

        boolean sendsTokenIds() {
            return route.sendsTokenIds();
        }
    }

    @Mixin
    private AskedServer asked = new AskedServer();

    @Option(
            names = "--api",
            paramLabel = "NAME",
            description = "${COMPLETION-CANDIDATES}: OpenAI's completions by text, its chat, its completions by token"
                    + " ids, or SGLang's own route (default: tokens for SGLang and vLLM, so that prompts have exactly"
                    + " the planned length; completions for others; chat for presets that need meaningful text).")
    private @Nullable Api api;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Option(
            names = "--events",
            paramLabel = "ENDPOINT",
            description = "Endpoint of the engine's KV events, as tcp://127.0.0.1:5557. Results then contain the"
                    + " numbers of blocks stored and removed (default: the one that SGLang reports).")
    private @Nullable String events;

    @Mixin
    private SuiteOutput output = new SuiteOutput();

    @Mixin
    private DetailOptions detail = new DetailOptions();

    @Option(
            names = "--warmup-requests",
            paramLabel = "N",
            description = "Number of short requests after each start of the server; they count in no figure (default:"
                    + " the preset's). With 0 a server that already runs gets only the requests of the load.")
    private @Nullable Integer warmUps;

    @Option(
            names = "--cooldown",
            paramLabel = "TIME",
            description = "Pause between two legs, as 10s (default: the preset's).")
    private @Nullable String cooldown;

    @Option(
            names = "--request-timeout",
            paramLabel = "TIME",
            description = "Longest time of a request; after it the request counts as failed (default: 2m, or the"
                    + " preset's).")
    private @Nullable String requestTimeout;

    @Option(
            names = "--max-duration",
            paramLabel = "TIME",
            description = "Begin no further leg after this time; --resume runs the rest.")
    private @Nullable String mostTime;

    @Option(names = "--no-save", description = "Write no file; results are only printed.")
    private boolean unsaved;

    SuiteOptions() {}

    SuiteOutput output() {
        return output;
    }

    URI server() {
        return asked.server();
    }

    boolean mayEnd() {
        return mostTime != null;
    }

    /** Where all of it is now, in a sentence. */
    String saved(LoadFolder folder) {
        return unsaved ? "Nothing was saved." : "All requests and the results are in " + folder.path() + ".";
    }

    /** Writes the results and report.md, and prints the text of that, or the document in its place. */
    void conclude(SuiteJob.Over over, String title, Consumer<PrintWriter> text, String document) {
        over.results().write(over.file());
        over.write("report.md", MatrixText.report(title, text));
        if (output.isJson()) {
            over.out().print(document);
        } else {
            over.out().println();
            text.accept(over.out());
            over.out().println();
            over.out().println(saved(over.folder()));
        }
    }

    /** Empties the cache by the route that was named, or finds out how legs find an empty one. */
    ColdLegs cold(EngineUnderTest engine) {
        if (flush.path().isEmpty()) {
            return ColdLegs.of(engine, new SecureRandom()::nextLong);
        }
        Optional<String> problem = engine.flush();
        if (problem.isPresent()) {
            throw new CommandException("The cache cannot be emptied by --flush-path "
                    + flush.path().get() + ": " + problem.get() + "; name the route that empties it, or leave"
                    + " --flush-path out, and the texts of each leg begin with words of their own.");
        }
        return ColdLegs.emptied();
    }

    /** How the server that is asked is started, where it is started here. */
    ServerOptions started() {
        return started;
    }

    /** Runs what is missing of a suite, and has its job conclude it. */
    int run(CommandLine command, SuiteJob job) {
        check();
        if (job.warmUps().isEmpty() && (warmUps != null || cooldown != null)) {
            throw new CommandException("--warmup-requests and --cooldown are for presets that have warm-ups and rests;"
                    + " here each load has its own, so leave them out.");
        }
        int each = warmUps == null ? job.warmUps().orElse(0) : warmUps;
        OptionValues.between("--warmup-requests", each, 0, MOST_WARM_UPS);
        Pace.Limits limits = new Pace.Limits(
                cooldown == null ? job.cooldown() : TimeSpan.parse("--cooldown", cooldown, Duration.ZERO),
                Optional.ofNullable(mostTime)
                        .map(text -> TimeSpan.parse("--max-duration", text, Duration.ofSeconds(1))));
        Instant begun = Instant.now();
        Path place = unsaved ? temporary() : output.place(job.name(), begun);
        if (output.resumed().isPresent()) {
            LoadFolder.open(place);
        } else if (!output.isPlanOnly()) {
            LoadFolder.refuseOccupied(place);
        }
        try {
            return LoadtestBench.untilStopped(
                    command,
                    output.beside(command),
                    bench -> asked(
                            job,
                            place,
                            bench,
                            (engine, chosen, starts) -> new SuiteSession(
                                            this, job, command, place, begun, engine, chosen, bench, limits)
                                    .run(starts, each)),
                    () -> stopped(command, place, "Stopped. "));
        } finally {
            if (unsaved) {
                delete(place);
            }
        }
    }

    /** Works with a server that answers. */
    private interface Work {
        int run(HttpEngine engine, Api chosen, Consumer<StartedServer.Variant> starts);
    }

    private int asked(SuiteJob job, Path place, LoadtestBench bench, Work work) {
        URI server = server();
        Path log = place.resolveSibling(place.getFileName() + ".log");
        try (ServerUnit unit = job.unit(started, server, asked.model().name(), log, bench)) {
            Consumer<StartedServer.Variant> starts = variant -> {
                if (unit instanceof StartedServer own) {
                    own.become(variant);
                }
            };
            starts.accept(job.first());
            unit.restart();
            HttpSettings http = ask.on(HttpSettings.defaults(), System.getenv()).withRequestTimeout(timeout(job));
            Api chosen = chosen(job, server, asked.model().on(http, Optional::empty), bench.clock());
            HttpSettings flushed = flush.on(http.withRoute(chosen.route));
            HttpSettings named = asked.model().on(flushed, () -> HttpEngine.firstModel(server, flushed, bench.clock()));
            return bench.with(unit, named, engine -> {
                if (warmUps != null && warmUps == 0) {
                    engine.withoutTrial();
                }
                engine.beginLife();
                engine.fitLengths().ifPresent(bench::tell);
                Optional.ofNullable(events).ifPresent(engine::listenAt);
                return work.run(engine, chosen, starts);
            });
        }
    }

    /** Token ids where the server takes them, and otherwise text, unless the user or the suite chooses. */
    private Api chosen(SuiteJob job, URI server, HttpSettings http, RunClock clock) {
        return Optional.ofNullable(api)
                .or(job::api)
                .orElseGet(() -> HttpEngine.takesTokenIds(server, http.withRoute(Api.completions.route), clock)
                        ? Api.tokens
                        : Api.completions);
    }

    private Duration timeout(SuiteJob job) {
        return requestTimeout == null
                ? job.requestTimeout()
                : TimeSpan.parse("--request-timeout", requestTimeout, Duration.ofMillis(1));
    }

    /** Returns the result of a leg with the figures that were asked for. */
    LoadResult result(LoadLeg leg, String source) {
        return leg.result(source, detail.percentiles(), detail.slo());
    }

    /** Tells what a preset's legs came to, in the words of the preset. */
    int report(SuiteJob.Over over, Preset.Outcome outcome) {
        if (output.isJson()) {
            over.out().print(over.results().text());
        }
        PrintWriter people = output.isJson()
                ? new PrintWriter(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8)
                : over.out();
        int code = print(over.results(), over.folder().legs(), people);
        TerminalText text = TerminalText.plain(people);
        outcome.lines().forEach(text::text);
        outcome.problems().forEach(text::text);
        text.text(
                unsaved
                        ? "Nothing was saved."
                        : "In " + over.folder().path() + ": "
                                + String.join(", ", outcome.files().keySet())
                                + ", plan.json, and every request in legs/.");
        return outcome.problems().isEmpty() ? code : ExitCode.CHECK_FAILED;
    }

    /** Says how to go on with a suite that ended early. */
    int stopped(CommandLine command, Path folder, String why) {
        TerminalText.plain(output.beside(command))
                .text(why + "The legs that are over are in " + folder + "; go on by the same command with --out "
                        + StatusReport.quoted(folder.toString()) + " --resume.");
        return ExitCode.STOPPED;
    }

    private void check() {
        detail.check();
        output.check();
        if (unsaved && output.isNamed()) {
            throw new CommandException("--no-save leaves no file; leave --out and --resume out, or --no-save.");
        }
    }

    private static Path temporary() {
        try {
            return Files.createTempDirectory("holdfast-loadtest");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Of a temporary folder of ours with all that is in it. */
    private static void delete(Path folder) {
        Path log = folder.resolveSibling(folder.getFileName() + ".log.server.log");
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
            Files.deleteIfExists(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What became of the legs, in a table. */
    static int print(ResultFile results, List<LoadLeg> legs, PrintWriter out) {
        SuiteTable.print(results, out);
        TerminalText text = TerminalText.plain(out);
        legs.stream()
                .filter(leg -> leg.problem().isPresent())
                .forEach(leg -> text.text(
                        "The leg " + leg.id() + " ended early: " + leg.problem().orElseThrow() + "."));
        results.results().stream()
                .filter(each -> !each.failures().isEmpty())
                .forEach(each -> each.failures()
                        .forEach((what, count) -> text.text("In " + each.id() + " " + count + " of " + each.requests()
                                + " requests failed: " + what + ".")));
        results.results().forEach(each -> each.notes().forEach(note -> text.text("In " + each.id() + ": " + note)));
        List<String> unexposed = results.results().stream()
                .filter(each -> each.measures().of(Metric.BLOCKS_REMOVED).orElse(1) == 0)
                .map(LoadResult::id)
                .toList();
        if (!unexposed.isEmpty()) {
            text.text("NO_EXPOSURE: by its events the engine removed no block in "
                    + (unexposed.size() == 1 ? unexposed.getFirst() : unexposed.size() + " legs")
                    + "; its cache had room, so keeping a prefix could win nothing there.");
        }
        boolean failed = legs.stream().anyMatch(leg -> leg.problem().isPresent())
                || results.results().stream().anyMatch(each -> !each.failures().isEmpty());
        return failed ? ExitCode.CHECK_FAILED : ExitCode.OK;
    }
}
