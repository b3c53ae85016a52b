package io.holdfast.loadtest.report;

import io.holdfast.loadtest.report.Document.Answer;
import io.holdfast.loadtest.report.Document.Block;
import io.holdfast.loadtest.report.Document.Change;
import io.holdfast.loadtest.report.Document.Facts;
import io.holdfast.loadtest.report.Document.Heading;
import io.holdfast.loadtest.report.Document.Intervals;
import io.holdfast.loadtest.report.Document.Item;
import io.holdfast.loadtest.report.Document.Items;
import io.holdfast.loadtest.report.Document.Paragraph;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Preformatted;
import io.holdfast.loadtest.report.Document.Table;
import io.holdfast.loadtest.report.Document.Voice;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A document as lines for a terminal of {@value #COLUMNS} columns. A blank line stands on both sides of what is laid out
 * in columns, and before a section; paragraphs follow each other without.
 */
public final class TerminalRenderer {
    /** Width of a terminal. */
    public static final int COLUMNS = 80;

    private static final int WIDTH = 78;
    private static final String MARGIN = "  ";
    private static final int BETWEEN = 3;
    private static final int BORDERS = 4;

    private TerminalRenderer() {}

    /** Returns the lines of all blocks. */
    public static List<String> lines(Document document) {
        List<String> lines = new ArrayList<>();
        boolean apart = false;
        for (Block block : document.blocks()) {
            boolean laidOut = !(block instanceof Paragraph || block instanceof Items || block instanceof Heading);
            if (!lines.isEmpty() && (apart || laidOut || block instanceof Heading)) {
                lines.add("");
            }
            lines.addAll(lines(block));
            apart = laidOut;
        }
        return lines;
    }

    private static List<String> lines(Block block) {
        return switch (block) {
            case Heading heading -> heading(heading);
            case Paragraph paragraph -> paragraph(paragraph);
            case Items items ->
                items.items().stream().flatMap(item -> item(item).stream()).toList();
            case Facts facts -> facts(facts);
            case Table table ->
                table(Stream.concat(Stream.of(table.heads()), table.rows().stream())
                        .toList());
            case Intervals intervals ->
                intervals.changes().stream().map(TerminalRenderer::change).toList();
            case Plot plot -> figure(plot);
            case Preformatted text ->
                text.text().lines().map(line -> MARGIN + line).toList();
            case Answer answer -> answer(answer);
        };
    }

    private static List<String> heading(Heading heading) {
        List<String> lines = new ArrayList<>(wrapped("", heading.text()));
        lines.add("-".repeat(Math.min(WIDTH, heading.text().length())));
        return lines;
    }

    private static List<String> paragraph(Paragraph paragraph) {
        String label = paragraph.label().isEmpty() ? "" : paragraph.label() + " ";
        return wrapped(paragraph.voice() == Voice.LEAD ? "" : MARGIN + label, paragraph.text());
    }

    private static List<String> item(Item item) {
        return wrapped(MARGIN + (item.label().isEmpty() ? MARGIN : item.label() + ": "), item.text());
    }

    private static List<String> facts(Facts facts) {
        int width = facts.facts().stream()
                .mapToInt(fact -> fact.name().length())
                .max()
                .orElse(0);
        return facts.facts().stream()
                .flatMap(fact -> wrapped(MARGIN + padded(fact.name(), width) + MARGIN, fact.value()).stream())
                .toList();
    }

    private static String change(Change change) {
        String interval =
                change.ci95().map(ci -> "95 % interval " + Shown.interval(ci)).orElse("no interval");
        return String.format(
                Locale.ROOT,
                "  %-14s %9s   %s",
                change.name(),
                Shown.change(change.log()),
                change.main() ? interval + change.beside() : change.what());
    }

    private static List<String> figure(Plot plot) {
        List<String> lines = new ArrayList<>(plot.isEmpty() ? List.of() : PlotText.lines(plot));
        if (!plot.caption().isEmpty()) {
            lines.addAll(wrapped(MARGIN, plot.caption()));
        }
        return lines;
    }

    private static List<String> answer(Answer answer) {
        List<String> lines = new ArrayList<>(wrapped("", answer.text()));
        answer.cards()
                .forEach(card ->
                        lines.addAll(wrapped(MARGIN + card.what() + ": ", card.value() + " (" + card.beside() + ")")));
        lines.addAll(wrapped(MARGIN, answer.sure()));
        answer.words().forEach(word -> lines.addAll(paragraph(word)));
        return lines;
    }

    /**
     * Breaks a paragraph between words; lines after the first are indented by the length of what the first begins with.
     */
    public static List<String> wrapped(String margin, String text) {
        List<String> lines = new ArrayList<>();
        StringBuilder row = new StringBuilder(margin);
        boolean empty = true;
        for (String word : text.strip().split("\\s+", -1)) {
            if (!empty && row.length() + 1 + word.length() > WIDTH) {
                lines.add(row.toString());
                row.setLength(0);
                row.append(" ".repeat(margin.length()));
                empty = true;
            }
            row.append(empty ? "" : " ").append(word);
            empty = false;
        }
        lines.add(row.toString());
        return lines;
    }

    /**
     * Lays out a table whose first row is its head: the first column to the left, the others to the right. One that is too
     * wide is several below each other, each with the first column.
     */
    public static List<String> table(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (TextColumns part : TextColumns.parts(rows, MARGIN.length(), COLUMNS - MARGIN.length())) {
            if (!lines.isEmpty()) {
                lines.add("");
            }
            for (List<String> row : part.rows()) {
                part.laidOut(row, false)
                        .forEach(cells -> lines.add((MARGIN + String.join(MARGIN, cells)).stripTrailing()));
            }
        }
        return lines;
    }

    /** Lays out a table with lines around its cells, and all texts to the left. */
    public static List<String> boxed(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (TextColumns part : TextColumns.parts(rows, BETWEEN, COLUMNS - BORDERS)) {
            lines.add(rule(part.widths(), "┌", "┬", "┐"));
            for (int row = 0; row < part.rows().size(); row++) {
                part.laidOut(part.rows().get(row), true)
                        .forEach(cells -> lines.add(cells.stream().collect(Collectors.joining(" │ ", "│ ", " │"))));
                if (row == 0) {
                    lines.add(rule(part.widths(), "├", "┼", "┤"));
                }
            }
            lines.add(rule(part.widths(), "└", "┴", "┘"));
        }
        return lines;
    }

    private static String rule(List<Integer> widths, String left, String middle, String right) {
        return widths.stream().map(width -> "─".repeat(width + 2)).collect(Collectors.joining(middle, left, right));
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
