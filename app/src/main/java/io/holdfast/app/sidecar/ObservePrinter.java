package io.holdfast.app.sidecar;

import io.holdfast.app.cli.HeadFindings;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.report.Shown;
import io.holdfast.sidecar.look.FrameRecorder;
import io.holdfast.sidecar.look.Observation;
import io.holdfast.sidecar.look.Observation.SharedPrefix;
import io.holdfast.sidecar.view.Conditions;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** Output of {@code observe} on a terminal of 80 columns and 24 rows: a table that is drawn over and over. */
public final class ObservePrinter {
    private static final int WIDTH = 79;
    private static final int TERMINAL_ROWS = 7;
    private static final int ROWS = 20;
    private static final String CLEAR = "\u001b[H\u001b[2J";

    private static final Duration MOMENT = Duration.ofSeconds(1);

    private final PrintWriter out;
    private final Optional<Duration> most;

    ObservePrinter(PrintWriter out, Optional<Duration> most) {
        this.out = out;
        this.most = most;
    }

    void redraw(Observation seen) {
        out.print(CLEAR);
        table(seen, TERMINAL_ROWS).forEach(out::println);
        out.flush();
    }

    /** Prints the observation in one line, for a log. */
    void line(Observation seen) {
        out.println(cut(TimeSpan.shown(seen.elapsed()) + ": "
                + Shown.count(seen.requests().visible())
                + " requests; residence " + span(seen.residence()) + "; shared "
                + Shown.count(seen.sharing().found())
                + " found, " + Shown.count(seen.sharing().lost()) + " lost"
                + (seen.events().equals("connected") ? "" : "; " + seen.events())));
        out.flush();
    }

    void end(Observation seen, boolean terminal) {
        if (terminal) {
            out.print(CLEAR);
        }
        table(seen, terminal ? TERMINAL_ROWS : ROWS).forEach(out::println);
        TerminalText text = TerminalText.plain(out);
        text.blank();
        text.paragraph("", conclusion(seen));
        if (!seen.silent()) {
            text.blank();
            text.paragraph("", seen.conditions().advice());
            condition(text, "pressure", seen.conditions().pressure());
            condition(text, "models", seen.conditions().models());
            condition(text, "lengths", seen.conditions().lengths());
        }
        HeadFindings.of(seen).print(text);
        out.flush();
    }

    private static void condition(TerminalText text, String name, Conditions.Condition one) {
        text.paragraph(row(name, ""), one.answer().name().toLowerCase(Locale.ROOT) + ": " + one.why() + ".");
    }

    void recorded(String file, FrameRecorder recorder) {
        out.println(recorder.trouble()
                .orElseGet(() -> Shown.count(recorder.lines()) + " lines were appended to " + file + "."));
        out.flush();
    }

    private List<String> table(Observation seen, int rows) {
        List<String> lines = new ArrayList<>();
        lines.add(seen.engine());
        lines.add(row(
                "watched",
                watched(seen.elapsed(), most)
                        + (past(seen) ? "; with past events " + TimeSpan.shown(seen.span()) : "")));
        lines.add(row(
                "events",
                seen.events() + ", "
                        + (seen.requests().batches() == 1
                                ? "1 batch"
                                : Shown.count(seen.requests().batches()) + " batches")
                        + "; the view is "
                        + (seen.certain() ? "exact" : "not exact: " + seen.certainty())));
        lines.add(row(
                "load",
                "running " + number(seen.readings().running()) + ", waiting "
                        + number(seen.readings().waiting()) + ", "
                        + number(seen.readings().usedTokens()) + " of "
                        + number(seen.readings().capacityTokens()) + " tokens cannot be evicted"));
        lines.add(row("requests", requests(seen)));
        lines.add(row(
                "residence",
                seen.residence()
                        .map(time -> TimeSpan.shown(time) + " without a use, measured " + Shown.count(seen.removals())
                                + " times")
                        .orElse("unknown: no block was removed whose last use was seen as it happened")));
        lines.add(row(
                "reuse",
                seen.reuse()
                        .map(gap ->
                                TimeSpan.shown(gap) + " between two uses, one in ten over " + span(seen.longReuse()))
                        .orElse("unknown: no two uses of a prefix were seen as they happened")));
        lines.add(row("prefill", prefill(seen)));
        lines.add("");
        lines.addAll(prefixes(seen, rows));
        lines.add("");
        lines.add("In all " + Shown.count(seen.sharing().found()) + " found and "
                + Shown.count(seen.sharing().lost())
                + " lost; " + Shown.count(seen.sharing().storedAgainTokens()) + " tokens stored again"
                + (seen.sharing().seconds().isPresent()
                        ? ", " + seconds(seen.sharing().seconds()) + " of prefill"
                        : ""));
        if (!seen.heads().isEmpty()) {
            lines.add(HeadFindings.of(seen).line());
        }
        return lines.stream().map(ObservePrinter::cut).toList();
    }

    /** A look that took long, or a machine that slept, ends it later than was asked for. */
    public static String watched(Duration elapsed, Optional<Duration> most) {
        String shown = TimeSpan.shown(elapsed);
        return most.map(length -> elapsed.minus(length).compareTo(MOMENT) > 0
                        ? shown + ", longer than the requested " + TimeSpan.shown(length) + ""
                        : TimeSpan.shown(elapsed.compareTo(length) < 0 ? elapsed : length) + " of "
                                + TimeSpan.shown(length))
                .orElse(shown);
    }

    private static String requests(Observation seen) {
        String visible = Shown.count(seen.requests().visible()) + " seen";
        return seen.requests().counted() == 0
                ? visible + (seen.requests().visible() == 0 ? "" : "; not yet compared with what the engine counted")
                : visible + "; of " + Shown.count(seen.requests().counted()) + " that the engine counted "
                        + share(seen.requests().invisibleShare()) + " invisible; "
                        + share(seen.readings().cachedShare()) + " cached";
    }

    private static List<String> prefixes(Observation seen, int rows) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "%-16s %8s %6s %9s %7s %6s %7s %11s",
                "shared prefix",
                "tokens",
                "texts",
                "requests",
                "found",
                "lost",
                "now",
                "again"));
        if (seen.prefixes().isEmpty()) {
            lines.add("  none yet: two requests have to begin alike");
        }
        for (SharedPrefix each :
                seen.prefixes().subList(0, Math.min(rows, seen.prefixes().size()))) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%-16s %,8d %6d %,9d %,7d %,6d %7s %,11d",
                    each.id(),
                    each.tokens(),
                    each.continuations(),
                    each.requests(),
                    each.hits(),
                    each.losses(),
                    each.cached() ? "cached" : "gone",
                    each.storedAgainTokens()));
        }
        if (seen.prefixes().size() > rows) {
            lines.add("  and " + (seen.prefixes().size() - rows) + " more");
        }
        return lines;
    }

    private static String prefill(Observation seen) {
        OptionalDouble token = seen.prefill().secondsPerToken();
        return token.isEmpty()
                ? "unknown: " + seen.prefill().why().orElse("")
                : String.format(
                        Locale.ROOT,
                        "%.1f ms and %.1f us for each uncached token, by %d measurements",
                        seen.prefill().fixedSeconds().orElse(0) * 1e3,
                        token.getAsDouble() * 1e6,
                        seen.prefill().samples());
    }

    private static String conclusion(Observation seen) {
        if (seen.silent()) {
            return "No event came, so there is no result: send the engine requests while it is watched.";
        }
        if (seen.sharing().lost() == 0) {
            return seen.prefixes().isEmpty()
                    ? "No prefix was shared while it was watched, so there is nothing to hold."
                    : "No shared prefix was lost while it was watched: the cache keeps them without holds, and"
                            + " holding them would save nothing.";
        }
        if (seen.holding().prefixes() == 0) {
            return "The lost prefixes are shared by too few requests to be worth a hold.";
        }
        String saved = seen.holding().savedSeconds().isPresent()
                ? "up to " + seconds(seen.holding().savedSeconds()) + " of prefill"
                        + (seen.holding().spentSeconds().isPresent()
                                ? ", less " + seconds(seen.holding().spentSeconds())
                                        + " for the requests that keep them"
                                : "")
                : "the prefill of " + Shown.count(seen.sharing().storedAgainTokens()) + " tokens";
        int count = seen.holding().prefixes();
        String worth = count == 1 ? "1 prefix is worth a hold. " : count + " prefixes are worth a hold. ";
        String automatic = seen.holding()
                .noRoom()
                .map(why -> " Automatic holds would have no room for "
                        + (seen.holding().prefixes() == 1 ? "it" : "any of them") + " (" + why
                        + "), requested ones may.")
                .orElse("");
        return seen.holding().backend().equals("dry_run")
                ? worth + "Holding would have saved " + saved + ". "
                        + seen.holding().why()
                : worth + "The sidecar would hold with " + seen.holding().backend() + ", which would have saved "
                        + saved + ". " + seen.holding().why() + automatic;
    }

    private static boolean past(Observation seen) {
        return seen.span().compareTo(seen.elapsed().plusSeconds(5)) > 0;
    }

    private static String row(String name, String text) {
        return String.format(Locale.ROOT, "%-10s %s", name, text);
    }

    private static String cut(String line) {
        return line.length() <= WIDTH ? line : line.substring(0, WIDTH - 3) + "...";
    }

    private static String span(Optional<Duration> span) {
        return span.map(TimeSpan::shown).orElse("unknown");
    }

    private static String number(OptionalDouble value) {
        return Shown.number("%,.0f", value, "?");
    }

    private static String share(OptionalDouble share) {
        return share.isPresent() ? Shown.share(share.getAsDouble()) : "? %";
    }

    private static String seconds(OptionalDouble value) {
        return Shown.number(value.orElse(0) < 10 ? "%.2f s" : "%,.0f s", value, "unknown seconds");
    }
}
