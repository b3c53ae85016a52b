package io.holdfast.emulator;

import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.FaultCatalogue;
import io.holdfast.rules.fault.FaultKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Acts that happen to a server while it serves, and their times: a rehearsal that plays the same way each time.
 *
 * <p>One line for each act, in any order of time: {@code at SECONDS begin FAULT}, {@code at SECONDS end NAME},
 * {@code at SECONDS restart}. Seconds count from the start and are emulated ones: twice the speed is half the wait.
 * Empty lines and what follows a {@code #} say nothing.
 */
public record Script(List<Act> acts) {
    public static final Script NONE = new Script(List.of());

    private static final Pattern LINE = Pattern.compile("at\\s+(\\d{1,7}(?:\\.\\d{1,3})?)\\s+(\\S+)(?:\\s+(\\S+))?");

    /** One line of it. */
    public record Act(Duration at, Deed deed) {}

    /** Deed of an act. */
    public sealed interface Deed {
        record Begin(Fault fault) implements Deed {}

        record End(FaultKind kind) implements Deed {}

        /** The server dies and comes back on its ports. */
        record Restart() implements Deed {}
    }

    public Script {
        acts = List.copyOf(acts);
    }

    /**
     * Reads a script.
     *
     * @throws IllegalArgumentException with one sentence that names the line
     */
    public static Script parse(List<String> lines) {
        List<Act> acts = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).replaceFirst("#.*", "").strip();
            if (!line.isEmpty()) {
                try {
                    acts.add(act(line));
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException("Line " + (i + 1) + " of the script: " + e.getMessage(), e);
                }
            }
        }
        return new Script(acts);
    }

    private static Act act(String line) {
        Matcher parts = LINE.matcher(line);
        if (!parts.matches()) {
            throw new IllegalArgumentException("\"" + line
                    + "\" is none of \"at SECONDS begin FAULT\", \"at SECONDS end NAME\" and \"at SECONDS restart\".");
        }
        Duration at = Duration.ofMillis(Math.round(Double.parseDouble(parts.group(1)) * 1e3));
        String what = parts.group(3);
        return new Act(
                at,
                switch (parts.group(2)) {
                    case "begin" -> new Deed.Begin(Fault.parse(required(what, "begin wants a fault")));
                    case "end" -> new Deed.End(FaultCatalogue.kind(required(what, "end wants the name of a fault")));
                    case "restart" -> {
                        if (what != null) {
                            throw new IllegalArgumentException("restart stands alone, without \"" + what + "\".");
                        }
                        yield new Deed.Restart();
                    }
                    default ->
                        throw new IllegalArgumentException(
                                "\"" + parts.group(2) + "\" is none of begin, end and restart.");
                });
    }

    private static String required(@Nullable String what, String otherwise) {
        if (what == null) {
            throw new IllegalArgumentException(otherwise + "; --list-faults shows them all.");
        }
        return what;
    }
}
