package io.holdfast.loadtest.run;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Holds what an engine's events told it is in the cache, and nothing else, as a sidecar does. What was lost on the way it asks
 * for again, if it may.
 */
final class ToldByEvents extends OtherArms {
    private static final long REPLAY_NANOS = 5_000_000;

    private final VirtualEngine engine;
    private final boolean replays;
    private int asked;

    /** @param arms pins once it is known that there is something to be pinned */
    ToldByEvents(VirtualEngine engine, ArmSwitch arms, boolean replays) {
        super(arms);
        this.engine = engine;
        this.replays = replays;
    }

    /** How often something was missing. */
    int asked() {
        return asked;
    }

    @Override
    public String name() {
        return "pins of what events told";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        long[] names =
                SglangBlockNames.of(prefixes.probed().tokens(), engine.facts().pageTokensOrUsual());
        List<Long> wanted = Arrays.stream(names).boxed().toList();
        if (!inCache(engine.events().arrived()).containsAll(wanted)) {
            asked++;
            if (!replays) {
                return HoldReceipt.notHeld("", names.length, "no event told of it");
            }
            engine.time().sleep(REPLAY_NANOS);
            if (!inCache(engine.events().replayed()).containsAll(wanted)) {
                return HoldReceipt.notHeld("", names.length, "the engine does not have it");
            }
        }
        return arms.on(prefixes, within);
    }

    private static Set<Long> inCache(List<CacheEvent> events) {
        Set<Long> blocks = new HashSet<>();
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored ->
                    stored.blocks().stream().map(BlockName::hash).forEach(blocks::add);
                case CacheEvent.Removed removed ->
                    removed.blocks().stream().map(BlockName::hash).forEach(blocks::remove);
                case CacheEvent.Cleared cleared -> blocks.clear();
            }
        }
        return blocks;
    }
}
