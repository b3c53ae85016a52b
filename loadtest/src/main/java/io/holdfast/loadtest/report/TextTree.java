package io.holdfast.loadtest.report;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A tree as text: what a node is at the left, what it comes to in a column beside it.
 *
 * @param label what it is
 * @param value what it comes to; empty where it only holds others
 * @param note what stands behind that
 */
public record TextTree(String label, String value, String note, List<TextTree> children) {
    public TextTree {
        children = List.copyOf(children);
    }

    public static TextTree of(String label, List<TextTree> children) {
        return new TextTree(label, "", "", children);
    }

    public static TextTree leaf(String label, String value, String note) {
        return new TextTree(label, value, note, List.of());
    }

    private record Line(String left, String value, String note) {}

    /** All of it, the values of all depths in one column. */
    public List<String> lines() {
        List<Line> lines = new ArrayList<>();
        lines.add(new Line(label, value, note));
        add(children, "", lines);
        int left = lines.stream().mapToInt(line -> line.left().length()).max().orElse(0);
        int middle =
                lines.stream().mapToInt(line -> line.value().length()).max().orElse(0);
        return lines.stream()
                .map(line -> (line.left()
                                + " ".repeat(left - line.left().length())
                                + (middle == 0
                                        ? ""
                                        : "  "
                                                + " "
                                                        .repeat(middle
                                                                - line.value().length()) + line.value())
                                + (line.note().isEmpty() ? "" : "  " + line.note()))
                        .stripTrailing())
                .toList();
    }

    private static void add(List<TextTree> nodes, String margin, List<Line> lines) {
        for (int i = 0; i < nodes.size(); i++) {
            boolean last = i == nodes.size() - 1;
            TextTree node = nodes.get(i);
            lines.add(new Line(margin + (last ? "└─ " : "├─ ") + node.label, node.value, node.note));
            add(node.children, margin + (last ? "   " : "│  "), lines);
        }
    }

    /** Lines in a frame with a heading. */
    public static List<String> box(String heading, List<String> lines) {
        int width = Math.max(
                heading.length() + 2,
                lines.stream().mapToInt(String::length).max().orElse(0));
        List<String> framed = new ArrayList<>();
        framed.add("┌─ " + heading + " " + "─".repeat(width - heading.length() - 1) + "┐");
        lines.forEach(line -> framed.add("│ " + line + " ".repeat(width - line.length()) + " │"));
        framed.add("└" + "─".repeat(width + 2) + "┘");
        return framed;
    }

    @Override
    public String toString() {
        return lines().stream().collect(Collectors.joining("\n"));
    }
}
