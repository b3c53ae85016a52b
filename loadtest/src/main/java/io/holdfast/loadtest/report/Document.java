package io.holdfast.loadtest.report;

import io.holdfast.evidence.Interval;
import java.util.ArrayList;
import java.util.Collection;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A text for people as blocks, which {@link TerminalRenderer}, {@link MarkdownRenderer} and {@link HtmlRenderer} each
 * show in their own way. Texts are plain: a renderer escapes them, and numbers are written with an ordinary hyphen as
 * their minus.
 *
 * @param title of a page
 */
public record Document(String title, List<Block> blocks) {
    public Document {
        blocks = List.copyOf(blocks);
    }

    /** A part of a document. */
    public sealed interface Block {}

    /**
     * The beginning of a section.
     *
     * @param level 1 for the title of a text, 2 for its sections, 3 for sections of those
     */
    public record Heading(int level, String text) implements Block {}

    /** Weight of a paragraph among its neighbours. */
    public enum Voice {
        /** A line that stands out. */
        LEAD,
        /** A statement. */
        PLAIN,
        /** An explanation of what stands beside it. */
        NOTE
    }

    /**
     * Sentences.
     *
     * @param label a word or two that stand out before them; may be empty
     */
    public record Paragraph(Voice voice, String label, String text) implements Block {}

    /** Statements that stand below each other. */
    public record Items(List<Item> items) implements Block {
        public Items {
            items = List.copyOf(items);
        }
    }

    /**
     * One of several statements.
     *
     * @param label a word that stands out before it; may be empty
     * @param evidence what it rests on, for readers with room for it
     */
    public record Item(String label, String text, List<String> evidence) {
        public Item {
            evidence = List.copyOf(evidence);
        }

        /** A statement alone. */
        public static Item of(String text) {
            return new Item("", text, List.of());
        }
    }

    /** Names with their values. */
    public record Facts(List<Fact> facts) implements Block {
        public Facts {
            facts = List.copyOf(facts);
        }
    }

    /** A name with its value. */
    public record Fact(String name, String value) {}

    /**
     * A table, whose rows begin with their names.
     *
     * @param name tells a reader who does not see the table apart from the others; may be empty
     */
    public record Table(String name, List<String> heads, List<List<String>> rows) implements Block {
        public Table {
            heads = List.copyOf(heads);
            rows = rows.stream().map(List::copyOf).toList();
        }

        /** A table of the head and the rows below it. */
        public static Table of(String name, List<List<String>> headAndRows) {
            return new Table(name, headAndRows.getFirst(), headAndRows.subList(1, headAndRows.size()));
        }
    }

    /** Text whose lines stay as they are: commands, and what a program printed. */
    public record Preformatted(String text) implements Block {}

    /**
     * Changes with their intervals on one axis.
     *
     * @param delta log ratio from which a change matters
     */
    public record Intervals(List<Change> changes, double delta) implements Block {
        public Intervals {
            changes = List.copyOf(changes);
        }
    }

    /**
     * A change as a log ratio.
     *
     * @param word stands in place of the number where that would be taken for a small gain
     * @param log absent where it is unknown
     * @param beside what has to be read with the interval; may be empty
     * @param main whether it is the one to look at
     */
    public record Change(
            String name,
            String what,
            Optional<String> word,
            OptionalDouble log,
            Optional<Interval> ci95,
            String beside,
            boolean main) {}

    /**
     * A figure with its numbers in words, so that a reader who does not see it misses nothing. Without points it is said
     * to be unknown.
     */
    public record Plot(String title, String caption, Axis x, Axis y, List<Series> series) implements Block {
        public Plot {
            series = List.copyOf(series);
        }

        /** A figure without a caption of points over an axis that they span, from zero up. */
        public static Plot over(String xName, String yName, List<Series> series) {
            List<Point> all =
                    series.stream().flatMap(each -> each.points().stream()).toList();
            DoubleSummaryStatistics x = all.stream().mapToDouble(Point::x).summaryStatistics();
            double most = all.stream().mapToDouble(Point::y).max().orElse(1);
            return new Plot(
                    yName,
                    "",
                    Axis.linear(xName, all.isEmpty() ? 0 : x.getMin(), all.isEmpty() ? 1 : x.getMax(), "%.0f"),
                    Axis.linear(yName, 0, most, "%.0f"),
                    series);
        }

        boolean isEmpty() {
            return series.stream().allMatch(each -> each.points().isEmpty());
        }
    }

    /**
     * An axis of a figure.
     *
     * @param logarithmic whether equal distances are equal factors
     * @param format of its numbers, as {@code %.0f}; empty for an axis without numbers
     * @param labels names at places of the axis, in place of numbers
     */
    public record Axis(
            String name, double least, double most, boolean logarithmic, String format, Map<Double, String> labels) {
        public Axis {
            labels = Map.copyOf(labels);
        }

        /** An axis on which equal distances are equal differences. */
        public static Axis linear(String name, double least, double most, String format) {
            return new Axis(name, least, most > least ? most : least + 1, false, format, Map.of());
        }

        /** An axis on which equal distances are equal factors. */
        public static Axis logarithmic(String name, double least, double most, String format) {
            return new Axis(name, least, most > least ? most : least + 1, true, format, Map.of());
        }

        /** An axis from zero to a round number that is not below the most. */
        public static Axis upTo(String name, double most, String format) {
            List<Double> ticks = Svg.ticks(0, Math.max(most, 1));
            double step = ticks.get(1) - ticks.getFirst();
            return linear(name, 0, Math.ceil(Math.max(most, 1) / step) * step, format);
        }

        /** Place of a value between the ends of the axis, which are 0 and 1. */
        double place(double value) {
            return logarithmic
                    ? Math.log(Math.max(value, least) / least) / Math.log(most / least)
                    : (value - least) / (most - least);
        }
    }

    /** Form in which the points of a series are drawn. */
    public enum Shape {
        /** A mark each. */
        MARKS,
        /** A small mark each. */
        SMALL_MARKS,
        /** One line through all of them. */
        LINE,
        /** A line that goes to the right, then up. */
        STAIRCASE
    }

    /**
     * Points that belong together.
     *
     * @param name in the legend; empty where another series has the same
     * @param style by which a page colours them: {@code baseline} or {@code pinned}, and words that change that
     */
    public record Series(String name, String style, Shape shape, List<Point> points) {
        public Series {
            points = List.copyOf(points);
        }
    }

    /** A point with what it shows, in words. */
    public record Point(double x, double y, String label) {}

    /**
     * The answer above all else, with the numbers to take away.
     *
     * @param mood tone of the news, one of good, nothing, bad and open
     * @param cards the first is the largest
     * @param sure how sure the answer is
     * @param words what has to be read with it
     */
    public record Answer(
            String mood, String question, String text, List<Card> cards, String sure, List<Paragraph> words)
            implements Block {
        public Answer {
            cards = List.copyOf(cards);
            words = List.copyOf(words);
        }
    }

    /**
     * A number that a reader takes away, with what has to be read with it.
     *
     * @param value a number where it is an answer, and a word where a number would be taken for one
     * @param beside the interval, and what a number means
     */
    public record Card(String what, String value, String beside) {}

    /** Begins a document. */
    public static Builder titled(String title) {
        return new Builder(title);
    }

    /** A document under construction. */
    public static final class Builder {
        private final String title;
        private final List<Block> blocks = new ArrayList<>();

        private Builder(String title) {
            this.title = title;
        }

        /** Adds a block. */
        public Builder add(Block block) {
            blocks.add(block);
            return this;
        }

        /** Begins a section. */
        public Builder heading(int level, String text) {
            return add(new Heading(level, text));
        }

        /** Adds a line that stands out. */
        public Builder lead(String text) {
            return add(new Paragraph(Voice.LEAD, "", text));
        }

        /** Adds a paragraph. */
        public Builder say(String text) {
            return add(new Paragraph(Voice.PLAIN, "", text));
        }

        /** Adds a paragraph after a label that stands out. */
        public Builder say(String label, String text) {
            return add(new Paragraph(Voice.PLAIN, label, text));
        }

        /** Adds an explanation. */
        public Builder note(String text) {
            return add(new Paragraph(Voice.NOTE, "", text));
        }

        /** Adds statements, unless there are none. */
        public Builder items(Collection<String> texts) {
            return texts.isEmpty()
                    ? this
                    : add(new Items(texts.stream().map(Item::of).toList()));
        }

        /** Adds names with their values, unless there are none. */
        public Builder facts(List<Fact> facts) {
            return facts.isEmpty() ? this : add(new Facts(facts));
        }

        /** Adds a table. */
        public Builder table(String name, List<String> heads, List<List<String>> rows) {
            return add(new Table(name, heads, rows));
        }

        /** Adds text whose lines stay as they are. */
        public Builder pre(String text) {
            return add(new Preformatted(text));
        }

        /** Returns what was added so far. */
        public Document build() {
            return new Document(title, blocks);
        }
    }
}
