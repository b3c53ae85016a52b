package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.JsonText;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.ProviderNotFoundException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The journals that a path names: one file, those of a folder, or those of a bundle. */
public final class RunFiles implements AutoCloseable {
    static final String BUNDLE = ".zip";
    static final String JOURNAL = ".jsonl";

    private final Optional<FileSystem> inside;
    private final List<Run> runs;
    private final boolean single;
    private final Optional<Path> sweep;

    /**
     * A journal that was read.
     *
     * @param name of its file, without folders
     */
    record Run(String name, Path file, Journal.Contents contents) {
        boolean isControls() {
            return contents.header().plan().isOnlyControls();
        }

        /** What {@code analyze --json} prints of it. */
        ObjectNode document() {
            return isControls()
                    ? ControlReport.document(ControlAnalysis.of(contents))
                    : ResultJson.document(Analysis.of(contents));
        }
    }

    private RunFiles(Optional<FileSystem> inside, Path folder, List<Run> runs) {
        this.inside = inside;
        this.sweep = Files.exists(folder.resolve(SweepPlan.FILE)) ? Optional.of(folder) : Optional.empty();
        this.runs = List.copyOf(runs);
        this.single = runs.size() == 1 && sweep.isEmpty();
    }

    static RunFiles open(Path path) {
        if (Files.isDirectory(path)) {
            return new RunFiles(Optional.empty(), path, journals(path, path));
        }
        if (!name(path).endsWith(BUNDLE)) {
            // What lies beside it belongs to others.
            return new RunFiles(Optional.empty(), path, List.of(run(path)));
        }
        if (!Files.isRegularFile(path)) {
            throw new CommandException("There is no bundle at " + path + ".");
        }
        FileSystem inside = zip(path);
        try {
            Path root = inside.getPath("/");
            return new RunFiles(Optional.of(inside), root, journals(root, path));
        } catch (RuntimeException e) {
            close(inside);
            throw e;
        }
    }

    private static FileSystem zip(Path path) {
        try {
            return FileSystems.newFileSystem(path);
        } catch (IOException | ProviderNotFoundException e) {
            throw new CommandException(
                    "'" + path + "' is no zip file that can be read; take the bundle from where it" + " was copied.");
        }
    }

    private static List<Run> journals(Path folder, Path named) {
        try (Stream<Path> files = Files.list(folder)) {
            List<Run> runs = files.filter(file -> name(file).endsWith(JOURNAL))
                    .sorted()
                    .map(RunFiles::run)
                    .toList();
            if (runs.isEmpty()) {
                throw new CommandException("'" + named + "' holds no journal (*.jsonl) of a load test; name the file or"
                        + " the folder that 'loadtest run' wrote.");
            }
            return runs;
        } catch (IOException e) {
            throw new CommandException("'" + named + "' cannot be read (" + e.getMessage() + ").");
        }
    }

    private static Run run(Path file) {
        return new Run(name(file), file, Journal.read(file));
    }

    public static String name(Path file) {
        return Optional.ofNullable(file.getFileName()).map(Path::toString).orElse("");
    }

    List<Run> runs() {
        return runs;
    }

    /** The folder of the sweep that they are levels of. */
    Optional<Path> sweep() {
        return sweep;
    }

    /** Whether there is one journal alone. */
    boolean isSingle() {
        return single;
    }

    /** What {@code analyze --json} prints, and what stands in a bundle beside its raw data: the same bytes. */
    String resultJson() {
        if (single) {
            return JsonText.of(runs.getFirst().document()) + "\n";
        }
        if (sweep.isPresent()) {
            return JsonText.of(SweepReport.document(Sweep.of(sweep.get()))) + "\n";
        }
        ObjectNode root = JsonText.object();
        root.put("format", 1);
        ArrayNode all = root.putArray("runs");
        runs.forEach(run -> all.addObject().put("journal", run.name()).set("result", run.document()));
        return JsonText.of(root) + "\n";
    }

    private static void close(FileSystem inside) {
        try {
            inside.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        inside.ifPresent(RunFiles::close);
    }
}
