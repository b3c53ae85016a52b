package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.StopOnSignal;
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
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunStop;
import io.holdfast.workbench.bed.BatchUse;
import io.holdfast.workbench.bed.EnvironmentRecord;
import io.holdfast.workbench.bed.MachineTools;
import io.holdfast.workbench.bed.SampleSource;
import io.holdfast.workbench.bed.SegmentUse;
import io.holdfast.workbench.load.BesideLeg;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.Lengths;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Pace;
import io.holdfast.workbench.preset.Preset;
import io.holdfast.workbench.preset.PresetRun;
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
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What every suite of loads without arms is told: which server, how it is asked, where the results go. */
final class SuiteOptions {
    private static final Duration USUAL_TIMEOUT = Duration.ofMinutes(2);
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final ThreadFactory DAEMONS = Thread.ofPlatform().daemon().factory();
    private static final int MOST_WARM_UPS = 100_000;
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd_HHmmss").withZone(ZoneOffset.UTC);

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
    }

    @Mixin
    private AskedServer asked = new AskedServer();

    @Option(
            names = "--api",
            paramLabel = "NAME",
            description = "${COMPLETION-CANDIDATES}: OpenAI's completions by text, its chat, its completions by token"
                    + " ids, or SGLang's own route (default: tokens for an SGLang or a vLLM, whose prompts then are"
                    + " exactly as long as they are to be, otherwise completions; chat where a preset is about what"
                    + " is said).")
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
            description = "Where the engine publishes what happens to its cache, as tcp://127.0.0.1:5557: results then"
                    + " have the blocks that it stored and removed (default: where an SGLang says that it does).")
    private @Nullable String events;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "A new folder for every request of every leg and the results (default: SUITE_TIME in this"
                    + " folder).")
    private @Nullable Path out;

    @Option(names = "--resume", description = "Go on in the folder of --out: run the legs that are not there yet.")
    private boolean resume;

    @Mixin
    private DetailOptions detail = new DetailOptions();

    @Option(
            names = "--warmup-requests",
            paramLabel = "N",
            description = "Short requests after each start of the server, in no figure (default: as many as the preset"
                    + " has). With 0 a server that runs already gets the requests of the load and no other.")
    private @Nullable Integer warmUps;

    @Option(
            names = "--cooldown",
            paramLabel = "TIME",
            description = "From the end of a leg to the beginning of the next, as 10s (default: what the preset has).")
    private @Nullable String cooldown;

    @Option(
            names = "--request-timeout",
            paramLabel = "TIME",
            description = "The most that a request may take, after which it counts as failed (default: 2m, or what the"
                    + " preset has).")
    private @Nullable String requestTimeout;

    @Option(
            names = "--max-duration",
            paramLabel = "TIME",
            description = "After this no more legs begin; --resume runs the rest.")
    private @Nullable String mostTime;

    @Option(names = "--no-save", description = "Leave no file; what is printed is all there is.")
    private boolean unsaved;

    @Option(
            names = "--plan",
            description = "Print the legs with their requests, tokens and ids, and about how long they will take by a"
                    + " few requests; then end.")
    private boolean planOnly;

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    SuiteOptions() {}

    /** What is done once the server answers. */
    interface Body {
        /** The legs of the suite, with what happens between them. */
        Planned plan(EngineUnderTest engine, RunClock clock);
    }

    /**
     * A suite that is about to run.
     *
     * @param settings that hold for all of it
     * @param servers who has the server of each leg; absent where all are sent to the same one alike
     * @param shown what becomes of a leg's result before it is written
     */
    record Planned(
            String suite,
            Map<String, String> settings,
            List<Suite.Leg> legs,
            Suite.Between between,
            Optional<Suite.Servers> servers,
            BiFunction<LoadLeg, LoadResult, LoadResult> shown) {
        Planned(String suite, Map<String, String> settings, List<Suite.Leg> legs, Suite.Between between) {
            this(suite, settings, legs, between, Optional.empty(), (leg, result) -> result);
        }
    }

    /** Who makes the server that is asked. */
    interface Units {
        ServerUnit unit(URI server, Optional<String> model, Path log, LoadtestBench bench);
    }

    /** Called with the whole suite's folder when all its legs are there. */
    interface Finish {
        int done(LoadFolder folder, ResultFile results, PrintWriter out);
    }

    boolean isJson() {
        return json;
    }

    /** The folder that is gone on with; absent where one is begun. */
    Optional<Path> resumed() {
        return resume ? Optional.ofNullable(out) : Optional.empty();
    }

    boolean mayEnd() {
        return mostTime != null;
    }

    /** Of the legs of a suite those that are still to be run. */
    int missing(List<Suite.Leg> legs) {
        return resumed().map(folder -> LoadFolder.open(folder).missing().size()).orElse(legs.size());
    }

    /** Where all of it is now, in a sentence. */
    String saved(LoadFolder folder) {
        return unsaved ? "Nothing was saved." : "All requests and the results are in " + folder.path() + ".";
    }

    /** Where people are told what is going on. */
    PrintWriter beside(CommandLine command) {
        return json ? command.getErr() : command.getOut();
    }

    /** Writes report.md, and prints the same text, or the document in its place. */
    void conclude(LoadFolder folder, String title, Consumer<PrintWriter> text, String document, PrintWriter to) {
        MatrixText.write(folder.path().resolve("report.md"), MatrixText.report(title, text));
        if (json) {
            to.print(document);
        } else {
            to.println();
            text.accept(to);
            to.println();
            to.println(saved(folder));
        }
    }

    /** Returns whether the server's cache can be emptied, which it is by this. */
    boolean flushes(EngineUnderTest engine) {
        return cold(engine).empties();
    }

    private ColdLegs cold(EngineUnderTest engine) {
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

    /** The most that it may take. */
    private Optional<Duration> most() {
        return Optional.ofNullable(mostTime).map(text -> TimeSpan.parse("--max-duration", text, Duration.ofSeconds(1)));
    }

    /** How the server that is asked is started, where it is started here. */
    ServerOptions started() {
        return started;
    }

    /** Runs all of a suite against one server. */
    int run(CommandLine command, String name, Body body, Finish finish) {
        return run(
                command,
                name,
                (server, model, log, bench) ->
                        started.unit(server, model, Optional.empty(), List.of(), Map.of(), log, bench),
                body,
                finish);
    }

    /** The same against servers that somebody else makes. */
    int run(CommandLine command, String name, Units units, Body body, Finish finish) {
        if (warmUps != null || cooldown != null) {
            throw new CommandException("--warmup-requests and --cooldown are for presets that have warm-ups and rests;"
                    + " here each load has its own, so leave them out.");
        }
        Asks asks = new Asks(Optional.ofNullable(api), timeout(USUAL_TIMEOUT));
        return with(command, name, asks, units, StartedServer.Variant.none(), (starts, engine, environment, place) -> {
            Planned planned = body.plan(engine, environment.clock());
            Lengths.refuseTooLong(planned.legs(), place.asked().facts());
            Map<String, String> settings = new LinkedHashMap<>(planned.settings());
            settings.put("api", place.api().name());
            LoadFolder.Plan plan = Suite.plan(planned.suite(), settings, planned.legs());
            if (planOnly) {
                return SuitePlan.print(planned.legs(), engine, environment.clock(), command.getOut());
            }
            ColdLegs cold = cold(engine);
            cold.beside(() -> beside(engine, environment, place));
            LoadFolder files = folder(place, plan);
            prefixes(files, place, cold, planned.legs());
            try (LoadFolder.Claim _ = files.claim()) {
                place.beside().tell(cold.text());
                place.beside().tell(engine.warm());
                new Suite(
                                planned.legs(),
                                planned.servers().orElseGet(() -> Suite.Servers.one(engine)),
                                Pace.of(
                                        planned.between(),
                                        planned.legs(),
                                        files,
                                        most(),
                                        environment.clock(),
                                        place.beside()::tell),
                                cold,
                                environment.clock(),
                                new SuiteProgress(place.beside().beside()))
                        .run(files);
            }
            ResultFile results = results(files, place, planned.shown());
            results.write(ResultFile.freeName(files.path(), planned.suite(), results.model(), place.begun(), ".json"));
            return finish.done(files, results, command.getOut());
        });
    }

    /** Runs a preset, and writes what it leaves. */
    int run(CommandLine command, Preset preset) {
        if (preset.needsToStart() && !started.isStarted()) {
            throw new CommandException("The legs of " + preset.name()
                    + " differ in how the server is started; say how by --server-command.");
        }
        PresetRun.Pace pace = pace(preset);
        Optional<Api> its = Optional.ofNullable(api)
                .or(() -> preset.countsTokens()
                        ? Optional.of(Api.tokens)
                        : preset.chats() ? Optional.of(Api.chat) : Optional.empty());
        Units units = (server, model, log, bench) ->
                started.unit(server, model, Optional.empty(), List.of(), Map.of(), log, bench);
        return with(
                command,
                preset.name(),
                new Asks(its, timeout(preset.requestTimeout())),
                units,
                preset.firstLife().variant(),
                (starts, engine, environment, place) -> {
                    ColdLegs cold = planOnly ? ColdLegs.asFound() : cold(engine);
                    cold.beside(() -> SegmentUse.begin(
                                    SampleSource.segments(SHARED_MEMORY, EVERY), DAEMONS, environment.clock())
                            .and(beside(engine, environment, place)));
                    PresetRun run = new PresetRun(
                            preset,
                            engine,
                            starts,
                            environment.clock(),
                            new SuiteProgress(place.beside().beside()),
                            pace,
                            cold);
                    Lengths.refuseTooLong(run.legs(), place.asked().facts());
                    if (planOnly) {
                        return SuitePlan.print(run.legs(), engine, environment.clock(), command.getOut());
                    }
                    LoadFolder files =
                            folder(place, run.plan(Map.of("api", place.api().name())));
                    prefixes(files, place, cold, run.legs());
                    try (LoadFolder.Claim _ = files.claim()) {
                        place.beside().tell(cold.text());
                        place.beside().tell(engine.warm());
                        run.run(files);
                    }
                    ResultFile results = results(files, place, (leg, result) -> result);
                    Path stamped =
                            ResultFile.freeName(files.path(), preset.name(), results.model(), place.begun(), ".json");
                    String base = stamped.getFileName().toString();
                    Preset.Outcome outcome = preset.outcome(new Preset.Ended(
                            files.legs(),
                            results,
                            place.asked().facts(),
                            base.substring(0, base.length() - ".json".length())));
                    PresetRun.write(files.path(), outcome);
                    return report(files, results, outcome, command.getOut());
                });
    }

    private int report(LoadFolder files, ResultFile results, Preset.Outcome outcome, PrintWriter out) {
        if (json) {
            out.print(results.text());
        }
        PrintWriter people =
                json ? new PrintWriter(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8) : out;
        int code = print(results, files.legs(), people);
        TerminalText text = TerminalText.plain(people);
        outcome.lines().forEach(text::text);
        outcome.problems().forEach(text::text);
        text.text(
                unsaved
                        ? "Nothing was saved."
                        : "In " + files.path() + ": "
                                + String.join(", ", outcome.files().keySet())
                                + ", plan.json, and every request in legs/.");
        return outcome.problems().isEmpty() ? code : ExitCode.CHECK_FAILED;
    }

    private PresetRun.Pace pace(Preset preset) {
        int requests = warmUps == null ? preset.warmUps() : warmUps;
        OptionValues.between("--warmup-requests", requests, 0, MOST_WARM_UPS);
        return new PresetRun.Pace(
                requests,
                cooldown == null ? preset.cooldown() : TimeSpan.parse("--cooldown", cooldown, Duration.ZERO),
                most());
    }

    private static BesideLeg beside(HttpEngine engine, RunEnvironment environment, Place place) {
        return BatchUse.begin(engine::metrics, DAEMONS, environment.clock())
                .and(LegPulse.begin(engine::answered, place.beside()::tell, DAEMONS, environment.clock()));
    }

    /** Writes the prefixes that requests share, where they are known to the token, as a sidecar takes them. */
    private static void prefixes(LoadFolder files, Place place, ColdLegs cold, List<Suite.Leg> legs) {
        if (place.api().route.sendsTokenIds() && cold.sendsAsDrawn()) {
            files.writePrefixes(legs);
        }
    }

    private LoadFolder folder(Place place, LoadFolder.Plan plan) {
        LoadFolder files = resume ? LoadFolder.open(place.folder()) : LoadFolder.create(place.folder(), plan);
        files.refuseOtherThan(plan);
        return files;
    }

    /**
     * How the server is asked where the user says nothing else.
     *
     * @param api absent where the server decides: token ids where it takes them, and otherwise text
     */
    private record Asks(Optional<Api> api, Duration timeout) {
        HttpSettings on(HttpSettings http, Api chosen) {
            return http.withRoute(chosen.route).withRequestTimeout(timeout);
        }

        Api of(URI server, HttpSettings http, RunClock clock) {
            return api.orElseGet(() ->
                    HttpEngine.takesTokenIds(server, on(http, Api.completions), clock) ? Api.tokens : Api.completions);
        }
    }

    private Duration timeout(Duration otherwise) {
        return requestTimeout == null
                ? otherwise
                : TimeSpan.parse("--request-timeout", requestTimeout, Duration.ofMillis(1));
    }

    /**
     * A suite's surroundings.
     *
     * @param begun when it began
     * @param api by which the server is asked
     * @param asked what the server said of itself before anything was sent; at the end it may be gone
     */
    private record Place(Path folder, Instant begun, String source, LoadtestBench beside, Api api, Asked asked) {}

    /** What a server says of itself. */
    private record Asked(EngineFacts facts, String startedBy, Map<String, String> client, Map<String, String> flags) {
        static Asked of(HttpEngine engine) {
            return new Asked(engine.facts(), engine.name(), engine.client(), engine.flags());
        }
    }

    /** What is done with a server that answers. */
    private interface Work {
        int run(Consumer<StartedServer.Variant> starts, HttpEngine engine, RunEnvironment environment, Place place);
    }

    /** @param first how the server is started first, where it is */
    private int with(CommandLine command, String name, Asks asks, Units units, StartedServer.Variant first, Work work) {
        check();
        URI server = asked.server();
        Instant begun = Instant.now();
        Path folder = unsaved
                ? temporary()
                : Optional.ofNullable(out).orElseGet(() -> Path.of(name + "_" + STAMP.format(begun)));
        if (resume) {
            LoadFolder.open(folder);
        } else if (!planOnly) {
            LoadFolder.refuseOccupied(folder);
        }
        RunStop stop = new RunStop(Thread.currentThread());
        StopOnSignal signal = new StopOnSignal(stop);
        LoadtestBench bench = new LoadtestBench(RunClock.system(), stop, beside(command));
        Path log = folder.resolveSibling(folder.getFileName() + ".log");
        try (ServerUnit unit = units.unit(server, asked.model().name(), log, bench)) {
            Consumer<StartedServer.Variant> starts = variant -> {
                if (unit instanceof StartedServer own) {
                    own.become(variant);
                }
            };
            starts.accept(first);
            unit.restart();
            HttpSettings http = ask.on(HttpSettings.defaults(), System.getenv());
            Api chosen = asks.of(server, asked.model().on(http, Optional::empty), bench.clock());
            HttpSettings flushed = flush.on(asks.on(http, chosen));
            HttpSettings named = asked.model().on(flushed, () -> HttpEngine.firstModel(server, flushed, bench.clock()));
            return bench.with(unit, named, (engine, environment) -> {
                if (warmUps != null && warmUps == 0) {
                    engine.withoutTrial();
                }
                engine.beginLife();
                Place place = new Place(
                        folder, begun, command.getCommandSpec().root().version()[0], bench, chosen, Asked.of(engine));
                engine.fitLengths().ifPresent(bench::tell);
                Optional.ofNullable(events).ifPresent(engine::listenAt);
                return work.run(starts, engine, environment, place);
            });
        } catch (PresetRun.TimeIsUp e) {
            bench.tell(e.getMessage() + again(folder));
            return ExitCode.STOPPED;
        } catch (RuntimeException e) {
            if (!stop.isAsked()) {
                throw e;
            }
            stop.notice();
            bench.tell("Stopped." + again(folder));
            return ExitCode.STOPPED;
        } finally {
            signal.close();
            if (unsaved) {
                delete(folder);
            }
        }
    }

    private static String again(Path folder) {
        return " The legs that are over are in " + folder + "; go on by the same command with --out "
                + StatusReport.quoted(folder.toString()) + " --resume.";
    }

    private void check() {
        detail.check();
        if (resume && out == null) {
            throw new CommandException("--resume goes on in a folder; name it by --out.");
        }
        if (unsaved && (resume || out != null)) {
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

    private ResultFile results(LoadFolder files, Place place, BiFunction<LoadLeg, LoadResult, LoadResult> shown) {
        Map<String, String> environment = new LinkedHashMap<>();
        environment.put("server", place.asked().facts().text());
        environment.put("startedBy", place.asked().startedBy());
        environment.putAll(place.asked().client());
        place.asked().flags().forEach((name, value) -> environment.put("flags." + name, value));
        EnvironmentRecord.of(MachineTools.ofThisProcess(), asked.server())
                .values()
                .forEach(environment::putIfAbsent);
        return new ResultFile(
                files.plan().suite(),
                environment.getOrDefault("serves", environment.getOrDefault("model", "unknown")),
                place.begun().toString(),
                environment,
                files.legs().stream()
                        .map(leg -> shown.apply(leg, leg.result(place.source(), detail.percentiles(), detail.slo())))
                        .toList());
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
