package io.holdfast.loadtest.arm;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.PinCount;
import io.holdfast.loadtest.run.Listening;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds as the pin benchmark did: by the pin routes of SGLang's branches all blocks that the engine told of since its
 * cache was emptied, those of warm-ups' own texts and answers included. What it unpins is the very list that it pinned.
 */
final class PinTold implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(PinTold.class);

    private final EngineUnderTest engine;
    private Optional<Listening> listening = Optional.empty();
    private List<Long> pinned = List.of();
    private int page = 1;

    PinTold(EngineUnderTest engine) {
        this.engine = engine;
    }

    @Override
    public String name() {
        return "the engine's own pin route, for all blocks that its events tell of";
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
        if (listening.isEmpty()) {
            listening = engine.listen();
        }
        events();
    }

    private Listening events() {
        return listening.orElseThrow(
                () -> new LoadTestException("The engine tells nobody what happens to its cache, and this arm pins what"
                    + " it tells; start it with its KV events on, or write --hold pin-route, which knows the blocks of"
                    + " a prompt by its token ids."));
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                "Pins that a kill -9 leaves behind stay until the cache is emptied, as a resumed run does first.");
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        FlushReceipt receipt = ArmSwitch.super.follow(flush);
        events().clear();
        return receipt;
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        List<Long> told = told(within);
        Optional<String> doubt = events().problem();
        if (told.isEmpty() || doubt.isPresent()) {
            return HoldReceipt.notHeld("", told.size(), doubt.orElse("the engine told of no block"));
        }
        PinCount answer = engine.holdRoutes().pin(told);
        if (answer.blocks() < 1) {
            return HoldReceipt.notHeld("", told.size(), answer.said());
        }
        pinned = told;
        return HoldReceipt.held(
                Integer.toString(told.size()),
                told.size(),
                answer.blocks(),
                (long) answer.blocks() * page,
                told.size() + " blocks were told of, " + ofThePrompt(prefixes, told) + " of them the shared prompt's: "
                        + answer.said());
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        int told = told(within).size();
        return HoldReceipt.sham(told + " blocks were told of: "
                + engine.holdRoutes().pin(List.of()).said());
    }

    private List<Long> told(Duration within) {
        events().awaitQuiet(within.dividedBy(2));
        return events().gpuBlocks();
    }

    /** Counts the blocks that token ids name, where ids are sent; text has other tokens than we know. */
    private String ofThePrompt(Prefixes prefixes, List<Long> told) {
        Set<Long> there = new HashSet<>(told);
        long known = 0;
        for (long block : SglangBlockNames.of(prefixes.probed().tokens(), page)) {
            known += there.contains(block) ? 1 : 0;
        }
        return known == 0 ? "an unknown number" : Long.toString(known);
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        if (step.kind() == HoldReceipt.Kind.SHAM) {
            return ReleaseReceipt.sham(engine.holdRoutes().unpin(List.of()).said());
        }
        if (pinned.isEmpty()) {
            return ReleaseReceipt.skipped("there is no pin");
        }
        int wanted = step.heldBlocks();
        PinCount answer = engine.holdRoutes().unpin(pinned);
        pinned = List.of();
        return answer.blocks() >= wanted
                ? ReleaseReceipt.released(answer.said())
                : ReleaseReceipt.broken(
                        answer.blocks() + " of " + wanted + " pins were there to be taken off: " + answer.said());
    }

    @Override
    public void close() {
        try {
            if (!pinned.isEmpty() && engine.holdRoutes().unpin(pinned).blocks() < 1) {
                LOG.warn(
                        "The {} pins could not be taken off; the engine keeps them until its cache is emptied.",
                        pinned.size());
            }
        } finally {
            pinned = List.of();
            listening.ifPresent(Listening::close);
            listening = Optional.empty();
        }
    }
}
