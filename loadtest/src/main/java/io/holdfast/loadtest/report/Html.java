package io.holdfast.loadtest.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A page under construction that will need nothing else: its style stands inside it, and it has no script. */
final class Html {
    private final StringBuilder out = new StringBuilder(64_000);
    private int sections;

    /** The beginning of a page, up to where its text begins. */
    static Html page(String title) {
        Html page = new Html();
        page.line("<!doctype html>");
        page.line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
        page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        page.line("<meta name=\"color-scheme\" content=\"light dark\">");
        // A browser asks for an icon of its own accord, and this page asks for nothing.
        page.line("<link rel=\"icon\" href=\"data:,\">");
        page.line("<title>" + escaped(title) + "</title>");
        page.line("<style>" + style() + "</style></head><body><main>");
        return page;
    }

    /** Returns as plain text what a server, a user or a journal wrote. */
    static String escaped(String text) {
        return text.replaceAll("[\\p{Cntrl}&&[^\n\t]]", "?")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /**
     * A sentence, whose negative numbers get a minus as long as a plus, and whose numbers keep their units beside them.
     */
    static String prose(String sentence) {
        return escaped(
                sentence.replaceAll("(?<![\\w.])-(?=\\d)", "\u2212").replaceAll("(?<=\\d) (?=%|ms\\b)", "\u00a0"));
    }

    void line(String html) {
        out.append(html).append('\n');
    }

    /** Begins a section under a heading. */
    void section(String heading) {
        sections++;
        line("<section aria-labelledby=\"s" + sections + "\"><h2 id=\"s" + sections + "\">" + escaped(heading)
                + "</h2>");
    }

    void endSection() {
        line("</section>");
    }

    void note(String sentence) {
        line("<p class=\"note\">" + prose(sentence) + "</p>");
    }

    void list(List<String> sentences) {
        line("<ul>"
                + sentences.stream().map(each -> "<li>" + prose(each) + "</li>").collect(Collectors.joining("\n"))
                + "</ul>");
    }

    /** A table whose rows begin with their names; it scrolls on its own where a window is narrow. */
    void table(String name, List<String> heads, Stream<List<String>> rows) {
        line("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped(name) + "\"><table>");
        line("<thead><tr>"
                + heads.stream()
                        .map(head -> "<th scope=\"col\">" + escaped(head) + "</th>")
                        .collect(Collectors.joining())
                + "</tr></thead><tbody>");
        rows.forEach(row -> line("<tr><th scope=\"row\">" + prose(row.getFirst()) + "</th>"
                + row.stream()
                        .skip(1)
                        .map(cell -> "<td>" + prose(cell) + "</td>")
                        .collect(Collectors.joining())
                + "</tr>"));
        line("</tbody></table></div>");
    }

    /** A number to take away, with what has to be read with it. */
    void card(String style, PlainVerdict.Takeaway takeaway) {
        line("<p class=\"" + style + "\"><span>" + escaped(takeaway.what()) + "</span> <b>" + prose(takeaway.value())
                + "</b> <span>" + prose(takeaway.beside()) + "</span></p>");
    }

    /** A picture with its numbers in words below it. */
    void figure(String title, String caption, Optional<String> picture) {
        line("<figure><figcaption><b>" + escaped(title) + "</b></figcaption>"
                + picture.orElse("<p class=\"unknown\">unknown</p>") + "<p class=\"note\">" + prose(caption)
                + "</p></figure>");
    }

    /** Writes one of a list of facts, unless nothing is known about it. */
    void entry(String name, String value) {
        if (!value.isBlank()) {
            line("<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>");
        }
    }

    String end() {
        line("</main></body></html>");
        return out.toString();
    }

    private static String style() {
        try (InputStream in = Html.class.getResourceAsStream("report.css")) {
            if (in == null) {
                throw new IllegalStateException("report.css is missing from the jar that Html came from.");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
