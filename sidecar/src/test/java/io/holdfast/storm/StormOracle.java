package io.holdfast.storm;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/*
 * Knows who did what to which pin, as only the engine can, and says what is wrong.
 *
 * Accounts. Each caller has an account for each block of each engine: pin calls that left, pins that the engine counted and
 * unpins that it counted. An unpin beyond the pin calls that may have arrived took somebody else's pin; a pin that is still
 * counted at the end and stands in no ledger is a leak.
 *
 * Causes. What a leak came from is told from what happened between the pin and the end: the oracle notes when a sidecar
 * heard of an empty cache, began anew, was sent to another engine or was told to do nothing.
 *
 * Excuses. An engine may hold more than its guard, or stop, by what sidecars cannot know in time. The storm goes out of
 * its way not to make such a moment deadly; what stops an engine is a failure whoever else took part.
 */
final class StormOracle {
    static final String FOREIGNER = "foreigner";
    private static final long MOMENT = 300 * Timeline.MILLI;

    private record Look(int held, int pinned, int locked, int guard) {}

    private record Key(String who, VirtualEngine engine, long block) {}

    private static final class Account {
        int sent;
        int undone;
        int counted;
        /** Since when the engine has counted one without a break. */
        long since = -1;

        long lastSent = -1;
        long lastUnpin = -1;
        boolean arrivedLate;
        boolean forbidden;
        /** Undone while the disk could not say so. */
        boolean unrecorded;
    }

    /** What a sidecar went through. */
    private static final class Story {
        long began;
        long clear = -1;
        long restart = -1;
        long moved = -1;
        long dry = -1;
        long unfair = -100 * Timeline.SECOND;
        /** Since when it was told that a block has a second copy. */
        final Map<Long, Long> twins = new HashMap<>();
    }

    private final Timeline time;
    private final boolean tracing;
    private Optional<StormDigest> digest = Optional.empty();
    private final boolean watching;
    private final Map<Key, Account> accounts = new LinkedHashMap<>();
    private final Map<String, Story> stories = new HashMap<>();
    private final Map<Long, Long> parents = new HashMap<>();
    /** Blocks of which the engine has let go by itself. */
    private final Map<VirtualEngine, Set<Long>> murky = new HashMap<>();
    /** Blocks whose unpin overtook its own pin and took another's, which the engine's one count for all does not tell. */
    private final Map<VirtualEngine, Set<Long>> confused = new HashMap<>();

    private final Set<VirtualEngine> stopped = new HashSet<>();
    /** Engines that had a pin or an unpin of a block that no caller could know to be the wrong one. */
    private final Set<VirtualEngine> strays = new HashSet<>();

    /** What was pinned at the last looks, the newest last. */
    private final Map<VirtualEngine, Deque<Look>> looks = new HashMap<>();

    private int keptPins;
    private int unforeseenDeaths;
    /** The first sentence of each kind of failure. */
    private final Map<String, String> failures = new LinkedHashMap<>();

    /** The same for what is held by requests. */
    final TouchOracle touches;

    StormOracle(Timeline time, boolean tracing) {
        this(time, tracing, true);
    }

    /** @param watching whether each block is followed; where not, a cache may have millions of them */
    StormOracle(Timeline time, boolean tracing, boolean watching) {
        this.time = time;
        this.touches = new TouchOracle(time, this::fail, this::trace);
        this.tracing = tracing;
        this.watching = watching;
    }

    /** Whether each block is followed. */
    boolean watching() {
        return watching;
    }

    /** Tells each step, for whoever looks into one storm. */
    void trace(Supplier<String> sentence) {
        if (tracing || digest.isPresent()) {
            String line = time.now() / Timeline.MILLI + " ms " + sentence.get();
            digest.ifPresent(into -> into.act(line));
            if (tracing) {
                System.out.println(line);
            }
        }
    }

    /** Tells whoever looks into one storm of what is no step of it. */
    void note(Supplier<String> sentence) {
        if (tracing) {
            System.out.println(time.now() / Timeline.MILLI + " ms " + sentence.get());
        }
    }

    /** Has every step, and what sidecars say of themselves, go into a digest as well. */
    void digest(StormDigest into) {
        digest = Optional.of(into);
    }

    /** Takes what a sidecar says of itself. */
    void says(Supplier<String> view) {
        digest.ifPresent(into -> into.view(view.get()));
    }

    /** Takes what a sidecar decided just now. */
    void decides(String who, Supplier<Optional<String>> plan) {
        digest.ifPresent(into -> plan.get().ifPresent(lines -> into.decision(time.now() + who + lines)));
    }

    Map<String, String> failures() {
        return failures;
    }

    /** Pins that engines have at the end and that ledgers keep for a reason. */
    int keptPins() {
        return keptPins;
    }

    /** Schedulers that died of a pin or an unpin whose caller could not have known. */
    int unforeseenDeaths() {
        return unforeseenDeaths;
    }

    void fail(String kind, String sentence) {
        failures.putIfAbsent(kind, "at " + time.now() / Timeline.MILLI + " ms " + sentence);
    }

    // What sidecars went through

    void began(String who) {
        trace(() -> who + " begins");
        story(who).began = time.now();
    }

    /** What was under way or could not be written down may be done once more by the next life. */
    void killed(String who) {
        trace(() -> who + " is gone");
        accounts.forEach((key, account) -> {
            boolean underWay = account.lastUnpin >= 0
                    && time.now() - account.lastUnpin <= VirtualNetwork.TIME_LIMIT + Timeline.SECOND;
            boolean pinUnderWay = account.lastSent >= 0 && time.now() - account.lastSent <= VirtualNetwork.TIME_LIMIT;
            if (key.who().equals(who) && (underWay || pinUnderWay || account.unrecorded)) {
                account.sent++;
                account.unrecorded = false;
            }
        });
    }

    void troubledDisk(String who, long block, VirtualEngine engine) {
        account(who, engine, block).unrecorded = true;
    }

    /** The sidecar heard of a block that it has already. */
    void heardTwin(String who, long block) {
        story(who).twins.putIfAbsent(block, time.now());
    }

    void heardTwinGone(String who, long block) {
        story(who).twins.remove(block);
    }

    void moved(String who) {
        trace(() -> who + " is to go elsewhere");
        story(who).moved = time.now();
    }

    void ranDry(String who) {
        trace(() -> who + " runs dry");
        story(who).dry = time.now();
    }

    void heardClear(String who) {
        trace(() -> who + " hears a clear");
        story(who).clear = time.now();
        story(who).twins.clear();
    }

    void heardRestart(String who) {
        trace(() -> who + " hears a restart");
        story(who).restart = time.now();
        story(who).twins.clear();
    }

    // What happened to pins

    void chain(long block, Optional<Long> parent) {
        parent.ifPresent(above -> parents.put(block, above));
    }

    void sent(String who, VirtualEngine engine, long[] blocks) {
        trace(() -> who + " sends pins of " + Arrays.toString(blocks) + " to " + engine.name);
        for (long block : blocks) {
            Account account = account(who, engine, block);
            account.sent++;
            account.lastSent = time.now();
        }
    }

    /** The engine said that it has no such block, and the caller heard it: that call is accounted for. */
    void missed(String who, VirtualEngine engine, long[] blocks) {
        trace(() -> who + " hears that " + Arrays.toString(blocks) + " are missing");
        for (long block : blocks) {
            account(who, engine, block).sent--;
        }
    }

    void forbidden(String who, VirtualEngine engine, long[] blocks) {
        trace(() -> who + " may not touch " + Arrays.toString(blocks));
        for (long block : blocks) {
            account(who, engine, block).forbidden = true;
        }
    }

    void pinned(String who, VirtualEngine engine, long block, boolean counted) {
        trace(() -> engine.name + " pins " + block + " for " + who + ": " + counted + ", ends a node "
                + engine.endsNode(block));
        Account account = account(who, engine, block);
        if (who.equals(FOREIGNER)) {
            account.sent++;
            account.lastSent = time.now();
        }
        if (counted) {
            if (account.counted++ == 0) {
                account.since = time.now();
            }
            look(engine);
            overGuard(who, engine);
            if (!engine.endsNode(block)) {
                astray(who, engine, block);
            }
        }
    }

    void unpinSent(String who, VirtualEngine engine, long[] blocks) {
        trace(() -> who + " sends unpins of " + Arrays.toString(blocks) + " to " + engine.name);
        for (long block : blocks) {
            account(who, engine, block).lastUnpin = time.now();
        }
    }

    /** The pin calls come after their caller has given up. */
    void late(String who, VirtualEngine engine, long[] blocks) {
        for (long block : blocks) {
            account(who, engine, block).arrivedLate = true;
        }
    }

    /** Before the engine is asked: what it dies of is known then. */
    void unpinning(String who, VirtualEngine engine, long block) {
        if (engine.hasTwin(block) && engine.pins().containsKey(block)) {
            Long told = story(who).twins.get(block);
            String sentence = who + " unpins block " + block + " of " + engine.name;
            long sent = account(who, engine, block).lastUnpin;
            if (told != null && told > story(who).began && told + MOMENT < sent) {
                fail("a twin unpinned although it was known", sentence);
            } else if (told != null && sent - told > 60 * Timeline.SECOND) {
                fail("a twin unpinned after a start", sentence);
            } else {
                strays.add(engine);
            }
        }
    }

    void unpinned(String who, VirtualEngine engine, long block, boolean done, boolean counted) {
        trace(() -> engine.name + " unpins " + block + " for " + who + ": " + done + ", it was counted " + counted);
        Account account = account(who, engine, block);
        if (done) {
            account.undone++;
            if (account.counted-- == 0) {
                confused.computeIfAbsent(engine, _ -> new HashSet<>()).add(block);
            }
            if (account.undone > account.sent && !isMurky(engine, block)) {
                fail(
                        "somebody else's pin taken away",
                        who + " unpinned block " + block + " of " + engine.name + " for the " + account.undone
                                + ". time after " + account.sent + " pins that may have arrived");
            }
        } else if (counted && account.counted > 0) {
            account.counted--;
        }
    }

    /** The cache is empty, and no pin is left. */
    void cleared(VirtualEngine engine) {
        trace(() -> engine.name + " is empty");
        accounts.forEach((key, account) -> {
            if (key.engine() == engine) {
                account.counted = 0;
            }
        });
        murky.remove(engine);
        confused.remove(engine);
        strays.remove(engine);
        touches.cleared(engine);
    }

    /** Notices pins that the engine took off by itself. */
    void ownDoing(VirtualEngine engine) {
        Map<Long, Integer> left = null;
        for (Map.Entry<Key, Account> entry : accounts.entrySet()) {
            if (entry.getKey().engine() == engine && entry.getValue().counted > 0) {
                left = left == null ? new HashMap<>(engine.pins()) : left;
                int mine = Math.min(
                        entry.getValue().counted,
                        Math.max(0, left.getOrDefault(entry.getKey().block(), 0)));
                left.merge(entry.getKey().block(), -mine, Integer::sum);
                if (mine < entry.getValue().counted) {
                    trace(() -> engine.name + " lets go of " + entry.getKey().block() + " by itself");
                    entry.getValue().counted = mine;
                    murky.computeIfAbsent(engine, _ -> new HashSet<>())
                            .add(entry.getKey().block());
                }
            }
        }
    }

    /**
     * A pin of a block in the middle of a node, which can end the engine. Who sees old events, or whose calls take their
     * time, cannot know; in fair weather it is a fault.
     */
    private void astray(String who, VirtualEngine engine, long block) {
        strays.add(engine);
        long unfair = story(who).unfair;
        if (engine.ranks().size() > 1) {
            takenBackSoon(who, engine, block);
            return;
        }
        long ended = engine.lastEnded(block);
        if (unfair != Long.MAX_VALUE
                && time.now() - unfair > 20 * Timeline.SECOND
                && ended >= 0
                && time.now() - ended > 3 * Timeline.SECOND) {
            fail("a pin astray in fair weather", who + " pins block " + block + " of " + engine.name);
        }
    }

    /** Another rank may store a block while the call is on its way: the count of all ranks tells, and the pin goes at once. */
    private void takenBackSoon(String who, VirtualEngine engine, long block) {
        Account account = account(who, engine, block);
        long began = story(who).began;
        long since = account.since;
        time.after(20 * Timeline.SECOND, () -> {
            boolean fair = story(who).unfair != Long.MAX_VALUE
                    && time.now() - story(who).unfair > 60 * Timeline.SECOND
                    && story(who).began == began
                    && story(who).restart < 0;
            if (fair && account.counted > 0 && account.since == since && !engine.endsNode(block)) {
                fail("a pin astray that is not taken back", who + " pinned block " + block + " of " + engine.name);
            }
        });
    }

    /** Somebody else's pins and a capacity that fell are no fault; what one sidecar pins by itself is. */
    private void overGuard(String who, VirtualEngine engine) {
        if (engine.capacity() < engine.settings.capacityTokens() || who.equals(FOREIGNER)) {
            return;
        }
        Set<Long> own = new HashSet<>();
        // The engine's own faults make pins that are counted and take none of its memory.
        pinnedBy(who, engine).stream().filter(engine::holds).forEach(block -> walk(block, own));
        if (own.size() * engine.page() > engine.guard()) {
            fail(
                    "more pinned than the guard leaves",
                    who + " has " + own.size() * engine.page() + " tokens pinned: " + describe(engine, engine.stats()));
        }
    }

    /** After a time in which every sidecar could know and act, what is pinned has to be within the guard. */
    void hasToBeWithinGuard(VirtualEngine engine, List<String> sidecars) {
        boolean fair = sidecars.stream()
                .allMatch(who -> time.now() - story(who).began > 30 * Timeline.SECOND
                        && story(who).unfair != Long.MAX_VALUE
                        && time.now() - story(who).unfair > 40 * Timeline.SECOND);
        if (fair && engine.isUp() && !stopped(engine) && pinnedTokens(engine) > engine.guard()) {
            fail("more is pinned than the guard leaves, for long", describe(engine, engine.stats()));
        }
    }

    /** Whatever comes between a sidecar and its engine begins or ends. */
    void unfair(String who, boolean begins) {
        story(who).unfair = begins ? Long.MAX_VALUE : time.now();
    }

    /** Whether nothing has come between a sidecar and its engine for so long, and it has lived as long. */
    boolean isFair(String who, long nanos) {
        return story(who).unfair != Long.MAX_VALUE
                && time.now() - story(who).unfair > nanos
                && time.now() - story(who).began > nanos;
    }

    // What happened to engines

    void stuck(VirtualEngine engine, Load stats) {
        // A lease ends after its time, and what waits for that is served then.
        long bound = (engine.settings.streaming() ? 62 : 2) * Timeline.SECOND;
        if (time.now() - engine.stuckSince() > bound && stopped.add(engine)) {
            fail("an engine stopped for good" + why(engine), describe(engine, stats));
        }
    }

    void revived(VirtualEngine engine) {
        stopped.remove(engine);
    }

    boolean stopped(VirtualEngine engine) {
        return stopped.contains(engine);
    }

    void died(VirtualEngine engine, String message) {
        boolean memory = message.contains("Out of memory");
        if (!memory && strays.contains(engine) && engine.ranks().size() == 1) {
            unforeseenDeaths++;
            return;
        }
        fail(
                memory ? "an engine died of decoding" + why(engine) : "a scheduler died of a pin or an unpin",
                message + ": " + describe(engine, engine.stats()));
    }

    /** Looks at what is pinned. */
    void look(VirtualEngine engine) {
        Deque<Look> past = looks.computeIfAbsent(engine, _ -> new ArrayDeque<>());
        past.addLast(new Look(
                heldTokens(engine), pinnedTokens(engine), engine.stats().protectedTokens(), engine.guard()));
        if (past.size() > 12) {
            past.removeFirst();
        }
    }

    private Look worst(VirtualEngine engine) {
        return looks.getOrDefault(engine, new ArrayDeque<>()).stream()
                .max(Comparator.comparingInt(look -> look.pinned() - look.guard()))
                .orElse(new Look(0, 0, 0, 0));
    }

    String describe(VirtualEngine engine, Load stats) {
        return engine.name + " of " + engine.capacity() + " tokens, context " + engine.settings.contextTokens()
                + ": locked " + stats.protectedTokens() + ", pinned " + pinnedTokens(engine) + ", by sidecars "
                + heldTokens(engine) + ", running "
                + stats.running() + ", waiting " + stats.waiting() + "; a moment ago " + worst(engine);
    }

    private String why(VirtualEngine engine) {
        Look worst = worst(engine);
        if (worst.pinned() > worst.held()) {
            return " beside foreign pins";
        }
        if (engine.capacity() < engine.settings.capacityTokens()) {
            return " after its capacity fell";
        }
        return worst.pinned() > worst.guard() ? " by pins above the guard" : " within the guard";
    }

    /** Tokens on the paths of all pins. */
    int pinnedTokens(VirtualEngine engine) {
        Set<Long> seen = new HashSet<>();
        engine.pins().keySet().forEach(block -> walk(block, seen));
        return seen.size() * engine.page();
    }

    /** Tokens on the paths of the pins that sidecars made. */
    int heldTokens(VirtualEngine engine) {
        Set<Long> seen = new HashSet<>();
        accounts.forEach((key, account) -> {
            if (key.engine() == engine && account.counted > 0 && !key.who().equals(FOREIGNER)) {
                walk(key.block(), seen);
            }
        });
        return seen.size() * engine.page();
    }

    private void walk(long block, Set<Long> seen) {
        Long at = block;
        while (at != null && seen.add(at)) {
            at = parents.get(at);
        }
    }

    /** Blocks that this caller has pinned in the engine. */
    List<Long> pinnedBy(String who, VirtualEngine engine) {
        return accounts.entrySet().stream()
                .filter(entry -> entry.getKey().who().equals(who)
                        && entry.getKey().engine() == engine
                        && entry.getValue().counted > 0)
                .map(entry -> entry.getKey().block())
                .toList();
    }

    // The end

    /**
     * Compares what the engine counts for a sidecar with what its ledger says.
     *
     * @param entries open entries of blocks at this engine, and whether the ledger says that they are kept for a reason
     */
    void settle(String who, VirtualEngine engine, Map<Long, Boolean> entries) {
        accounts.forEach((key, account) -> {
            if (!key.who().equals(who) || key.engine() != engine || account.counted <= 0) {
                return;
            }
            long block = key.block();
            if (!engine.holds(block) || confused.getOrDefault(engine, Set.of()).contains(block)) {
                return;
            }
            Boolean kept = entries.get(block);
            String sentence = who + " has block " + block + " of " + engine.name + " pinned " + account.counted
                    + " times, and its ledger says " + (kept == null ? "nothing" : kept ? "kept" : "open");
            if (Boolean.TRUE.equals(kept)) {
                keptPins++;
            }
            if (kept == null) {
                fail("leak: " + cause(who, key, account), sentence);
            } else if (!kept && !engine.hadTwin(block) && !account.forbidden) {
                fail("held past its lease", sentence);
            }
        });
    }

    private String cause(String who, Key key, Account account) {
        Story story = story(who);
        if (story.moved > account.since) {
            return "the engine's address was changed";
        }
        if (story.dry > account.since) {
            return "a dry run in between";
        }
        if (story.restart > account.since) {
            return "a restart was heard that was none";
        }
        if (story.clear > account.since) {
            return story.began > account.since
                    ? "a clear was replayed after a start"
                    : "a clear was heard that was older than the pin";
        }
        if (account.arrivedLate) {
            return "a pin that came late";
        }
        if (key.engine().hadTwin(key.block())) {
            return "a twin forgotten";
        }
        return account.counted > 1 ? "a pin made twice" : "unknown cause";
    }

    private boolean isMurky(VirtualEngine engine, long block) {
        return murky.getOrDefault(engine, Set.of()).contains(block);
    }

    private Account account(String who, VirtualEngine engine, long block) {
        return accounts.computeIfAbsent(new Key(who, engine, block), _ -> new Account());
    }

    private Story story(String who) {
        return stories.computeIfAbsent(who, _ -> new Story());
    }
}
