package io.holdfast.app.workbench;

import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.imports.Imported;
import io.holdfast.workbench.imports.ToolResults;
import io.holdfast.workbench.table.BenchmarkLog;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The files that a command was given, with short names and what their readers had to say. */
record ResultFiles(List<Named> files, List<String> notes) {
    static ResultFiles read(List<Path> paths) {
        return read(paths, List.of());
    }

    /**
     * The same where phases of a benchmark log are files of their own.
     *
     * @param phases of every log; all where none is named
     */
    static ResultFiles read(List<Path> paths, List<String> phases) {
        List<Named> files = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        Map<String, Integer> names = new LinkedHashMap<>();
        for (Path path : paths) {
            if (isTable(path)) {
                BenchmarkLog.results(path, phases, notes)
                        .forEach(each -> files.add(new Named(free(each.name(), names), each.results())));
            } else {
                Imported imported = ToolResults.read(path);
                String name = free(name(path), names);
                files.add(new Named(name, imported.results()));
                imported.notes().forEach(note -> notes.add(name + " (" + imported.kind() + "): " + note));
            }
        }
        return new ResultFiles(files, notes);
    }

    private static boolean isTable(Path path) {
        return path.toString().toLowerCase(Locale.ROOT).matches(".*\\.(csv|md|markdown)");
    }

    /** Returns a name with a number behind it where it is taken. */
    private static String free(String plain, Map<String, Integer> names) {
        int number = names.merge(plain, 1, Integer::sum);
        return number == 1 ? plain : plain + "-" + number;
    }

    private static String name(Path path) {
        return Optional.ofNullable(path.getFileName())
                .map(Path::toString)
                .orElse("results")
                .replaceFirst("\\.jsonl?$", "");
    }
}
