package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.loadtest.AskOptions;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.report.TextTree;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.bed.DecodeSteps;
import io.holdfast.workbench.bed.RequestTrace;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** One request, stage by stage. */
@Command(
        name = "trace",
        description = {
            "Shows one request as a tree of stages: the client's times and, inside them, the server's own where"
                    + " its metrics have them; and the times between tokens by place in the answer.",
            "Use an engine that serves nobody else meanwhile. Exit code 1 when the request fails or its parts do"
                    + " not add up."
        },
        sortOptions = false)
public final class LoadtestTraceCommand implements Callable<Integer> {
    private static final int FIRST_TOKEN = 1_000;
    private static final int TOKENS = 29_000;
    private static final int MOST_BATCH = 512;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @FormerName("--url")
    @Option(names = "--engine", paramLabel = "URL", required = true, description = "The engine's HTTP address.")
    private URI url = URI.create("");

    @Mixin
    private RouteOptions route = new RouteOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Option(
            names = "--prompt-tokens",
            paramLabel = "N",
            defaultValue = "512",
            description = "Tokens of the prompt (default: ${DEFAULT-VALUE}).")
    private int promptTokens;

    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "128",
            description = "Tokens of the answer (default: ${DEFAULT-VALUE}).")
    private int outputTokens;

    @Option(
            names = "--steps",
            paramLabel = "N,N",
            hideParamSyntax = true,
            split = ",",
            description = "Also measure the duration of a decode step with these numbers of concurrent requests,"
                    + " as 1,8.")
    private List<Integer> batches = List.of();

    @Option(
            names = "--cold-client",
            description = "Skip warming up this client, which takes a few seconds; its first time stamps are then"
                    + " some milliseconds late.")
    private boolean cold;

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestTraceCommand() {}

    @Override
    public Integer call() {
        ServerAddress.check("--engine", url);
        OptionValues.between("--prompt-tokens", promptTokens, 1, 1_000_000);
        OptionValues.between("--output-tokens", outputTokens, 1, 100_000);
        batches.forEach(batch -> OptionValues.between("--steps", batch, 1, MOST_BATCH));
        URI server = ServerAddress.withoutVersion(url);
        RunClock clock = RunClock.system();
        HttpSettings asked = route.on(server, ask.on(HttpSettings.defaults(), System.getenv()), clock);
        Vertx vertx = OwnVertx.start();
        try (HttpEngine engine = new HttpEngine(vertx, new ExistingServer(server), asked, clock)) {
            engine.beginLife();
            if (!cold) {
                engine.warm();
            }
            RandomGenerator random = new SplittableRandom();
            int[] prompt =
                    random.ints(promptTokens, FIRST_TOKEN, FIRST_TOKEN + TOKENS).toArray();
            RequestTrace trace = RequestTrace.of(engine, new LoadRequest(Role.PROBE, 0, prompt, outputTokens), clock);
            List<DecodeSteps> steps = new ArrayList<>();
            if (trace.record().isOk()) {
                batches.forEach(
                        batch -> steps.add(DecodeSteps.measure(engine, batch, promptTokens, outputTokens, random)));
            }
            PrintWriter out = spec.commandLine().getOut();
            if (json) {
                out.println(JsonText.of(document(server, trace, steps)));
            } else {
                print(server, trace, steps, TerminalText.plain(out));
            }
            out.flush();
            return trace.record().isOk() && trace.sums().isEmpty() ? ExitCode.OK : ExitCode.CHECK_FAILED;
        } finally {
            vertx.close().await();
        }
    }

    private static void print(URI server, RequestTrace trace, List<DecodeSteps> steps, TerminalText text) {
        text.line("One request at " + server);
        text.blank();
        if (!trace.record().isOk()) {
            text.paragraph("", "It failed: " + trace.record().problem() + ".");
            return;
        }
        trace.tree().lines().forEach(text::line);
        text.blank();
        List<String> samples = new ArrayList<>();
        trace.samples()
                .forEach(sample -> samples.add(String.format(
                        Locale.ROOT,
                        "token %4d  %8s  %9.3f ms",
                        sample.token(),
                        sample.context().isPresent() ? "KV " + sample.context().getAsInt() : "",
                        sample.millis())));
        TextTree.box("time between tokens", samples).forEach(text::line);
        text.paragraph("", trace.slopeText());
        if (!steps.isEmpty()) {
            text.blank();
            text.line("batch   ms a decode step (median)   p95        steps");
            steps.forEach(step -> text.line(String.format(
                    Locale.ROOT,
                    "%5d   %27.3f   %8.3f   %5d",
                    step.batch(),
                    step.medianMillis(),
                    step.p95Millis(),
                    step.gaps())));
        }
        text.blank();
        if (trace.sums().isEmpty()) {
            text.line("The parts add up to the whole within 0.1 ms.");
        }
        trace.sums().forEach(wrong -> text.paragraph("", wrong));
        troubles(trace, steps)
                .forEach(trouble -> text.paragraph(
                        "  note: ", trouble + ". The times above are those of this machine as much as of the server."));
    }

    /** What a client that was late makes of the times, each with where that was. */
    private static List<String> troubles(RequestTrace trace, List<DecodeSteps> steps) {
        return Stream.concat(
                        trace.clientTroubles().stream().map(trouble -> "With the single request " + trouble),
                        steps.stream()
                                .flatMap(step -> step.clientTroubles().stream()
                                        .map(trouble -> "With the batch of " + step.batch() + " " + trouble)))
                .toList();
    }

    private static ObjectNode document(URI server, RequestTrace trace, List<DecodeSteps> steps) {
        ObjectNode root = JsonText.object()
                .put("format", 1)
                .put("server", server.toString())
                .put("status", trace.record().status().name());
        trace.record().promptTokens().ifPresent(count -> root.put("promptTokens", count));
        trace.record().completionTokens().ifPresent(count -> root.put("completionTokens", count));
        trace.record().cachedTokens().ifPresent(count -> root.put("cachedTokens", count));
        root.put("totalMillis", trace.totalMillis());
        ArrayNode stages = root.putArray("stages");
        stages.addObject()
                .put("stage", "connect")
                .put("millis", trace.connectMillis())
                .put("source", "client");
        trace.client()
                .forEach(span -> stages.addObject()
                        .put("stage", span.name())
                        .put("millis", span.millis())
                        .put("source", "client"));
        // What was not measured is not there.
        trace.server()
                .millis()
                .forEach((stage, millis) -> stages.addObject()
                        .put("stage", stage.name().toLowerCase(Locale.ROOT))
                        .put("millis", millis)
                        .put("source", "server metrics"));
        ArrayNode samples = root.putArray("tokenTimes");
        trace.samples().forEach(sample -> {
            ObjectNode one = samples.addObject().put("token", sample.token()).put("millis", sample.millis());
            sample.context().ifPresent(context -> one.put("contextTokens", context));
        });
        trace.slope().ifPresent(fit -> {
            Interval interval = fit.slopeInterval(0.95);
            root.putObject("slopeMillisPerToken")
                    .put("value", fit.slope())
                    .put("low95", interval.low())
                    .put("high95", interval.high())
                    .put("source", "client");
        });
        ArrayNode decode = root.putArray("decodeSteps");
        steps.forEach(step -> decode.addObject()
                .put("batch", step.batch())
                .put("medianMillis", step.medianMillis())
                .put("p95Millis", step.p95Millis())
                .put("steps", step.gaps())
                .put("source", "client"));
        ArrayNode wrong = root.putArray("doesNotAddUp");
        trace.sums().forEach(wrong::add);
        ArrayNode late = root.putArray("clientTroubles");
        troubles(trace, steps).forEach(late::add);
        return root;
    }
}
