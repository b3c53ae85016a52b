package io.holdfast.core.prefix;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.requests.VisibleRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.function.ToLongFunction;

/**
 * Finds the prefixes that requests of one engine share, and follows them.
 *
 * <p>It belongs to the thread that applies the events. What it knows outlives the engine's cache: a prefix is known by
 * its last block's hash, and hashes are the same after a restart wherever they come from the tokens alone.
 */
public final class SharedPrefixes implements PrefixView, WantedPrefixes {
    /*
     * What is shared
     * --------------
     * Nobody sends a system prompt alone: it comes before many users' texts. So a shared prefix is no request's
     * whole path, and no insertion ends there. It shows where ways part: an insertion that begins below a block which
     * others have passed. The first two ways make it known; from the third on, and once it was lost, it is worth a
     * hold. A conversation has one way on at each turn, or two where a turn was rendered anew, so it is none.
     *
     * It is lost where a request finds it incomplete and its end was evicted since another passed it. Requests that run
     * together before the first of them is stored compute it each, and nothing was lost.
     *
     * Its end is watched in the tree from then on: each request that passes is told of by a walk over its path, strip
     * by strip, whatever became of the blocks in between.
     *
     * Paths that cover it
     * -------------------
     * A backend that can only pin where an insertion ended holds the prefix with the shortest living path over it. The
     * last few insertions that ended below it are remembered for that, the shortest and the youngest rather than
     * others: the youngest will live longest. Of one that is asked for and was not followed, they are sought in the
     * whole tree, once.
     *
     * Its tokens
     * ----------
     * Blocks tell their tokens when they are stored, and what is lost may be wanted back long after. So the tokens of
     * what is followed are kept whole, of the hottest where not all have room.
     *
     * What an earlier process counted
     * -------------------------------
     * An engine that lived on repeats it. Who passed and where ways parted is in what that process left, or will be: it
     * is followed, so that an eviction after the last pass is seen, and counted no second time.
     *
     * What requests need beside it
     * ----------------------------
     * The last prompts are kept with the deepest shared prefix that each went over. So the question what nine of ten of
     * them would need beside a given set of held prefixes has an answer before anything is held.
     */
    private static final int MOST = 1024;
    private static final int MOST_ENDS = 8;
    private static final int MOST_EVICTIONS = 16;
    static final int MOST_FIRSTS = 8;
    private static final int PROMPTS = 128;
    /** Most tokens of all prefixes that are followed: 16 MiB. */
    private static final int MOST_TOKENS = 4 << 20;

    private static final long NEVER = Long.MIN_VALUE;

    private final EngineBlocks tree;
    private final BlockTokens blockTokens;
    private final double halfLifeNanos;
    private long gapsEveryNanos;
    private final Map<Long, Entry> entries = new HashMap<>();
    private final Prompt[] prompts = new Prompt[PROMPTS];
    private int promptCount;
    private final Deque<PrefixEviction> evicted = new ArrayDeque<>();
    private int keptTokens;
    private long found;
    private long told;
    private long foundInPart;
    private long foundNothing;
    private long recomputed;
    private long nowNanos;
    private boolean past;

    /** One prompt among the last, which may still be growing. */
    private static final class Prompt {
        final VisibleRequest request;
        Optional<Entry> deepest = Optional.empty();

        Prompt(VisibleRequest request) {
            this.request = request;
        }
    }

    private final class Entry {
        final long lastBlock;
        final int blocks;
        final long[] firsts = new long[MOST_FIRSTS];
        final List<Long> ends = new ArrayList<>();
        Optional<Entry> above = Optional.empty();
        Optional<int[]> tokens = Optional.empty();
        int ways = 1;
        int wantedBy;
        long requests = 1;
        long hits;
        long losses;
        long lostBlocks;
        double heat = 1;
        long heatNanos = nowNanos;
        long passedNanos = nowNanos;
        long hitNanos = NEVER;
        int evictions;
        int toldEvictions;
        final Gaps gaps = new Gaps();

        Entry(long lastBlock, int blocks) {
            this.lastBlock = lastBlock;
            this.blocks = blocks;
        }

        /** The first way on was there before anybody looked, and has no name here. */
        void parted(long first) {
            int known = Math.min(ways - 1, MOST_FIRSTS);
            for (int i = 0; i < known; i++) {
                if (firsts[i] == first) {
                    return;
                }
            }
            firsts[(ways - 1) % MOST_FIRSTS] = first;
            ways++;
        }

        /**
         * Returns true if it was evicted since a request passed it: what requests that run together compute twice is no
         * loss.
         */
        boolean evicted() {
            return tree.evictions(lastBlock) != evictions;
        }

        void passed(int hitBlocks) {
            if (requests > 0) {
                gaps.add(nowNanos - passedNanos, nowNanos, gapsEveryNanos);
            }
            if (hitBlocks >= blocks) {
                hits++;
                hitNanos = nowNanos;
            } else if (requests > 0 && evicted()) {
                losses++;
                lostBlocks += blocks - hitBlocks;
            }
            evictions = tree.evictions(lastBlock);
            requests++;
            heat = heatNow() + 1;
            heatNanos = nowNanos;
            passedNanos = nowNanos;
        }

        /** Notes a use. That the prefix was found is no proof of what is held: nobody saw the engine answer. */
        void used(long nanos) {
            if (requests > 0) {
                gaps.add(Math.max(0, nanos - passedNanos), nowNanos, gapsEveryNanos);
            }
            hits++;
            requests++;
            heat = heatNow() + 1;
            heatNanos = nowNanos;
            passedNanos = Math.max(passedNanos, nanos);
        }

        double heatNow() {
            return heat * Math.pow(0.5, (nowNanos - heatNanos) / halfLifeNanos);
        }

        void ended(long end) {
            ends.remove(end);
            ends.add(end);
            ends.removeIf(known -> !living(known));
            if (ends.size() > MOST_ENDS) {
                // The youngest stays whatever its length.
                ends.subList(0, MOST_ENDS).stream()
                        .max(Comparator.comparingInt(tree::depth))
                        .ifPresent(ends::remove);
            }
        }

        LearnedPrefix learned() {
            return new LearnedPrefix(
                    lastBlock,
                    blocks,
                    ways,
                    Arrays.copyOf(firsts, Math.min(ways - 1, MOST_FIRSTS)),
                    requests,
                    hits,
                    losses,
                    lostBlocks,
                    heatNow(),
                    Math.max(0, nowNanos - passedNanos));
        }

        /** The ways that both saw are not told apart where more than a few of them have names. */
        void takeUp(LearnedPrefix earlier, long awayNanos) {
            long[] own = Arrays.copyOf(firsts, Math.min(ways - 1, MOST_FIRSTS));
            int ownWays = ways;
            ways = earlier.ways();
            System.arraycopy(earlier.firsts(), 0, firsts, 0, earlier.firsts().length);
            for (long first : own) {
                parted(first);
            }
            ways = Math.max(ways, ownWays);
            heat = heatNow() + earlier.heat() * Math.pow(0.5, awayNanos / halfLifeNanos);
            heatNanos = nowNanos;
            long passed = nowNanos - earlier.idleNanos() - awayNanos;
            passedNanos = requests > 0 ? Math.max(passedNanos, passed) : passed;
            requests += earlier.requests();
            hits += earlier.hits();
            losses += earlier.losses();
            lostBlocks += earlier.lostBlocks();
        }

        SharedPrefix seen() {
            OptionalLong over = above.isPresent() ? OptionalLong.of(above.get().lastBlock) : OptionalLong.empty();
            return new SharedPrefix(
                    lastBlock, blocks, over, ways, requests, hits, losses, lostBlocks, heatNow(), gaps.usual());
        }
    }

    /** {@code halfLifeNanos} is how long it takes until a request that passed counts half. */
    public SharedPrefixes(EngineBlocks tree, BlockTokens blockTokens, long halfLifeNanos) {
        this.tree = tree;
        this.blockTokens = blockTokens;
        this.halfLifeNanos = halfLifeNanos;
    }

    public void now(long nanos) {
        nowNanos = nanos;
    }

    /** Says whether an earlier process, whose numbers are taken up, counted what comes from now on. */
    public void past(boolean counted) {
        past = counted;
    }

    /** Keeps at most one gap of a prefix in so long. */
    public void gapsEvery(Duration time) {
        gapsEveryNanos = time.toNanos();
    }

    /** An insertion went a way of its own below this block, beginning with {@code first}. */
    public void parted(long above, long first) {
        Entry entry = entries.get(above);
        if (entry == null && past) {
            if (entries.size() >= MOST) {
                return;
            }
            entry = followUncounted(above, tree.depth(above));
        } else if (entry == null) {
            makeRoom();
            entry = follow(above, tree.depth(above));
        }
        if (!past) {
            entry.parted(first);
        }
        keepTokens(entry);
    }

    private void keepTokens(Entry entry) {
        if (entry.tokens.isPresent() || tree.depth(entry.lastBlock) != entry.blocks) {
            return;
        }
        long[] path = tree.path(entry.lastBlock);
        blockTokens
                .of(new Prefix() {
                    @Override
                    public int blocks() {
                        return path.length;
                    }

                    @Override
                    public long block(int depth) {
                        return path[depth];
                    }
                })
                .filter(tokens -> makeRoomFor(entry, tokens.length))
                .ifPresent(tokens -> {
                    entry.tokens = Optional.of(tokens);
                    keptTokens += tokens.length;
                });
    }

    private boolean makeRoomFor(Entry entry, int tokens) {
        while (keptTokens + tokens > MOST_TOKENS || !tree.memory().take(4L * tokens)) {
            Optional<Entry> coldest = entries.values().stream()
                    .filter(other -> other.tokens.isPresent())
                    .min(Comparator.comparingDouble(Entry::heatNow))
                    .filter(other -> other.heatNow() < entry.heatNow());
            if (coldest.isEmpty()) {
                return false;
            }
            dropTokens(coldest.get());
        }
        return true;
    }

    private void dropTokens(Entry entry) {
        int dropped = entry.tokens.map(tokens -> tokens.length).orElse(0);
        keptTokens -= dropped;
        tree.memory().give(4L * dropped);
        entry.tokens = Optional.empty();
    }

    /** The tokens of a prefix that is followed, where they are kept. */
    public Optional<int[]> tokens(long lastBlock) {
        return entry(lastBlock).flatMap(entry -> entry.tokens);
    }

    @Override
    public boolean tokensKnown(long lastBlock) {
        return tokens(lastBlock).isPresent();
    }

    /** An insertion ended with this block, which may be pinned. */
    public void insertionEnded(long end) {
        tree.watchedOn(end, block -> entry(block).ifPresent(entry -> entry.ended(end)));
    }

    /**
     * A request showed its prompt.
     *
     * @param before the blocks of it that were shown before
     */
    public void prompt(VisibleRequest request, int before) {
        Prompt prompt = before == 0 ? new Prompt(request) : known(request);
        if (before == 0) {
            prompts[promptCount++ % PROMPTS] = prompt;
        }
        Entry[] below = new Entry[1];
        Entry[] shared = new Entry[1];
        tree.watchedOn(request.lastBlock(), block -> {
            Entry entry = entries.get(block);
            if (entry == null) {
                return;
            }
            if (below[0] == null) {
                prompt.deepest = Optional.of(entry);
            } else {
                below[0].above = Optional.of(entry);
            }
            below[0] = entry;
            if (shared[0] == null && entry.ways > 1) {
                shared[0] = entry;
            }
            if (past) {
                entry.evictions = tree.evictions(block);
            } else if (entry.blocks > before && entry.blocks <= request.promptBlocks()) {
                if (shared[0] == entry) {
                    count(entry, request.hits());
                }
                entry.passed(request.hits());
                if (entry.ways > 1) {
                    keepTokens(entry);
                }
            }
        });
    }

    /** A request that stored nothing, since all down to this block was in the cache, used it at that time. */
    public void used(long lastBlock, long nanos) {
        boolean[] counted = new boolean[1];
        tree.watchedOn(
                lastBlock,
                block -> entry(block).ifPresent(entry -> {
                    if (entry.ways > 1 && !counted[0]) {
                        counted[0] = true;
                        found++;
                        told++;
                    }
                    entry.used(nanos);
                }));
    }

    /** Counts a request for the longest of its shared prefixes. */
    private void count(Entry entry, int hitBlocks) {
        if (hitBlocks >= entry.blocks) {
            found++;
        } else if (entry.evicted()) {
            foundInPart += hitBlocks > 0 ? 1 : 0;
            foundNothing += hitBlocks > 0 ? 0 : 1;
            recomputed += entry.blocks - hitBlocks;
        }
    }

    /** Returns what outlives this process of the prefixes that are shared; their tokens do not. */
    public List<LearnedPrefix> learned() {
        return entries.values().stream()
                .filter(entry -> entry.ways > 1)
                .map(Entry::learned)
                .toList();
    }

    /** Takes up what an earlier process learned, which ended so long ago. */
    public void restore(List<LearnedPrefix> learned, long awayNanos) {
        for (LearnedPrefix prefix : learned) {
            Entry entry = entries.get(prefix.lastBlock());
            if (entry == null && entries.size() < MOST) {
                entry = followUncounted(prefix.lastBlock(), prefix.blocks());
            }
            if (entry != null && entry.blocks == prefix.blocks()) {
                entry.takeUp(prefix, awayNanos);
            }
        }
    }

    /**
     * Forgets what nobody wants, since another engine is followed from now on; what is requested is followed still.
     */
    public void forgetUnwanted() {
        List.copyOf(entries.values()).stream()
                .filter(entry -> entry.wantedBy == 0)
                .forEach(this::forget);
    }

    /**
     * Returns what became of all requests that went over a shared prefix, counted for the longest that each went over.
     */
    public Sharing sharing() {
        return new Sharing(found, told, foundInPart, foundNothing, recomputed);
    }

    /**
     * Returns the last evictions of shared prefixes, the oldest first; of one prefix only the last since the call
     * before.
     */
    public List<PrefixEviction> evictions() {
        for (Entry entry : entries.values()) {
            int now = tree.evictions(entry.lastBlock);
            if (now != entry.toldEvictions && entry.ways > 1) {
                long number = evicted.isEmpty() ? 1 : evicted.getLast().number() + 1;
                evicted.addLast(new PrefixEviction(
                        number,
                        entry.lastBlock,
                        entry.blocks,
                        Duration.ofNanos(Math.max(0, nowNanos - entry.passedNanos))));
                if (evicted.size() > MOST_EVICTIONS) {
                    evicted.removeFirst();
                }
            }
            entry.toldEvictions = now;
        }
        return List.copyOf(evicted);
    }

    private Prompt known(VisibleRequest request) {
        for (Prompt prompt : prompts) {
            if (prompt != null && prompt.request == request) {
                return prompt;
            }
        }
        return new Prompt(request);
    }

    @Override
    public void want(long lastBlock, int blocks) {
        Entry entry = entries.get(lastBlock);
        if (entry == null) {
            entry = followUncounted(lastBlock, blocks);
            Entry wanted = entry;
            List<Long> found = new ArrayList<>();
            tree.endsBelow(lastBlock, found::add);
            found.stream()
                    .filter(this::living)
                    .sorted(Comparator.comparingInt(tree::depth))
                    .limit(MOST_ENDS)
                    .forEach(wanted.ends::add);
        }
        entry.wantedBy++;
    }

    @Override
    public void unwant(long lastBlock) {
        entry(lastBlock).ifPresent(entry -> {
            entry.wantedBy--;
            if (entry.wantedBy == 0 && entry.ways < 2) {
                forget(entry);
            }
        });
    }

    @Override
    public OptionalLong shortestPathOver(long lastBlock) {
        return shortestPathOver(lastBlock, end -> true);
    }

    @Override
    public OptionalLong shortestPathOver(long lastBlock, LongPredicate which) {
        return entry(lastBlock).stream()
                .flatMap(entry -> entry.ends.stream())
                .filter(end -> living(end) && which.test(end))
                .min(Comparator.comparingInt(tree::depth))
                .map(OptionalLong::of)
                .orElse(OptionalLong.empty());
    }

    /**
     * Returns the prefixes that are worth a hold and were passed within what {@code nanos} gives for each, in no order.
     */
    public List<SharedPrefix> worthHolding(ToLongFunction<SharedPrefix> nanos) {
        return entries.values().stream()
                .map(Entry::seen)
                .filter(SharedPrefix::worthHolding)
                .filter(prefix -> lastPassed(prefix.lastBlock()) + nanos.applyAsLong(prefix) > nowNanos)
                .toList();
    }

    @Override
    public Optional<SharedPrefix> find(long lastBlock) {
        return entry(lastBlock).map(Entry::seen);
    }

    /** All that are shared, those first that cost the most prefill. */
    public List<SharedPrefix> all() {
        return entries.values().stream()
                .filter(entry -> entry.ways > 1)
                .map(Entry::seen)
                .sorted(Comparator.comparingLong(SharedPrefix::lostBlocks)
                        .thenComparingDouble(prefix -> prefix.heat() * prefix.blocks())
                        .reversed())
                .toList();
    }

    /**
     * The hottest that are shared or wanted, those first that save the most prefill.
     *
     * @param held the ends of what is held
     */
    public List<HotPrefix> hottest(int most, Set<Long> held) {
        double touches = Math.log(2) * Duration.ofHours(1).toNanos() / halfLifeNanos;
        return entries.values().stream()
                .filter(entry -> entry.ways > 1 || entry.wantedBy > 0)
                .sorted(Comparator.comparingDouble((Entry entry) -> entry.heatNow() * entry.blocks)
                        .reversed()
                        .thenComparingLong(entry -> entry.lastBlock))
                .limit(most)
                .map(entry -> new HotPrefix(
                        entry.lastBlock,
                        entry.blocks,
                        touches * entry.heatNow(),
                        tree.resident(entry.lastBlock),
                        held.contains(entry.lastBlock),
                        entry.tokens))
                .toList();
    }

    @Override
    public OptionalLong needBeside(Set<Long> held) {
        int count = Math.min(promptCount, PROMPTS);
        if (count == 0) {
            return OptionalLong.empty();
        }
        int[] needs = new int[count];
        for (int i = 0; i < count; i++) {
            int covered = 0;
            for (Optional<Entry> at = prompts[i].deepest; at.isPresent(); at = at.get().above) {
                if (held.contains(at.get().lastBlock)) {
                    covered = at.get().blocks;
                    break;
                }
            }
            needs[i] = Math.max(0, prompts[i].request.promptBlocks() - covered);
        }
        Arrays.sort(needs);
        return OptionalLong.of(needs[(count * 9 + 9) / 10 - 1]);
    }

    /** Returns what so many of the last prompts ask of the cache together. */
    public Demand demand(long atOnce, int tokensOfABlock) {
        int count = (int) Math.min(atOnce, Math.min(promptCount, PROMPTS));
        Set<Entry> shared = new HashSet<>();
        long once = 0;
        long full = 0;
        for (int i = 1; i <= count; i++) {
            Prompt prompt = prompts[(promptCount - i) % PROMPTS];
            int blocks = prompt.request.promptBlocks();
            int covered = 0;
            for (Optional<Entry> at = deepest(prompt); at.isPresent(); at = at.get().above) {
                Entry entry = at.get();
                if (entry.ways > 1 && entry.blocks <= blocks) {
                    covered = Math.max(covered, entry.blocks);
                    shared.add(entry);
                }
            }
            full += blocks;
            once += blocks - covered;
        }
        for (Entry entry : shared) {
            once += entry.blocks - sharedAbove(entry);
        }
        return new Demand(count, once * tokensOfABlock, full * tokensOfABlock);
    }

    /**
     * Finds the deepest shared prefix anew, since what is shared may have been found out after the prompt was seen.
     */
    private Optional<Entry> deepest(Prompt prompt) {
        List<Entry> found = new ArrayList<>();
        tree.watchedOn(prompt.request.lastBlock(), block -> entry(block).ifPresent(found::add));
        return found.isEmpty() ? prompt.deepest : Optional.of(found.getFirst());
    }

    private static int sharedAbove(Entry entry) {
        for (Optional<Entry> at = entry.above; at.isPresent(); at = at.get().above) {
            if (at.get().ways > 1) {
                return at.get().blocks;
            }
        }
        return 0;
    }

    /** Returns how long the last prompts were. */
    public Lengths lengths(int tokensOfABlock) {
        int count = Math.min(promptCount, PROMPTS);
        long[] blocks = new long[count];
        for (int i = 0; i < count; i++) {
            blocks[i] = prompts[i].request.promptBlocks();
        }
        Arrays.sort(blocks);
        return count == 0
                ? Lengths.NONE
                : new Lengths(
                        count,
                        blocks[(count + 1) / 2 - 1] * tokensOfABlock,
                        blocks[(count * 9 + 9) / 10 - 1] * tokensOfABlock);
    }

    @Override
    public long lastPassed(long lastBlock) {
        return entry(lastBlock)
                .filter(entry -> entry.requests > 0)
                .map(entry -> entry.passedNanos)
                .orElse(NEVER);
    }

    @Override
    public long lastHit(long lastBlock) {
        return entry(lastBlock).map(entry -> entry.hitNanos).orElse(NEVER);
    }

    private boolean living(long end) {
        return tree.endedInsertion(end) && !tree.ambiguous(end);
    }

    private Optional<Entry> entry(long block) {
        return Optional.ofNullable(entries.get(block));
    }

    private Entry followUncounted(long block, int blocks) {
        Entry entry = follow(block, blocks);
        entry.requests = 0;
        entry.heat = 0;
        return entry;
    }

    private Entry follow(long block, int blocks) {
        Entry entry = new Entry(block, blocks);
        entries.put(block, entry);
        tree.watch(block);
        entry.evictions = tree.evictions(block);
        entry.toldEvictions = entry.evictions;
        return entry;
    }

    private void makeRoom() {
        if (entries.size() >= MOST) {
            entries.values().stream()
                    .filter(entry -> entry.wantedBy == 0)
                    .min(Comparator.comparingDouble(Entry::heatNow))
                    .ifPresent(this::forget);
        }
    }

    private void forget(Entry entry) {
        entries.remove(entry.lastBlock);
        dropTokens(entry);
        tree.unwatch(entry.lastBlock);
    }
}
