package io.holdfast.loadtest.replay;

import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.RequestRules.Decoding;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Optional;
import java.util.OptionalLong;

/** The requests that the recorded events of one cache show, put together as beside a living engine. */
final class RecordedRequests implements KvEventSink, TreeListener, RequestListener {
    private static final long NONE_YET = -1;

    /** Who is told of them. */
    interface Listener {
        /** A request computed so many blocks of its prompt; more than once where it was cut. */
        void computes(VisibleRequest request, int computed, boolean first);

        /** A request is whole, with the blocks of its prompt. */
        void request(VisibleRequest request, long[] path);

        /** One of which the beginning is not recorded. */
        void headless();
    }

    private final Listener listener;
    private final UnstableHeads heads;
    private final EngineBlocks blocks;
    private final VisibleRequests requests;
    private final BlockTokens tokens = new BlockTokens();
    private final IdentityHashMap<VisibleRequest, long[]> paths = new IdentityHashMap<>();
    private final long afterMicros;
    private long lastMicros;
    private long expected = NONE_YET;

    /** @param afterMicros what was published up to then is known already: it tells what is cached, and of no request */
    RecordedRequests(RequestRules rules, long afterMicros, UnstableHeads heads, Listener listener) {
        this.listener = listener;
        this.heads = heads;
        this.afterMicros = afterMicros;
        this.lastMicros = afterMicros;
        // Who stores what was generated when a request ends is SGLang.
        blocks = new EngineBlocks(
                rules.decoding() == Decoding.AT_FINISH ? CacheTraits.sglang() : CacheTraits.vllm(), this);
        requests = new VisibleRequests(rules, blocks, this);
    }

    /** A batch with this number comes next: says what is missing before it. */
    void next(long sequence) {
        if (expected == NONE_YET && sequence > 0) {
            gap(new Gap(Gap.Cause.JOINED_LATE, 0, sequence));
        } else if (expected != NONE_YET && sequence > expected) {
            gap(new Gap(Gap.Cause.DROPPED, expected, sequence));
        } else if (sequence < expected) {
            restarted(sequence);
        }
        expected = sequence + 1;
    }

    void idle(OptionalLong count, OptionalLong promptTokens) {
        requests.idle(count, promptTokens);
    }

    /** Nothing more comes. */
    void end() {
        requests.flush();
    }

    /** When the last batch was made. */
    long lastMicros() {
        return lastMicros;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        lastMicros = Math.max(lastMicros, stampMicros);
        blocks.now(stampMicros * 1000);
        blocks.batchStarted(sequence, stampMicros);
        requests.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks stores) {
        blocks.stored(stores);
        if (blocks.lastStore().decides() && stores.tier() == Tier.GPU) {
            tokens.stored(stores);
        }
        requests.stored(stores);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        blocks.removed(hashes, from, to, tier, group);
        requests.removed(hashes, from, to, tier, group);
    }

    @Override
    public void cleared() {
        blocks.cleared();
        requests.cleared();
    }

    @Override
    public void batchEnded() {
        blocks.batchEnded();
        requests.batchEnded();
    }

    @Override
    public void gap(Gap gap) {
        blocks.gap(gap);
        requests.gap(gap);
    }

    @Override
    public void restarted(long seen) {
        blocks.restarted(seen);
        requests.restarted(seen);
    }

    @Override
    public void prompt(VisibleRequest request, int before) {
        if (request.firstMicros() <= afterMicros) {
            return;
        }
        int computed = before == 0 ? request.newBlocks() : request.promptBlocks() - before;
        listener.computes(request, computed, before == 0);
        heads.prompt(request, before, blocks, tokens);
        // Now, since its blocks may be gone when it is whole.
        long[] path = blocks.path(request.lastBlock());
        if (path.length > 0) {
            paths.put(request, path);
        }
    }

    @Override
    public void completed(VisibleRequest request) {
        Optional<long[]> path = Optional.ofNullable(paths.remove(request));
        if (path.isEmpty() && request.firstMicros() > afterMicros) {
            listener.headless();
        }
        path.filter(any -> request.promptBlocks() > 0)
                .ifPresent(all ->
                        listener.request(request, Arrays.copyOf(all, Math.min(all.length, request.promptBlocks()))));
    }

    @Override
    public void insertionEnded(long lastBlock, int depth, boolean ended) {}

    @Override
    public void parted(long above, long first) {}

    @Override
    public void pinnedBlockRemoved(long block) {}
}
