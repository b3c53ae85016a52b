package io.holdfast.loadtest.report;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Columns of a table that fit beside each other, each with its width; the first of a table is in each of its parts. A cell
 * that fits nowhere is broken between words, or within one where there is no other way.
 */
record TextColumns(List<List<String>> rows, List<Integer> widths, List<Boolean> broken) {
    private static final int MOST_OF_THE_FIRST = 34;

    /**
     * Parts of a table whose rows are all as long as the first.
     *
     * @param gap columns of the terminal between two cells
     * @param room columns of the terminal for all cells and what is between them
     */
    static List<TextColumns> parts(List<List<String>> rows, int gap, int room) {
        int first = Math.min(natural(rows, 0), MOST_OF_THE_FIRST);
        List<TextColumns> parts = new ArrayList<>();
        List<Integer> taken = new ArrayList<>(List.of(0));
        int used = first;
        for (int column = 1; column < rows.getFirst().size(); column++) {
            int width = Math.min(natural(rows, column), room - first - gap);
            if (taken.size() > 1 && used + gap + width > room) {
                parts.add(of(rows, taken, first, room - first - gap));
                taken = new ArrayList<>(List.of(0));
                used = first;
            }
            taken.add(column);
            used += gap + width;
        }
        parts.add(of(rows, taken, first, room - first - gap));
        return parts;
    }

    private static TextColumns of(List<List<String>> rows, List<Integer> taken, int first, int most) {
        return new TextColumns(
                rows.stream().map(row -> taken.stream().map(row::get).toList()).toList(),
                taken.stream()
                        .map(column -> column == 0 ? first : Math.min(natural(rows, column), most))
                        .toList(),
                taken.stream()
                        .map(column -> natural(rows, column) > (column == 0 ? first : most))
                        .toList());
    }

    /** A column of which nothing is known is no format with a width of 0. */
    private static int natural(List<List<String>> rows, int column) {
        return rows.stream()
                .mapToInt(row -> Math.max(1, row.get(column).length()))
                .max()
                .orElse(1);
    }

    /** Lines of a row, each with its cells as wide as their columns; all to the left, or the first and broken ones alone. */
    List<List<String>> laidOut(List<String> row, boolean left) {
        List<List<String>> cells = IntStream.range(0, row.size())
                .mapToObj(column -> brokenAt(row.get(column), widths.get(column)))
                .toList();
        int height = cells.stream().mapToInt(List::size).max().orElse(1);
        return IntStream.range(0, height)
                .mapToObj(line -> IntStream.range(0, row.size())
                        .mapToObj(column -> {
                            String text = line < cells.get(column).size()
                                    ? cells.get(column).get(line)
                                    : "";
                            String space = " ".repeat(Math.max(0, widths.get(column) - text.length()));
                            return left || column == 0 || broken.get(column) ? text + space : space + text;
                        })
                        .toList())
                .toList();
    }

    /** A text in lines of at most so many letters; one that fits stays as it is. */
    static List<String> brokenAt(String text, int width) {
        if (text.length() <= width) {
            return List.of(text);
        }
        List<String> lines = new ArrayList<>();
        String rest = text.strip();
        while (rest.length() > width) {
            int space = rest.lastIndexOf(' ', width);
            int at = space > 0 ? space : width;
            lines.add(rest.substring(0, at).stripTrailing());
            rest = rest.substring(at).strip();
        }
        lines.add(rest);
        return List.copyOf(lines);
    }
}
