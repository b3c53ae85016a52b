package io.holdfast.sidecar;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of one engine's pins: one line for each hold that was pinned, unpinned or refused, and none twice in a row; and for
 * whoever asks for it ({@code --log-level debug}), one for each call with its blocks and how long it took.
 */
final class PinLog {
    private static final Logger LOG = LoggerFactory.getLogger(PinLog.class);
    private static final int REMEMBERED = 2048;

    private final String engineId;
    private final Ledger ledger;
    private final LongSupplier blockTokens;
    private final LongFunction<Optional<HoldView>> holds;
    /** A pin that is tried again and again with the same result is one line. */
    private final Map<String, String> lastLines = new LinkedHashMap<>();

    /**
     * @param blockTokens tokens of a block, 0 while that is not known
     * @param holds the holds as they are now
     */
    PinLog(String engineId, Ledger ledger, LongSupplier blockTokens, LongFunction<Optional<HoldView>> holds) {
        this.engineId = engineId;
        this.ledger = ledger;
        this.blockTokens = blockTokens;
        this.holds = holds;
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

    /** A hold that was turned away before any pin. */
    void refused(HoldView hold) {
        say(
                "refused " + hold.id(),
                "Engine " + engineId + ": hold " + hold.id() + " of " + size(hold.wantedBlocks()) + " is refused: "
                        + hold.reason());
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
                call + " " + holdId,
                "Engine " + engineId + ": " + call + " of hold " + holdId + ", " + size(blocks) + ", "
                        + outcome.kind().name().toLowerCase(Locale.ROOT) + ": " + outcome.reason() + why);
    }

    private String size(int blocks) {
        long tokens = blocks * blockTokens.getAsLong();
        return blocks + " blocks" + (tokens > 0 ? ", " + tokens + " tokens" : "");
    }

    private void say(String key, String text) {
        synchronized (lastLines) {
            if (text.equals(lastLines.remove(key))) {
                lastLines.put(key, text);
                return;
            }
            lastLines.put(key, text);
            if (lastLines.size() > REMEMBERED) {
                lastLines.remove(lastLines.keySet().iterator().next());
            }
        }
        LOG.info("{}", text);
    }
}
