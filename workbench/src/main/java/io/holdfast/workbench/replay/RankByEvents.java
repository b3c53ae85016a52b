package io.holdfast.workbench.replay;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.prefix.SharedPrefixes;
import io.holdfast.core.rank.HoldLimits;
import io.holdfast.core.rank.HoldPace;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPrefix;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.requests.EventFollower;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/** Chooses by what an engine announces, with what a sidecar chooses by, and begins and ends holds by a lever. */
final class RankByEvents implements EventFollower.Listener {
    /*
     * Stores and removals become blocks and requests again, and the same class as in a sidecar says which prefixes to
     * hold. What is not here: the reserve of one engine's settings, and the floor on saved milliseconds, which is of
     * one engine's speed.
     */

    /** Time for which an unused hold lasts; a sidecar's default. */
    private static final Duration LEASE = Duration.ofMinutes(5);

    private static final long HEAT_HALVES_NANOS = 300_000_000_000L;
    private static final long[] NONE_BEFORE = {};

    /** Actions that an engine can be made to take. */
    interface Lever {
        /** Holds this path; returns true if it is held now. */
        boolean hold(long[] path);

        /** Ends the hold of the path with this last block. */
        void letGo(long lastBlock);

        /** Called when the engine removes this block although it was pinned. */
        default void lost(long block) {}

        /** Returns true if a hold may end at this block. */
        default boolean mayEnd(long block) {
            return true;
        }

        /** Returns true if it needs the tokens of what it is to hold. */
        default boolean needsTokens() {
            return false;
        }

        /** Returns true if a request that ends here is one of the lever's own, which must not teach. */
        default boolean isOwn(long lastBlock) {
            return false;
        }
    }

    private final int capacity;
    private final boolean paced;
    private final Lever lever;
    private final EventFollower follower;
    /** Knows where paths part. */
    private final SharedPrefixes shared;

    private final BlockTokens tokens;
    private final RankedPrefixes ranked;
    private final HoldPace pace = new HoldPace();
    /** Held prefixes, by their last blocks. */
    private final Set<Long> held = new LinkedHashSet<>();

    private boolean open;
    private int gateChanges;
    private long operations;
    private int refusals;

    RankByEvents(Announced announced, RankSettings settings, int capacity, Lever lever) {
        this.capacity = capacity;
        this.paced = announced.paced();
        this.lever = lever;
        follower = new EventFollower(announced.form() == Form.VLLM ? RequestRules.vllm() : RequestRules.sglang(), this);
        tokens = new BlockTokens(follower.blocks()::resident);
        shared = new SharedPrefixes(follower.blocks(), new BlockTokens(block -> false), HEAT_HALVES_NANOS);
        ranked = new RankedPrefixes(
                settings, announced.paced() ? HoldLimits.ofCalls(LEASE) : HoldLimits.free(LEASE), follower.blocks());
        ranked.capacity(capacity);
    }

    /** Returns the receiver of the events. */
    KvEventSink sink() {
        return follower;
    }

    EngineBlocks blocks() {
        return follower.blocks();
    }

    /** The tokens of a path that was stored, where all of them were told. */
    Optional<int[]> tokens(long[] path) {
        return tokens.of(prefix(path, path.length));
    }

    /** The last block of the shortest path over a prefix that requests share, of those at which a pin may end. */
    OptionalLong shortestPathOver(long last, LongPredicate mayEnd) {
        return shared.shortestPathOver(last, mayEnd);
    }

    /** Sets the time, before a batch that is published now. */
    void now(long nanos) {
        shared.now(nanos);
        ranked.now(nanos);
    }

    void hint(long[] path, int blocks, boolean goesOn) {
        ranked.hint(prefix(path, blocks), goesOn);
    }

    private static Prefix prefix(long[] path, int blocks) {
        return new Prefix() {
            @Override
            public int blocks() {
                return blocks;
            }

            @Override
            public long block(int depth) {
                return path[depth];
            }
        };
    }

    /**
     * Chooses anew where it is time to, and ends and begins holds.
     *
     * @param mayHold blocks
     * @param running blocks that running requests hold
     */
    void choose(int mayHold, int running, long nanos) {
        ranked.now(nanos);
        LongPredicate mayEnd = lever::mayEnd;
        if (ranked.tick(mayHold, Math.max(0, capacity - running), NONE_BEFORE, mayEnd)) {
            gateChanges += ranked.evidence().open() == open ? 0 : 1;
            open = ranked.evidence().open();
            release();
        }
        pace.now(nanos, follower.requests().seen());
        begin();
    }

    /** The engine gave this one up. */
    void lost(long lastBlock) {
        held.remove(lastBlock);
    }

    private void release() {
        Set<Long> chosen = ranked.chosen().stream().map(RankedPrefix::lastBlock).collect(Collectors.toSet());
        List<Long> over = held.stream().filter(hold -> !chosen.contains(hold)).toList();
        for (long hold : over) {
            held.remove(hold);
            operations++;
            lever.letGo(hold);
        }
    }

    private void begin() {
        for (RankedPrefix prefix : ranked.chosen()) {
            if (paced && pace.mayBegin() < 1) {
                return;
            }
            long last = prefix.lastBlock();
            if (!held.contains(last) && mayBegin(last)) {
                pace.begun(1);
                if (lever.hold(follower.blocks().path(last))) {
                    operations++;
                    held.add(last);
                } else {
                    refusals++;
                }
            }
        }
    }

    /** Returns true if it is there, no other hold keeps it, and the tokens to send are known. */
    private boolean mayBegin(long last) {
        EngineBlocks blocks = follower.blocks();
        return blocks.resident(last)
                && !blocks.pinned(last)
                && (!lever.needsTokens() || tokens.know(blocks.path(last)));
    }

    boolean isOpen() {
        return open;
    }

    int gateChanges() {
        return gateChanges;
    }

    /** Holds begun and ended. */
    long operations() {
        return operations;
    }

    /** Holds that the engine, or what guards it, did not let begin. */
    int refusals() {
        return refusals;
    }

    @Override
    public void stored(StoredBlocks stores) {
        if (lever.needsTokens() && follower.blocks().lastStore().decides()) {
            tokens.stored(stores);
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to) {
        ranked.removed(hashes, from, to);
    }

    @Override
    public void prompt(VisibleRequest request, int before) {
        if (!lever.isOwn(request.lastBlock())) {
            shared.prompt(request, before);
            ranked.prompt(request, before);
        }
    }

    @Override
    public void answered(VisibleRequest request) {
        ranked.answered(request);
    }

    @Override
    public void completed(VisibleRequest request) {
        ranked.completed(request);
    }

    @Override
    public void insertionEnded(long lastBlock, int depth, boolean ended) {
        if (ended) {
            shared.insertionEnded(lastBlock);
        }
    }

    @Override
    public void pinnedBlockRemoved(long block) {
        lever.lost(block);
    }

    @Override
    public void parted(long above, long first) {
        shared.parted(above, first);
    }
}
