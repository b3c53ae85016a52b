package io.holdfast.loadtest.report;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.report.Document.Answer;
import io.holdfast.loadtest.report.Document.Block;
import io.holdfast.loadtest.report.Document.Card;
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
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A document as one page that needs nothing else: its style stands inside it, it has no script, no font and nothing to
 * fetch. The axis of intervals is as wide as its window allows.
 */
public final class HtmlRenderer {
    private static final double MOST_SHOWN = 400;
    private static final double ROOM = 0.06;

    private final StringBuilder out = new StringBuilder(64_000);
    private int sections;
    private boolean inFigures;

    private HtmlRenderer() {}

    /** Returns the whole page. */
    public static String page(Document document) {
        HtmlRenderer page = new HtmlRenderer();
        page.line("<!doctype html>");
        page.line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
        page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        page.line("<meta name=\"color-scheme\" content=\"light dark\">");
        // A browser requests an icon of its own accord, and this page requests nothing.
        page.line("<link rel=\"icon\" href=\"data:,\">");
        page.line("<title>" + escaped(document.title()) + "</title>");
        page.line("<style>" + style() + "</style></head><body><main>");
        document.blocks().forEach(page::block);
        page.endFigures();
        page.line((page.sections > 0 ? "</section>" : "") + "</main></body></html>");
        return page.out.toString();
    }

    private void block(Block block) {
        if (!(block instanceof Plot)) {
            endFigures();
        }
        switch (block) {
            case Heading heading -> heading(heading.text());
            case Paragraph paragraph -> line(paragraph(paragraph, "note"));
            case Items items -> items(items.items());
            case Facts facts -> facts(facts);
            case Table table -> table(table);
            case Intervals intervals -> intervals(intervals);
            case Plot plot -> figure(plot);
            case Preformatted text -> line("<pre>" + escaped(text.text()) + "</pre>");
            case Answer answer -> answer(answer);
        }
    }

    private void line(String html) {
        out.append(html).append('\n');
    }

    private void heading(String text) {
        String end = sections > 0 ? "</section>" : "";
        sections++;
        line(end + "<section aria-labelledby=\"s" + sections + "\"><h2 id=\"s" + sections + "\">" + escaped(text)
                + "</h2>");
    }

    private static String paragraph(Paragraph paragraph, String ofNotes) {
        String label = paragraph.label().isEmpty() ? "" : "<strong>" + escaped(paragraph.label()) + "</strong> ";
        return switch (paragraph.voice()) {
            case LEAD -> "<p class=\"word\"><b>" + escaped(paragraph.text()) + "</b></p>";
            case PLAIN -> "<p class=\"word\">" + label + prose(paragraph.text()) + "</p>";
            case NOTE -> "<p class=\"" + ofNotes + "\">" + prose(paragraph.text()) + "</p>";
        };
    }

    private void items(List<Item> items) {
        boolean labelled = items.stream().anyMatch(item -> !item.label().isEmpty());
        line(labelled ? "<ul class=\"findings\">" : "<ul>");
        for (Item item : items) {
            String label = item.label().isEmpty()
                    ? ""
                    : "<b class=\"" + escaped(item.label().toLowerCase(Locale.ROOT)) + "\">" + escaped(item.label())
                            + "</b> ";
            String evidence = item.evidence().isEmpty()
                    ? ""
                    : " <span>" + escaped(String.join("; ", item.evidence())) + "</span>";
            line("<li>" + label + prose(item.text()) + evidence + "</li>");
        }
        line("</ul>");
    }

    private void facts(Facts facts) {
        line("<dl>");
        facts.facts()
                .forEach(fact -> line("<dt>" + escaped(fact.name()) + "</dt><dd>" + escaped(fact.value()) + "</dd>"));
        line("</dl>");
    }

    /** A table scrolls on its own where a window is narrow. */
    private void table(Table table) {
        line("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped(table.name())
                + "\"><table>");
        line("<thead><tr>" + cells(table.heads(), "<th scope=\"col\">", "</th>", HtmlRenderer::escaped)
                + "</tr></thead><tbody>");
        table.rows()
                .forEach(row -> line("<tr><th scope=\"row\">" + prose(row.getFirst()) + "</th>"
                        + cells(row.subList(1, row.size()), "<td>", "</td>", HtmlRenderer::prose) + "</tr>"));
        line("</tbody></table></div>");
    }

    private static String cells(List<String> cells, String begin, String end, Function<String, String> text) {
        return cells.stream().map(cell -> begin + text.apply(cell) + end).collect(Collectors.joining());
    }

    private void answer(Answer answer) {
        line("<header class=\"" + answer.mood() + "\">");
        line("<p class=\"question\">" + escaped(answer.question()) + "</p>");
        line("<h1 id=\"verdict\">" + escaped(answer.text()) + "</h1>");
        line("<div class=\"cards\">");
        for (int i = 0; i < answer.cards().size(); i++) {
            Card card = answer.cards().get(i);
            line("<p class=\"" + (i == 0 ? "card main" : "card") + "\"><span>" + escaped(card.what()) + "</span> <b>"
                    + prose(card.value()) + "</b> <span>" + prose(card.beside()) + "</span></p>");
        }
        line("</div>");
        line("<p id=\"sure\"><b>How sure?</b> " + prose(answer.sure()) + "</p>");
        answer.words().forEach(word -> line(paragraph(word, "reason")));
        line("</header>");
    }

    /** A picture with its numbers in words below it; pictures that follow each other stand side by side. */
    private void figure(Plot plot) {
        if (!inFigures) {
            line("<p class=\"legend\"><span class=\"key baseline\">baseline</span>"
                    + "<span class=\"key pinned\">pinned</span></p>");
            line("<div class=\"figures\">");
            inFigures = true;
        }
        line("<figure><figcaption><b>" + escaped(plot.title()) + "</b></figcaption>"
                + (plot.isEmpty() ? "<p class=\"unknown\">unknown</p>" : Svg.of(plot)) + "<p class=\"note\">"
                + prose(plot.caption()) + "</p></figure>");
    }

    private void endFigures() {
        if (inFigures) {
            line("</div>");
            inFigures = false;
        }
    }

    private void intervals(Intervals intervals) {
        Scale scale = Scale.of(intervals);
        line("<div class=\"forest\">");
        intervals.changes().forEach(change -> change(change, scale));
        line("<div class=\"row scale\" aria-hidden=\"true\"><div></div><div class=\"track\">"
                + Svg.ticks(scale.least(), scale.most()).stream()
                        .map(scale::label)
                        .collect(Collectors.joining())
                + "</div><div></div></div></div>");
    }

    private void change(Change change, Scale scale) {
        line("<div class=\"row" + (change.main() ? " main" : "") + "\"><div class=\"name\"><b>" + escaped(change.name())
                + "</b><span>" + prose(change.what()) + "</span></div>");
        line("<div class=\"track\" aria-hidden=\"true\">" + scale.span("band", -scale.delta(), scale.delta())
                + scale.at("zero", 0)
                + change.ci95().map(ci -> scale.span("ci", ci.low(), ci.high())).orElse("")
                + (change.log().isPresent() ? scale.at("dot", change.log().getAsDouble()) : "") + "</div>");
        String number = Shown.change(change.log());
        String interval = change.ci95().map(Shown::interval).orElse("no interval") + change.beside();
        line("<div class=\"value\"><b>" + prose(change.word().orElse(number)) + "</b><span>"
                + prose(change.word().isPresent() ? number + ", " + interval : interval) + "</span></div></div>");
    }

    /** Places of percentages on an axis, as parts of its width. */
    private record Scale(double least, double most, double delta) {
        static Scale of(Intervals intervals) {
            double delta = intervals.delta();
            double[] ends = Stream.concat(
                            Stream.of(-delta, delta, 0.0),
                            intervals.changes().stream().flatMap(Scale::ends))
                    .mapToDouble(log -> Math.min(MOST_SHOWN, Shown.growth(log)))
                    .sorted()
                    .toArray();
            double room = (ends[ends.length - 1] - ends[0]) * ROOM;
            return new Scale(ends[0] - room, ends[ends.length - 1] + room, delta);
        }

        private static Stream<Double> ends(Change change) {
            return Stream.concat(
                    change.log().stream().boxed(),
                    change.ci95().stream().flatMap((Interval ci) -> Stream.of(ci.low(), ci.high())));
        }

        double place(double percent) {
            return 100 * (Math.clamp(percent, least, most) - least) / (most - least);
        }

        String span(String style, double low, double high) {
            double from = place(Shown.growth(low));
            return String.format(
                    Locale.ROOT,
                    "<i class=\"%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>",
                    style,
                    from,
                    place(Shown.growth(high)) - from);
        }

        String at(String style, double log) {
            return String.format(
                    Locale.ROOT, "<i class=\"%s\" style=\"left:%.2f%%\"></i>", style, place(Shown.growth(log)));
        }

        String label(double tick) {
            return String.format(
                    Locale.ROOT,
                    "<i class=\"label\" style=\"left:%.2f%%\">%s</i>",
                    place(tick),
                    Svg.number("%+.0f %%", tick));
        }
    }

    /** Returns as plain text what a server, a user or a journal wrote. */
    static String escaped(String text) {
        return text.replaceAll("[\\p{Cntrl}&&[^\n\t]]", "?")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /** Returns a sentence whose numbers keep their units beside them. */
    private static String prose(String sentence) {
        return escaped(Shown.typographic(sentence).replaceAll("(?<=\\d) (?=%|ms\\b)", "\u00a0"));
    }

    private static String style() {
        try (InputStream in = HtmlRenderer.class.getResourceAsStream("report.css")) {
            if (in == null) {
                throw new IllegalStateException("report.css is missing from the jar that HtmlRenderer came from.");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
