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
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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
        List<String> lines = text.lines().toList();
        String name = file.toLowerCase(Locale.ROOT);
        boolean markdown = name.endsWith(".md")
                || name.endsWith(".markdown")
                || (!name.endsWith(".csv") && lines.stream().anyMatch(line -> isRule(line.strip())));
        return new Reader(file, lines).read(markdown);
    }

    private static boolean isRule(String line) {
        return line.contains("|") && line.contains("-") && RULE.matcher(line).matches();
    }

    private static final class Reader {
        private final String file;
        private final List<String> lines;
        private final List<TableText> tables = new ArrayList<>();
        private final List<Paragraph> prose = new ArrayList<>();
        private final List<String> torn = new ArrayList<>();
        private final List<String> headings = new ArrayList<>();
        private final List<Integer> depths = new ArrayList<>();
        private final List<String> before = new ArrayList<>();
        private final StringBuilder paragraph = new StringBuilder();

        Reader(String file, List<String> lines) {
            this.file = file;
            this.lines = lines;
        }

        Contents read(boolean markdown) {
            if (markdown) {
                markdown();
            } else {
                csv();
            }
            endParagraph();
            return new Contents(file, List.copyOf(tables), List.copyOf(prose), List.copyOf(torn));
        }

        private void markdown() {
            boolean code = false;
            for (int at = 0; at < lines.size(); at++) {
                String line = lines.get(at).strip();
                Matcher heading = HEADING.matcher(line);
                if (line.startsWith("```") || line.startsWith("~~~")) {
                    endParagraph();
                    code = !code;
                } else if (code) {
                    // What is shown in it is no table of this file.
                } else if (heading.matches()) {
                    heading(heading.group(1).length(), heading.group(2));
                } else if (line.contains("|")
                        && at + 1 < lines.size()
                        && isRule(lines.get(at + 1).strip())) {
                    at = markdownTable(at);
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

        private int markdownTable(int at) {
            List<String> header = cells(lines.get(at));
            List<List<String>> rows = new ArrayList<>();
            int last = at + 1;
            while (last + 1 < lines.size() && lines.get(last + 1).contains("|")) {
                last++;
                rows.add(cells(lines.get(last)));
            }
            table(at, at + 2, header, rows);
            return last;
        }

        private static List<String> cells(String line) {
            String inner = line.strip().replaceFirst("^\\|", "").replaceFirst("(?<!\\\\)\\|$", "");
            return CELL_BORDER
                    .splitAsStream(inner + " ")
                    .map(cell -> cell.replace("\\|", "|").strip())
                    .toList();
        }

        private void csv() {
            for (int at = 0; at < lines.size(); at++) {
                String line = lines.get(at).strip();
                if (line.startsWith("#")) {
                    endParagraph();
                    String text = line.replaceFirst("#+\\s*", "");
                    if (line.startsWith("##") || (headings.isEmpty() && !text.contains("=") && !text.contains(":"))) {
                        heading(Math.max(1, line.indexOf(' ')), text);
                    } else {
                        paragraph.append(text);
                    }
                } else if (!line.isEmpty()) {
                    int begin = at;
                    while (at + 1 < lines.size() && !lines.get(at + 1).isBlank()) {
                        at++;
                    }
                    csvTable(begin, at);
                }
            }
        }

        private void csvTable(int begin, int last) {
            List<List<String>> rows = new ArrayList<>();
            for (int at = begin; at <= last; at++) {
                CsvLine line = CsvLine.of(lines.get(at));
                if (line.isOpen()) {
                    endParagraph();
                    torn.add("Line " + (at + 1) + " opens a quote that does not end there; close it.");
                    return;
                }
                rows.add(line.fields());
            }
            table(begin, begin + 1, rows.getFirst(), rows.subList(1, rows.size()));
        }

        private void table(int at, int firstRow, List<String> header, List<List<String>> rows) {
            endParagraph();
            if (rows.isEmpty()) {
                torn.add("The table at line " + (at + 1) + " has no rows; fill it, or take it out.");
            }
            for (int row = 0; row < rows.size(); row++) {
                int has = rows.get(row).size();
                if (has != header.size()) {
                    torn.add("Line " + (firstRow + row + 1) + " has " + has + (has == 1 ? " cell" : " cells")
                            + ", where its table has " + header.size() + " columns; give every row a cell for each.");
                    before.clear();
                    return;
                }
            }
            if (!rows.isEmpty()) {
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
