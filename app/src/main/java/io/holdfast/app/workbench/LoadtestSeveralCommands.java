package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.SeedOption;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.preset.BenchConfig;
import io.holdfast.workbench.preset.Preset;
import io.holdfast.workbench.preset.SeveralModels;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Several models that share a GPU, each at a server of its own. */
final class LoadtestSeveralCommands {
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd_HHmmss").withZone(ZoneOffset.UTC);
    private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

    private LoadtestSeveralCommands() {}

    /** What both ask for. */
    static final class Options {
        @Option(
                names = "--config",
                paramLabel = "FILE",
                required = true,
                description = "kvcached's bench-config.yaml: models with their ports, rates, lengths.")
        private Path config = Path.of("");

        @Option(
                names = "--host",
                paramLabel = "NAME",
                defaultValue = "127.0.0.1",
                description = "Where the servers are, each at the port of its model (default: ${DEFAULT-VALUE}).")
        private String host = "";

        @Mixin
        private MostRequests requests = new MostRequests();

        @Mixin
        private SeedOption seed = new SeedOption();

        @Option(
                names = "--slo",
                paramLabel = "LIMITS",
                description = "What a request has to keep, as ttft=200ms,tpot=50ms,e2e=10s.")
        private @Nullable String slo;

        @Option(
                names = "--out",
                paramLabel = "DIR",
                description = "A new folder for every request and the results (default: NAME_TIME in this folder).")
        private @Nullable Path out;

        @Option(
                names = "--resume",
                description = "Go on in the folder of --out: legs that are there are not sent again.")
        private boolean resume;

        @Option(
                names = "--plan",
                description = "Print the legs with their requests, tokens and ids, and about how long they will take by"
                        + " a few requests to the first model; then end.")
        private boolean planOnly;

        @Option(
                names = "--json",
                description = "One JSON document on standard output; progress goes to the error stream.")
        private boolean json;

        Options() {}

        private SeveralModels models(BenchConfig read) {
            return new SeveralModels(read, seed.seed(), requests.most());
        }

        private Optional<Slo> limits() {
            return Optional.ofNullable(slo).map(Slo::of);
        }

        private Map<String, String> settings() {
            return Map.of("seed", Long.toString(seed.seed()), "host", host);
        }

        private Path folder(String name, Instant begun) {
            return Optional.ofNullable(out).orElseGet(() -> Path.of(name + "_" + STAMP.format(begun)));
        }

        /** Opens all servers of the file, does something with them, and writes what came of it. */
        private int with(CommandLine command, String name, BenchConfig read, List<Suite.Leg> planned, Body body) {
            Instant begun = Instant.now();
            Optional<Slo> limits = limits();
            if (resume && out == null) {
                throw new CommandException("--resume goes on in a folder; name it by --out.");
            }
            PrintWriter beside = json ? command.getErr() : command.getOut();
            Consumer<String> tell = sentence -> {
                TerminalText.plain(beside).text(sentence);
                beside.flush();
            };
            RunClock clock = RunClock.system();
            Vertx vertx = OwnVertx.start();
            List<HttpEngine> engines = new ArrayList<>();
            try (ExecutorService threads =
                    Executors.newFixedThreadPool(read.models().size())) {
                for (BenchConfig.Model model : read.models()) {
                    URI uri = URI.create("http://" + host + ":" + model.port());
                    engines.add(new HttpEngine(
                            vertx,
                            new ExistingServer(uri),
                            HttpSettings.defaults()
                                    .withRoute(CompletionRoute.OPENAI_TEXT)
                                    .withModel(model.path())
                                    .withRequestTimeout(Preset.LONG),
                            clock,
                            tell));
                    tell.accept("Asking " + model.name() + " at " + uri + " whether it is ready.");
                    engines.getLast().beginLife();
                    engines.getLast().fitLengths().ifPresent(tell);
                }
                if (planOnly) {
                    return SuitePlan.print(planned, engines.getFirst(), clock, command.getOut());
                }
                tell.accept(engines.getFirst().warm());
                Path place = folder(name, begun);
                LoadFolder.Plan plan = Suite.plan(name, settings(), planned);
                LoadFolder files = resume ? LoadFolder.open(place) : LoadFolder.create(place, plan);
                files.refuseOtherThan(plan);
                List<SeveralModels.Seat> seats = engines.stream()
                        .map(engine -> new SeveralModels.Seat(
                                engine, clock, ColdLegs.of(engine, new SecureRandom()::nextLong)))
                        .toList();
                SuiteProgress progress = new SuiteProgress(beside);
                List<String> lines = body.run(legs -> sent(legs, planned, files, progress, seats, threads));
                ResultFile results = results(command, name, begun, files, engines, limits);
                Path file = ResultFile.freeName(place, name, "several", begun, ".json");
                results.write(file);
                if (json) {
                    command.getOut().print(results.text());
                    command.getOut().flush();
                }
                int code = SuiteOptions.print(results, files.legs(), beside);
                lines.forEach(tell);
                tell.accept("In " + place + ": " + file.getFileName() + ", plan.json, and every request in legs/.");
                return code;
            } finally {
                engines.forEach(HttpEngine::close);
                vertx.close().await();
            }
        }

        /** Legs that are sent at once, or that an earlier start has left in the folder. */
        private static List<LoadLeg> sent(
                List<Suite.Leg> legs,
                List<Suite.Leg> planned,
                LoadFolder files,
                SuiteProgress progress,
                List<SeveralModels.Seat> seats,
                ExecutorService threads) {
            List<String> ids = legs.stream().map(Suite.Leg::id).toList();
            List<LoadLeg> there =
                    files.legs().stream().filter(leg -> ids.contains(leg.id())).toList();
            if (there.size() == legs.size()) {
                return there;
            }
            legs.forEach(leg -> progress.begins(leg, 1 + planned.indexOf(leg), planned.size()));
            List<LoadLeg> over = SeveralModels.together(legs, seats, threads, files);
            over.forEach(progress::ended);
            return over;
        }

        private static ResultFile results(
                CommandLine command,
                String name,
                Instant begun,
                LoadFolder files,
                List<HttpEngine> engines,
                Optional<Slo> limits) {
            Map<String, String> environment = new LinkedHashMap<>();
            engines.forEach(
                    engine -> environment.put(engine.name(), engine.facts().text()));
            String source = command.getCommandSpec().root().version()[0];
            return new ResultFile(
                    name,
                    "several",
                    begun.toString(),
                    environment,
                    files.legs().stream()
                            .map(leg -> leg.result(source, PERCENTILES, limits))
                            .toList());
        }
    }

    /** Sends some of the legs at once. */
    private interface Sender {
        List<LoadLeg> send(List<Suite.Leg> legs);
    }

    private interface Body {
        /** What is told of it. */
        List<String> run(Sender sender);
    }

    /** Loads that climb one after the other. */
    @Command(
            name = "latency-benefit",
            description = {
                "Asks several models at once, each at its own server; the rate of each climbs from the lowest of the"
                    + " file to the highest, and each model begins later than the one before. Run it on servers that"
                    + " share their memory and on servers with a fixed split of it, and set both results beside each"
                    + " other."
            },
            sortOptions = false)
    static final class Benefit implements Callable<Integer> {
        @Spec
        private CommandSpec spec = CommandSpec.create();

        @Option(
                names = "--stagger",
                paramLabel = "TIME",
                defaultValue = "30s",
                description = "How much later each model begins than the one before (default: ${DEFAULT-VALUE}).")
        private String stagger = "30s";

        @Mixin
        private Options options = new Options();

        Benefit() {}

        @Override
        public Integer call() {
            Duration later = TimeSpan.parse("--stagger", stagger, Duration.ZERO);
            BenchConfig read = BenchConfig.read(options.config);
            List<Suite.Leg> legs = options.models(read).ramps(later);
            return options.with(spec.commandLine(), "latency-benefit", read, legs, sender -> {
                List<LoadLeg> _ = sender.send(legs);
                return List.of("Run it on the other servers as well, and set both files beside each other by 'holdfast"
                        + " loadtest compare'.");
            });
        }
    }

    /** How many models fit. */
    @Command(
            name = "multi-model",
            description = {
                "Asks one model of the file, then two at once, and so on, until a request fails or --slo is missed by"
                        + " more than 5 %% of a model's requests; says how many models fit."
            },
            sortOptions = false)
    static final class Capacity implements Callable<Integer> {
        @Spec
        private CommandSpec spec = CommandSpec.create();

        @Option(
                names = "--split",
                paramLabel = "N",
                description = "How many fit with a fixed split of the memory; the ratio to it is told.")
        private @Nullable Integer split;

        @Mixin
        private Options options = new Options();

        Capacity() {}

        @Override
        public Integer call() {
            BenchConfig read = BenchConfig.read(options.config);
            List<List<Suite.Leg>> steps = options.models(read).steps();
            Optional<Slo> limits = options.limits();
            return options.with(spec.commandLine(), "multi-model", read, SeveralModels.all(steps), sender -> {
                int fit = 0;
                for (List<Suite.Leg> step : steps) {
                    Optional<String> why = SeveralModels.tooMany(sender.send(step), limits);
                    if (why.isPresent()) {
                        return SeveralModels.told(fit, steps.size(), why, Optional.ofNullable(split));
                    }
                    fit++;
                }
                return SeveralModels.told(fit, steps.size(), Optional.empty(), Optional.ofNullable(split));
            });
        }
    }
}
