package io.holdfast.loadtest.arm;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.PinCount;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds by the pin routes of SGLang's branches. The last block of what was sent is pinned, which locks it and all
 * before it; a baseline leg asks the same routes to pin, and to unpin, nothing.
 */
final class PinRoute implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(PinRoute.class);

    private final EngineUnderTest engine;
    private Optional<Long> pinned = Optional.empty();
    private int page = 1;

    PinRoute(EngineUnderTest engine) {
        this.engine = engine;
    }

    @Override
    public String name() {
        return "the engine's own pin route";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        engine.holdRoutes().whyNoPins().ifPresent(why -> {
            throw new LoadTestException(why);
        });
        page = engine.facts().pageTokensOrUsual();
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                "A pin that a kill -9 leaves behind stays until the cache is emptied, as a resumed run does first.");
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        long[] blocks = SglangBlockNames.of(prefixes.probed().tokens(), page);
        long deepest = blocks[blocks.length - 1];
        PinCount answer = engine.holdRoutes().pin(List.of(deepest));
        if (answer.blocks() < 1) {
            return HoldReceipt.notHeld("", blocks.length, answer.said());
        }
        pinned = Optional.of(deepest);
        return HoldReceipt.held(
                Long.toString(deepest), blocks.length, blocks.length, (long) blocks.length * page, answer.said());
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        return HoldReceipt.sham(engine.holdRoutes().pin(List.of()).said());
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        if (step.kind() == HoldReceipt.Kind.SHAM) {
            return ReleaseReceipt.sham(engine.holdRoutes().unpin(List.of()).said());
        }
        if (step.id().isEmpty()) {
            return ReleaseReceipt.skipped("there is no pin");
        }
        PinCount answer = engine.holdRoutes().unpin(List.of(Long.parseLong(step.id())));
        pinned = Optional.empty();
        return answer.blocks() >= 1 ? ReleaseReceipt.released(answer.said()) : ReleaseReceipt.broken(answer.said());
    }

    @Override
    public void close() {
        pinned.map(block -> engine.holdRoutes().unpin(List.of(block)))
                .filter(answer -> answer.blocks() < 1)
                .ifPresent(answer -> LOG.warn("The pin could not be taken off: {}", answer.said()));
        pinned = Optional.empty();
    }
}
