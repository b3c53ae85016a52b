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
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A document as Markdown: for an issue, a pull request or a log. Of a figure it has the numbers in words. */
public final class MarkdownRenderer {
    private MarkdownRenderer() {}

    /** Returns the whole text. */
    public static String text(Document document) {
        return document.blocks().stream().map(MarkdownRenderer::block).collect(Collectors.joining("\n"));
    }

    private static String block(Block block) {
        return switch (block) {
            case Heading heading -> "#".repeat(heading.level()) + " " + escaped(heading.text()) + "\n";
            case Paragraph paragraph -> paragraph(paragraph) + "\n";
            case Items items -> lines(items.items().stream().map(MarkdownRenderer::item));
            case Facts facts ->
                lines(facts.facts().stream().map(fact -> "* " + escaped(fact.name()) + ": " + escaped(fact.value())));
            case Table table -> table(table);
            case Intervals intervals -> table(changes(intervals.changes()));
            case Plot plot -> labelled(plot.title() + ".", plot.caption()) + "\n";
            case Preformatted text -> lines(text.text().lines().map(line -> "    " + line));
            case Answer answer -> answer(answer);
        };
    }

    private static String paragraph(Paragraph paragraph) {
        return paragraph.voice() == Voice.LEAD
                ? "**" + escaped(paragraph.text()) + "**"
                : labelled(paragraph.label(), paragraph.text());
    }

    private static String labelled(String label, String text) {
        return label.isEmpty() ? escaped(text) : "**" + escaped(label) + "** " + escaped(text);
    }

    private static String item(Item item) {
        return "* " + labelled(item.label(), item.text())
                + (item.evidence().isEmpty() ? "" : " (" + escaped(String.join("; ", item.evidence())) + ")");
    }

    /** Names to the left, numbers to the right. */
    private static String table(Table table) {
        Stream<String> head = Stream.of(
                row(table.heads()), "|---" + "|---:".repeat(table.heads().size() - 1) + "|");
        return lines(Stream.concat(head, table.rows().stream().map(MarkdownRenderer::row)));
    }

    private static String row(List<String> cells) {
        return cells.stream().map(MarkdownRenderer::escaped).collect(Collectors.joining(" | ", "| ", " |"));
    }

    private static Table changes(List<Change> changes) {
        return new Table(
                "",
                List.of("change of time to first token", "", "95 % interval"),
                changes.stream()
                        .map(change -> List.of(
                                change.name() + ": " + change.what(),
                                Shown.change(change.log()),
                                change.ci95().map(Shown::interval).orElse("none")))
                        .toList());
    }

    private static String answer(Answer answer) {
        return "## " + escaped(answer.text()) + "\n\n"
                + answer.words().stream().map(word -> paragraph(word) + "\n").collect(Collectors.joining("\n"))
                + "\n" + labelled("How sure?", answer.sure()) + "\n";
    }

    private static String lines(Stream<String> lines) {
        return lines.map(line -> line + "\n").collect(Collectors.joining());
    }

    /** Escapes what a server or a user wrote, so that it becomes no table, no link and no emphasis. */
    public static String escaped(String text) {
        return Shown.typographic(text)
                .replaceAll("[\\p{Cntrl}]", " ")
                .replaceAll("([\\\\`*\\[\\]<>|#]|(?<!\\w)_|_(?!\\w))", "\\\\$1");
    }
}
