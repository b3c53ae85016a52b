package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.JournalLines;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.report.HtmlRenderer;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.report.ShareText;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Puts all that somebody else needs to doubt a run, or to repeat it, into one file. */
@Command(
        name = "bundle",
        description = {
            "Puts a run into one file for somebody else: every request of every leg, plan, environment, the result,"
                    + " how to run it again, and a short text for an issue.",
            "'loadtest analyze' of that file gives the same result, byte for byte. It may contain text of"
                    + " prompts, but no other secret: keys and values of headers are never in a journal."
        },
        sortOptions = false)
public final class LoadtestBundleCommand implements Callable<Integer> {
    private static final List<String> OF_THE_ENVIRONMENT =
            List.of("startedAt", "unit", "engine", "client", "environment");
    private static final ObjectMapper JSON = new ObjectMapper();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(
            paramLabel = "JOURNAL|FOLDER",
            description = "The file that 'loadtest run' or 'loadtest aa' wrote, or a folder with several of them.")
    private Path path = Path.of("");

    @Option(names = "--out", paramLabel = "FILE.zip", required = true, description = "New file.")
    private Path out = Path.of("");

    @Option(
            names = "--hardware",
            paramLabel = "TEXT",
            description = "Hardware of the server, which no load test can detect: GPU model, its memory, CPU.")
    private Optional<String> hardware = Optional.empty();

    LoadtestBundleCommand() {}

    @Override
    public Integer call() {
        if (!RunFiles.name(out).endsWith(RunFiles.BUNDLE)) {
            throw new CommandException("--out is '" + out + "'; name a file that ends with .zip.");
        }
        try (RunFiles files = RunFiles.open(path)) {
            BundleFile bundle = new BundleFile();
            List<ShareText.RawFile> raw = new ArrayList<>();
            List<String> found = new ArrayList<>();
            ArrayNode plans = JSON.createArrayNode();
            ArrayNode environments = JSON.createArrayNode();
            for (RunFiles.Run run : files.runs()) {
                refuseUnfinished(run);
                byte[] bytes = bytes(run.file());
                bundle.add(run.name(), bytes);
                raw.add(new ShareText.RawFile(
                        run.name(),
                        bytes.length,
                        HexFormat.of().formatHex(Sha256.start().digest(bytes))));
                head(run.name(), run.contents().header(), plans.addObject(), environments.addObject());
                found.add(finding(run, bundle));
            }
            files.sweep().ifPresent(folder -> {
                bundle.add(SweepPlan.FILE, bytes(folder.resolve(SweepPlan.FILE)));
                bundle.add(
                        "sweep.html",
                        HtmlRenderer.page(SweepDocument.page(Sweep.of(folder), RunFiles.name(path.toAbsolutePath()))));
            });
            bundle.add("plan.json", JsonText.of(document("runs", plans)) + "\n");
            bundle.add("environment.json", JsonText.of(environment(environments)) + "\n");
            bundle.add("result.json", files.resultJson());
            ShareText text = new ShareText(
                    files.runs().getFirst().contents().header(),
                    files.isSingle() ? found.getFirst() : String.join("; ", found),
                    hardware,
                    raw);
            bundle.add("REPRODUCE.md", text.reproduce(RunFiles.name(out)));
            bundle.add("ISSUE.md", text.issue());
            bundle.write(out);
        }
        PrintWriter console = spec.commandLine().getOut();
        console.println("Written: " + out);
        return ExitCode.OK;
    }

    private String finding(RunFiles.Run run, BundleFile bundle) {
        String stem = run.name().substring(0, run.name().length() - RunFiles.JOURNAL.length());
        if (run.isControls()) {
            return "A/A: order bias " + ControlReport.orderBias(ControlAnalysis.of(run.contents()));
        }
        Result result = Analysis.of(run.contents());
        bundle.add(stem + ".html", HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), run.name())));
        bundle.add(stem + ".md", MarkdownRenderer.text(RunDocument.text(result, RunMeasures.of(result), run.name())));
        return RunDocument.summary(result);
    }

    private static void refuseUnfinished(RunFiles.Run run) {
        if (Journal.isBeingWritten(run.file())) {
            throw new CommandException("The journal " + run.file()
                    + " is being written by a load test that still runs; see 'holdfast loadtest status " + run.file()
                    + "'.");
        }
    }

    /** Divides the head of a journal into the plan of the run and the environment that was measured. */
    private static void head(String name, RunHeader header, ObjectNode plan, ObjectNode environment) {
        plan.put("journal", name);
        environment.put("journal", name);
        JournalLines.tree(header)
                .properties()
                .forEach(field -> (OF_THE_ENVIRONMENT.contains(field.getKey()) ? environment : plan)
                        .set(field.getKey(), field.getValue()));
    }

    private ObjectNode environment(ArrayNode runs) {
        ObjectNode root = document("runs", runs);
        hardware.ifPresent(text -> root.put("hardware", text));
        return root;
    }

    private static ObjectNode document(String name, ArrayNode content) {
        ObjectNode root = JsonText.object();
        root.put("format", 1).set(name, content);
        return root;
    }

    private static byte[] bytes(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new CommandException("'" + file + "' cannot be read (" + e.getMessage() + ").");
        }
    }
}
