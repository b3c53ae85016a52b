package io.holdfast.core;

import io.holdfast.core.budget.PromptSizes;
import io.holdfast.core.budget.RecentPeak;
import io.holdfast.core.cost.CostSampler;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.example.Examples;
import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.core.prefix.SharedPrefixes;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.rank.ReleaseShadow;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.InvisibleShare;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.RouterTouches;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import io.holdfast.core.reuse.Durations;
import io.holdfast.core.reuse.ReuseTimes;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;

/** Learns from one engine's events: its blocks, its requests, and what is worth a decision. */
final class EngineObserver implements KvEventSink, TreeListener, RequestListener {
    /** Delay after which everything has arrived that an engine which runs nothing has to report. */
    private static final long SETTLE_NANOS = 100_000_000;

    /** An engine repeats what it remembers at once: whose stamps stay behind for longer had its clock set back. */
    private static final long CATCHING_UP_NANOS = 60_000_000_000L;

    private static final long HEAT_HALVES_NANOS = 300_000_000_000L;

    private final EngineBlocks tree;
    private final VisibleRequests requests;
    private final RouterTouches touches;
    private final SharedPrefixes prefixes;
    private final BlockTokens tokens;
    private boolean keepsTokens;
    private final InvisibleShare invisible = new InvisibleShare();
    private final PromptSizes prompts = new PromptSizes();
    private final PromptSizes answers = new PromptSizes();
    private final RecentPeak atOnce = new RecentPeak();
    private final Examples examples;
    private final ReuseTimes times;
    private final CostSampler costs;
    private final Predicate<VisibleRequest> own;
    private final HeldUse heldUse;
    private final ReleaseShadow released;
    private final Runnable onEmptied;
    /** Present where anything is held by its rank. */
    private Optional<RankedPrefixes> ranked = Optional.empty();
    /** Present where unstable heads are looked for. */
    private Optional<UnstableHeads> heads = Optional.empty();

    private long nowNanos;
    private long batchNanos;
    /** The stamp of the last batch that was learned from, by an earlier process while {@link #catchingUp}. */
    private long learnedUntilMicros;

    private boolean catchingUp;
    private long firstBatchNanos;
    private Reading invisibleShare = Reading.unknown("the engine was not asked yet how many requests it served");
    private long incarnation = 1;
    private boolean justRestarted;
    private int blockTokens;
    private final Set<Long> pinnedRemoved = new HashSet<>();
    private long batches;
    private long storedBlocks;
    private long allocated;
    private long removedBlocks;
    private long removedUnknown;
    private long clears;
    private long gaps;
    private long lostBatches;
    private long restarts;

    /**
     * Creates the observer of one cache.
     *
     * @param own knows requests that we sent ourselves, which teach nothing
     * @param heldUse counts prompts of users
     * @param keepsTokens whether anybody may want to send what is in the cache
     * @param memory budget of what is remembered beside the cache
     * @param onEmptied called when the engine's cache was emptied, before the tree is
     */
    EngineObserver(
            RequestRules rules,
            Predicate<VisibleRequest> own,
            HeldUse heldUse,
            boolean keepsTokens,
            MemoryBudget memory,
            Runnable onEmptied) {
        this.keepsTokens = keepsTokens;
        // Who stores what was generated when a request ends is SGLang.
        this.tree = new EngineBlocks(
                rules.decoding() == RequestRules.Decoding.AT_FINISH ? CacheTraits.sglang() : CacheTraits.vllm(),
                this,
                memory);
        this.tokens = new BlockTokens(tree);
        this.prefixes = new SharedPrefixes(tree, tokens, HEAT_HALVES_NANOS);
        this.requests = new VisibleRequests(rules, tree, this);
        this.touches = new RouterTouches(tree, this::used);
        this.examples = new Examples(tree);
        this.times = new ReuseTimes(tree);
        this.released = new ReleaseShadow(tree, rules.decoding() != RequestRules.Decoding.AT_FINISH);
        this.costs = new CostSampler(rules.decoding() == RequestRules.Decoding.AT_FINISH);
        this.own = own;
        this.heldUse = heldUse;
        this.onEmptied = onEmptied;
    }

    /** The time that the next events happen at. */
    void now(long nanos) {
        nowNanos = nanos;
        tree.now(nanos);
        prefixes.now(nanos);
        examples.now(nanos, blockTokens);
        times.now(nanos);
        ranked.ifPresent(prefixes -> prefixes.now(nanos));
        touches.now(nanos);
        released.now(nanos);
    }

    /** Returns what others found because of what was given back. */
    ReleaseShadow released() {
        return released;
    }

    EngineBlocks tree() {
        return tree;
    }

    /** Returns what routers tell of requests, beside what events show of them. */
    RouterTouches touches() {
        return touches;
    }

    private void used(long lastBlock, long nanos) {
        if (tree.resident(lastBlock)) {
            times.using(lastBlock, nanos);
            tree.touched(lastBlock, nanos);
            prefixes.used(lastBlock, nanos);
            ranked.ifPresent(rank -> rank.used(lastBlock, blockTokens));
            released.used(lastBlock, blockTokens);
        }
    }

    /** Learns from now on what to hold by its rank. */
    RankedPrefixes rank(RankSettings settings, Duration lease) {
        RankedPrefixes prefixes = new RankedPrefixes(settings, lease, tree);
        prefixes.now(nowNanos);
        ranked = Optional.of(prefixes);
        return prefixes;
    }

    /** Returns what is learned of holding by rank; absent where nothing is. */
    Optional<RankedPrefixes> ranked() {
        return ranked;
    }

    /** Tells this of prompts from now on, which takes their tokens. */
    void watch(UnstableHeads unstable) {
        keepsTokens = true;
        heads = Optional.of(unstable);
    }

    /**
     * Readings whose times are this much later than ours.
     *
     * @param others the caches of the engine's other ranks, whose requests are in the same numbers
     */
    void readings(EngineReadings readings, long originNanos, List<EngineObserver> others) {
        if (readings.runningRequests() instanceof Reading.Known running
                && running.value() == 0
                && readings.waitingRequests().number().orElse(1) == 0
                && settled(running.atNanos() - originNanos)
                && others.stream().allMatch(other -> other.settled(running.atNanos() - originNanos))) {
            // Of several caches nobody knows whose request a number counts.
            requests.idle(
                    others.isEmpty() ? whole(readings.ttftCount()) : OptionalLong.empty(),
                    others.isEmpty() ? whole(readings.promptTokens()) : OptionalLong.empty());
            others.forEach(other -> other.requests.idle(OptionalLong.empty(), OptionalLong.empty()));
        }
        if (others.isEmpty()) {
            costs.reading(readings, originNanos);
        }
        EngineReadings here = others.isEmpty() ? readings : readings.ofRank(0);
        atOnce.look(
                here.runningRequests().number().orElse(0)
                        + here.waitingRequests().number().orElse(0),
                nowNanos);
        switch (readings.ttftCount()) {
            case Reading.Unknown unknown -> invisibleShare = unknown;
            case Reading.Known count -> {
                long seen = requests.seen() + touches.unseen();
                for (EngineObserver other : others) {
                    seen += other.requests.seen();
                }
                invisible.counted(
                        Math.round(count.value()),
                        seen,
                        readings.runningRequests().number().orElse(0),
                        nowNanos);
                OptionalDouble share = invisible.share();
                invisibleShare = share.isPresent()
                        ? Reading.known(share.getAsDouble(), "KV events against " + count.source(), count.atNanos())
                        : Reading.unknown("the engine served no request since its requests and events are compared");
            }
        }
    }

    private boolean settled(long nanos) {
        return nanos >= batchNanos + SETTLE_NANOS;
    }

    /** The share of the engine's requests that neither its events nor routers show. */
    Reading invisibleShare() {
        return invisibleShare;
    }

    /** Returns the share of the last ten to twenty minutes. */
    OptionalDouble recentlyInvisible() {
        return invisibleShare.number().isPresent() ? invisible.recentShare() : OptionalDouble.empty();
    }

    /** Returns by how much that share may be off. */
    double recentDoubt() {
        return invisible.recentDoubt();
    }

    /**
     * Returns the least share of the engine's last requests that shows in no event; 1 where the engine does not count
     * them.
     */
    double surelyInvisible() {
        OptionalDouble share = recentlyInvisible();
        return share.isPresent() ? Math.max(0, share.getAsDouble() - recentDoubt()) : 1;
    }

    PromptSizes.Facts prompts() {
        return prompts.facts(nowNanos);
    }

    /** Lengths of the answers that the engine stored, in full blocks and one more. */
    PromptSizes.Facts answers() {
        return answers.facts(nowNanos);
    }

    /** Returns the measured cost of prefill on this engine. */
    PrefillCost prefill() {
        return costs.cost();
    }

    /** Returns how long blocks stay that nobody touches. */
    Durations residence() {
        return times.residence();
    }

    /** Returns how long it takes until a prefix is used again. */
    Durations reuse() {
        return times.gaps();
    }

    Traffic traffic() {
        return new Traffic(
                times.span(),
                invisible.requests(),
                times.residence(),
                times.gaps(),
                times.laterThanResidence(),
                prefixes.sharing(),
                costs.cost(),
                prefixes.demand(atOnce.requests(nowNanos), blockTokens),
                prefixes.lengths(blockTokens));
    }

    /** Blocks that the engine announced to have allocated on the GPU, ever growing. */
    long allocated() {
        return allocated;
    }

    BlockTokens tokens() {
        return tokens;
    }

    /** The tokens of a path, where they are known still. */
    Optional<int[]> tokensOf(Prefix path) {
        Optional<int[]> kept = prefixes.tokens(path.block(path.blocks() - 1));
        return kept.isPresent() ? kept : tokens.of(path);
    }

    /** Returns the request with its tokens, where the engine has told them. */
    HoldRequest withKnownTokens(HoldRequest path) {
        return path.tokens().isPresent()
                ? path
                : tokensOf(path).map(path::withTokens).orElse(path);
    }

    SharedPrefixes prefixes() {
        return prefixes;
    }

    long incarnation() {
        return incarnation;
    }

    boolean certain() {
        return tree.certain();
    }

    String certainty() {
        return tree.certainty();
    }

    /** Returns the examples that were noted while somebody showed what is to be held. */
    Examples examples() {
        examples.now(nowNanos, blockTokens);
        return examples;
    }

    /** Tokens in a block as the events count them; 0 before they told. */
    int blockTokens() {
        return blockTokens;
    }

    /** The blocks on pinned paths that were removed since the last call. */
    Set<Long> takePinnedRemoved() {
        Set<Long> were = Set.copyOf(pinnedRemoved);
        pinnedRemoved.clear();
        return were;
    }

    long batches() {
        return batches;
    }

    EngineView.Counters counters() {
        return new EngineView.Counters(
                batches,
                storedBlocks,
                removedBlocks,
                removedUnknown,
                clears,
                gaps,
                lostBatches,
                restarts,
                requests.seen());
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        if (batches++ == 0) {
            firstBatchNanos = nowNanos;
        }
        batchNanos = nowNanos;
        lookForThePast(stampMicros);
        if (times.batch(stampMicros)) {
            invisible.reset();
            costs.interrupted();
        }
        costs.batch(nowNanos);
        tree.batchStarted(sequence, stampMicros);
        requests.batchStarted(sequence, stampMicros);
    }

    private void lookForThePast(long stampMicros) {
        catchingUp &=
                stampMicros > 0 && stampMicros <= learnedUntilMicros && nowNanos - firstBatchNanos < CATCHING_UP_NANOS;
        if (!catchingUp) {
            learnedUntilMicros = Math.max(0, stampMicros);
        }
        prefixes.past(catchingUp);
    }

    /** Counts nothing of what the engine published until then: an earlier process learned from it. */
    void learnedUntil(long stampMicros) {
        if (stampMicros > learnedUntilMicros) {
            catchingUp = true;
            learnedUntilMicros = stampMicros;
        }
    }

    @Override
    public void stored(StoredBlocks stores) {
        storedBlocks += stores.count();
        justRestarted = false;
        times.storing(stores);
        tree.stored(stores);
        if (stores.blockTokens() > 0 && tree.lastStore().decides()) {
            blockTokens = stores.blockTokens();
        }
        if (stores.tier() != Tier.GPU) {
            released.otherTier();
        } else if (tree.lastStore().decides()) {
            allocated += stores.count();
            released.stored(stores.count());
            if (keepsTokens) {
                tokens.stored(stores);
            }
        }
        examples.stored(stores);
        long before = requests.seen();
        requests.stored(stores);
        if (requests.seen() > before) {
            times.began();
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        long before = tree.unknownRemovals();
        if (!catchingUp) {
            times.removing(hashes, from, to, tier);
        }
        tree.removed(hashes, from, to, tier, group);
        requests.removed(hashes, from, to, tier, group);
        if (ranked.isPresent() && tier == Tier.GPU) {
            ranked.get().removed(hashes, from, to);
        }
        removedBlocks += to - from;
        justRestarted = false;
        if (tree.certain()) {
            removedUnknown += tree.unknownRemovals() - before;
        }
    }

    @Override
    public void cleared() {
        clears++;
        // A restarted engine clears its cache at once: that is still one life, not two.
        if (!justRestarted) {
            incarnation++;
        }
        justRestarted = false;
        emptied();
        tree.cleared();
        requests.cleared();
        ranked.ifPresent(RankedPrefixes::emptied);
    }

    @Override
    public void batchEnded() {
        tree.batchEnded();
        requests.batchEnded();
    }

    @Override
    public void gap(Gap missing) {
        tree.gap(missing);
        requests.gap(missing);
        invisible.reset();
        costs.interrupted();
        if (missing.cause() == Gap.Cause.JOINED_LATE) {
            return;
        }
        ranked.ifPresent(RankedPrefixes::emptied);
        released.interrupted("events were lost, so what the engine's cache has was not known for a while");
        touches.forget();
        gaps++;
        lostBatches += missing.batches();
        incarnation++;
        justRestarted = false;
    }

    @Override
    public void restarted(long seen) {
        restarts++;
        emptied();
        tree.restarted(seen);
        requests.restarted(seen);
        ranked.ifPresent(RankedPrefixes::emptied);
        invisible.reset();
        costs.interrupted();
        incarnation++;
        justRestarted = true;
    }

    /**
     * The cache holds what this view says, which somebody else followed. What learns has heard each event once; requests
     * that were open may have gone on unseen.
     */
    void become(ViewSnapshot view) {
        tree.become(view);
        requests.gap(new Gap(Gap.Cause.JOINED_LATE, 0, view.position().sequence()));
        released.interrupted("a view was taken over, so what the engine's cache had was not known for a while");
        invisible.reset();
        costs.interrupted();
    }

    @Override
    public void insertionEnded(long lastBlock, int depth, boolean ended) {
        if (ended) {
            prefixes.insertionEnded(lastBlock);
        }
    }

    @Override
    public void parted(long above, long first) {
        prefixes.parted(above, first);
    }

    @Override
    public void prompt(VisibleRequest request, int before) {
        boolean ours = own.test(request);
        released.prompt(request, before, !ours && !catchingUp);
        if (before == 0) {
            times.told(ours || catchingUp);
        }
        if (ours) {
            return;
        }
        prefixes.prompt(request, before);
        if (!catchingUp) {
            int computed = before == 0 ? request.newBlocks() : request.promptBlocks() - before;
            costs.computes((long) computed * request.blockTokens(), before == 0);
            touches.prompt(request, before);
            heldUse.prompt(request, before, tree);
            ranked.ifPresent(prefix -> prefix.prompt(request, before));
        }
        heads.ifPresent(unstable -> unstable.prompt(request, before, tree, tokens));
        examples.prompt(request, before);
        if (request.blocks() > 0 && blockTokens > 0) {
            prompts.grew((long) before * blockTokens, (long) request.promptBlocks() * blockTokens, nowNanos);
        } else {
            prompts.unmeasured(nowNanos);
        }
    }

    @Override
    public void answered(VisibleRequest request) {
        released.answered(request);
        if (!own.test(request)) {
            ranked.ifPresent(prefixes -> prefixes.answered(request));
        }
    }

    /** Takes in a complete request. What was taken for its output may have been the prompt of another. */
    @Override
    public void completed(VisibleRequest request) {
        ranked.ifPresent(prefixes -> prefixes.completed(request));
        if (own.test(request)) {
            return;
        }
        prompts.reached((long) request.blocks() * blockTokens, nowNanos);
        int answer = request.blocks() - request.promptBlocks();
        if (answer > 0) {
            answers.sample((answer + 1L) * blockTokens, nowNanos);
        }
    }

    @Override
    public void pinnedBlockRemoved(long block) {
        pinnedRemoved.add(block);
    }

    @Override
    public void pinsChanged(long[] path) {
        released.pinsChanged(path);
    }

    /** Returns what outlives this process. */
    Learned learned(int tokensOfABlock, long capacityTokens) {
        return new Learned(
                tokensOfABlock,
                learnedUntilMicros,
                capacityTokens,
                prefixes.learned(),
                times.learned(),
                costs.learned(),
                prompts.learned(nowNanos),
                ranked.flatMap(RankedPrefixes::learned).stream().toList());
    }

    /** Takes up what an earlier process learned, which ended so long ago. */
    void restore(Learned learned, long awayNanos) {
        prefixes.restore(learned.prefixes(), awayNanos);
        times.restore(learned.times());
        costs.restore(learned.prefill());
        prompts.restore(learned.prompts(), nowNanos);
        ranked.ifPresent(prefix -> learned.ranks().forEach(rank -> prefix.restore(rank, awayNanos)));
    }

    /** Another engine is followed from now on; only sizes of prompts stay, which err to the safe side. */
    void forgetLearned() {
        prefixes.forgetUnwanted();
        times.forget();
        costs.forget();
        ranked.ifPresent(RankedPrefixes::forget);
    }

    private static OptionalLong whole(Reading reading) {
        OptionalDouble number = reading.number();
        return number.isPresent() ? OptionalLong.of(Math.round(number.getAsDouble())) : OptionalLong.empty();
    }

    private void emptied() {
        pinnedRemoved.clear();
        touches.forget();
        released.interrupted("the engine emptied its cache");
        onEmptied.run();
    }
}
