package io.holdfast.app;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Optional;

/** Plain text for a terminal of 80 columns, with at most one live line at its end. */
final class Page {
    private static final int WIDTH = 78;

    private final PrintWriter out;
    private final boolean terminal;
    private int liveLength;

    Page(PrintWriter out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    /** Whether both ends of this process are a person's. */
    static boolean onTerminal() {
        return Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
    }

    void line(String text) {
        wipe();
        out.println(text);
    }

    void blank() {
        line("");
    }

    void heading(String text) {
        blank();
        line(text);
        line("-".repeat(Math.min(WIDTH, text.length())));
    }

    /** A paragraph, broken between words, every line behind the same margin. */
    void paragraph(String margin, String text) {
        StringBuilder row = new StringBuilder(margin);
        boolean empty = true;
        for (String word : text.strip().split("\\s+", -1)) {
            if (!empty && row.length() + 1 + word.length() > WIDTH) {
                line(row.toString());
                row.setLength(0);
                row.append(margin);
                empty = true;
            }
            if (!empty) {
                row.append(' ');
            }
            row.append(word);
            empty = false;
        }
        line(row.toString());
    }

    /** A line that the next one replaces; shown only where that works. */
    void live(String text) {
        if (terminal) {
            String cut = text.length() > WIDTH ? text.substring(0, WIDTH) : text;
            out.print("\r" + cut + " ".repeat(Math.max(0, liveLength - cut.length())));
            out.flush();
            liveLength = cut.length();
        }
    }

    private void wipe() {
        if (liveLength > 0) {
            out.print("\r" + " ".repeat(liveLength) + "\r");
            liveLength = 0;
        }
    }
}
