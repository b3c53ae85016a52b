package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.EngineUnderTest.Beside;
import io.holdfast.loadtest.workload.LoadRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Holds by use: what was used last is what an engine evicts last. Needs nothing of an engine but a cache of prefixes.
 *
 * <p>Both arms touch as often, at the same places of the load and with prompts of the same length; a baseline leg
 * touches a prefix that nobody probes. Its first touch stores that prefix, within the hold step, so from then on both
 * arms keep as many tokens in the cache.
 */
final class KeepWarm implements ArmSwitch {
    private final EngineUnderTest engine;
    private final int every;
    private final List<RequestRecord> sent = new ArrayList<>();
    private int page = 1;

    /** @param every requests of a flood that end from one touch to the next */
    KeepWarm(EngineUnderTest engine, int every) {
        if (every < 1) {
            throw new LoadTestException("A touch comes after at least 1 request of a flood, not after " + every + ".");
        }
        this.engine = engine;
        this.every = every;
    }

    @Override
    public String name() {
        return "a touch of the prefix after every " + (every == 1 ? "request" : every + " requests") + " of a flood";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        page = engine.facts().pageTokensOrUsual();
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        int blocks = prefixes.probed().length() / page;
        RequestRecord record = touch(prefixes.probed());
        return record.isOk()
                ? HoldReceipt.held("", blocks, blocks, (long) blocks * page, "the prefix is touched during floods")
                : HoldReceipt.notHeld("", blocks, record.problem());
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        RequestRecord record = touch(prefixes.unprobed());
        return record.isOk()
                ? HoldReceipt.sham("another prefix is touched during floods")
                : HoldReceipt.skipped(record.problem());
    }

    private RequestRecord touch(LoadRequest prefix) {
        RequestRecord record = engine.ask(prefix);
        sent.add(record);
        return record;
    }

    @Override
    public Optional<Beside> beside(Arm arm, Prefixes prefixes) {
        return Optional.of(new Beside(arm == Arm.PINNED ? prefixes.probed() : prefixes.unprobed(), every));
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        String nothing = "it is touched no more";
        return step.kind() == HoldReceipt.Kind.SHAM ? ReleaseReceipt.sham(nothing) : ReleaseReceipt.released(nothing);
    }

    @Override
    public List<RequestRecord> sent() {
        List<RequestRecord> since = List.copyOf(sent);
        sent.clear();
        return since;
    }

    @Override
    public void close() {}
}
