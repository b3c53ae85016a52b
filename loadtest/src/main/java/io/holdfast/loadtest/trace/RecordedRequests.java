package io.holdfast.loadtest.trace;

import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.requests.EventFollower;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Optional;
import java.util.OptionalLong;

/** The requests that the recorded events of one cache show, put together as beside a living engine. */
final class RecordedRequests implements EventFollower.Listener {
    private static final long NONE_YET = -1;

    /** Receiver of the requests. */
    interface Listener {
        /** A request computed so many blocks of its prompt; more than once where it was cut. */
        void computes(VisibleRequest request, int computed, boolean first);

        /** A request is whole, with the blocks of its prompt. */
        void request(VisibleRequest request, long[] path);

        /** A request came whose beginning is not recorded. */
        void headless();
    }

    private final Listener listener;
    private final UnstableHeads heads;
    private final EventFollower follower;
    private final BlockTokens tokens;
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
        follower = new EventFollower(rules, this);
        tokens = new BlockTokens(follower.blocks()::resident);
    }

    /** A batch with this number comes next: says what is missing before it. */
    void next(long sequence) {
        if (expected == NONE_YET && sequence > 0) {
            follower.gap(new Gap(Gap.Cause.JOINED_LATE, 0, sequence));
        } else if (expected != NONE_YET && sequence > expected) {
            follower.gap(new Gap(Gap.Cause.DROPPED, expected, sequence));
        } else if (sequence < expected) {
            follower.restarted(sequence);
        }
        expected = sequence + 1;
    }

    void idle(OptionalLong count, OptionalLong promptTokens) {
        follower.requests().idle(count, promptTokens);
    }

    /** Returns the receiver of the events. */
    KvEventSink sink() {
        return follower;
    }

    /** Ends the recording; nothing more comes. */
    void end() {
        follower.requests().flush();
    }

    /** Returns the time at which the last batch was made. */
    long lastMicros() {
        return lastMicros;
    }

    @Override
    public void batch(long stampMicros) {
        lastMicros = Math.max(lastMicros, stampMicros);
    }

    @Override
    public void stored(StoredBlocks stores) {
        if (follower.blocks().lastStore().decides() && stores.tier() == Tier.GPU) {
            tokens.stored(stores);
        }
    }

    @Override
    public void prompt(VisibleRequest request, int before) {
        if (request.firstMicros() <= afterMicros) {
            return;
        }
        int computed = before == 0 ? request.newBlocks() : request.promptBlocks() - before;
        EngineBlocks blocks = follower.blocks();
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
}
