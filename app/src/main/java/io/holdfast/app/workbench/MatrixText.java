package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.matrix.MatrixReport;
import io.holdfast.workbench.matrix.StaggeredReport;
import io.holdfast.workbench.matrix.SuiteState;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** What people read of a suite of legs that varies one thing at a time, on a terminal and in its report. */
final class MatrixText {
    private MatrixText() {}

    /** How far it is, and what is missing. */
    static void print(SuiteState state, PrintWriter out) {
        TerminalText text = TerminalText.plain(out);
        text.text(state.headline() + ".");
        if (state.missingLegs() > 0) {
            state.last().ifPresent(last -> text.text("The last leg that is over is " + last + "."));
            out.println(state.missingLegs() + " legs are missing:");
            state.missingLines().forEach(line -> text.text("  " + line));
        }
        out.flush();
    }

    /** What a matrix came to: how much of it counts, its table, what has to be looked into. */
    static void print(MatrixReport report, List<StaggeredReport> users, PrintWriter out) {
        print(report.state(), out);
        out.println();
        SuiteTable.print(report.table(), out);
        out.println("  Means of the passes that count; the passes themselves are in the files.");
        print(users, out);
        section("Failures by configuration, failed / passes:", report.failures(), out);
        section("Findings:", report.findings(), out);
        section("Notes:", report.notes(), out);
    }

    static void print(List<StaggeredReport> users, PrintWriter out) {
        for (StaggeredReport report : users) {
            out.println();
            SuiteTable.print(report.table(), out);
            report.says().forEach(sentence -> TerminalText.plain(out).text("  " + sentence));
        }
    }

    private static void section(String head, List<String> lines, PrintWriter out) {
        if (!lines.isEmpty()) {
            out.println();
            out.println(head);
            lines.forEach(line -> TerminalText.plain(out).text("  " + line));
        }
    }

    /** The same text as a file of Markdown, in which tables keep their columns. */
    static String report(String title, Consumer<PrintWriter> text) {
        StringWriter all = new StringWriter();
        PrintWriter out = new PrintWriter(all);
        text.accept(out);
        out.flush();
        return "# " + title + "\n\n```\n" + all + "```\n";
    }

    /** Writes what can be computed again. */
    static void write(Path file, String text) {
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be written: " + FileTrouble.why(e) + ".", e);
        }
    }
}
