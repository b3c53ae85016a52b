package io.holdfast.app.cli;

import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.TerminalRenderer;
import java.io.Console;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Plain text of 80 columns, with at most one live line at its end: written over on a terminal, and elsewhere printed once
 * in a while, so that nobody looks at an unchanging screen for long.
 */
public final class TerminalText {
    /** Width of whatever is printed for people. */
    public static final int COLUMNS = TerminalRenderer.COLUMNS;

    private static final int WIDTH = 78;
    private static final long QUIET_NANOS = 8_000_000_000L;

    private final PrintWriter out;
    private final boolean terminal;
    private final LongSupplier nanos;
    private int liveLength;
    private long lastLine;

    public TerminalText(PrintWriter out, boolean terminal, LongSupplier nanos) {
        this.out = out;
        this.terminal = terminal;
        this.nanos = nanos;
        this.lastLine = nanos.getAsLong();
    }

    /** Returns a text without live lines. */
    public static TerminalText plain(PrintWriter out) {
        return new TerminalText(out, false, () -> 0);
    }

    /** Returns true if a person sits at both ends of this process. */
    public static boolean onTerminal() {
        return Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
    }

    public void line(String text) {
        wipe();
        out.println(text);
        lastLine = nanos.getAsLong();
    }

    public void blank() {
        line("");
    }

    public void heading(String text) {
        blank();
        paragraph("", text);
        line("-".repeat(Math.min(WIDTH, text.length())));
    }

    /** Prints a paragraph; lines after the first are indented by the length of what the first begins with. */
    public void paragraph(String margin, String text) {
        TerminalRenderer.wrapped(margin, text).forEach(this::line);
    }

    /** Prints a document. */
    public void show(Document document) {
        TerminalRenderer.lines(document).forEach(this::line);
    }

    /** A text in lines of its own; those that are too wide are broken between words, below their own beginning. */
    public void text(String lines) {
        lines.lines().forEach(line -> {
            if (line.length() <= COLUMNS) {
                line(line);
            } else {
                paragraph(" ".repeat(line.length() - line.stripLeading().length()), line);
            }
        });
    }

    /** A line that the next one replaces. Where that does not work it stays, and comes after some quiet only. */
    public void live(String text) {
        String cut = text.length() > WIDTH ? text.substring(0, WIDTH) : text;
        if (terminal) {
            out.print("\r" + cut + " ".repeat(Math.max(0, liveLength - cut.length())));
            out.flush();
            liveLength = cut.length();
        } else if (nanos.getAsLong() - lastLine >= QUIET_NANOS) {
            line("  ... " + cut);
        }
    }

    private void wipe() {
        if (liveLength > 0) {
            out.print("\r" + " ".repeat(liveLength) + "\r");
            liveLength = 0;
        }
    }
}
