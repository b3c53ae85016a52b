package io.holdfast.workbench.bed;

import io.holdfast.loadtest.CsvLine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** A table of comma-separated values whose first line names its columns. */
record CsvTable(List<String> columns, List<List<String>> rows) {
    CsvTable {
        columns = List.copyOf(columns);
        rows = List.copyOf(rows);
    }

    static CsvTable of(List<String> lines) {
        List<List<String>> rows = new ArrayList<>();
        for (String line : lines) {
            if (!line.isBlank()) {
                rows.add(CsvLine.of(line).fields());
            }
        }
        return rows.isEmpty()
                ? new CsvTable(List.of(), List.of())
                : new CsvTable(rows.getFirst(), rows.subList(1, rows.size()));
    }

    /** The rows by their columns' names; a row that is shorter lacks the last ones. */
    List<Map<String, String>> named() {
        List<Map<String, String>> all = new ArrayList<>();
        for (List<String> row : rows) {
            Map<String, String> named = new LinkedHashMap<>();
            for (int i = 0; i < Math.min(row.size(), columns.size()); i++) {
                named.put(columns.get(i), row.get(i));
            }
            all.add(named);
        }
        return all;
    }

    /**
     * The number that a value begins with, its thousands separated or not; absent where it begins with none, as
     * {@code [N/A]} does.
     */
    static OptionalDouble number(String value) {
        String first = value.strip().split(" ", 2)[0].replace(",", "");
        try {
            double number = Double.parseDouble(first);
            return Double.isFinite(number) ? OptionalDouble.of(number) : OptionalDouble.empty();
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }
}
