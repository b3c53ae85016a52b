package io.holdfast.core.pin;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.StayingPath;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.pin.Pin.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Pins that the engine has, or may have, for us. Nothing else asks the engine to pin or unpin. */
public final class Pins {
    /*
     * One pin for one handle
     * ----------------------
     * Engines count pins: a second pin of a block needs a second unpin, and nothing lists what is pinned. So a handle
     * is pinned by exactly one call however many holds end there; holds join a pin that exists, and the last one to
     * leave takes it back.
     *
     * A call reaches every cache of the engine, and what it counted has to be the caches that were known to have the
     * block: any other number is a pin where nobody vouched for it, so it is taken back at once. Where the caches end a
     * prefix with different blocks, a hold needs several pins.
     *
     *     PLANNED    nothing was sent: the intent is being written, or waits for its turn
     *     PINNING    the call is under way                      PINNED      the engine said yes
     *     UNPIN_DUE  to be unpinned at a time                   UNPINNING   the call is under way
     *     UNSURE     an unpin had no clear answer               KEPT        an unpin could hurt the engine
     *
     * As many unpins as pins
     * ----------------------
     * What an engine counts it counts for everybody. An unpin too many takes a pin of somebody else's; one too few
     * leaves memory taken for ever. So every pin that may have arrived is unpinned, once:
     *
     * * A pin that was not sent, or was answered with a clear no, is never undone.
     * * A pin without a clear answer may arrive for as long as ARRIVAL. It is unpinned at once; "there is none" closes
     *   it only when it was asked after that time, so a pin that arrives late is taken back then.
     * * A clear or a restart of the engine that is heard is no proof that a pin is gone: events and answers are two
     *   clocks, and the news may be older than the pin. What is believed gone is unpinned all the same; "there is none"
     *   is the usual answer.
     * * An unpin without a clear answer is UNSURE and never repeated: had it been done, the next would take what
     *   somebody else has pinned meanwhile. The pin counts, and the ledger says so, until the engine's own count at
     *   rest shows less than its path alone would take.
     * * A pin keeps its block from then on. Where events show that the block went while the call was under way, the pin
     *   is of what came back, in the middle of another request's blocks perhaps: an unpin of that can end the engine,
     *   so it is KEPT until the events show that it cannot.
     *
     * Twins
     * -----
     * A pinned block may get a twin: a second block of the engine under the same hash. An unpin names the hash, and may
     * take a pin from the twin that it never had, which can end the engine. So while there are two the pin is KEPT:
     * memory stays taken and counted, against an engine that may be gone. The ledger has a word for it, since a later
     * process sees no twins before it has seen every event: it waits until its view was certain for as long as ARRIVAL.
     *
     * What cannot be taken back
     * -------------------------
     * Of some backends there is no unpin. Such a pin is KEPT when nobody needs it any more: it counts, the hold says
     * so, and it is over when the events show that nothing of its path has stayed since it was made (StayingPath),
     * block by block, since an engine evicts the end of a path first. Whoever wants the path again takes the same pin
     * up by a call of his own. The ledger has the part that is left, and the moment of the engine's clock from which on
     * it counts: so the next start finds in the replayed events what is there still. As long as a call may be under
     * way, or events about it, all of it counts.
     *
     * Pins that end in time
     * ---------------------
     * Some pins end a known time after their last renewal or use, and cannot be taken back before. They are renewed
     * while somebody needs them (Renewals); to release one is to renew it no more, and it is KEPT, and counts, until
     * its time has surely run out. A process that ends renews nothing, so these need no ledger. Whoever wants the path
     * again meanwhile takes the same pin up.
     *
     * Written ahead
     * -------------
     * Nothing pinned survives in our memory when the process is killed, and engines forget nothing automatically. So
     * the intent is durable before the call is made, and whatever is not RELEASED at the next start is unpinned, by the
     * backend that pinned it, before anything else is pinned. A ledger that cannot be written stops pins and never an
     * unpin, which waits for no disk. A backend whose pins end automatically needs no ledger and leaves it alone.
     *
     * Threads
     * -------
     * The state belongs to the controller's thread. Writing (which waits for a disk, one line after the other) and
     * calling happen on the acting executor; answers come back as mail. A pin has at most one call under way, so there
     * is no order of answers to care about. Between the decision to pin and the call time passes: the caller's last
     * look says whether the block is still to be pinned when the call is about to leave.
     *
     * What the tree counts
     * --------------------
     * A pin's path is counted in the tree from the decision to pin until it is known to be gone. Pins whose path is not
     * known (of an earlier life, or overtaken by a clear) count with the number of blocks in their entry.
     */

    /** Receives what became of holds; called on the controller's thread. */
    public interface Results {
        /** A pin is about to be requested. */
        default void calling(PinCommand command) {}

        /** It was answered, or did not leave after all. */
        default void called(PinCommand command, Outcome outcome) {}

        void pinned(long holdId, long block, int blocks, String reason);

        /** The hold is not pinned, and nothing is left of the attempt but, if deferred, its undoing. */
        void notPinned(long holdId, Outcome outcome);

        /** Its pin was renewed. */
        default void renewed(long holdId) {}

        /** Its pin is not there any more, or not as it was made. */
        default void pinLost(long holdId, String why) {}

        /** The engine holds nothing for it any more. */
        void left(long holdId);

        /** The engine may still hold something for it, for this reason; told again whenever the hold is to leave. */
        void notLeft(long holdId, String why);

        /** Reports that a pin that could not be taken back is over. */
        default void over(long holdId, String why) {
            left(holdId);
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Pins.class);
    private static final long SECOND = 1_000_000_000L;
    /** Longest time for which a request can be under way after its sender gave it up. */
    static final long ARRIVAL_NANOS = 60 * SECOND;

    private static final long REFUSED_AGAIN_NANOS = 60 * SECOND;
    private static final int LONGEST_BACK_OFF_LOG2 = 5;
    private static final int MOST_IN_ONE_CALL = 512;
    private static final String TWINS =
            "a second block of the engine has the hash of this one by now, and an unpin could hit that one: it stays"
                    + " pinned until the engine has removed both, clears its cache or restarts";
    /** Beginning by which a note of the ledger is known, whatever follows. */
    private static final String ASTRAY_BEGINS = "it may be pinned ";

    private static final String ASTRAY = ASTRAY_BEGINS
            + "where it lies in the middle of what a request stored, and the end of that is not known to be there: an"
            + " unpin could end the engine, so it stays pinned until the events show that it cannot, or the engine, at"
            + " rest, shows that it is gone";
    private static final String ON_RANKS = "its call reaches every data-parallel rank";
    private static final long LOOK_AGAIN_NANOS = SECOND / 5;
    /** Events that were published before this are here after it, unless they are late. */
    private static final long TOLD_AFTER_NANOS = 3 * SECOND / 5;
    /** No event is on its way for longer. */
    private static final long ON_THE_WAY_NANOS = 15 * SECOND;

    private static final String OVER =
            "nothing of it is protected any more: the engine has evicted it, cleared its cache or restarted";
    private static final String RUN_OUT = "its time has run out";
    private static final String NEEDED = "released, and another hold has its prefix";

    private final Ledger ledger;
    private final Backends backends;
    private final LedgerWriter writer;
    private final PinCalls calls;
    private final Renewals<Pin> renewals;
    private final EngineCaches tree;
    private final BiFunction<Backend, Long, Optional<String>> lastLook;
    private final Results results;
    private final Map<Pin.Key, Pin> pins = new LinkedHashMap<>();
    /** Pins that each hold needs: one, or on an engine with several caches one for those that lack the others. */
    private final Map<Long, Set<Pin>> needed = new LinkedHashMap<>();

    private final List<Entry> abandoned = new ArrayList<>();
    private final List<Pin> together = new ArrayList<>();
    private boolean gathering;
    private long attempts;
    private Optional<EngineIdentity> engine = Optional.empty();

    private long nowNanos;
    private long blockTokens;
    private OptionalLong unreleasable = OptionalLong.empty();

    /**
     * Takes over what an earlier process left in the ledger.
     *
     * @param acting where the ledger is written and backends are called
     * @param owner runs what it is given on the controller's thread, soon
     * @param lastLook says of a block why this backend is not to pin it after all; asked when a pin is about to be sent
     */
    public Pins(
            Ledger ledger,
            Backends backends,
            Executor acting,
            Executor owner,
            EngineCaches tree,
            BiFunction<Backend, Long, Optional<String>> lastLook,
            Results results) {
        this.ledger = ledger;
        this.backends = backends;
        this.writer = new LedgerWriter(ledger, acting, owner);
        this.calls = new PinCalls(acting, owner);
        this.renewals = new Renewals<>(calls, new Renewals.Then<>() {
            @Override
            public void renewed(Pin pin) {
                List.copyOf(pin.holds.keySet()).forEach(results::renewed);
            }

            @Override
            public void lost(Pin pin, String why) {
                List.copyOf(pin.holds.keySet()).forEach(id -> results.pinLost(id, why));
            }
        });
        this.tree = tree;
        this.lastLook = lastLook;
        this.results = results;
        ledger.outstanding().forEach(this::takeOver);
        pins.values().stream().filter(pin -> !pin.releasable()).forEach(this::follow);
    }

    private void takeOver(Entry entry) {
        Optional<Backend> backend = backends.named(entry.backend());
        if (backend.isEmpty() || !backend.get().traits().needsLedger()) {
            abandoned.add(entry);
            return;
        }
        Pin pin = pins.computeIfAbsent(
                new Pin.Key(entry.backend(), entry.handle()),
                key -> new Pin(backend.get(), key, entry.lastBlock(), entry.blocks(), true));
        if (pin.leavers.isEmpty()) {
            tree.watchEnd(pin.block);
        }
        pin.leavers.put(entry.holdId(), entry.origin());
        if (!pin.releasable()) {
            takeOver(pin, entry);
            return;
        }
        if (entry.note().equals(ON_RANKS) || entry.note().startsWith(ASTRAY_BEGINS)) {
            pin.doubtful = true;
        }
        switch (entry.step()) {
            case KEPT -> {
                pin.state = State.KEPT;
                pin.written = Step.KEPT;
                pin.trouble = entry.note().isEmpty() ? TWINS : entry.note();
            }
            case UNSURE -> {
                if (pin.state != State.KEPT) {
                    pin.state = State.UNSURE;
                    pin.written = Step.UNSURE;
                    pin.trouble = entry.note();
                }
            }
            case PINNING, PINNED, RELEASED -> {
                if (pin.state == State.PLANNED) {
                    pin.state = State.UNPIN_DUE;
                }
                if (entry.step() == Step.PINNING) {
                    pin.mayArriveUntilNanos = ARRIVAL_NANOS;
                }
            }
        }
    }

    /** Counts a pin that cannot be taken back, all of it until the events have told what is left. */
    private void takeOver(Pin pin, Entry entry) {
        long since = EngineMoment.of(entry.note());
        pin.sinceMicros = pin.state == State.KEPT ? Math.max(pin.sinceMicros, since) : since;
        pin.state = State.KEPT;
        if (entry.blocks() > pin.blocks) {
            endAt(pin, entry.lastBlock(), entry.blocks());
        }
        if (entry.step() == Step.PINNING) {
            pin.mayArriveUntilNanos = ARRIVAL_NANOS;
        }
    }

    /** Sets the engine that answers; nothing is asked of it before this is known. */
    public void engineIs(EngineIdentity identity) {
        engine = Optional.of(identity);
    }

    /**
     * Closes what is unsure or kept where the engine's own count shows that it is gone: less is taken than its path
     * alone would take. What else is believed to be pinned says nothing here, since that may be gone as well.
     *
     * @param usedBlocks what cannot be evicted while nothing runs, with the pins of others
     * @param nanos when that was true, no call of ours being under way
     */
    public void rested(long usedBlocks, long nanos) {
        if (!ours()) {
            return;
        }
        for (Pin pin : List.copyOf(pins.values())) {
            boolean unsettled = pin.state == State.UNSURE || pin.state == State.KEPT;
            boolean since = nanos > pin.askedNanos && nanos > pin.mayArriveUntilNanos;
            if (unsettled && since && pin.releasable() && usedBlocks < pin.blocks) {
                gone(pin);
            }
        }
    }

    /**
     * Returns true if what is counted as ours is what the engine has: nothing is planned, and no call is under way.
     */
    public boolean quiet() {
        return count(pin -> pin.state == State.PLANNED || pin.state == State.PINNING || pin.state == State.UNPINNING)
                == 0;
    }

    /**
     * Sends unpins that are due.
     *
     * @param certainForNanos how long every event since the cache was empty has been seen; negative while that is not
     *     so
     */
    public void poll(long nanos, long certainForNanos) {
        nowNanos = nanos;
        writer.catchUp(nanos);
        renewals.poll(nanos);
        boolean ours = ours();
        for (Pin pin : List.copyOf(pins.values())) {
            if (pin.endsInTime()) {
                // In no ledger, so whose that is does not matter.
                runOut(pin);
                continue;
            }
            if (!ours) {
                continue;
            }
            if (!pin.releasable()) {
                look(pin, certainForNanos);
                continue;
            }
            boolean due = switch (pin.state) {
                case UNPIN_DUE -> pin.dueNanos <= nanos;
                case KEPT ->
                    (pin.counted || certainForNanos >= ARRIVAL_NANOS)
                            && !tree.ambiguous(pin.block)
                            && (!pin.doubtful || isSafe(pin));
                default -> false;
            };
            if (due) {
                unpin(pin);
            }
        }
    }

    /** Tokens in a block, 0 while that is not known. */
    public void blockTokens(long tokens) {
        blockTokens = tokens;
    }

    private void runOut(Pin pin) {
        int left = pin.state == State.KEPT ? mayLast(pin) : pin.blocks;
        if (left == 0) {
            gone(pin);
        } else if (left < pin.blocks) {
            count(pin, tree.path(pin.block)[left - 1], left);
            tellNotLeft(pin);
        }
    }

    private int mayLast(Pin pin) {
        return renewals.mayLast(pin, pin.backend.traits(), pin.blocks, () -> tree.path(pin.block), tree::lastTouch);
    }

    /** Looks at what is left of a pin that cannot be taken back and that nobody needs. */
    private void look(Pin pin, long certainForNanos) {
        boolean heard = nowNanos >= pin.mayArriveUntilNanos && nowNanos - pin.pinnedNanos >= ON_THE_WAY_NANOS;
        if (pin.state != State.KEPT || pin.left.isEmpty() || !heard) {
            return;
        }
        StayingPath path = pin.left.get();
        if (!path.known() && certainForNanos < ON_THE_WAY_NANOS) {
            return;
        }
        int left = path.blocks();
        if (left == 0) {
            gone(pin);
        } else if (left < pin.blocks || (!pin.counted && tree.depth(path.block(left - 1)) == left)) {
            count(pin, path.block(left - 1), left);
            pin.leavers.forEach((id, origin) -> record(pin, Step.KEPT, id, origin));
            tellNotLeft(pin);
        }
    }

    /** Has the path down to this block count for the pin, and nothing else. */
    private void count(Pin pin, long block, int blocks) {
        boolean was = pin.counted;
        pin.counted = tree.depth(block) == blocks;
        if (pin.counted) {
            tree.pinPath(block);
        }
        if (was) {
            tree.unpinPath(pin.block);
        }
        endAt(pin, block, blocks);
        unreleasable = OptionalLong.empty();
    }

    private void endAt(Pin pin, long block, int blocks) {
        tree.unwatchEnd(pin.block);
        tree.watchEnd(block);
        pin.block = block;
        pin.blocks = blocks;
    }

    /** Follows from now on what leaves of its path; a call or its events may be under way for so long. */
    private void follow(Pin pin, long arrivalNanos) {
        long stamp = tree.engineMicros();
        pin.sinceMicros = stamp == 0 ? Long.MAX_VALUE : stamp + arrivalNanos / 1_000;
        follow(pin);
    }

    private void follow(Pin pin) {
        pin.left.ifPresent(StayingPath::forget);
        pin.left = Optional.of(tree.follow(pin.block, pin.sinceMicros));
    }

    /** Nobody needs it, and it cannot be taken back. */
    private void keep(Pin pin) {
        pin.state = State.KEPT;
        unreleasable = OptionalLong.empty();
        pin.leavers.forEach((id, origin) -> record(pin, Step.KEPT, id, origin));
        tellNotLeft(pin);
    }

    /** Blocks that are protected for nobody and cannot be taken back. */
    private long unreleasableBlocks() {
        if (unreleasable.isEmpty()) {
            Set<Long> blocks = new HashSet<>();
            long uncounted = 0;
            for (Pin pin : pins.values()) {
                if (!pin.releasable() && pin.state == State.KEPT) {
                    uncounted += pin.counted ? 0 : pin.blocks;
                    for (long block : pin.counted ? tree.path(pin.block) : new long[0]) {
                        blocks.add(block);
                    }
                }
            }
            for (Pin pin : blocks.isEmpty() ? List.<Pin>of() : List.copyOf(pins.values())) {
                if (!pin.releasable() && pin.state != State.KEPT) {
                    for (long block : tree.path(pin.block)) {
                        blocks.remove(block);
                    }
                }
            }
            unreleasable = OptionalLong.of(uncounted + blocks.size());
        }
        return unreleasable.getAsLong();
    }

    private String cannotBeReleased(Pin pin) {
        if (pin.endsInTime()) {
            return String.format(
                    Locale.ROOT,
                    "cannot be released before its time runs out, %d s after its last renewal or use: the engine has no"
                            + " call that takes a pin back, so its %,d %s count until then",
                    pin.backend.traits().endsAfter().toSeconds(),
                    pin.blocks * Math.max(1, blockTokens),
                    blockTokens > 0 ? "tokens" : "blocks");
        }
        return String.format(
                Locale.ROOT,
                "cannot be released, %,d %s: the engine has no call that takes them back, so they count until it evicts"
                        + " them, clears its cache or restarts",
                pin.blocks * Math.max(1, blockTokens),
                blockTokens > 0 ? "tokens" : "blocks");
    }

    private boolean ours() {
        return engine.isPresent() && ledger.engine().map(engine.get()::sameAs).orElse(true);
    }

    /** Returns the reason why nothing may be pinned, whatever it is; absent when nothing is in the way. */
    public Optional<String> hindrance() {
        if (!backends.chosen().traits().needsLedger()) {
            return Optional.empty();
        }
        if (engine.isEmpty()) {
            return Optional.of("which engine this is is not known yet: it has not answered");
        }
        Optional<String> trouble = trouble();
        if (trouble.isPresent()) {
            return trouble;
        }
        int leftovers = count(Pin::isLeftover);
        return leftovers == 0
                ? Optional.empty()
                : Optional.of("pins of an earlier life are released first, " + leftovers + " to go");
    }

    /**
     * Returns the reason why entries of the ledger are left alone, so that a person has to look; absent when all are
     * ours to release.
     */
    private Optional<String> trouble() {
        if (engine.isPresent() && !ours()) {
            return Optional.of("the ledger belongs to the engine at "
                    + ledger.engine().map(EngineIdentity::shown).orElse("") + ", and this one is at "
                    + engine.map(EngineIdentity::shown).orElse("") + ": its "
                    + ledger.outstanding().size()
                    + " entries are neither released nor added to; name that engine again and start once, or delete the"
                    + " ledger where that engine has ended");
        }
        if (!abandoned.isEmpty()) {
            return Optional.of(abandoned.size() + " pins in the ledger were made by the backend "
                    + abandoned.getFirst().backend()
                    + ", which is not in use: they are left alone; start once with that"
                    + " backend, so that it releases them, or counts what cannot be released; where this version has"
                    + " none of that name, delete the ledger as soon as they are gone");
        }
        return Optional.empty();
    }

    public PinsView view() {
        return new PinsView(
                count(pin -> pin.state == State.PINNED),
                count(Pin::isLeftover),
                count(pin -> pin.state == State.UNSURE || pin.isAwaited(nowNanos) || (pin.unclear && pin.leaving())),
                count(pin -> pin.state == State.KEPT && pin.releasable()),
                count(pin -> pin.refused && pin.leaving()),
                abandoned.size(),
                unreleasableBlocks(),
                count(pin -> pin.endsInTime() && pin.state == State.KEPT),
                trouble());
    }

    private int count(Predicate<Pin> which) {
        return (int) pins.values().stream().filter(which).count();
    }

    /** Asks once more for what this hold waits for, since a person wants it; says why where that is not done. */
    public void retryNow(long holdId) {
        for (Pin pin : List.copyOf(pins.values())) {
            if (!pin.leavers.containsKey(holdId)) {
                continue;
            }
            if (pin.state == State.UNPIN_DUE
                    && ours()
                    && (pin.askedNanos == Pin.NEVER || nowNanos - pin.askedNanos >= SECOND)) {
                unpin(pin);
            } else if (pin.state != State.UNPINNING) {
                results.notLeft(holdId, staying(pin));
            }
        }
    }

    /** Retries now for every hold, except where that could take a pin that is not ours. */
    public void retryNow() {
        for (Pin pin : List.copyOf(pins.values())) {
            if (pin.state == State.UNPIN_DUE && ours()) {
                unpin(pin);
            } else if (pin.state == State.UNPIN_DUE || pin.state == State.UNSURE || pin.state == State.KEPT) {
                tellNotLeft(pin);
            }
        }
    }

    private String staying(Pin pin) {
        if (!ours()) {
            return trouble().orElse("the engine has not answered yet");
        }
        if (!pin.releasable()) {
            return cannotBeReleased(pin);
        }
        return pin.trouble.isEmpty() ? "its unpin was asked for a moment ago" : pin.trouble;
    }

    private void tellNotLeft(Pin pin) {
        String why = staying(pin);
        List.copyOf(pin.leavers.keySet()).forEach(id -> results.notLeft(id, why));
    }

    /** Holds that still wait for an unpin, those of an earlier life included. */
    public Set<Long> leavers() {
        Set<Long> leavers = new HashSet<>();
        pins.values().forEach(pin -> leavers.addAll(pin.leavers.keySet()));
        return leavers;
    }

    /** Blocks that nobody needs any more and that may still be pinned, a refused unpin included. */
    public Set<Long> leaving() {
        return blocks(pin -> pin.leaving() && pin.releasable());
    }

    /** Returns the blocks whose unpin is under way or repeated and will take their path out of the tree. */
    public Set<Long> freeing() {
        return blocks(
                pin -> pin.counted && (pin.state == State.UNPINNING || (pin.state == State.UNPIN_DUE && !pin.refused)));
    }

    private Set<Long> blocks(Predicate<Pin> which) {
        Set<Long> blocks = new HashSet<>();
        for (Pin pin : pins.values()) {
            if (which.test(pin)) {
                blocks.add(pin.block);
            }
        }
        return blocks;
    }

    /** Blocks that the engine holds, or may hold, for us, each as if it were in all of its caches. */
    public long pinnedBlocks() {
        return tree.pinnedBlocks() + outside();
    }

    /** Blocks that the cache of one rank holds, or may hold, for us. */
    public long pinnedBlocks(int rank) {
        return tree.rank(rank).pinnedBlocks() + outside();
    }

    private long outside() {
        long outside = 0;
        for (Pin pin : pins.values()) {
            outside += pin.counted ? 0 : pin.blocks;
        }
        return outside;
    }

    private boolean onRank(Pin pin, int rank) {
        return !tree.several() || tree.pinnedOn(pin.block).contains(rank);
    }

    /** The last blocks of the paths that are pinned for each hold. */
    public Map<Long, Set<Long>> ends() {
        Map<Long, Set<Long>> ends = new LinkedHashMap<>();
        needed.forEach((holdId, pins) -> pins.stream()
                .filter(pin -> pin.state == State.PINNED)
                .forEach(pin -> ends.computeIfAbsent(holdId, id -> new LinkedHashSet<>())
                        .add(pin.block)));
        return ends;
    }

    /**
     * Pins the block for the hold, or lets it join; does nothing while an earlier call about the block, or for this
     * hold about another one, is under way.
     *
     * @param path the hold's own, or one over it
     */
    public void want(Hold hold, HoldRequest path, int blocks) {
        Set<Pin> has = needed.getOrDefault(hold.id(), Set.of());
        if (!has.isEmpty() && (!tree.several() || has.stream().anyMatch(pin -> pin.state != State.PINNED))) {
            return;
        }
        long block = path.block(blocks - 1);
        int caches = tree.several() ? tree.ranksWith(block).size() : 1;
        if (caches == 0) {
            return;
        }
        PinCommand command = new PinCommand(hold.id(), attempts++, path, blocks, caches);
        Backend backend = backends.chosen().itself();
        Pin.Key key = new Pin.Key(backend.name(), backend.handle(command));
        Pin pin = pins.get(key);
        if (pin == null) {
            pin = new Pin(backend, key, block, blocks, false);
            pins.put(key, pin);
            need(pin, hold);
            tree.watchEnd(block);
            pin.counted = true;
            tree.pinPath(block);
            pin.trouble = tree.several() ? ON_RANKS : "";
            mayCount(pin);
            plan(pin, command, pin.entry(Step.PINNING, hold.id(), hold.origin()));
        } else if (pin.state == State.KEPT && !pin.releasable()) {
            takeUp(pin, hold, block, blocks);
            plan(pin, command, pin.entry(Step.PINNING, hold.id(), hold.origin()));
        } else if (pin.state == State.PINNED && !has.contains(pin)) {
            need(pin, hold);
            join(pin, pin.entry(Step.PINNED, hold.id(), hold.origin()));
        }
    }

    /** A pin that cannot be taken back is made anew for somebody, which makes it no second one. */
    private void takeUp(Pin pin, Hold hold, long block, int blocks) {
        count(pin, block, blocks);
        pin.leavers.remove(hold.id());
        need(pin, hold);
        pin.state = State.PLANNED;
        mayCount(pin);
    }

    /**
     * Whenever the call that is about to leave may arrive: what the ledger says of it counts from then on at the
     * latest.
     */
    private void mayCount(Pin pin) {
        long stamp = tree.engineMicros();
        pin.sinceMicros = stamp == 0 ? Long.MAX_VALUE : stamp + ARRIVAL_NANOS / 1_000;
    }

    private void need(Pin pin, Hold hold) {
        pin.holds.put(hold.id(), hold.origin());
        needed.computeIfAbsent(hold.id(), id -> new LinkedHashSet<>()).add(pin);
    }

    private void plan(Pin pin, PinCommand command, Entry intent) {
        if (!pin.backend.traits().needsLedger()) {
            send(pin, command);
            return;
        }
        writer.write(
                header(),
                intent,
                unwritten -> written(pin, command, unwritten),
                closed -> pinAnswered(pin, new Outcome(Kind.NOT_SENT, "Not sent: " + closed + ".")));
    }

    private void written(Pin pin, PinCommand command, Optional<String> unwritten) {
        unwritten.ifPresentOrElse(why -> pinAnswered(pin, new Outcome(Kind.REJECTED, why)), () -> send(pin, command));
    }

    private void send(Pin pin, PinCommand command) {
        calls.pin(() -> refusal(pin, command), () -> pin.backend.pin(command), outcome -> {
            results.called(command, outcome);
            switch (outcome.kind()) {
                case ACCEPTED, CLIPPED -> renewals.mayLast(pin, pin.backend.traits(), 0);
                case DEFERRED -> renewals.mayLast(pin, pin.backend.traits(), ARRIVAL_NANOS);
                case REJECTED, MISSING, NOT_SENT -> {}
            }
            if (outcome.kind() == Kind.ACCEPTED) {
                renewals.begin(pin, pin.backend, command, pin.sentNanos);
            }
            pinAnswered(pin, outcome);
        });
    }

    private Optional<String> refusal(Pin pin, PinCommand command) {
        Optional<String> refusal = pin.holds.isEmpty()
                ? Optional.of("nobody wanted it any more when its turn came")
                : lastLook.apply(pin.backend, pin.block);
        if (refusal.isEmpty()
                && tree.several()
                && (!pin.counted || !tree.ranksWith(pin.block).equals(tree.pinnedOn(pin.block)))) {
            refusal = Optional.of("other caches of the engine have its last block by now than when it was planned");
        }
        if (refusal.isEmpty()) {
            pin.state = State.PINNING;
            pin.sentNanos = nowNanos;
            watchArrival(pin);
            results.calling(command);
        }
        return refusal;
    }

    private void pinAnswered(Pin pin, Outcome outcome) {
        pin.pinnedNanos = nowNanos;
        switch (outcome.kind()) {
            case ACCEPTED -> {
                pin.state = State.PINNED;
                if (!pin.doubtful) {
                    unwatchArrival(pin);
                }
                if (!pin.releasable()) {
                    made(pin);
                }
                pin.leavers.forEach((id, origin) -> record(pin, Step.PINNED, id, origin));
                pin.holds.forEach((id, origin) -> record(pin, Step.PINNED, id, origin));
                if (pin.holds.isEmpty()) {
                    unpin(pin);
                } else {
                    List.copyOf(pin.holds.keySet())
                            .forEach(id -> results.pinned(id, pin.block, pin.blocks, outcome.reason()));
                }
            }
            case REJECTED, MISSING, NOT_SENT -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                nobodyNeeds(pin);
                if (pin.left.isPresent() || (pin.endsInTime() && mayLast(pin) > 0)) {
                    keep(pin);
                } else {
                    gone(pin);
                }
                holds.forEach(id -> results.notPinned(id, outcome));
            }
            case CLIPPED -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                nobodyNeeds(pin);
                pin.doubtful = true;
                pin.pinnedIn = outcome.caches();
                pin.trouble = "it was pinned otherwise than asked, and is taken back: " + outcome.reason();
                unpin(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
            case DEFERRED -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                nobodyNeeds(pin);
                pin.mayArriveUntilNanos = nowNanos + ARRIVAL_NANOS;
                if (!pin.releasable() && !pin.endsInTime()) {
                    follow(pin, ARRIVAL_NANOS);
                }
                if (tree.several()) {
                    pin.doubtful = true;
                }
                pin.trouble = "no clear answer to the pin, which may still arrive: " + outcome.reason();
                unpin(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
        }
    }

    private void watchArrival(Pin pin) {
        if (pin.backend.traits().needs(Need.INSERTION_END)) {
            pin.arrivalWatched = true;
            tree.watchArrival(pin.block);
        }
    }

    private void unwatchArrival(Pin pin) {
        if (pin.arrivalWatched) {
            pin.arrivalWatched = false;
            tree.unwatchArrival(pin.block);
        }
    }

    /**
     * Takes in that a pin was made. Holds that had left it and could not release it are released now that another needs
     * it.
     */
    private void made(Pin pin) {
        if (!pin.endsInTime()) {
            follow(pin, 0);
        }
        unreleasable = OptionalLong.empty();
        if (!pin.holds.isEmpty()) {
            Map<Long, HoldOrigin> before = new LinkedHashMap<>(pin.leavers);
            pin.leavers.clear();
            before.forEach((id, origin) -> record(pin, Step.RELEASED, id, origin));
            before.keySet().stream()
                    .filter(id -> !pin.holds.containsKey(id))
                    .forEach(id -> leftUnlessNeeded(id, Optional.of(NEEDED)));
        }
    }

    private void join(Pin pin, Entry entry) {
        if (!pin.backend.traits().needsLedger()) {
            joined(pin, entry, Optional.empty());
            return;
        }
        writer.write(
                Optional.empty(),
                entry,
                unwritten -> joined(pin, entry, unwritten),
                closed -> joined(pin, entry, Optional.of(closed)));
    }

    private void joined(Pin pin, Entry entry, Optional<String> trouble) {
        if (!pin.holds.containsKey(entry.holdId())) {
            return;
        }
        if (trouble.isPresent()) {
            HoldOrigin origin = pin.holds.remove(entry.holdId());
            needNoMore(entry.holdId(), pin);
            leave(pin, entry.holdId(), origin == null ? entry.origin() : origin);
            results.notPinned(entry.holdId(), new Outcome(Kind.REJECTED, trouble.get()));
        } else {
            results.pinned(
                    entry.holdId(), entry.lastBlock(), entry.blocks(), "shares the pin of another hold on this block");
        }
    }

    /** Returns the chosen backend's traits, or stricter ones while an earlier choice still has pins. */
    public BackendTraits traits() {
        BackendTraits chosen = backends.chosen().traits();
        return takeMemory() ? chosen.besideHardPins() : chosen;
    }

    /** Returns true if pins take memory for good: those to come, or some that were made. */
    public boolean areHard() {
        return traits().takesMemory();
    }

    /** Returns true if a pin reaches several caches at once. */
    public boolean onRanks() {
        return tree.several() && backends.chosen().traits().needs(Need.INSERTION_END);
    }

    private boolean takeMemory() {
        return pins.values().stream().anyMatch(pin -> pin.backend.traits().takesMemory());
    }

    /**
     * Returns the number of blocks that the rank's cache holds for us unless it dropped some: not what may have been
     * unpinned by now.
     */
    public long surelyPinnedBlocks(int rank) {
        boolean all = pins.values().stream().allMatch(pin -> pin.state == State.PINNED);
        return all
                ? pinnedBlocks(rank)
                : pins.values().stream()
                        .filter(pin -> pin.state == State.PINNED && onRank(pin, rank))
                        .mapToLong(pin -> pin.blocks)
                        .max()
                        .orElse(0);
    }

    /** The hold needs its block no more. */
    public void leave(long holdId) {
        Set<Pin> all = needed.remove(holdId);
        if (all != null) {
            // What is to be unpinned first: the hold has left only when nothing of it leaves any more.
            all.stream()
                    .sorted(Comparator.comparing(pin -> pin.holds.size() > 1))
                    .forEach(pin -> Optional.ofNullable(pin.holds.remove(holdId))
                            .ifPresent(origin -> leave(pin, holdId, origin)));
            return;
        }
        for (Pin other : pins.values()) {
            if (other.leavers.containsKey(holdId)
                    && (other.state == State.KEPT
                            || other.state == State.UNSURE
                            || (other.state == State.UNPIN_DUE && other.refused))) {
                results.notLeft(holdId, staying(other));
                return;
            }
        }
        leftUnlessNeeded(holdId);
    }

    private void leave(Pin pin, long holdId, HoldOrigin origin) {
        if (!pin.holds.isEmpty()) {
            record(pin, Step.RELEASED, holdId, origin);
            leftUnlessNeeded(holdId);
            return;
        }
        pin.leavers.put(holdId, origin);
        if (pin.state == State.PINNED) {
            unpin(pin);
        }
    }

    /** Whatever leaves meanwhile is unpinned by as few calls as can be, past those that wait. */
    public void atOnce(Runnable leaving) {
        gathering = true;
        try {
            leaving.run();
        } finally {
            gathering = false;
        }
        while (!together.isEmpty()) {
            Backend backend = together.getFirst().backend;
            List<Pin> batch = together.stream()
                    .filter(pin -> pin.backend.equals(backend))
                    .limit(tree.several() ? 1 : MOST_IN_ONE_CALL)
                    .toList();
            together.removeAll(new HashSet<>(batch));
            List<String> handles = batch.stream().map(pin -> pin.key.handle()).toList();
            calls.unpinNow(() -> backend.unpin(handles), outcome -> unpinnedTogether(batch, outcome));
        }
    }

    private void unpinnedTogether(List<Pin> batch, Outcome outcome) {
        boolean whichOnes = batch.size() > 1 && outcome.kind() == Kind.CLIPPED;
        Outcome each = whichOnes
                ? new Outcome(
                        Kind.DEFERRED,
                        "of " + batch.size() + " that were unpinned by one call the engine found only some: "
                                + outcome.reason())
                : outcome;
        batch.forEach(pin -> unpinAnswered(pin, each));
    }

    /**
     * Assumes that the engine has emptied its caches, since this rank's is empty. To be called before the tree is
     * cleared.
     */
    public void engineForgot(int rank) {
        for (Pin pin : List.copyOf(pins.values())) {
            nobodyNeeds(pin);
            renewals.end(pin);
            if (pin.state == State.PINNED && pin.releasable()) {
                unpin(pin);
            } else if (pin.state == State.PINNED) {
                pin.state = State.KEPT;
            }
            pin.counted = false;
        }
        unreleasable = OptionalLong.empty();
        tree.forgetPins(rank);
    }

    private void nobodyNeeds(Pin pin) {
        pin.holds.keySet().forEach(holdId -> needNoMore(holdId, pin));
        pin.leavers.putAll(pin.holds);
        pin.holds.clear();
    }

    private void needNoMore(long holdId, Pin pin) {
        Set<Pin> left = needed.get(holdId);
        if (left != null && left.remove(pin) && left.isEmpty()) {
            needed.remove(holdId);
        }
    }

    private void unpin(Pin pin) {
        renewals.end(pin);
        if (!pin.releasable()) {
            keep(pin);
            return;
        }
        if (twins(pin)) {
            stay(pin, State.KEPT, Step.KEPT, TWINS);
            return;
        }
        if (!settled(pin)) {
            return;
        }
        if (!pin.backend.traits().releaseTells() && nowNanos < pin.mayArriveUntilNanos) {
            dueAt(pin, pin.mayArriveUntilNanos, pin.trouble);
            return;
        }
        pin.state = State.UNPINNING;
        pin.askedNanos = nowNanos;
        if (gathering) {
            together.add(pin);
        } else {
            calls.unpin(
                    () -> twins(pin) ? Optional.of(TWINS) : Optional.empty(),
                    () -> pin.backend.unpin(List.of(pin.key.handle())),
                    outcome -> unpinAnswered(pin, outcome));
        }
    }

    /**
     * This cache has removed blocks that were counted as pinned. A pin keeps its block, so what was removed while its
     * call was under way, or just before, was pinned elsewhere: in another cache, or where the block came back to, and
     * there it may lie in the middle of what a request stored.
     *
     * @return the holds that such pins are made for, on an engine with several caches
     */
    public Set<Long> removed(int rank, Set<Long> blocks) {
        Set<Long> holds = new HashSet<>();
        for (Pin pin : pins.values()) {
            if (pin.counted && blocks.contains(pin.block) && onRank(pin, rank)) {
                if (mayHaveComeAfter(pin)) {
                    pin.doubtful = true;
                    pin.pinnedIn = tree.several() ? tree.pinnedOn(pin.block).size() : 0;
                }
                if (tree.several()) {
                    holds.addAll(pin.holds.keySet());
                }
            }
        }
        return holds;
    }

    /** Returns true if the pin may have reached the engine after what is reported only now. */
    private boolean mayHaveComeAfter(Pin pin) {
        boolean underWay = pin.state == State.PINNING || nowNanos < pin.mayArriveUntilNanos;
        return tree.several()
                ? underWay || nowNanos - pin.pinnedNanos < ON_THE_WAY_NANOS
                : underWay && pin.backend.traits().needs(Need.INSERTION_END);
    }

    /**
     * Returns true if a pin can be taken back now. Among several caches, another one than expected may have it; events
     * that were on their way when it was made will show that. So it waits for them. Where an unpin could still lead to
     * what is gone, it is kept.
     */
    private boolean settled(Pin pin) {
        if (!tree.several() && !pin.doubtful) {
            return true;
        }
        boolean heard =
                nowNanos - pin.pinnedNanos >= ON_THE_WAY_NANOS || tree.heardSince(pin.pinnedNanos + TOLD_AFTER_NANOS);
        if (nowNanos < pin.mayArriveUntilNanos) {
            dueAt(pin, pin.mayArriveUntilNanos, pin.trouble);
            return false;
        }
        if (!heard || (!shows(pin) && nowNanos - pin.pinnedNanos < ARRIVAL_NANOS)) {
            pin.state = State.UNPIN_DUE;
            pin.dueNanos = nowNanos + LOOK_AGAIN_NANOS;
            return false;
        }
        if ((pin.doubtful || !pin.counted) && !isSafe(pin)) {
            pin.doubtful = true;
            stay(pin, State.KEPT, Step.KEPT, ASTRAY);
            return false;
        }
        return true;
    }

    /** Returns true if the events show every cache that counted the pin. */
    private boolean shows(Pin pin) {
        return pin.pinnedIn <= tree.ranksWith(pin.block).size();
    }

    private boolean isSafe(Pin pin) {
        return shows(pin) && tree.leadsToLife(pin.block);
    }

    private boolean twins(Pin pin) {
        return pin.backend.traits().needs(Need.UNAMBIGUOUS_HASH) && tree.ambiguous(pin.block);
    }

    private void unpinAnswered(Pin pin, Outcome outcome) {
        pin.refused = false;
        pin.answered |= outcome.kind() != Kind.NOT_SENT;
        pin.unclear = outcome.kind() == Kind.DEFERRED;
        switch (outcome.kind()) {
            case ACCEPTED, CLIPPED -> gone(pin);
            case MISSING -> {
                if (pin.askedNanos < pin.mayArriveUntilNanos) {
                    dueAt(pin, pin.mayArriveUntilNanos, pin.trouble);
                } else {
                    gone(pin);
                }
            }
            case NOT_SENT ->
                dueAt(
                        pin,
                        nowNanos + backOff(pin),
                        "its unpin is sent again, since it could not be: " + outcome.reason());
            case REJECTED -> {
                pin.refused = true;
                dueAt(
                        pin,
                        nowNanos + REFUSED_AGAIN_NANOS,
                        "the engine refused the unpin, so the block stays pinned; it is asked again every minute: "
                                + outcome.reason());
            }
            case DEFERRED -> {
                if (!pin.backend.traits().unpinsOnce()) {
                    // What is named by a name of its own can be closed twice.
                    dueAt(
                            pin,
                            nowNanos + backOff(pin),
                            "its unpin is sent again, since it had no clear answer: " + outcome.reason());
                    return;
                }
                stay(
                        pin,
                        State.UNSURE,
                        Step.UNSURE,
                        "no clear answer to the unpin, which is not repeated, since that could take a pin of somebody"
                                + " else: it counts until the engine, at rest, shows that it is gone: "
                                + outcome.reason());
            }
        }
    }

    private static long backOff(Pin pin) {
        return SECOND << Math.min(pin.attempts++, LONGEST_BACK_OFF_LOG2);
    }

    private void dueAt(Pin pin, long nanos, String trouble) {
        pin.state = State.UNPIN_DUE;
        pin.dueNanos = nanos;
        pin.trouble = trouble;
        tellNotLeft(pin);
    }

    private void stay(Pin pin, State state, Step step, String trouble) {
        pin.state = state;
        pin.trouble = trouble;
        if (pin.written != step) {
            pin.written = step;
            LOG.warn("Block {}: {}", pin.block, trouble);
            pin.leavers.forEach((id, origin) -> record(pin, step, id, origin));
        }
        tellNotLeft(pin);
    }

    private void gone(Pin pin) {
        pins.remove(pin.key);
        renewals.forget(pin);
        pin.left.ifPresent(StayingPath::forget);
        unreleasable = OptionalLong.empty();
        tree.unwatchEnd(pin.block);
        unwatchArrival(pin);
        if (pin.counted) {
            tree.unpinPath(pin.block);
            pin.counted = false;
        }
        pin.trouble = "";
        pin.leavers.forEach((id, origin) -> record(pin, Step.RELEASED, id, origin));
        Optional<String> over = pin.endsInTime() ? Optional.of(RUN_OUT) : pin.left.map(path -> OVER);
        List.copyOf(pin.leavers.keySet()).forEach(id -> leftUnlessNeeded(id, over));
    }

    /** A hold may have an old pin on its way out while a newer one is made: it has left when both are gone. */
    private void leftUnlessNeeded(long holdId) {
        leftUnlessNeeded(holdId, Optional.empty());
    }

    private void leftUnlessNeeded(long holdId, Optional<String> over) {
        if (!needed.containsKey(holdId) && pins.values().stream().noneMatch(pin -> pin.leavers.containsKey(holdId))) {
            over.ifPresentOrElse(why -> results.over(holdId, why), () -> results.left(holdId));
        }
    }

    /** Returns the header that has to precede the next pin in the ledger; absent when it is there. */
    private Optional<Header> header() {
        Optional<EngineIdentity> written = ledger.engine();
        return engine.filter(known -> !known.equals(EngineIdentity.VOUCHED_FOR))
                .filter(known -> written.isEmpty()
                        || (written.get().model().isEmpty() && known.model().isPresent()))
                .map(known -> new Header(Header.VERSION, known));
    }

    /** Writes what is only to be known at the next start; no call waits for it. */
    private void record(Pin pin, Step step, long holdId, HoldOrigin origin) {
        if (pin.backend.traits().needsLedger()) {
            CompletionStage<Boolean> unused = recordLater(pin.entry(step, holdId, origin));
        }
    }

    /** Answered with whether the line is on the disk, as soon as that was tried. */
    public CompletionStage<Boolean> recordLater(LedgerLine line) {
        return writer.record(line);
    }
}
