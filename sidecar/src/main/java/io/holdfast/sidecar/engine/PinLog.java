package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of one engine's pins: one line for each hold that was pinned, unpinned, refused, lost or is over, and none twice in a
 * row; and for whoever asks for it ({@code --log-level debug}), one for each call with its blocks and how long it took.
 */
final class PinLog {
    private static final Logger LOG = LoggerFactory.getLogger(PinLog.class);
    private static final int REMEMBERED = 2048;
    private static final String LOST = "lost ";

    private final String engineId;
    private final Ledger ledger;
    private final LongSupplier blockTokens;
    private final LongFunction<Optional<HoldView>> holds;
    private final EngineNews news;
    /** Holds by the kind of their last line: a pin that is tried again and again with the same result is one line. */
    private final Map<Long, String> lastLines = new LinkedHashMap<>();

    private Map<Long, Integer> losses = Map.of();

    /**
     * @param blockTokens tokens of a block, 0 while that is not known
     * @param holds the holds as they are now
     */
    PinLog(
            String engineId,
            Ledger ledger,
            LongSupplier blockTokens,
            LongFunction<Optional<HoldView>> holds,
            EngineNews news) {
        this.engineId = engineId;
        this.ledger = ledger;
        this.blockTokens = blockTokens;
        this.holds = holds;
        this.news = news;
    }

    void pin(Backend backend, PinCommand command, Outcome outcome, long tookNanos) {
        LOG.atDebug().log(() -> call(
                "pin",
                backend,
                "hold " + command.holdId() + ", " + size(command.blocks()) + " from "
                        + command.prefix().block(0) + " to " + command.lastBlock(),
                outcome,
                tookNanos));
        List<Entry> entries = entries(backend, backend.handle(command));
        if (entries.isEmpty()) {
            line("pin", command.holdId(), command.blocks(), outcome);
        } else {
            entries.forEach(entry -> line("pin", entry.holdId(), entry.blocks(), outcome));
        }
    }

    void unpin(Backend backend, String handle, Outcome outcome, long tookNanos) {
        LOG.atDebug().log(() -> call("unpin", backend, handle, outcome, tookNanos));
        entries(backend, handle).forEach(entry -> line("unpin", entry.holdId(), entry.blocks(), outcome));
    }

    private String call(String call, Backend backend, String what, Outcome outcome, long tookNanos) {
        return String.format(
                Locale.ROOT,
                "Engine %s: %s by %s of %s answered after %.1f ms: %s",
                engineId,
                call,
                backend.name(),
                what,
                tookNanos / 1e6,
                outcome.kind().name().toLowerCase(Locale.ROOT));
    }

    /** Tells of a hold that was turned away before any pin. */
    void refused(HoldView hold) {
        say(
                hold.id(),
                "refused",
                "hold " + hold.id() + " of " + size(hold.wantedBlocks()) + " is refused: " + hold.reason());
    }

    /** Tells which holds were lost since the last look, and which are over without a call that says so. */
    void look(List<HoldView> now) {
        Map<Long, Integer> lost = new HashMap<>();
        for (HoldView hold : now) {
            lost.put(hold.id(), hold.timesLost());
            int before = losses.getOrDefault(hold.id(), hold.state() == HoldState.LOST ? 0 : hold.timesLost());
            if (hold.timesLost() > before) {
                say(
                        hold.id(),
                        LOST + hold.timesLost(),
                        "hold " + hold.id() + ", " + size(hold.wantedBlocks()) + ", lost"
                                + (hold.timesLost() == 1 ? ": " : " for the " + hold.timesLost() + ". time: ")
                                + hold.reason());
            }
        }
        Map<Long, HoldView> living = now.stream()
                .filter(hold -> hold.state() != HoldState.RELEASED)
                .collect(Collectors.toMap(HoldView::id, hold -> hold));
        for (long over : losses.keySet()) {
            if (!living.containsKey(over) && begun(over) && !listed(over)) {
                String why = now.stream()
                        .filter(hold -> hold.id() == over)
                        .map(HoldView::reason)
                        .findFirst()
                        .orElse("nobody wants it any more");
                say(over, "over", "hold " + over + " is over: " + why);
            }
        }
        losses = lost;
    }

    /** Whether the last line on a hold leaves open how it ended. */
    private boolean begun(long holdId) {
        synchronized (lastLines) {
            String last = lastLines.getOrDefault(holdId, "");
            return last.startsWith("pin " + Outcome.Kind.ACCEPTED) || last.startsWith(LOST);
        }
    }

    private boolean listed(long holdId) {
        return ledger.outstanding().stream().anyMatch(entry -> entry.holdId() == holdId);
    }

    private List<Entry> entries(Backend backend, String handle) {
        return ledger.outstanding().stream()
                .filter(entry ->
                        entry.backend().equals(backend.name()) && entry.handle().equals(handle))
                .toList();
    }

    private void line(String call, long holdId, int blocks, Outcome outcome) {
        String why = holds.apply(holdId)
                .map(HoldView::reason)
                .filter(reason -> !reason.isEmpty())
                .map(reason -> " Hold: " + reason + ".")
                .orElse("");
        say(
                holdId,
                call + " " + outcome.kind() + " " + blocks,
                call + " of hold " + holdId + ", " + size(blocks) + ", "
                        + outcome.kind().name().toLowerCase(Locale.ROOT) + ": " + outcome.reason() + why);
    }

    private String size(int blocks) {
        long tokens = blocks * blockTokens.getAsLong();
        return blocks + " blocks" + (tokens > 0 ? ", " + tokens + " tokens" : "");
    }

    private void say(long holdId, String kind, String text) {
        synchronized (lastLines) {
            boolean again = kind.equals(lastLines.remove(holdId));
            lastLines.put(holdId, kind);
            if (lastLines.size() > REMEMBERED) {
                lastLines.remove(lastLines.keySet().iterator().next());
            }
            if (again) {
                return;
            }
        }
        news.say(text);
    }
}
