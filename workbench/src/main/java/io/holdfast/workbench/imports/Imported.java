package io.holdfast.workbench.imports;

import io.holdfast.loadtest.measure.ResultFile;
import java.util.List;

/**
 * Content of a result file.
 *
 * @param kind what wrote it, for people
 * @param notes which of its figures were left out or taken under another name, and why
 */
public record Imported(String kind, ResultFile results, List<String> notes) {
    public Imported {
        notes = List.copyOf(notes);
    }
}
