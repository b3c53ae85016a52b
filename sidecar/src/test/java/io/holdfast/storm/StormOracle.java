package io.holdfast.storm;

import io.holdfast.rules.sglang.SglangStats;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

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

    private record Key(String who, VirtualEngine engine, long block) {}

    private static final class Account {
        int sent;
        int undone;
        int counted;
        long lastPin = -1;
        long lastSent = -1;
        boolean arrivedLate;
        boolean forbidden;
    }

    /** What a sidecar went through. */
    private static final class Story {
        long began;
        long clear = -1;
        long restart = -1;
        long moved = -1;
        long dry = -1;
    }

    private final Timeline time;
    private final Map<Key, Account> accounts = new LinkedHashMap<>();
    private final Map<String, Story> stories = new HashMap<>();
    private final Map<Long, Long> parents = new HashMap<>();
    private final Map<VirtualEngine, Set<Long>> murky = new HashMap<>();
    private final Set<VirtualEngine> stopped = new HashSet<>();
    private final Map<VirtualEngine, Long> autoUnpins = new HashMap<>();
    /** The first sentence of each kind of failure. */
    private final Map<String, String> failures = new LinkedHashMap<>();

    StormOracle(Timeline time) {
        this.time = time;
    }

    Map<String, String> failures() {
        return failures;
    }

    void fail(String kind, String sentence) {
        failures.putIfAbsent(kind, "at " + time.now() / Timeline.MILLI + " ms " + sentence);
    }

    // What sidecars went through

    void began(String who) {
        story(who).began = time.now();
    }

    void moved(String who) {
        story(who).moved = time.now();
    }

    void ranDry(String who) {
        story(who).dry = time.now();
    }

    void heardClear(String who) {
        story(who).clear = time.now();
    }

    void heardRestart(String who) {
        story(who).restart = time.now();
    }

    // What happened to pins

    void chain(long block, Optional<Long> parent) {
        parent.ifPresent(above -> parents.put(block, above));
    }

    void sent(String who, VirtualEngine engine, long[] blocks) {
        for (long block : blocks) {
            Account account = account(who, engine, block);
            account.sent++;
            account.lastSent = time.now();
        }
    }

    /** The engine said that it has no such block, and the caller heard it: that call is accounted for. */
    void missed(String who, VirtualEngine engine, long[] blocks) {
        for (long block : blocks) {
            account(who, engine, block).sent--;
        }
    }

    void forbidden(String who, VirtualEngine engine, long[] blocks) {
        for (long block : blocks) {
            account(who, engine, block).forbidden = true;
        }
    }

    void pinned(String who, VirtualEngine engine, long block, boolean counted) {
        Account account = account(who, engine, block);
        if (who.equals(FOREIGNER)) {
            account.sent++;
            account.lastSent = time.now();
        }
        if (counted) {
            account.counted++;
            account.lastPin = time.now();
            account.arrivedLate |= time.now() - account.lastSent > VirtualNetwork.TIME_LIMIT;
        }
    }

    /** Before the engine is asked: what it dies of is known then. */
    void unpinning(String who, VirtualEngine engine, long block) {
        if (engine.hadTwin(block) && engine.pins().containsKey(block)) {
            fail("an unpin that twins make deadly", who + " unpins block " + block + " of " + engine.name);
        }
    }

    void unpinned(String who, VirtualEngine engine, long block, boolean done, boolean counted) {
        Account account = account(who, engine, block);
        if (done) {
            account.undone++;
            account.counted--;
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
        accounts.forEach((key, account) -> {
            if (key.engine() == engine) {
                account.counted = 0;
            }
        });
        murky.remove(engine);
    }

    /** Notices pins that the engine took off by itself. */
    void ownDoing(VirtualEngine engine) {
        Map<Long, Integer> left = null;
        for (Map.Entry<Key, Account> entry : accounts.entrySet()) {
            if (entry.getKey().engine() == engine && entry.getValue().counted > 0) {
                left = left == null ? new HashMap<>(engine.pins()) : left;
                int mine = Math.min(
                        entry.getValue().counted, Math.max(0, left.getOrDefault(entry.getKey().block(), 0)));
                left.merge(entry.getKey().block(), -mine, Integer::sum);
                if (mine < entry.getValue().counted) {
                    entry.getValue().counted = mine;
                    murky.computeIfAbsent(engine, _ -> new HashSet<>())
                            .add(entry.getKey().block());
                    autoUnpins.put(engine, time.now());
                }
            }
        }
    }

    // What happened to engines

    void stuck(VirtualEngine engine, SglangStats stats) {
        if (time.now() - engine.stuckSince() > 2 * Timeline.SECOND && stopped.add(engine)) {
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
        fail(
                memory ? "an engine died of decoding" + why(engine) : "a scheduler died of a pin or an unpin",
                message + ": " + describe(engine, engine.stats()));
    }

    String describe(VirtualEngine engine, SglangStats stats) {
        return engine.name + " of " + engine.capacity() + " tokens, context " + engine.settings.contextTokens()
                + ": pinned " + pinnedTokens(engine) + ", by sidecars " + heldTokens(engine) + ", running "
                + stats.running() + ", waiting " + stats.waiting();
    }

    private String why(VirtualEngine engine) {
        long now = time.now();
        if (leaks(engine)) {
            return " after a leak";
        }
        if (pinnedTokens(engine) > heldTokens(engine)) {
            return " beside foreign pins";
        }
        if (engine.capacity() < engine.settings.capacityTokens()) {
            return " after its capacity fell";
        }
        return heldTokens(engine) > engine.guard() || now - autoUnpins.getOrDefault(engine, -now) < Timeline.SECOND
                ? " by pins above the guard"
                : " within the guard";
    }

    private boolean leaks(VirtualEngine engine) {
        return accounts.entrySet().stream()
                .anyMatch(entry -> entry.getKey().engine() == engine
                        && entry.getValue().counted > 1
                        && !entry.getKey().who().equals(FOREIGNER));
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
            Boolean kept = entries.get(block);
            String sentence = who + " has block " + block + " of " + engine.name + " pinned " + account.counted
                    + " times, and its ledger says " + (kept == null ? "nothing" : kept ? "kept" : "open");
            if (kept == null) {
                fail("leak: " + cause(who, key, account), sentence);
            } else if (!kept && !engine.hadTwin(block) && !account.forbidden) {
                fail("held past its lease", sentence);
            }
        });
    }

    private String cause(String who, Key key, Account account) {
        Story story = story(who);
        if (key.engine().hadTwin(key.block())) {
            return "a twin forgotten";
        }
        if (story.moved > account.lastPin) {
            return "the engine's address was changed";
        }
        if (story.dry > account.lastPin) {
            return "a dry run in between";
        }
        if (story.restart > account.lastPin) {
            return "a restart was heard that was none";
        }
        if (story.clear > account.lastPin) {
            return story.began > account.lastPin
                    ? "a clear was replayed after a start"
                    : "a clear was heard that was older than the pin";
        }
        return account.arrivedLate ? "a pin that came late" : account.counted > 1 ? "a pin made twice" : "unknown cause";
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
