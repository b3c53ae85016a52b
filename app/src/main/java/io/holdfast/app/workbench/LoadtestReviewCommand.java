package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.workbench.table.Claim;
import io.holdfast.workbench.table.Criterion;
import io.holdfast.workbench.table.RerunPlan;
import io.holdfast.workbench.table.Review;
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
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Tells what somebody else's numbers can and cannot show. */
@Command(
        name = "review",
        description = {
            "Reviews what a published table can and cannot show: order, repetitions, exposure, spread, placebo,"
                    + " and contradictions between its numbers. A table alone is never found REAL.",
            "A document needs no editing: other tables in it are skipped, and a line says why.",
            "It measures nothing, and prints the commands that would."
        },
        sortOptions = false)
public final class LoadtestReviewCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "TABLE", description = "Tables as CSV or Markdown, or a benchmark log.")
    private Path table = Path.of("");

    @Option(
            names = "--control",
            paramLabel = "WORKLOAD",
            description = "Workload of a log that its changes should not affect; repeatable.")
    private Set<String> controls = Set.of();

    @Option(
            names = "--said-bias",
            paramLabel = "MS",
            split = ",",
            description = "Hypothetical order bias in milliseconds: the effect that it would leave is printed; no"
                    + " verdict changes.")
    private List<Double> saidBias = List.of();

    @Option(
            names = "--against",
            paramLabel = "PHASE",
            description = "Phase of a log, as 'Phase 4', with which all later ones are compared (default: each is"
                    + " compared with the one before).")
    private Optional<String> against = Optional.empty();

    @Option(
            names = "--shared-tokens",
            paramLabel = "N",
            description = "Number of tokens with which all requests begin, if the tables lack it.")
    private @Nullable Integer sharedTokens;

    @Option(
            names = "--own-tokens",
            paramLabel = "N",
            description = "Number of further tokens of each request, if the tables lack it.")
    private @Nullable Integer ownTokens;

    @Option(
            names = "--claims",
            paramLabel = "FILE",
            description = "Claims to print with the review: a table of claim, status and evidence; or the journal of a"
                    + " run, whose hold calls and their answers are the evidence.")
    private Optional<Path> claims = Optional.empty();

    @Option(
            names = "--criteria",
            paramLabel = "FILE",
            description = "Criteria to print with the review: a table of criterion, state (met, not met, not"
                    + " measured) and evidence.")
    private Optional<Path> criteria = Optional.empty();

    @Option(
            names = "--results",
            paramLabel = "FILE",
            description = "Results to judge the document's criteria by, in a format that 'loadtest compare'"
                    + " reads; repeatable.")
    private List<Path> results = List.of();

    @FormerName("--url")
    @Option(
            names = "--engine",
            paramLabel = "URL",
            defaultValue = "http://127.0.0.1:30000",
            description = "Server for the printed rerun (default: ${DEFAULT-VALUE}).")
    private URI url = URI.create("http://127.0.0.1:30000");

    @Option(names = "--plan-out", paramLabel = "FILE", description = "New file for the rerun as a script.")
    private Optional<Path> planOut = Optional.empty();

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestReviewCommand() {}

    @Override
    public Integer call() {
        ServerAddress.check("--engine", url);
        for (double bias : saidBias) {
            if (!(bias > 0 && Double.isFinite(bias))) {
                throw new CommandException("--said-bias is " + bias + "; write milliseconds above 0.");
            }
        }
        Review review = Review.of(
                table,
                new Review.Settings(
                        controls,
                        saidBias,
                        url.toString(),
                        against,
                        tokens("--shared-tokens", sharedTokens),
                        tokens("--own-tokens", ownTokens)));
        List<Claim> ledger = Stream.concat(
                        review.published().stream(), claims.map(Claim::read).orElse(List.of()).stream())
                .toList();
        List<Criterion> named = results.isEmpty()
                ? review.criteria()
                : Criterion.by(review.criteria(), ResultFiles.read(results).files());
        List<Criterion> reached = Stream.concat(
                        named.stream(), criteria.map(Criterion::read).orElse(List.of()).stream())
                .toList();
        planOut.ifPresent(file -> write(file, RerunPlan.script(review.rerun(), String.valueOf(table.getFileName()))));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(ReviewJson.of(review, ledger, reached));
        } else {
            TerminalText text = TerminalText.plain(out);
            text.show(ReviewText.of(review, ledger, reached));
            ReviewText.print(review.rerun(), text);
        }
        out.flush();
        if (review.hasFailures()) {
            return ExitCode.CHECK_FAILED;
        }
        return review.isUndecided() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static OptionalInt tokens(String option, @Nullable Integer tokens) {
        if (tokens == null) {
            return OptionalInt.empty();
        }
        if (tokens < 1) {
            throw new CommandException(option + " is " + tokens + "; write 1 or more.");
        }
        return OptionalInt.of(tokens);
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
