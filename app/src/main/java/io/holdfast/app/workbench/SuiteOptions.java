package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.StopOnSignal;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.loadtest.ArmOptions;
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
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.Lengths;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
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

    private int missing(List<Suite.Leg> legs) {
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

    /** Writes the results and report.md, and prints the text of that, or the document in its place. */
    void conclude(SuiteJob.Over over, String title, Consumer<PrintWriter> text, String document) {
        over.results().write(over.file());
        over.write("report.md", MatrixText.report(title, text));
        if (json) {
            over.out().print(document);
        } else {
            over.out().println();
            text.accept(over.out());
            over.out().println();
            over.out().println(saved(over.folder()));
        }
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
        return with(command, job, (starts, engine, environment, place) -> {
            OnceCold cold = new OnceCold(engine);
            SuiteJob.Planned planned = job.plan(new SuiteJob.Seat(
                    engine,
                    environment.clock(),
                    () -> cold.legs().empties(),
                    starts,
                    each,
                    this::missing,
                    place.beside()::tell));
            Lengths.refuseTooLong(planned.legs(), place.asked().facts());
            if (planOnly) {
                return SuitePlan.print(planned.legs(), engine, environment.clock(), command.getOut());
            }
            Map<String, String> settings = new LinkedHashMap<>(planned.settings());
            settings.put("api", place.api().name());
            LoadFolder files = folder(place, Suite.plan(job.name(), settings, planned.legs()));
            send(planned, files, limits, cold.legs(), engine, environment, place);
            return job.finish(new SuiteJob.Over(
                    files,
                    results(files, place, planned.shown()),
                    place.asked().facts(),
                    place.begun(),
                    command.getOut()));
        });
    }

    private void send(
            SuiteJob.Planned planned,
            LoadFolder files,
            Pace.Limits limits,
            ColdLegs cold,
            HttpEngine engine,
            RunEnvironment environment,
            Place place) {
        RunClock clock = environment.clock();
        cold.beside(() -> SegmentUse.begin(SampleSource.segments(SHARED_MEMORY, EVERY), DAEMONS, clock)
                .and(BatchUse.begin(engine::metrics, DAEMONS, clock))
                .and(LegPulse.begin(engine::answered, place.beside()::tell, DAEMONS, clock)));
        if (place.api().route.sendsTokenIds() && cold.sendsAsDrawn()) {
            files.writePrefixes(planned.legs());
        }
        try (LoadFolder.Claim _ = files.claim()) {
            place.beside().tell(cold.text());
            place.beside().tell(engine.warm());
            new Suite(
                            planned.legs(),
                            planned.servers(),
                            Pace.of(planned.between(), planned.legs(), files, limits, clock, place.beside()::tell),
                            cold,
                            clock,
                            new SuiteProgress(place.beside().beside()))
                    .run(files);
        }
    }

    /** The way in which legs find an empty cache, which is tried when somebody asks for it first. */
    private final class OnceCold {
        private final EngineUnderTest engine;
        private Optional<ColdLegs> legs = Optional.empty();

        OnceCold(EngineUnderTest engine) {
            this.engine = engine;
        }

        ColdLegs legs() {
            ColdLegs its = legs.orElseGet(() -> cold(engine));
            legs = Optional.of(its);
            return its;
        }
    }

    /** Tells what a preset's legs came to, in the words of the preset. */
    int report(SuiteJob.Over over, Preset.Outcome outcome) {
        if (json) {
            over.out().print(over.results().text());
        }
        PrintWriter people =
                json ? new PrintWriter(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8) : over.out();
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

    /** Says how to go on with a suite whose time was over. */
    int stopped(CommandLine command, LoadFolder folder) {
        TerminalText.plain(beside(command)).text(again(folder.path()));
        return ExitCode.STOPPED;
    }

    /** Returns the folder of a suite for which nobody named one. */
    static Path folder(String name, Instant begun) {
        return Path.of(name + "_" + STAMP.format(begun));
    }

    private LoadFolder folder(Place place, LoadFolder.Plan plan) {
        LoadFolder files = resume ? LoadFolder.open(place.folder()) : LoadFolder.create(place.folder(), plan);
        files.refuseOtherThan(plan);
        return files;
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

    private int with(CommandLine command, SuiteJob job, Work work) {
        URI server = asked.server();
        Instant begun = Instant.now();
        Path folder = unsaved ? temporary() : Optional.ofNullable(out).orElseGet(() -> folder(job.name(), begun));
        if (resume) {
            LoadFolder.open(folder);
        } else if (!planOnly) {
            LoadFolder.refuseOccupied(folder);
        }
        RunStop stop = new RunStop(Thread.currentThread());
        StopOnSignal signal = new StopOnSignal(stop);
        LoadtestBench bench = new LoadtestBench(RunClock.system(), stop, beside(command));
        Path log = folder.resolveSibling(folder.getFileName() + ".log");
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
            return bench.with(unit, named, ArmOptions.Way.none(), (engine, environment) -> {
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
        } catch (RuntimeException e) {
            if (!stop.isAsked()) {
                throw e;
            }
            stop.notice();
            bench.tell("Stopped. " + again(folder));
            return ExitCode.STOPPED;
        } finally {
            signal.close();
            if (unsaved) {
                delete(folder);
            }
        }
    }

    private static String again(Path folder) {
        return "The legs that are over are in " + folder + "; go on by the same command with --out "
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
