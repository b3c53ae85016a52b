package io.holdfast.core.rank;

import io.holdfast.core.index.MemoryBudget;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;

/** Chooses which blocks of one engine's cache to pin, told of its requests and removals as its events show them. */
public final class RankedPins {
    /*
     * What it is told
     * ---------------
     * An engine announces what it stores and removes, never what it finds. But a store below a block says that a
     * request walked the whole path to it, and how much of the path was there: per request that stores anything the
     * events tell the exact hits. What stores nothing is not seen here, and not by the shadows either.
     *
     * Classes
     * -------
     * Blocks are alike whose last request was the same turn of a conversation, of like length, and that were used as
     * often. A request is one turn further than the one whose last full block lies deepest on its path.
     *
     * Ghosts
     * ------
     * What was removed is remembered, or the gap that ends with it being stored again would be missing from the curves,
     * and blocks would seem to be used sooner than they are. The oldest of them go when there are many caches' worth.
     *
     * The shadows
     * -----------
     * One is the engine's cache as it would be without pins, the other as it would be with them always. Ticks pin in
     * the second by the same scores and the same budget as in the engine, whether the gate is open or not.
     *
     * The budget
     * ----------
     * Of the room that running requests leave, a share, and never so much that not eight long prompts fit beside it: a
     * cache that turns over between two ticks serves new requests worse than pins serve old ones. What is pinned of a
     * prompt it does not need a second time.
     */

    /** Takes what is to be done to the engine. */
    public interface Pins {
        void pin(long hash);

        void unpin(long hash);
    }

    private static final int MOST_TURNS = 4;
    private static final int COUNT_CLASSES = 5;
    /** Meaning of a hint's number. */
    static final List<PrefixRank.Said> SAID = List.of(PrefixRank.Said.values());

    private static final int[] LENGTHS = {0, 8_192, 32_768};
    private static final int LENGTH_CLASSES = LENGTHS.length;
    static final int CLASSES = MOST_TURNS * COUNT_CLASSES * LENGTH_CLASSES;
    private static final double NANOS = 1e9;
    private static final long FIT_EVERY_NANOS = 30_000_000_000L;
    private static final double PEAK_SECONDS = 60;
    private static final double LEAST_RESIDENCE_WEIGHT = 0.0005;
    private static final double HALF_LIVES = 3;
    private static final double LEAST_HALF_LIFE = 10;
    private static final double USUAL_HALF_LIFE = 300;
    private static final long ENOUGH_GAPS = 10_000;
    private static final long MOST_TICKS_BEHIND = 1_000;
    /** Part of the ghosts that is forgotten at once where there are no bytes for more. */
    private static final int FORGOTTEN_AT_ONCE = 16;

    private static final long[] FIRST_COMES_THE_BEST = {};

    private final RankSettings settings;
    private final Score score;
    private final BlockHistory history;
    private final BlockSet resident = new BlockSet();
    private final ReuseCurves curves = new ReuseCurves(CLASSES);
    private final GhostQueue ghosts = new GhostQueue();
    private final LruCache without;
    private final LruCache with;
    private final PinChoice shadowPins;
    private final PinChoice enginePins;
    private final ShadowGate gate = new ShadowGate();
    private final OneShadow oneShadow = new OneShadow();

    private final RecentPrompts prompts;
    private final BitSet shown = new BitSet();
    private final long[] gaps = new long[AgeBins.COUNT];
    private long gapCount;
    /** Counts that an earlier process made, or engines like this one: part of all that is counted, and told to nobody. */
    private ReuseCounts given = ReuseCounts.none();

    private double residenceLog;
    private long evictions;
    private double runningPeak;
    private double runningPeakSeconds;

    private int capacity;
    private long nowNanos;
    private long nextTickNanos;
    private long nextFitNanos;
    private boolean begun;
    private int[] path = new int[1 << 8];

    /** Creates a choice that remembers all that it should. */
    public RankedPins(RankSettings settings, int capacity, Pins pins) {
        this(settings, capacity, MemoryBudget.unbounded(), pins);
    }

    /** Creates a choice that remembers what left the cache as far as there are bytes for it. */
    RankedPins(RankSettings settings, int capacity, MemoryBudget memory, Pins pins) {
        this.settings = settings;
        this.capacity = capacity;
        history = new BlockHistory(settings.score() == RankSettings.Score.FREQUENCY, memory);
        prompts = new RecentPrompts(settings.freePrompts());
        without = new LruCache(capacity, this::evictedWithout);
        with = new LruCache(capacity, block -> {});
        shadowPins = new PinChoice(history, with.blocks(), (block, pinned) -> {
            if (!with.has(block)) {
                return;
            }
            if (pinned) {
                with.keep(block);
            } else {
                with.release(block);
            }
        });
        enginePins = new PinChoice(history, resident, (block, pinned) -> {
            if (pinned) {
                pins.pin(history.hashes[block]);
            } else {
                pins.unpin(history.hashes[block]);
            }
        });
        score = settings.score() == RankSettings.Score.REUSE_RATE ? this::reuseRate : this::frequency;
    }

    /** Gives back the bytes of what it remembers; nobody uses it any more. */
    void close() {
        history.close();
    }

    /** The blocks that the engine's cache has room for, where running requests take some of it. */
    public void capacity(int blocks) {
        if (blocks != without.capacity()) {
            without.resize(blocks);
            with.resize(blocks);
        }
    }

    /** Sets how many long prompts must fit beside pins from now on. */
    void freePrompts(int count) {
        prompts.atOnce(count);
    }

    /** Takes in what running requests hold now. */
    public void running(int blocks, long nanos) {
        double seconds = nanos / NANOS;
        runningPeak = Math.max(blocks, runningPeak * Math.exp(-(seconds - runningPeakSeconds) / PEAK_SECONDS));
        runningPeakSeconds = seconds;
    }

    /** The engine evicted a block; whether it was known to be there. */
    public boolean removed(long hash, long nanos) {
        nowNanos = nanos;
        int block = history.find(hash);
        if (block == BlockHistory.NONE || !resident.has(block)) {
            return false;
        }
        resident.remove(block);
        enginePins.lost(block);
        ghosts.add(block);
        forgetSome();
        return true;
    }

    /** The engine gave a pin up, though the block is there. */
    public void unpinned(long hash) {
        int block = history.find(hash);
        if (block != BlockHistory.NONE) {
            enginePins.lost(block);
        }
    }

    /**
     * A request that stored something, so that its whole path is known to have been used.
     *
     * @param hashes of its path, from the root
     * @param blocks how many of them there are
     * @param stored how many of them are in the cache now
     * @param fullBlocks how many of them are full: a conversation goes on below the last of those
     * @param tokens of its prompt
     * @param hint what its owner says will come: 0 nothing, 1 that it goes on, 2 that it is over
     * @return its number, by which it may {@linkplain #grew grow}
     */
    public long request(long[] hashes, int blocks, int stored, int fullBlocks, int tokens, int hint, long nanos) {
        nowNanos = nanos;
        begin(nanos);
        resolve(hashes, blocks);
        learn(0, blocks);
        int hitsWithout = without.hits(path, blocks);
        int hitsWith = with.hits(path, blocks);
        gate.request(blocks, hitsWithout, hitsWith, nanos / NANOS, residence());
        oneShadow.request(hitsInEngine(blocks), hitsWithout);
        without.use(path, blocks, nanos);
        with.use(path, blocks, nanos);
        int turn = turn(blocks);
        use(0, blocks, stored, turn, tokens, hint);
        if (fullBlocks > 0) {
            history.endTurns[path[fullBlocks - 1]] = (byte) Math.min(turn, Byte.MAX_VALUE);
        }
        return prompts.add(path, blocks);
    }

    /**
     * Takes in that a request turned out to be longer: by more of its prompt, or by what it generated. That is no
     * further request, and no further use of what was there.
     *
     * @param request its number
     * @param hashes of its path, from the root
     * @param from how many of them were known before
     * @param blocks how many there are now, all of them in the cache
     * @param generated whether it is its answer that grew
     */
    public void grew(long request, long[] hashes, int from, int blocks, int tokens, boolean generated, long nanos) {
        nowNanos = nanos;
        resolve(hashes, blocks);
        int turn = from == 0 ? 1 : Math.max(1, history.endTurns[path[from - 1]]);
        if (!generated) {
            learn(from, blocks);
            // What a shadow does not have of the part before, it has nothing below either.
            int hitsWithout = Math.max(from, without.hits(path, blocks)) - from;
            int hitsWith = Math.max(from, with.hits(path, blocks)) - from;
            gate.request(blocks - from, hitsWithout, hitsWith, nanos / NANOS, residence());
            prompts.grew(request, path, blocks);
        }
        without.use(path, blocks, nanos);
        with.use(path, blocks, nanos);
        use(from, blocks, blocks, turn, tokens, from == 0 ? 0 : history.hints[path[from - 1]]);
        history.endTurns[path[blocks - 1]] = (byte) Math.min(turn, Byte.MAX_VALUE);
    }

    /**
     * Moves a block that stood for the end of one request's path to where that end is now; not where it stands for
     * anything else.
     *
     * @return whether it moved
     */
    boolean moved(long from, long to) {
        int block = history.find(from);
        if (block == BlockHistory.NONE || history.uses[block] != 1 || history.find(to) != BlockHistory.NONE) {
            return false;
        }
        history.rename(block, to);
        return true;
    }

    /** Takes in what the owner of a request says later of what will come, of each block that is known. */
    void hint(long hash, int hint) {
        int block = history.find(hash);
        if (block != BlockHistory.NONE) {
            history.hints[block] = (byte) hint;
        }
    }

    /** Chooses anew where it is time to. */
    public void tick(long nanos) {
        tick(nanos, Integer.MAX_VALUE, FIRST_COMES_THE_BEST);
    }

    /**
     * Chooses with no more pins than {@code most}, and with some that come before all others.
     *
     * @return whether it was time to
     */
    boolean tick(long nanos, int most, long[] first) {
        begin(nanos);
        if (nanos < nextTickNanos) {
            return false;
        }
        int[] firstBlocks = LongStream.of(first)
                .mapToInt(history::find)
                .filter(block -> block != BlockHistory.NONE)
                .toArray();
        // Who slept for long has no use for what he would have chosen meanwhile.
        nextTickNanos = Math.max(
                nextTickNanos,
                nanos - MOST_TICKS_BEHIND * settings.longestTick().toNanos());
        while (nanos >= nextTickNanos) {
            nowNanos = nextTickNanos;
            if (nowNanos >= nextFitNanos) {
                fit();
                nextFitNanos = nowNanos + FIT_EVERY_NANOS;
            }
            double room = room();
            int budget = Math.min(most, (int) (settings.share().of(residence(), medianReuse()) * room));
            shadowPins.choose(score, budget, room, prompts, firstBlocks, nowNanos);
            if (licensed()) {
                enginePins.choose(score, budget, room, prompts, firstBlocks, nowNanos);
            } else {
                enginePins.releaseAll();
            }
            nextTickNanos = nowNanos + tickNanos();
        }
        return true;
    }

    /** The engine's cache was emptied: what was learned stays. */
    void cleared(long nanos) {
        nowNanos = nanos;
        shadowPins.releaseAll();
        without.clear();
        with.clear();
        while (resident.size() > 0) {
            int block = resident.at(resident.size() - 1);
            resident.remove(block);
            enginePins.lost(block);
            ghosts.add(block);
        }
        forgetSome();
    }

    /** The blocks of a cache whose size is seen and not told. */
    void cache(int blocks) {
        capacity = blocks;
        capacity(blocks);
    }

    /** Returns what outlives this process; its cache has room for so many blocks of the engine. */
    LearnedRank learned(int blocks, long nanos) {
        ReuseCounts counts = counts(nanos);
        return new LearnedRank(
                blocks,
                counts.used(),
                counts.unused(),
                counts.hintedUsed(),
                counts.hintedUnused(),
                gaps.clone(),
                evictions,
                residenceLog,
                gate.learned(nanos / NANOS));
    }

    /** Takes up what an earlier process learned, which ended so long ago. */
    void restore(LearnedRank learned, long awayNanos, long nanos) {
        give(learned.counts(), nanos);
        if (evictions == 0) {
            evictions = learned.evictions();
            residenceLog = learned.residenceLog();
        }
        gate.restore(learned.evidence(), nanos / NANOS, awayNanos / NANOS, residence());
    }

    /** Returns what may be told to others. */
    Reuse reuse(long nanos) {
        return new Reuse(counts(nanos).minus(given), isNewcomer());
    }

    /** Returns true if all that it counts it saw itself. */
    boolean isNewcomer() {
        return given.isEmpty();
    }

    /** Takes what others counted, in place of what it was given before: its own past has more to say than a cell. */
    void give(ReuseCounts counts, long nanos) {
        nowNanos = nanos;
        curves.replace(given, counts);
        long[] before = given.gaps();
        long[] now = counts.gaps();
        for (int bin = 0; bin < gaps.length; bin++) {
            gaps[bin] += now[bin] - before[bin];
            gapCount += now[bin] - before[bin];
        }
        given = counts;
        fit();
    }

    /** Counts of this process and those it was given, with blocks that are not used yet. */
    private ReuseCounts counts(long nanos) {
        nowNanos = nanos;
        ReuseCounts counts = curves.counts(gaps);
        for (int block = 0; block < history.reach(); block++) {
            if (history.uses[block] > 0) {
                counts.notUsedYet(history.classes[block], history.hints[block], AgeBins.of(age(block)));
            }
        }
        return counts;
    }

    boolean knows(long hash) {
        return history.find(hash) != BlockHistory.NONE;
    }

    /** Blocks that are in the engine's cache. */
    int resident() {
        return resident.size();
    }

    /** Blocks that are in the engine's cache, or were. */
    int remembered() {
        return history.remembered();
    }

    Evidence evidence() {
        return gate.evidence();
    }

    /** Takes an end of what is chosen for the engine. */
    interface EndVisitor {
        /**
         * One end.
         *
         * @param above the deepest block of its path that one shown before has as well; itself where there is none
         * @param chance of a use within the requested time
         */
        void end(long hash, long above, double chance, int uses, int turn, double idleSeconds);
    }

    /**
     * Shows the chosen blocks below which none is chosen, the best first, or for each the last one above it that may be
     * an end; what is chosen below that is left out, and what is likelier to be of no use than {@code leastChance}.
     */
    void ends(double withinSeconds, double leastChance, LongPredicate mayEnd, EndVisitor visitor) {
        shown.clear();
        enginePins.ends(block -> {
            int end = block;
            while (end != BlockHistory.NONE && !mayEnd.test(history.hashes[end])) {
                end = history.parents[end];
            }
            if (end == BlockHistory.NONE || shown.get(end)) {
                return;
            }
            double chance = curves.chance(history.classes[end], history.hints[end], age(end), withinSeconds);
            if (chance < leastChance) {
                return;
            }
            int above = end;
            while (above != BlockHistory.NONE && !shown.get(above)) {
                shown.set(above);
                above = history.parents[above];
            }
            visitor.end(
                    history.hashes[end],
                    history.hashes[above == BlockHistory.NONE ? end : above],
                    chance,
                    history.uses[end],
                    Math.max(1, history.endTurns[end]),
                    age(end));
        });
    }

    /**
     * Returns what is known of a block that was used, at this moment.
     *
     * @param depth blocks of its path, for whom each stands for more than one
     * @param within for which times its chances are asked
     */
    Optional<PrefixRank> rank(long hash, int depth, long[] within, long nanos) {
        int block = history.find(hash);
        if (block == BlockHistory.NONE || history.uses[block] == 0) {
            return Optional.empty();
        }
        nowNanos = nanos;
        float value = score.of(block, nanos);
        int before = 0;
        for (int place = 0; place < resident.size(); place++) {
            if (score.of(resident.at(place), nanos) > value) {
                before++;
            }
        }
        int blockClass = history.classes[block];
        int hint = history.hints[block];
        return Optional.of(new PrefixRank(
                depth,
                resident.has(block),
                new PrefixRank.Kind(
                        Math.max(1, blockClass / LENGTH_CLASSES / COUNT_CLASSES + 1),
                        history.uses[block],
                        LENGTHS[blockClass % LENGTH_CLASSES],
                        SAID.get(hint)),
                age(block),
                new PrefixRank.Order(before, resident.size(), value, enginePins.isPinned(block)),
                new PrefixRank.Lru(without.has(block), residence()),
                LongStream.of(within)
                        .mapToObj(seconds -> new PrefixRank.Chance(
                                seconds, curves.chance(blockClass, hint, age(block), (double) seconds)))
                        .toList()));
    }

    /** Returns how long a block stays that nobody uses, in seconds; 0 before anything was evicted. */
    public double residence() {
        return evictions == 0 ? 0 : Math.exp(residenceLog) - 1;
    }

    /** Half of the gaps between two uses of a block are shorter, in seconds; 0 before there was one. */
    public double medianReuse() {
        long below = 0;
        for (int bin = 0; bin < AgeBins.COUNT; bin++) {
            below += gaps[bin];
            if (2 * below > gapCount) {
                return AgeBins.edge(bin + 1);
            }
        }
        return 0;
    }

    public boolean isOpen() {
        return gate.isOpen();
    }

    public int gateChanges() {
        return gate.changes();
    }

    public int pinned() {
        return enginePins.pins();
    }

    private boolean licensed() {
        // Its state is shown whatever is asked.
        boolean shadows = gate.decide(nowNanos / NANOS);
        return switch (settings.licence()) {
            case TWO_SHADOWS -> shadows;
            case ONE_SHADOW -> oneShadow.decide(nowNanos / NANOS, residence());
            case NONE -> true;
        };
    }

    private int hitsInEngine(int blocks) {
        int hits = 0;
        while (hits < blocks && resident.has(path[hits])) {
            hits++;
        }
        return hits;
    }

    private void begin(long nanos) {
        if (!begun) {
            begun = true;
            nextTickNanos = nanos + tickNanos();
            nextFitNanos = nanos + FIT_EVERY_NANOS;
        }
    }

    private void resolve(long[] hashes, int blocks) {
        if (path.length < blocks) {
            path = new int[2 * blocks];
        }
        makeRoom(blocks);
        for (int depth = 0; depth < blocks; depth++) {
            int block = history.find(hashes[depth]);
            path[depth] = block == BlockHistory.NONE ? history.add(hashes[depth]) : block;
        }
    }

    private void learn(int from, int blocks) {
        for (int depth = from; depth < blocks; depth++) {
            int block = path[depth];
            if (history.uses[block] > 0) {
                double age = age(block);
                curves.usedAgain(history.classes[block], history.hints[block], age);
                gaps[AgeBins.of(age)]++;
                gapCount++;
            }
        }
    }

    private void use(int from, int blocks, int stored, int turn, int tokens, int hint) {
        double halfLife = halfLife();
        for (int depth = from; depth < blocks; depth++) {
            int block = path[depth];
            if (history.countsFrequencies()) {
                history.frequencies[block] = decayed(block, halfLife) + 1;
            }
            history.uses[block]++;
            history.usedNanos[block] = nowNanos;
            history.parents[block] = depth == 0 ? BlockHistory.NONE : path[depth - 1];
            history.hints[block] = (byte) hint;
            history.classes[block] = (byte) classOf(turn, history.uses[block], tokens);
            if (depth < stored) {
                resident.add(block);
                ghosts.returned(block);
            } else if (!resident.has(block)) {
                ghosts.add(block);
            }
        }
    }

    private int turn(int blocks) {
        for (int depth = blocks - 1; depth > 0; depth--) {
            if (history.endTurns[path[depth]] > 0) {
                return history.endTurns[path[depth]] + 1;
            }
        }
        return 1;
    }

    /**
     * Returns the class of a block whose last request was the so manieth turn of a conversation and had so many tokens.
     */
    static int classOf(int turn, int uses, int tokens) {
        int turnClass = Math.min(turn, MOST_TURNS) - 1;
        int countClass = uses < 3 ? uses - 1 : uses < 5 ? 2 : uses < 9 ? 3 : 4;
        int lengthClass = tokens < LENGTHS[1] ? 0 : tokens < LENGTHS[2] ? 1 : 2;
        return (turnClass * COUNT_CLASSES + countClass) * LENGTH_CLASSES + lengthClass;
    }

    private void evictedWithout(int block) {
        double age = Math.log(age(block) + 1);
        evictions++;
        residenceLog += Math.max(1.0 / evictions, LEAST_RESIDENCE_WEIGHT) * (age - residenceLog);
    }

    /** Forgets the oldest ghosts where there are no bytes for more blocks, before any block of a path is looked up. */
    private void makeRoom(int blocks) {
        if (!history.hasRoomFor(blocks)) {
            forgetDownTo(Math.max(0, ghosts.size() - Math.max(blocks, ghosts.size() / FORGOTTEN_AT_ONCE)));
        }
    }

    private void forgetSome() {
        forgetDownTo((long) settings.ghosts() * capacity);
    }

    private void forgetDownTo(long most) {
        for (int block = ghosts.oldestAbove(most); block != BlockHistory.NONE; block = ghosts.oldestAbove(most)) {
            if (without.has(block) || with.has(block)) {
                ghosts.add(block);
                return;
            }
            curves.forgotten(history.classes[block], history.hints[block], age(block));
            history.forget(block);
        }
    }

    private void fit() {
        curves.beginFit();
        for (int block = 0; block < history.reach(); block++) {
            if (history.uses[block] > 0) {
                curves.notUsedYet(history.classes[block], history.hints[block], age(block));
            }
        }
        curves.endFit();
    }

    private double room() {
        return Math.max(0, capacity - runningPeak * Math.exp(-(nowNanos / NANOS - runningPeakSeconds) / PEAK_SECONDS));
    }

    private long tickNanos() {
        long longest = settings.longestTick().toNanos();
        if (!settings.adaptsTick()) {
            return longest;
        }
        double fastest = Math.min(orForever(medianReuse()), orForever(residence()));
        return Math.max(settings.shortestTick().toNanos(), (long) Math.min((double) longest, fastest / 2 * NANOS));
    }

    private static double orForever(double seconds) {
        return seconds > 0 ? seconds : Double.POSITIVE_INFINITY;
    }

    private float reuseRate(int block, long nanos) {
        return curves.rate(history.classes[block], history.hints[block], (nanos - history.usedNanos[block]) / NANOS);
    }

    private float frequency(int block, long nanos) {
        return history.uses[block] < 2 ? 0 : (float) decayed(block, halfLife());
    }

    private double decayed(int block, double halfLife) {
        return history.uses[block] == 0 ? 0 : history.frequencies[block] * Math.pow(2, -age(block) / halfLife);
    }

    private double halfLife() {
        return gapCount < ENOUGH_GAPS ? USUAL_HALF_LIFE : Math.max(LEAST_HALF_LIFE, HALF_LIVES * medianReuse());
    }

    private double age(int block) {
        return (nowNanos - history.usedNanos[block]) / NANOS;
    }
}
