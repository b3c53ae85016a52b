package io.holdfast.workbench.table;

import io.holdfast.loadtest.CsvLine;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A table as it stands in its file, before anybody asks what its columns mean.
 *
 * @param headings those that it stands under, the outermost first
 * @param before the paragraphs between the last heading or table and this one
 * @param line of its header, from 1
 */
record TableText(List<String> headings, List<String> before, int line, List<String> header, List<List<String>> rows) {
    private static final int MOST_BYTES = 16 << 20;
    private static final Pattern HEADING = Pattern.compile("(#{1,6})\\s+(.*?)\\s*#*");
    private static final Pattern RULE = Pattern.compile("\\|?\\s*:?-+:?\\s*(\\|\\s*:?-+:?\\s*)*\\|?");
    private static final Pattern CELL_BORDER = Pattern.compile("(?<!\\\\)\\|");
    private static final Pattern LIST_ITEM = Pattern.compile("([-*+]|\\d+[.)])\\s+.*");

    TableText {
        headings = List.copyOf(headings);
        before = List.copyOf(before);
        header = List.copyOf(header);
        rows = List.copyOf(rows);
    }

    /** A paragraph or an item of a list, and the headings that it stands under. */
    record Paragraph(List<String> headings, String text) {}

    /**
     * All that a file has.
     *
     * @param torn a sentence for each table whose rows do not fit its header
     */
    record Contents(String file, List<TableText> tables, List<Paragraph> prose, List<String> torn) {}

    /** Returns its heading, for people. */
    String name() {
        return headings.isEmpty() ? "table at line " + line : headings.getLast();
    }

    /** Returns the cells of a column. */
    List<String> column(int at) {
        return rows.stream().map(row -> Figure.plain(row.get(at))).toList();
    }

    /** Returns the rows in the order of these columns of words; absent where the table lacks one of them. */
    Optional<List<List<String>>> rows(List<String> columns) {
        List<String> names = header.stream()
                .map(name -> Figure.plain(name).toLowerCase(Locale.ROOT))
                .toList();
        return names.containsAll(columns)
                ? Optional.of(rows.stream()
                        .map(row -> columns.stream()
                                .map(name -> Figure.plain(row.get(names.indexOf(name))))
                                .toList())
                        .toList())
                : Optional.empty();
    }

    /** Reads the rows of all tables of a file that people write, in the order of these columns of words. */
    static List<List<String>> rows(Path file, List<String> columns) {
        Contents contents = read(file);
        contents.torn().stream().findFirst().ifPresent(sentence -> {
            throw new LoadTestException(file + ": " + sentence);
        });
        return contents.tables().stream()
                .flatMap(table -> table
                        .rows(columns)
                        .orElseThrow(() -> new LoadTestException("The table at line " + table.line + " of " + file
                                + " has no column '" + table.lacking(columns) + "'; its columns are "
                                + String.join(", ", columns) + "."))
                        .stream())
                .toList();
    }

    private String lacking(List<String> columns) {
        return columns.stream()
                .filter(name -> rows(List.of(name)).isEmpty())
                .findFirst()
                .orElseThrow();
    }

    /** Returns the parts of a cell that semicolons divide. */
    static List<String> parts(String cell) {
        return Stream.of(cell.split(";", -1))
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .toList();
    }

    /** Reads all tables of a file; a file without one is refused. */
    static Contents read(Path file) {
        String text;
        try {
            if (Files.size(file) > MOST_BYTES) {
                throw new LoadTestException("The file " + file + " is larger than 16 MiB; name one with tables alone.");
            }
            text = Files.readString(file);
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no file " + file + "; name one with tables, as CSV or Markdown.");
        } catch (CharacterCodingException e) {
            throw new LoadTestException("The file " + file + " is no text in UTF-8; save its tables as CSV.");
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be read (" + e.getMessage()
                    + "); name one with tables, as CSV or Markdown.");
        }
        Contents contents = of(file.toString(), text);
        if (contents.tables.isEmpty() && contents.torn.isEmpty()) {
            throw new LoadTestException(
                    "The file " + file + " has no table; write one in Markdown, or as lines of CSV below a header.");
        }
        return contents;
    }

    /** Parses a text that was read already. */
    static Contents of(String file, String text) {
        List<String> lines = text.lines().map(String::strip).toList();
        String name = file.toLowerCase(Locale.ROOT);
        Reader reader = new Reader(lines);
        if (name.endsWith(".md")
                || name.endsWith(".markdown")
                || (!name.endsWith(".csv") && lines.stream().anyMatch(TableText::isRule))) {
            reader.markdown();
        } else {
            reader.csv();
        }
        reader.endParagraph();
        return new Contents(file, List.copyOf(reader.tables), List.copyOf(reader.prose), List.copyOf(reader.torn));
    }

    private static boolean isRule(String line) {
        return line.contains("|") && line.contains("-") && RULE.matcher(line).matches();
    }

    private static final class Reader {
        private final List<String> lines;
        private final List<TableText> tables = new ArrayList<>();
        private final List<Paragraph> prose = new ArrayList<>();
        private final List<String> torn = new ArrayList<>();
        private final List<String> headings = new ArrayList<>();
        private final List<Integer> depths = new ArrayList<>();
        private final List<String> before = new ArrayList<>();
        private final StringBuilder paragraph = new StringBuilder();

        Reader(List<String> lines) {
            this.lines = lines;
        }

        private void markdown() {
            boolean code = false;
            for (int at = 0; at < lines.size(); at++) {
                String line = lines.get(at);
                Matcher heading = HEADING.matcher(line);
                if (line.startsWith("```") || line.startsWith("~~~")) {
                    endParagraph();
                    code = !code;
                } else if (code) {
                    // What is shown in it is no table of this file.
                } else if (heading.matches()) {
                    heading(heading.group(1).length(), heading.group(2));
                } else if (line.contains("|") && at + 1 < lines.size() && isRule(lines.get(at + 1))) {
                    int end = end(at + 2, row -> !row.contains("|"));
                    List<List<String>> rows = lines.subList(at + 2, end).stream()
                            .map(Reader::cells)
                            .toList();
                    table(at, at + 2, cells(line), rows);
                    at = end - 1;
                } else if (line.isEmpty()) {
                    endParagraph();
                } else {
                    if (LIST_ITEM.matcher(line).matches()) {
                        endParagraph();
                    }
                    paragraph.append(line).append(' ');
                }
            }
        }

        /** Returns the first line from here on that ends a table. */
        private int end(int from, Predicate<String> isNone) {
            int end = from;
            while (end < lines.size() && !isNone.test(lines.get(end))) {
                end++;
            }
            return end;
        }

        private static List<String> cells(String line) {
            String inner = line.replaceFirst("^\\|", "").replaceFirst("(?<!\\\\)\\|$", "");
            return CELL_BORDER
                    .splitAsStream(inner + " ")
                    .map(cell -> cell.replace("\\|", "|").strip())
                    .toList();
        }

        private void csv() {
            for (int at = 0; at < lines.size(); at++) {
                String line = lines.get(at);
                if (line.startsWith("#")) {
                    endParagraph();
                    String text = line.replaceFirst("#+\\s*", "");
                    if (line.startsWith("##") || (headings.isEmpty() && !text.contains("=") && !text.contains(":"))) {
                        heading(Math.max(1, line.indexOf(' ')), text);
                    } else {
                        paragraph.append(text);
                    }
                } else if (!line.isEmpty()) {
                    int end = end(at, String::isEmpty);
                    csvTable(
                            at, lines.subList(at, end).stream().map(CsvLine::of).toList());
                    at = end - 1;
                }
            }
        }

        private void csvTable(int at, List<CsvLine> all) {
            List<Boolean> open = all.stream().map(CsvLine::isOpen).toList();
            if (open.contains(true)) {
                endParagraph();
                torn.add("Line " + (at + open.indexOf(true) + 1) + " opens a quote that does not end there; close it.");
            } else {
                List<List<String>> rows = all.stream().map(CsvLine::fields).toList();
                table(at, at + 1, rows.getFirst(), rows.subList(1, rows.size()));
            }
        }

        private void table(int at, int firstRow, List<String> header, List<List<String>> rows) {
            endParagraph();
            List<Integer> sizes = rows.stream().map(List::size).toList();
            int odd =
                    (int) sizes.stream().takeWhile(has -> has == header.size()).count();
            if (rows.isEmpty()) {
                torn.add("The table at line " + (at + 1) + " has no rows; fill it, or take it out.");
            } else if (odd < rows.size()) {
                torn.add("Line " + (firstRow + odd + 1) + " has " + sizes.get(odd)
                        + (sizes.get(odd) == 1 ? " cell" : " cells") + ", where its table has " + header.size()
                        + " columns; give every row a cell for each.");
            } else {
                tables.add(new TableText(headings, before, at + 1, header, rows));
            }
            before.clear();
        }

        private void heading(int depth, String text) {
            endParagraph();
            before.clear();
            while (!depths.isEmpty() && depths.getLast() >= depth) {
                depths.removeLast();
                headings.removeLast();
            }
            depths.add(depth);
            headings.add(text);
        }

        private void endParagraph() {
            if (!paragraph.isEmpty()) {
                String text = paragraph.toString().strip();
                prose.add(new Paragraph(List.copyOf(headings), text));
                before.add(text);
                paragraph.setLength(0);
            }
        }
    }
}
