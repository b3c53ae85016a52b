package io.holdfast.loadtest.testing;

import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Holds in a {@link StubEngine} and remembers what it was asked for, in order. */
public class StubHolder implements ArmSwitch {
    private final StubEngine engine;
    public final List<String> calls = new ArrayList<>();

    public StubHolder(StubEngine engine) {
        this.engine = engine;
    }

    @Override
    public String name() {
        return "stub";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        calls.add("prepare");
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        calls.add("follow");
        return new FlushReceipt("1", 1, flush.flush());
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        calls.add("on " + prefixes.probed().length());
        engine.held = true;
        return HoldReceipt.held("1", 4, 4, prefixes.probed().length(), "held");
    }

    @Override
    public ReleaseReceipt release(HoldReceipt hold) {
        if (hold.kind() == HoldReceipt.Kind.SHAM) {
            calls.add("sham release");
            return ReleaseReceipt.sham("seen");
        }
        calls.add("release " + hold.id());
        boolean stood = engine.held;
        engine.held = false;
        return stood ? ReleaseReceipt.released("done") : ReleaseReceipt.lost("gone");
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        calls.add("off");
        return HoldReceipt.sham("seen");
    }

    @Override
    public void close() {}
}
