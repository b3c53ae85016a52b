package io.holdfast.loadtest.run;

import io.holdfast.evidence.Design;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;

/**
 * Progress for people: on a terminal one line that is written over, elsewhere a line for each leg. At most 80 columns
 * and, on a terminal, ten updates a second.
 */
public final class TerminalProgress implements Progress {
    private static final int COLUMNS = 80;
    private static final long LEAST_NANOS = 100_000_000;

    private final PrintStream out;
    private final boolean terminal;
    private final LongSupplier nanos;
    private int lives;
    private boolean onlyControls;
    private int shown;
    private long lastUpdate;
    private boolean updatedBefore;

    public TerminalProgress(PrintStream out, boolean terminal, LongSupplier nanos) {
        this.out = out;
        this.terminal = terminal;
        this.nanos = nanos;
    }

    @Override
    public void on(Event event) {
        switch (event) {
            case RunStarted run ->
                line("%d %s%s, %d legs%s"
                        .formatted(
                                run.plan().livesAt(1),
                                run.plan().design() == Design.BLOCKS ? "blocks" : "pairs",
                                run.plan().looks().isEmpty() ? "" : " to the first look",
                                run.legs(),
                                run.left().map(left -> ", about " + clock(left)).orElse("")));
            case LifeStarted life -> {
                lives = life.lives();
                onlyControls = life.onlyControls();
            }
            case StepStarted step -> {
                if (terminal) {
                    update(step);
                }
            }
            case LegFinished finished -> {
                line(summary(finished));
            }
            case PairVoided pair ->
                wrapped((onlyControls ? "pair " : "life ") + pair.life() + "/" + lives + " runs again ("
                        + pair.repeats() + " of at most " + pair.most() + "): " + pair.reason());
            case Note note -> wrapped(note.sentence());
            case RunFinished run -> line(run.result().headline());
        }
    }

    private void update(StepStarted step) {
        long now = nanos.getAsLong();
        if (updatedBefore && now - lastUpdate < LEAST_NANOS) {
            return;
        }
        updatedBefore = true;
        lastUpdate = now;
        String leg = place(step.life(), step.position(), step.arm()) + ": "
                + step.step().name().toLowerCase(Locale.ROOT)
                + (step.cycle() > 0 ? " " + step.cycle() : "");
        String text = cut(leg, COLUMNS - 1);
        out.print("\r" + text + " ".repeat(Math.max(0, shown - text.length())));
        out.flush();
        shown = text.length();
    }

    private void line(String text) {
        if (shown > 0) {
            out.print("\r" + " ".repeat(shown) + "\r");
            shown = 0;
        }
        out.println(cut(text, COLUMNS));
        out.flush();
    }

    private void wrapped(String sentence) {
        StringBuilder row = new StringBuilder();
        for (String word : sentence.split(" ", -1)) {
            if (row.length() + 1 + word.length() > COLUMNS) {
                line(row.toString());
                row.setLength(0);
            }
            row.append(row.isEmpty() ? "" : " ").append(word);
        }
        line(row.toString());
    }

    private String summary(LegFinished finished) {
        LegRecord done = finished.leg();
        return place(done.life(), done.position(), done.arm())
                + number(": probe %.1f ms", finished.probeMillis(), ": no probe")
                + number(", %.0f cached", finished.cachedTokens(), ", cached unknown")
                + ", " + clock(finished.left()) + " left";
    }

    private String place(int life, int position, Arm arm) {
        if (onlyControls) {
            return (life == 0 ? "rehearsal" : "pair " + life + "/" + lives) + ", leg " + position;
        }
        return (life == 0 ? "rehearsal" : "life " + life + "/" + lives)
                + (position == 0 ? ", burn-in, " : ", leg " + position + ", ")
                + arm.name().toLowerCase(Locale.ROOT);
    }

    private static String number(String format, OptionalDouble value, String unknown) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : unknown;
    }

    private static String clock(Duration time) {
        long seconds = Math.max(0, time.toSeconds());
        return seconds < 3600
                ? "%d:%02d".formatted(seconds / 60, seconds % 60)
                : "%d:%02d:%02d".formatted(seconds / 3600, seconds / 60 % 60, seconds % 60);
    }

    private static String cut(String text, int columns) {
        return text.length() <= columns ? text : text.substring(0, columns);
    }
}
