package io.holdfast.workbench.replay;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.events.KvEventDecoder;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangStats;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * Plays a sidecar beside SGLang's rules: hears their events through the codec, decides, and pins or holds by sessions.
 */
final class RulesHolds implements RankByEvents.Lever {
    /*
     * Two levers
     * ----------
     * A pin names the last block of a path, which must have ended an insertion; a prefix at which requests part, and
     * none ended, is pinned by the shortest path over it, as a sidecar's plan does. Pins are hard: so all together
     * leave room for the largest request, and where one waits while nothing runs all of them go. The engine refuses a
     * block that it has no more. A session hold is a request for the path and one token, in a session of its own: it
     * takes the engine's time, computes what of the path was lost, and lasts until the session is closed. What sessions
     * refer to is evicted last, so that it needs no guard.
     *
     * What a request of our own stores is known by its path, and teaches nothing.
     */
    private final boolean sessions;
    private final int page;
    private final int guarded;
    private final RankByEvents rank;
    private final KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final StoredBlocks chain = new StoredBlocks();
    /** Keepers of prefixes by last block: the end of the pin, or the number of the session. */
    private final Map<Long, Long> open = new HashMap<>();
    /** Number of our own requests that have a block on their paths. */
    private final Map<Long, Integer> own = new HashMap<>();

    private Optional<SglangEngine> engine = Optional.empty();
    private long sequence;
    private long sessionNumbers;
    private long pinOperations;
    private int givenUp;
    private boolean someLost;
    private long openNanos;
    private long chosenNanos = Long.MIN_VALUE;
    private long nowNanos;

    /** @param guarded blocks that may be pinned beside the largest request */
    RulesHolds(Announced announced, RankSettings settings, int capacity, int page, int guarded) {
        sessions = announced.backend().filter(Lever.SESSION::equals).isPresent();
        this.page = page;
        this.guarded = sessions ? capacity : guarded;
        rank = new RankByEvents(announced, settings, capacity, this);
    }

    void use(SglangEngine rules) {
        engine = Optional.of(rules);
    }

    private SglangEngine engine() {
        return engine.orElseThrow();
    }

    void published(List<CacheEvent> events, long nanos) {
        nowNanos = nanos;
        rank.now(nanos);
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored -> encoder.stored(chain(stored));
                case CacheEvent.Removed removed -> {
                    long[] blocks =
                            removed.blocks().stream().mapToLong(BlockName::hash).toArray();
                    encoder.removed(blocks, 0, blocks.length, removed.tier(), 0);
                }
                case CacheEvent.Cleared _ -> encoder.cleared();
            }
        }
        if (!decoder.decode(encoder.finish(nanos / 1e9, 0), sequence++, rank.sink())) {
            throw new IllegalStateException("The rules' batch cannot be read: " + decoder.refusal());
        }
    }

    private StoredBlocks chain(CacheEvent.Stored stored) {
        chain.reset().blockTokens(stored.blockTokens()).in(stored.tier());
        stored.parent().ifPresent(parent -> chain.under(parent.hash()));
        stored.blocks().forEach(block -> chain.add(block.hash()));
        for (int at = 0; at < stored.tokens().size(); at++) {
            chain.addToken(stored.tokens().get(at));
        }
        return chain;
    }

    void hint(long[] path, boolean goesOn) {
        rank.hint(path, path.length, goesOn);
    }

    void choose(long nanos) {
        nowNanos = nanos;
        openNanos += rank.isOpen() ? nanos - chosenNanos : 0;
        chosenNanos = nanos;
        SglangStats stats = engine().stats();
        if (!sessions && stats.running() == 0 && stats.waiting() > 0) {
            giveUp(last -> true);
        } else if (someLost) {
            giveUp(last -> !rank.blocks().resident(last));
        }
        someLost = false;
        int used = (stats.capacityTokens() - stats.freeTokens() - stats.evictableTokens()) / page;
        int pinned = sessions ? 0 : rank.blocks().pinnedBlocks();
        rank.choose(guarded, Math.max(0, used - pinned), nanos);
    }

    private void giveUp(Predicate<Long> which) {
        for (long last : open.keySet().stream().filter(which).toList()) {
            letGo(last);
            rank.lost(last);
            givenUp++;
        }
    }

    @Override
    public void lost(long block) {
        someLost = true;
    }

    @Override
    public boolean mayEnd(long block) {
        return sessions || pinnedAt(block).isPresent();
    }

    private OptionalLong pinnedAt(long block) {
        return mayBePinned(block) ? OptionalLong.of(block) : rank.shortestPathOver(block, this::mayBePinned);
    }

    private boolean mayBePinned(long block) {
        return rank.blocks().endedInsertion(block) && !rank.blocks().ambiguous(block);
    }

    @Override
    public boolean needsTokens() {
        return sessions;
    }

    @Override
    public boolean isOwn(long lastBlock) {
        return own.containsKey(lastBlock);
    }

    @Override
    public boolean hold(long[] path) {
        long last = path[path.length - 1];
        return sessions ? refer(last, path) : pin(last);
    }

    private boolean pin(long last) {
        OptionalLong end = pinnedAt(last);
        if (end.isEmpty() || rank.blocks().pinned(end.getAsLong())) {
            return false;
        }
        int adds = rank.blocks().unpinnedBlocks(end.getAsLong());
        if (rank.blocks().pinnedBlocks() + adds > guarded
                || engine().pin(new long[] {end.getAsLong()}).count() == 0) {
            return false;
        }
        open.put(last, end.getAsLong());
        keep(end.getAsLong());
        return true;
    }

    private void keep(long end) {
        pinOperations += rank.blocks().unpinnedBlocks(end);
        rank.blocks().pinPath(end);
    }

    private boolean refer(long last, long[] path) {
        Optional<int[]> tokens = rank.tokens(path);
        tokens.ifPresent(prompt -> {
            open.put(last, ++sessionNumbers);
            keep(last);
            String session = session(sessionNumbers);
            for (long block : path) {
                own.merge(block, 1, Integer::sum);
            }
            engine().submit(new Generation(
                    prompt, RequestOptions.of(1).withSession(session), false, nowNanos, new TokenListener() {
                        @Override
                        public void token(int token, int count, int cachedTokens, boolean ended) {
                            // Its events come before its answer.
                            forget(path);
                        }

                        @Override
                        public void failed(String message) {
                            forget(path);
                        }
                    }));
        });
        return tokens.isPresent();
    }

    private void forget(long[] path) {
        for (long block : path) {
            own.computeIfPresent(block, (_, count) -> count == 1 ? null : count - 1);
        }
    }

    @Override
    public void letGo(long last) {
        long by = Objects.requireNonNull(open.remove(last));
        int before = rank.blocks().pinnedBlocks();
        rank.blocks().unpinPath(sessions ? last : by);
        pinOperations += before - rank.blocks().pinnedBlocks();
        if (sessions) {
            engine().closeSession(session(by));
        } else {
            engine().unpin(new long[] {by});
        }
    }

    private static String session(long number) {
        return "holdfast-" + number;
    }

    long pinOperations() {
        return pinOperations;
    }

    long holdOperations() {
        return rank.operations();
    }

    int givenUp() {
        return givenUp;
    }

    int refused() {
        return rank.refusals();
    }

    int gateChanges() {
        return rank.gateChanges();
    }

    double openShare(long span) {
        return span == 0 ? 0 : (double) openNanos / span;
    }
}
