package io.holdfast.loadtest.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.report.Document.Answer;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Card;
import io.holdfast.loadtest.report.Document.Change;
import io.holdfast.loadtest.report.Document.Fact;
import io.holdfast.loadtest.report.Document.Intervals;
import io.holdfast.loadtest.report.Document.Item;
import io.holdfast.loadtest.report.Document.Items;
import io.holdfast.loadtest.report.Document.Paragraph;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.loadtest.report.Document.Voice;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** One document with each kind of block, as each of the three renderers shows it. */
class DocumentTest {
    private static final Plot PLOT = new Plot(
            "Speed over servers",
            "1: 10 tok/s; 4: 30 tok/s.",
            Axis.linear("servers", 1, 4, "%.0f"),
            Axis.linear("tok/s", 0, 30, "%.0f"),
            List.of(new Series(
                    "baseline",
                    "baseline",
                    Shape.MARKS,
                    List.of(new Point(1, 10, "ten"), new Point(4, 30, "thirty")))));

    private static final Document ALL = Document.titled("a <title>")
            .add(new Answer(
                    "good",
                    "Did it help?",
                    "Yes.",
                    List.of(new Card("Effect", "-50.0 %", "of 10 ms")),
                    "Sure.",
                    List.of(new Paragraph(Voice.PLAIN, "REAL:", "a gain"))))
            .heading(2, "A section")
            .lead("It stands out.")
            .say("A sentence about -5 ms and a|bar, long enough to be broken between two words of a terminal's line.")
            .note("A note on snake_case and _not_ *this*.")
            .add(new Items(List.of(new Item("HIGH", "It failed.", List.of("leg 1")), Item.of("It is <odd>."))))
            .facts(List.of(new Fact("server", "here"), new Fact("seed", "42")))
            .table("Numbers", List.of("leg", "ms"), List.of(List.of("one", "1.5"), List.of("two", "-12.5")))
            .add(new Intervals(
                    List.of(
                            new Change(
                                    "naive",
                                    "in one order",
                                    Optional.empty(),
                                    OptionalDouble.empty(),
                                    Optional.empty(),
                                    "",
                                    false),
                            new Change(
                                    "effect",
                                    "in both",
                                    Optional.empty(),
                                    OptionalDouble.of(Math.log(0.5)),
                                    Optional.of(new Interval(Math.log(0.4), Math.log(0.6))),
                                    ", by both",
                                    true)),
                    0.02))
            .add(PLOT)
            .pre("holdfast --seed -1\n  and more")
            .build();

    @Test
    void terminal_wrapsAndAligns() {
        List<String> lines = TerminalRenderer.lines(ALL);
        assertThat(lines).allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(TerminalRenderer.COLUMNS));
        assertThat(lines)
                .containsSequence("Yes.", "  Effect: -50.0 % (of 10 ms)", "  Sure.", "  REAL: a gain", "", "A section")
                .containsSequence("---------", "It stands out.")
                .containsSequence("  HIGH: It failed.", "    It is <odd>.", "")
                .containsSequence("  server  here", "  seed    42")
                .containsSequence("  leg     ms", "  one    1.5", "  two  -12.5", "")
                .containsSequence(
                        "  naive            unknown   in one order",
                        "  effect           -50.0 %   95 % interval -60.0 to -40.0 %, by both")
                .contains("  holdfast --seed -1", "    and more");
        assertThat(lines).anyMatch(line -> line.startsWith("30 │") && line.endsWith("* thirty"));
    }

    @Test
    void markdown_escapesWhatItWasGiven_andHasTheFigureInWords() {
        assertThat(MarkdownRenderer.text(ALL))
                .startsWith(
                        "## Yes.\n\n**REAL:** a gain\n\n**How sure?** Sure.\n\n## A section\n\n**It stands out.**\n")
                .contains("about \u22125 ms and a\\|bar", "on snake_case and \\_not\\_ \\*this\\*.")
                .contains("\n* **HIGH** It failed. (leg 1)\n* It is \\<odd\\>.\n\n* server: here\n* seed: 42\n")
                .contains("\n| leg | ms |\n|---|---:|\n| one | 1.5 |\n| two | \u221212.5 |\n")
                .contains("| effect: in both | \u221250.0 % | \u221260.0 to \u221240.0 % |")
                .contains("| naive: in one order | unknown | none |")
                .contains("**Speed over servers.** 1: 10 tok/s; 4: 30 tok/s.")
                .endsWith("\n    holdfast --seed -1\n      and more\n");
    }

    @Test
    void page_isWhole_andEscapesWhatItWasGiven() {
        String page = HtmlRenderer.page(ALL);
        assertThat(page)
                .contains("<title>a &lt;title&gt;</title>", "<h1 id=\"verdict\">Yes.</h1>")
                .contains("<p class=\"card main\"><span>Effect</span> <b>\u221250.0\u00a0%</b>")
                .contains("<li><b class=\"high\">HIGH</b> It failed. <span>leg 1</span></li>", "It is &lt;odd&gt;.")
                .contains("<dt>seed</dt><dd>42</dd>", "<th scope=\"row\">two</th><td>\u221212.5</td>")
                .contains("class=\"row main\"", "<title>thirty</title>", "<pre>holdfast --seed -1\n  and more</pre>");
        assertThat(page.split("<section", -1)).hasSameSizeAs(page.split("</section>", -1));
        assertThat(page.split("<div", -1)).hasSameSizeAs(page.split("</div>", -1));
    }

    @Test
    void figureWithoutPoints_isUnknown() {
        Plot empty = new Plot("Nothing", "No number.", PLOT.x(), PLOT.y(), List.of());
        Document document = Document.titled("t").add(empty).build();
        assertThat(HtmlRenderer.page(document))
                .contains("<p class=\"unknown\">unknown</p>")
                .doesNotContain("<svg");
        assertThat(TerminalRenderer.lines(document)).containsExactly("  No number.");
    }
}
