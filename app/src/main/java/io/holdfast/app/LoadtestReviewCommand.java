package io.holdfast.app;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.table.Claim;
import io.holdfast.loadtest.table.Criterion;
import io.holdfast.loadtest.table.RerunPlan;
import io.holdfast.loadtest.table.Review;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What somebody else's numbers can and cannot show. */
@Command(
        name = "review",
        description = {
            "What a published table can and cannot show: order, repetitions, exposure, spread, placebo, and what its"
                    + " numbers say against each other. No table alone is ever found REAL.",
            "It measures nothing, and prints the commands that would."
        },
        sortOptions = false)
final class LoadtestReviewCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "TABLE", description = "Tables as CSV or Markdown, or a benchmark log.")
    private Path table = Path.of("");

    @Option(
            names = "--control",
            paramLabel = "WORKLOAD",
            description = "A workload of a log that its changes should leave alone; again for each.")
    private Set<String> controls = Set.of();

    @Option(
            names = "--said-bias",
            paramLabel = "MS",
            split = ",",
            description = "An order bias that somebody names in milliseconds: what it would leave is printed, and"
                    + " corrects nothing.")
    private List<Double> saidBias = List.of();

    @Option(
            names = "--claims",
            paramLabel = "FILE",
            description = "A ledger to print with it: a table of claim, status and evidence.")
    private Optional<Path> claims = Optional.empty();

    @Option(
            names = "--criteria",
            paramLabel = "FILE",
            description = "What was to be reached: a table of criterion, state (met, not met, not measured) and"
                    + " evidence.")
    private Optional<Path> criteria = Optional.empty();

    @FormerName("--url")
    @Option(
            names = "--engine",
            paramLabel = "URL",
            defaultValue = "http://127.0.0.1:30000",
            description = "The server that the rerun is to ask (default: ${DEFAULT-VALUE}).")
    private URI url = URI.create("http://127.0.0.1:30000");

    @Option(
            names = "--plan-out",
            paramLabel = "FILE",
            description = "Write the rerun as a script to a file that is not there yet.")
    private Optional<Path> planOut = Optional.empty();

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestReviewCommand() {}

    @Override
    public Integer call() {
        LoadtestCommand.checkAddress("--engine", url);
        for (double bias : saidBias) {
            if (!(bias > 0 && Double.isFinite(bias))) {
                throw new CommandException("--said-bias is " + bias + "; write milliseconds above 0.");
            }
        }
        Review review = Review.of(table, new Review.Settings(controls, saidBias, url.toString()));
        List<Claim> ledger = claims.map(Claim::read).orElse(List.of());
        List<Criterion> reached = criteria.map(Criterion::read).orElse(List.of());
        planOut.ifPresent(file -> write(file, RerunPlan.script(review.rerun(), String.valueOf(table.getFileName()))));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ReviewJson.print(review, ledger, reached, out);
        } else {
            new ReviewPrinter(TerminalText.plain(out)).print(review, ledger, reached);
        }
        out.flush();
        if (review.hasFailures()) {
            return ExitCode.CHECK_FAILED;
        }
        return review.isUndecided() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static void write(Path file, String script) {
        try {
            Files.writeString(file, script, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        } catch (FileAlreadyExistsException e) {
            throw new CommandException("--plan-out is '" + file + "', which is there already; name another file.");
        } catch (NoSuchFileException e) {
            throw new CommandException("--plan-out is '" + file + "', but there is no such folder; make it first.");
        } catch (IOException e) {
            throw new CommandException("--plan-out is '" + file + "', which cannot be written (" + FileTrouble.why(e)
                    + "); name another file.");
        }
    }
}
