package io.holdfast.app;

import io.holdfast.loadtest.compare.Comparison.Named;
import io.holdfast.loadtest.imports.Imported;
import io.holdfast.loadtest.imports.ToolResults;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The files that a command was given, with short names and what their readers had to say. */
record ResultFiles(List<Named> files, List<String> notes) {
    static ResultFiles read(List<Path> paths) {
        List<Named> files = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        Map<String, Integer> names = new LinkedHashMap<>();
        for (Path path : paths) {
            Imported imported = ToolResults.read(path);
            String plain = name(path);
            int number = names.merge(plain, 1, Integer::sum);
            String name = number == 1 ? plain : plain + "-" + number;
            files.add(new Named(name, imported.results()));
            imported.notes().forEach(note -> notes.add(name + " (" + imported.kind() + "): " + note));
        }
        return new ResultFiles(files, notes);
    }

    private static String name(Path path) {
        return Optional.ofNullable(path.getFileName())
                .map(Path::toString)
                .orElse("results")
                .replaceFirst("\\.jsonl?$", "");
    }
}
