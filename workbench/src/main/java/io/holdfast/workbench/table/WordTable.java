package io.holdfast.workbench.table;

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
        TableText.Contents contents = TableText.read(file);
        contents.torn().stream().findFirst().ifPresent(sentence -> {
            throw new LoadTestException(file + ": " + sentence);
        });
        return contents.tables().stream()
                .flatMap(table -> {
                    columns.stream()
                            .filter(name -> !has(table, name))
                            .findFirst()
                            .ifPresent(name -> {
                                throw new LoadTestException(
                                        "The table at line " + table.line() + " of " + file + " has no column '" + name
                                                + "'; its columns are " + String.join(", ", columns) + ".");
                            });
                    return rows(table, columns).stream();
                })
                .toList();
    }

    /** Returns true if a table has a column of this name, in upper or lower case. */
    static boolean has(TableText table, String column) {
        return header(table).contains(column);
    }

    private static List<String> header(TableText table) {
        return table.header().stream()
                .map(name -> Figure.plain(name).toLowerCase(Locale.ROOT))
                .toList();
    }

    /** The rows of a table that has all of these columns, in their order. */
    static List<List<String>> rows(TableText table, List<String> columns) {
        List<String> header = header(table);
        return table.rows().stream()
                .map(row -> columns.stream()
                        .map(name -> Figure.plain(row.get(header.indexOf(name))))
                        .toList())
                .toList();
    }

    static List<String> parts(String cell) {
        return Arrays.stream(cell.split(";", -1))
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .toList();
    }
}
