package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.workbench.load.LoadFolder;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Where the legs of a suite go, and what is printed of them. */
final class SuiteOutput {
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd_HHmmss").withZone(ZoneOffset.UTC);

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "A new folder for every request of every leg and the results (default: SUITE_TIME in this"
                    + " folder).")
    private @Nullable Path out;

    @Option(names = "--resume", description = "Continue in the folder of --out: run the missing legs.")
    private boolean resume;

    @Option(
            names = "--plan",
            description = "Print the legs with their requests, tokens and ids, and an estimated duration,"
                    + " measured by a few requests, and exit.")
    private boolean planOnly;

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    SuiteOutput() {}

    void check() {
        if (resume && out == null) {
            throw new CommandException("--resume goes on in a folder; name it by --out.");
        }
    }

    /** Returns true if a folder is named, to begin or to go on in. */
    boolean isNamed() {
        return resume || out != null;
    }

    boolean isPlanOnly() {
        return planOnly;
    }

    boolean isJson() {
        return json;
    }

    /** Returns the folder that is gone on with; absent where one is begun. */
    Optional<Path> resumed() {
        return resume ? Optional.ofNullable(out) : Optional.empty();
    }

    /** Returns the folder that was named, or one that is named after the suite and the time. */
    Path place(String suite, Instant begun) {
        return Optional.ofNullable(out).orElseGet(() -> Path.of(suite + "_" + STAMP.format(begun)));
    }

    /** Begins the folder, or goes on with it where it was begun with the same plan. */
    LoadFolder folder(Path place, LoadFolder.Plan plan) {
        LoadFolder files = resume ? LoadFolder.open(place) : LoadFolder.create(place, plan);
        files.refuseOtherThan(plan);
        return files;
    }

    /** Returns the stream on which people are told what is going on. */
    PrintWriter beside(CommandLine command) {
        return json ? command.getErr() : command.getOut();
    }
}
