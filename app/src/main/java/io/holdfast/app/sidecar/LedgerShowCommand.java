package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.sidecar.ledger.LedgerState;
import io.holdfast.sidecar.ledger.LedgerState.Pin;
import io.holdfast.sidecar.ledger.LedgerState.Use;
import io.holdfast.sidecar.ledger.StateDirectory;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows what ledgers list, whoever writes them. */
@Command(
        name = "show",
        description = {
            "Shows what each engine may have pinned, since when, by which backend, and who will release it. It"
                    + " only reads, and asks no engine.",
            "Exit code 0: shown, 2: there is no such ledger, or one that cannot be read."
        },
        sortOptions = false)
final class LedgerShowCommand implements Callable<Integer> {
    private static final int LONGEST_HANDLE = 48;
    private static final String ROW = "  %6s  %-13s %-8s %7s  %-12s %s";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private LedgerCommand.Which which = new LedgerCommand.Which();

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    LedgerShowCommand() {}

    @Override
    public Integer call() {
        StateDirectory directory = which.directory();
        List<LedgerState> ledgers =
                which.ids(directory).stream().map(directory::ledger).toList();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of(document(directory, ledgers)));
        } else {
            TerminalText text = TerminalText.plain(out);
            text.line(directory.path().toString());
            directory.usualPlace().ifPresent(why -> text.paragraph("", "(" + why + ")"));
            ledgers.forEach(ledger -> print(directory, ledger, text));
        }
        out.flush();
        return ExitCode.OK;
    }

    private static void print(StateDirectory directory, LedgerState ledger, TerminalText text) {
        text.blank();
        text.paragraph("", ledger.id() + ": " + whose(ledger));
        text.paragraph("  ", use(ledger.use()) + ".");
        if (!ledger.pins().isEmpty()) {
            text.line(ROW.formatted("hold", "backend", "state", "blocks", "for", "handle"));
            ledger.pins().forEach(pin -> print(pin, text));
        }
        text.paragraph("  ", totals(ledger.pins()));
        ledger.paused().ifPresent(why -> text.paragraph("  ", "Nothing is held: " + why + "."));
        if (!ledger.pins().isEmpty()) {
            text.paragraph("  ", next(directory, ledger));
        }
    }

    private static void print(Pin pin, TerminalText text) {
        text.line(ROW.formatted(pin.hold(), pin.backend(), pin.state(), pin.blocks(), age(pin.since()), shown(pin))
                .stripTrailing());
        if (!pin.note().isEmpty()) {
            text.paragraph("          ", pin.note() + ".");
        }
    }

    /** A handle may have all tokens of a prefix in it. */
    static String shown(Pin pin) {
        String handle = pin.handle();
        return handle.length() <= LONGEST_HANDLE ? handle : handle.substring(0, LONGEST_HANDLE - 1) + "…";
    }

    private static String age(Optional<Instant> since) {
        return since.map(instant -> Duration.between(instant, Instant.now()))
                .map(span -> span.isNegative() ? "the future" : TimeSpan.shown(Duration.ofSeconds(span.toSeconds())))
                .orElse("unknown");
    }

    private static String whose(LedgerState ledger) {
        return ledger.engine()
                .map(engine -> "the engine at " + engine.shown())
                .orElse("an engine that the ledger does not name");
    }

    private static String use(Use use) {
        return switch (use) {
            case Use.Nobody _ -> "No sidecar has it in use";
            case Use.Sidecar sidecar ->
                "In use by the sidecar"
                        + sidecar.api().map(api -> " at " + api).orElse(" that has not said where it serves");
        };
    }

    private static String totals(List<Pin> pins) {
        if (pins.isEmpty()) {
            return "Nothing is pinned.";
        }
        long handles = pins.stream()
                .map(pin -> pin.backend() + " " + pin.handle())
                .distinct()
                .count();
        String steps = counts(pins).entrySet().stream()
                .map(each -> each.getValue() + " " + each.getKey())
                .collect(Collectors.joining(", "));
        return handles + (handles == 1 ? " pin" : " pins") + " in " + pins.size()
                + (pins.size() == 1 ? " entry" : " entries") + " (" + steps + "), at most " + blocks(pins) + " blocks.";
    }

    private static Map<String, Long> counts(List<Pin> pins) {
        return pins.stream().collect(Collectors.groupingBy(pin -> pin.state(), TreeMap::new, Collectors.counting()));
    }

    private static long blocks(List<Pin> pins) {
        return pins.stream()
                .collect(Collectors.toMap(
                        pin -> pin.backend() + " " + pin.handle(), pin -> (long) pin.blocks(), Math::max))
                .values()
                .stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    /** Who lets go of it. */
    private static String next(StateDirectory directory, LedgerState ledger) {
        if (ledger.pins().stream().noneMatch(Pin::releasable)) {
            return "No call releases them: they end when the engine evicts them or empties its cache.";
        }
        if (ledger.use() instanceof Use.Sidecar) {
            return "That sidecar releases them; 'holdfast ledger release' asks it to do so now.";
        }
        if (directory.stray(ledger.id())) {
            return "The configuration has no engine " + ledger.id()
                    + ", so no start releases them; 'holdfast ledger release' does.";
        }
        if (ledger.configured().filter("dry_run"::equals).isPresent()) {
            return "The configuration names dry_run, which leaves them alone; 'holdfast ledger release' releases them.";
        }
        return "The next start releases them first, each by its own backend; 'holdfast ledger release' does so now.";
    }

    private static ObjectNode document(StateDirectory directory, List<LedgerState> ledgers) {
        ObjectNode root = JsonText.object();
        root.put("state", directory.path().toString());
        directory.usualPlace().ifPresent(why -> root.put("stateWhy", why));
        ArrayNode all = root.putArray("ledgers");
        for (LedgerState ledger : ledgers) {
            ObjectNode each = all.addObject()
                    .put("id", ledger.id())
                    .put("file", ledger.file().toString());
            ledger.engine().ifPresent(engine -> each.set("engine", engine(engine)));
            each.put("inUse", ledger.use() instanceof Use.Sidecar);
            if (ledger.use() instanceof Use.Sidecar sidecar) {
                sidecar.api().map(URI::toString).ifPresent(api -> each.put("sidecar", api));
            }
            ledger.configured().ifPresent(backend -> each.put("configuredBackend", backend));
            each.put("paused", ledger.paused().isPresent());
            ledger.paused().ifPresent(why -> each.put("pausedWhy", why));
            each.put("keptHolds", ledger.keptHolds());
            ArrayNode pins = each.putArray("pins");
            ledger.pins().forEach(pin -> pins.add(document(pin)));
            ObjectNode counts = each.putObject("counts");
            counts(ledger.pins()).forEach(counts::put);
            each.put("mostBlocks", blocks(ledger.pins()));
        }
        return root;
    }

    private static ObjectNode engine(LedgerState.Engine engine) {
        ObjectNode json = JsonText.object().put("address", engine.address()).put("resolved", engine.resolved());
        engine.model().ifPresent(model -> json.put("model", model));
        return json;
    }

    static ObjectNode document(Pin pin) {
        ObjectNode json = JsonText.object()
                .put("hold", Long.toString(pin.hold()))
                .put("origin", pin.origin())
                .put("backend", pin.backend())
                .put("handle", pin.handle())
                .put("state", pin.state())
                .put("blocks", pin.blocks());
        pin.since().ifPresent(since -> json.put("since", since.toString()));
        if (!pin.note().isEmpty()) {
            json.put("note", pin.note());
        }
        return json;
    }
}
