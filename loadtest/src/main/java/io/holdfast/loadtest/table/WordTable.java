package io.holdfast.loadtest.table;

import io.holdfast.loadtest.LoadTestException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Tables of words alone, in files that people write: ledgers of claims, and criteria. */
final class WordTable {
    private WordTable() {}

    /** The rows of all tables of a file, in the order of these columns, which each of them has. */
    static List<List<String>> read(Path file, List<String> columns) {
        return TableText.read(file).tables().stream()
                .flatMap(table -> {
                    List<String> header = table.header().stream()
                            .map(name -> Figure.plain(name).toLowerCase(Locale.ROOT))
                            .toList();
                    columns.stream()
                            .filter(name -> !header.contains(name))
                            .findFirst()
                            .ifPresent(name -> {
                                throw new LoadTestException(
                                        "The table at line " + table.line() + " of " + file + " has no column '" + name
                                                + "'; its columns are " + String.join(", ", columns) + ".");
                            });
                    return table.rows().stream()
                            .map(row -> columns.stream()
                                    .map(name -> Figure.plain(row.get(header.indexOf(name))))
                                    .toList());
                })
                .toList();
    }

    static List<String> parts(String cell) {
        return Arrays.stream(cell.split(";", -1))
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .toList();
    }
}
