package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.workload.LoadRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Holds all that the load has sent more than a flood of, without choosing: the prefix and every text that began with
 * it, each by the engine's own means. What decides for itself has to be better than this.
 *
 * <p>One hold after the other in the way of the arm for a single prefix, so both arms send and call as often as each
 * other. What is pinned is sent before, since an early text may be gone. What does not fit is left out, which is a part
 * of holding without a choice.
 */
final class HoldEverything implements ArmSwitch {
    private final EngineUnderTest engine;
    private final long nonce;
    private final List<ArmSwitch> parts = new ArrayList<>();
    private final List<HoldReceipt> receipts = new ArrayList<>();
    private final List<RequestRecord> sent = new ArrayList<>();
    private boolean bySession;
    private long serial;

    HoldEverything(EngineUnderTest engine, long nonce) {
        this.engine = engine;
        this.nonce = nonce;
    }

    @Override
    public String name() {
        return "everything that was sent before, by the engine's own means";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public boolean learns() {
        return true;
    }

    @Override
    public void prepare() {
        Optional<String> noSessions = engine.holdRoutes().whyNoSessions();
        Optional<String> noPins = engine.holdRoutes().whyNoPins();
        bySession = noSessions.isEmpty();
        if (!bySession && noPins.isPresent()) {
            throw new LoadTestException(noSessions.get());
        }
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of("What a kill -9 leaves held stays until the cache is emptied, as a resumed run does first.");
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        int held = 0;
        int whole = 0;
        long tokens = 0;
        String reason = "";
        for (LoadRequest each : prefixes.all()) {
            sendBeforePin(each);
            HoldReceipt receipt = part().on(new Prefixes(each, prefixes.unprobed()), within);
            receipts.add(receipt);
            whole += receipt.isInFull() ? 1 : 0;
            held += receipt.heldBlocks();
            tokens += receipt.heldTokens();
            reason = receipt.isInFull() && !reason.isEmpty() ? reason : receipt.reason();
        }
        String told = "it holds " + whole + " of " + receipts.size() + " prefixes (" + reason + ")";
        return held > 0
                ? HoldReceipt.held("all", held, held, tokens, told)
                : HoldReceipt.notHeld("all", receipts.size(), told);
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        HoldReceipt last = HoldReceipt.skipped("nothing was sent");
        for (LoadRequest each : prefixes.all()) {
            sendBeforePin(each);
            last = part().off(new Prefixes(each, prefixes.unprobed()), within);
            receipts.add(last);
            if (last.kind() != HoldReceipt.Kind.SHAM) {
                break;
            }
        }
        return last;
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        ReleaseReceipt worst = ReleaseReceipt.skipped("nothing was held");
        boolean first = true;
        for (int i = 0; i < receipts.size(); i++) {
            if (receipts.get(i).kind() == HoldReceipt.Kind.NOT_HELD) {
                continue;
            }
            ReleaseReceipt each = parts.get(i).release(receipts.get(i));
            boolean good = each.kind() == ReleaseReceipt.Kind.RELEASED || each.kind() == ReleaseReceipt.Kind.SHAM;
            worst = first || !good ? each : worst;
            first = false;
        }
        receipts.clear();
        close();
        return worst;
    }

    @Override
    public List<RequestRecord> sent() {
        List<RequestRecord> since = new ArrayList<>(sent);
        sent.clear();
        parts.forEach(part -> since.addAll(part.sent()));
        return since;
    }

    private void sendBeforePin(LoadRequest prefix) {
        if (!bySession) {
            sent.add(engine.ask(prefix));
        }
    }

    @Override
    public void close() {
        parts.forEach(ArmSwitch::close);
        parts.clear();
    }

    /** The arm of one prefix. */
    private ArmSwitch part() {
        ArmSwitch part = bySession ? new SessionHold(engine, nonce + serial++) : new PinRoute(engine);
        part.prepare();
        parts.add(part);
        return part;
    }
}
