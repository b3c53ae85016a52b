package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.workbench.bed.LegSampler;
import io.holdfast.workbench.bed.SampleFile;
import io.holdfast.workbench.bed.SampleFile.Summary;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What was sampled beside the legs of a run. */
@Command(
        name = "samples",
        description = {
            "Shows the samples that --sample took during the legs of a run: GPUs, the server's process, kvcached's"
                    + " segments; each value by leg, or by step of a leg. Values that no source reported are left out."
        },
        sortOptions = false)
public final class LoadtestSamplesCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "JOURNAL", description = "The file that 'loadtest run' or 'loadtest aa' wrote.")
    private Path journal = Path.of("");

    @Option(
            names = "--samples",
            paramLabel = "FILE",
            description = "File of the samples (default: the journal's name with .samples.jsonl).")
    private @Nullable Path samples;

    @Option(names = "--by-step", description = "Show each step of a leg separately.")
    private boolean bySteps;

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestSamplesCommand() {}

    @Override
    public Integer call() {
        Journal.Contents run = Journal.read(journal);
        SampleFile file = SampleFile.read(Optional.ofNullable(samples).orElseGet(() -> LegSampler.beside(journal)));
        List<Summary> all = bySteps ? file.byStep(run.legs()) : file.byLeg(run.legs());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of(document(all)));
        } else {
            print(all, out);
        }
        out.flush();
        return ExitCode.OK;
    }

    private static String where(Summary of) {
        return of.leg().label()
                + of.step()
                        .map(step -> ", " + step.kind().name().toLowerCase(Locale.ROOT)
                                + (step.cycle() > 0 ? " " + step.cycle() : ""))
                        .orElse("");
    }

    private static void print(List<Summary> all, PrintWriter out) {
        String leg = "";
        String source = "";
        for (Summary of : all) {
            if (!where(of).equals(leg)) {
                leg = where(of);
                out.println(leg);
                source = "";
            }
            if (!source.equals(of.source() + " " + of.of())) {
                source = of.source() + " " + of.of();
                TerminalText.plain(out).text("  " + source);
            }
            out.println(String.format(
                    Locale.ROOT,
                    "    %-24s  mean %,12.1f  max %,12.1f  of %d",
                    of.value(),
                    of.mean(),
                    of.max(),
                    of.samples()));
        }
        if (all.isEmpty()) {
            out.println("No sample fell into a leg of this run.");
        }
    }

    private static ObjectNode document(List<Summary> all) {
        ObjectNode root = JsonText.object().put("format", 1);
        ArrayNode summaries = root.putArray("summaries");
        for (Summary of : all) {
            ObjectNode one = summaries
                    .addObject()
                    .put("life", of.leg().life())
                    .put("position", of.leg().position())
                    .put("arm", of.leg().arm().name());
            of.step().ifPresent(step -> one.put("step", step.kind().name()).put("cycle", step.cycle()));
            one.put("source", of.source())
                    .put("of", of.of())
                    .put("value", of.value())
                    .put("samples", of.samples())
                    .put("mean", of.mean())
                    .put("max", of.max());
        }
        return root;
    }
}
