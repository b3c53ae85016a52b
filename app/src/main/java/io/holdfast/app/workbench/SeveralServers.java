package io.holdfast.app.workbench;

import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.TerminalText;
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
import io.holdfast.workbench.preset.SeveralModels;
import io.holdfast.workbench.preset.Values;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Runs presets of several models that share a GPU, each at a server of its own. */
final class SeveralServers {
    private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

    @Option(
            names = "--slo",
            paramLabel = "LIMITS",
            description = "Limits that a request must meet, as ttft=200ms,tpot=50ms,e2e=10s.")
    private @Nullable String slo;

    @Mixin
    private SuiteOutput output = new SuiteOutput();

    SeveralServers() {}

    /** Opens all servers of the file, sends what is missing, and writes what came of it. */
    int run(CommandLine command, Values values) {
        Optional<Slo> limits = Optional.ofNullable(slo).map(Slo::of);
        BenchConfig config = BenchConfig.read(values.path("config"));
        SeveralModels models = new SeveralModels(values, config);
        output.check();
        List<Suite.Leg> planned = models.legs();
        Instant begun = Instant.now();
        PrintWriter beside = output.beside(command);
        Consumer<String> tell = sentence -> {
            TerminalText.plain(beside).text(sentence);
            beside.flush();
        };
        RunClock clock = RunClock.system();
        Vertx vertx = OwnVertx.start();
        List<HttpEngine> engines = new ArrayList<>();
        try (ExecutorService threads =
                Executors.newFixedThreadPool(config.models().size())) {
            for (BenchConfig.Model model : config.models()) {
                engines.add(ready(model, values.text("host"), vertx, clock, tell));
            }
            if (output.isPlanOnly()) {
                return SuitePlan.print(planned, engines.getFirst(), clock, command.getOut());
            }
            tell.accept(engines.getFirst().warm());
            String name = models.name();
            Path place = output.place(name, begun);
            Map<String, String> settings = Map.of("seed", values.text("seed"), "host", values.text("host"));
            LoadFolder files = output.folder(place, Suite.plan(name, settings, planned));
            List<SeveralModels.Seat> seats = engines.stream()
                    .map(engine ->
                            new SeveralModels.Seat(engine, clock, ColdLegs.of(engine, new SecureRandom()::nextLong)))
                    .toList();
            SuiteProgress progress = new SuiteProgress(beside);
            List<String> lines = models.run(limits, legs -> sent(legs, planned, files, progress, seats, threads));
            ResultFile results = results(command, name, begun, files, engines, limits);
            Path file = ResultFile.freeName(place, name, "several", begun, ".json");
            results.write(file);
            if (output.isJson()) {
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

    private static HttpEngine ready(
            BenchConfig.Model model, String host, Vertx vertx, RunClock clock, Consumer<String> tell) {
        URI uri = URI.create("http://" + host + ":" + model.port());
        HttpEngine engine = new HttpEngine(
                vertx,
                new ExistingServer(uri),
                HttpSettings.defaults()
                        .withRoute(CompletionRoute.OPENAI_TEXT)
                        .withModel(model.path())
                        .withRequestTimeout(SeveralModels.REQUEST_TIMEOUT),
                clock,
                tell);
        try {
            tell.accept("Asking " + model.name() + " at " + uri + " whether it is ready.");
            engine.beginLife();
            engine.fitLengths().ifPresent(tell);
            return engine;
        } catch (RuntimeException e) {
            engine.close();
            throw e;
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
        engines.forEach(engine -> environment.put(engine.name(), engine.facts().text()));
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
