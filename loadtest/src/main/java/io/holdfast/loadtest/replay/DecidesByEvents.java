package io.holdfast.loadtest.replay;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.prefix.SharedPrefixes;
import io.holdfast.core.rank.HoldLimits;
import io.holdfast.core.rank.HoldPace;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPrefix;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import io.holdfast.loadtest.replay.ReplaySettings.Announced;
import io.holdfast.loadtest.replay.ReplaySettings.Form;
import io.holdfast.loadtest.replay.SteppedEngine.Served;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Decides by what an engine announces, with what a sidecar decides by. */
final class DecidesByEvents implements Decides, KvEventSink, TreeListener, RequestListener {
    /*
     * Stores and removals go through the codec, become blocks and requests again, and the same class as in a sidecar says
     * which prefixes to hold. What is not here: the hard guard and its reserve, which are of one engine's settings, and the
     * floor on saved milliseconds, which is of one engine's speed.
     */

    /** How long a hold lasts that is not used; a sidecar's default. */
    private static final Duration LEASE = Duration.ofMinutes(5);

    private static final long HEAT_HALVES_NANOS = 300_000_000_000L;
    private static final long[] NONE_BEFORE = {};

    private final int capacity;
    private final boolean paced;
    private final Lever lever;
    private final EngineBlocks tree;
    private final VisibleRequests requests;
    /** Knows where paths part. */
    private final SharedPrefixes shared;

    private final RankedPrefixes ranked;
    private final EventWire wire;
    private final HoldPace pace = new HoldPace();
    /** The paths that are held, by their last block. */
    private final Map<Long, int[]> held = new HashMap<>();

    private boolean open;
    private int gateChanges;
    private long operations;

    DecidesByEvents(Announced announced, RankSettings settings, int capacity, int blockTokens, Lever lever) {
        this.capacity = capacity;
        this.paced = announced.paced();
        this.lever = lever;
        boolean vllm = announced.form() == Form.VLLM;
        tree = new EngineBlocks(vllm ? CacheTraits.vllm() : CacheTraits.sglang(), this);
        requests = new VisibleRequests(vllm ? RequestRules.vllm() : RequestRules.sglang(), tree, this);
        shared = new SharedPrefixes(tree, new BlockTokens(), HEAT_HALVES_NANOS);
        ranked = new RankedPrefixes(
                settings, announced.paced() ? HoldLimits.ofCalls(LEASE) : HoldLimits.free(LEASE), tree);
        ranked.capacity(capacity);
        wire = new EventWire(announced.form().dialect, blockTokens, this);
    }

    @Override
    public void stored(int[] path, int from, int to, long nanos) {
        wire.stored(path, from, to);
    }

    @Override
    public void removed(int block, long nanos) {
        wire.removed(block);
    }

    @Override
    public void published(long nanos) {
        tree.now(nanos);
        shared.now(nanos);
        ranked.now(nanos);
        wire.publish(nanos);
    }

    @Override
    public void finished(Served request, int hint, long nanos) {
        if (hint != 0) {
            ranked.hint(
                    new Prefix() {
                        @Override
                        public int blocks() {
                            return request.stored;
                        }

                        @Override
                        public long block(int depth) {
                            return EventWire.hash(request.path[depth]);
                        }
                    },
                    hint == Replay.GOES_ON);
        }
    }

    @Override
    public void choose(int size, int running, long nanos) {
        ranked.now(nanos);
        if (ranked.tick(capacity, Math.max(0, capacity - running), NONE_BEFORE)) {
            gateChanges += ranked.evidence().open() == open ? 0 : 1;
            open = ranked.evidence().open();
            release();
        }
        pace.now(nanos, requests.seen());
        begin();
    }

    private void release() {
        Set<Long> chosen = ranked.chosen().stream().map(RankedPrefix::lastBlock).collect(Collectors.toSet());
        held.entrySet().removeIf(hold -> {
            if (chosen.contains(hold.getKey())) {
                return false;
            }
            operations++;
            for (int block : hold.getValue()) {
                lever.unpin(block);
            }
            return true;
        });
    }

    private void begin() {
        for (RankedPrefix prefix : ranked.chosen()) {
            if (paced && pace.mayBegin() < 1) {
                return;
            }
            if (!held.containsKey(prefix.lastBlock()) && tree.resident(prefix.lastBlock())) {
                int[] path = LongStream.of(tree.path(prefix.lastBlock()))
                        .mapToInt(EventWire::block)
                        .toArray();
                held.put(prefix.lastBlock(), path);
                pace.begun(1);
                operations++;
                for (int block : path) {
                    lever.pin(block);
                }
            }
        }
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public int gateChanges() {
        return gateChanges;
    }

    @Override
    public long operations() {
        return operations;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        tree.batchStarted(sequence, stampMicros);
        requests.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks stores) {
        tree.stored(stores);
        requests.stored(stores);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        tree.removed(hashes, from, to, tier, group);
        requests.removed(hashes, from, to, tier, group);
        ranked.removed(hashes, from, to);
    }

    @Override
    public void batchEnded() {
        tree.batchEnded();
        requests.batchEnded();
    }

    @Override
    public void prompt(VisibleRequest request, int before) {
        shared.prompt(request, before);
        ranked.prompt(request, before);
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
    public void cleared() {
        throw new IllegalStateException("Nobody empties this cache.");
    }

    @Override
    public void gap(Gap missing) {
        // To come late is no loss where the cache is empty.
    }

    @Override
    public void restarted(long seen) {
        throw new IllegalStateException("This engine does not restart.");
    }

    @Override
    public void insertionEnded(long lastBlock, int depth, boolean ended) {
        if (ended) {
            shared.insertionEnded(lastBlock);
        }
    }

    @Override
    public void parted(long above, long first) {
        shared.parted(above, first);
    }

    @Override
    public void pinnedBlockRemoved(long block) {
        // What is pinned is not noted in this tree.
    }
}
