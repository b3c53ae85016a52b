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
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.pin.Pin.State;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

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
     *   rest shows less than its path alone would take, or the events that its block is not there.
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
     * Some pins end a known time after their last renewal. They are renewed while somebody needs them (Renewals). A
     * process that ends renews nothing, so these need no ledger. Where a call takes them back they are unpinned like
     * others, and gone when their time has run out, whatever became of the unpin. Where none does,
     * to release one is to renew it no more, and it is KEPT, and counts, until its time has surely run out.
     * Whoever wants the path again meanwhile takes the same pin up.
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
     * Where the rest is
     * -----------------
     * PinKind says what follows for a pin of one kind, PinDoubts whether an unpin is safe now, PinTable who needs what
     * and what it counts.
     */

    /** Receives what became of holds; called on the controller's thread. */
    public interface Results {
        /** A pin is about to be made by sending the prefix. */
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

    /** Looks once more at what was planned to be pinned, when its call is about to leave. */
    @FunctionalInterface
    public interface LastLook {
        /** Returns the reason why this backend is not to pin the block after all. */
        Optional<String> refusal(Backend backend, long block);
    }

    /** One call to pin, from the plan on. */
    private record Attempt(Pin pin, PinCommand command, LastLook look) {}

    private static final long SECOND = 1_000_000_000L;
    /** Longest time for which a request can be under way after its sender gave it up. */
    static final long ARRIVAL_NANOS = 60 * SECOND;

    private static final String NEEDED = "released, and another hold has its prefix";

    private final LedgerOwner owner;
    private final Backends backends;
    private final Ledger.Writer writer;
    private final Acting acting;
    private final Turns turns = new Turns();
    private final Renewals<Pin> renewals;
    private final EngineCaches tree;
    private final PinTable table;
    private final PinDoubts doubts;
    private final Unpins unpins;
    private final PinKind.Kinds kinds;
    private final Results results;
    private long attempts;

    private long blockTokens;

    /**
     * Takes over what an earlier process left in the ledger.
     *
     * @param acting where the ledger is written and backends are called
     * @param onOwnThread runs what it is given on the controller's thread, soon
     */
    public Pins(
            Ledger ledger,
            Backends backends,
            Executor acting,
            Executor onOwnThread,
            EngineCaches tree,
            Results results) {
        this.owner = new LedgerOwner(ledger);
        this.backends = backends;
        this.writer = ledger.writer(acting, onOwnThread);
        this.acting = new Acting(acting, onOwnThread);
        this.renewals = new Renewals<>(this.acting, turns, new Renewals.Then<>() {
            @Override
            public void calling(PinCommand command) {
                results.calling(command);
            }

            @Override
            public void called(PinCommand command, Outcome outcome) {
                results.called(command, outcome);
            }

            @Override
            public void renewed(Pin pin) {
                List.copyOf(pin.holds.keySet()).forEach(results::renewed);
            }

            @Override
            public void lost(Pin pin, String why) {
                List.copyOf(pin.holds.keySet()).forEach(id -> results.pinLost(id, why));
            }

            @Override
            public void settled(Pin pin) {
                if (pin.state == State.UNPIN_DUE) {
                    pin.dueNanos = Math.min(pin.dueNanos, table.nowNanos);
                }
            }
        });
        this.tree = tree;
        this.table = new PinTable(tree);
        this.doubts = new PinDoubts(table, tree);
        this.unpins = new Unpins(table, doubts, this.acting, new Unpins.Then() {
            @Override
            public void gone(Pin pin) {
                if (renewals.isUnderWay(pin)) {
                    // It may be carried out after the unpin, and is taken back once it was answered.
                    pin.state = State.UNPIN_DUE;
                    pin.dueNanos = Long.MAX_VALUE;
                    pin.trouble = "its renewal has no answer yet";
                    tellNotLeft(pin);
                } else {
                    Pins.this.gone(pin);
                }
            }

            @Override
            public void notGone(Pin pin) {
                tellNotLeft(pin);
            }

            @Override
            public void stepped(Pin pin, Step step) {
                record(pin, step);
            }
        });
        this.kinds = new PinKind.Kinds(table, tree, renewals);
        this.results = results;
        ledger.outstanding().forEach(this::takeOver);
        table.all().forEach(pin -> pin.kind.onTakenOver(pin));
    }

    private void takeOver(Entry entry) {
        Optional<Backend> backend = backends.named(entry.backend());
        if (backend.isEmpty() || !backend.get().traits().needsLedger()) {
            owner.abandon(entry);
            return;
        }
        Pin.Key key = new Pin.Key(entry.backend(), entry.handle());
        Pin pin = table.find(key).orElseGet(() -> {
            Pin inherited = new Pin(backend.get(), kinds.of(backend.get().traits()), key, entry, true);
            table.addUncounted(inherited);
            return inherited;
        });
        pin.takeOver(entry);
        if (!pin.kind.releasable() && entry.blocks() > pin.blocks) {
            table.endAt(pin, entry.lastBlock(), entry.blocks());
        }
        if (pin.kind.releasable()) {
            Unpins.takeUpNote(pin, entry);
        }
    }

    /** Sets the engine that answers; nothing is asked of it before this is known. */
    public void engineIs(EngineIdentity identity) {
        owner.engineIs(identity);
    }

    /**
     * Closes what is unsure or kept where the engine's own count shows that it is gone: less is taken than its path
     * alone would take. What else is believed to be pinned says nothing here, since that may be gone as well.
     *
     * @param usedBlocks what cannot be evicted while nothing runs, with the pins of others
     * @param nanos when that was true, no call of ours being under way
     */
    public void rested(long usedBlocks, long nanos) {
        if (!owner.isOurs()) {
            return;
        }
        for (Pin pin : table.all()) {
            boolean unsettled = pin.state == State.UNSURE || pin.state == State.KEPT;
            boolean since = nanos > pin.askedNanos && nanos > pin.mayArriveUntilNanos;
            if (unsettled && since && pin.kind.releasable() && usedBlocks < pin.blocks) {
                gone(pin);
            }
        }
    }

    /**
     * Returns true if what is counted as ours is what the engine has: nothing is planned, and no call is under way.
     */
    public boolean quiet() {
        return table.count(
                        pin -> pin.state == State.PLANNED || pin.state == State.PINNING || pin.state == State.UNPINNING)
                == 0;
    }

    /**
     * Sends unpins that are due.
     *
     * @param certainForNanos how long every event since the cache was empty has been seen; negative while that is not
     *     so
     */
    public void poll(long nanos, long certainForNanos) {
        table.nowNanos = nanos;
        writer.catchUp(nanos);
        renewals.poll(nanos);
        boolean ours = owner.isOurs();
        for (Pin pin : table.all()) {
            // What ends in time is in no ledger, so whose that is does not matter.
            if (!ours && !pin.kind.endsInTime()) {
                continue;
            }
            if (!pin.kind.releasable()) {
                pin.kind.rest(pin, certainForNanos).ifPresent(rest -> shrink(pin, rest));
                continue;
            }
            if (pin.kind.hasRunOut(pin) || (pin.state == State.UNSURE && doubts.isGone(pin, certainForNanos))) {
                gone(pin);
                continue;
            }
            boolean due = switch (pin.state) {
                case UNPIN_DUE -> pin.dueNanos <= nanos;
                case KEPT -> doubts.isOver(pin, certainForNanos);
                default -> false;
            };
            if (due) {
                unpin(pin);
            }
        }
    }

    private void shrink(Pin pin, PinKind.Rest rest) {
        if (rest.blocks() == 0) {
            gone(pin);
        } else {
            table.count(pin, rest.block(), rest.blocks());
            keep(pin);
        }
    }

    /** Tokens in a block, 0 while that is not known. */
    public void blockTokens(long tokens) {
        blockTokens = tokens;
    }

    /** Nobody needs it, and it cannot be taken back. */
    private void keep(Pin pin) {
        pin.state = State.KEPT;
        table.unreleasableChanged();
        record(pin, Step.KEPT);
        tellNotLeft(pin);
    }

    /** Returns the reason why nothing may be pinned, whatever it is; absent when nothing is in the way. */
    public Optional<String> hindrance() {
        if (!backends.chosen().traits().needsLedger()) {
            return Optional.empty();
        }
        if (!owner.engineIsKnown()) {
            return Optional.of("which engine this is is not known yet: it has not answered");
        }
        Optional<String> trouble = owner.trouble();
        if (trouble.isPresent()) {
            return trouble;
        }
        int leftovers = table.count(Pin::isLeftover);
        return leftovers == 0
                ? Optional.empty()
                : Optional.of("pins of an earlier life are released first, " + leftovers + " to go");
    }

    public PinsView view() {
        return new PinsView(
                table.count(pin -> pin.state == State.PINNED),
                table.count(Pin::isLeftover),
                table.count(pin ->
                        pin.state == State.UNSURE || pin.isAwaited(table.nowNanos) || (pin.unclear && pin.leaving())),
                table.count(pin -> pin.state == State.KEPT && pin.kind.releasable()),
                table.count(pin -> pin.refused && pin.leaving()),
                owner.abandoned(),
                table.unreleasableBlocks(),
                table.count(pin -> pin.state == State.KEPT && pin.kind.endsInTime()),
                owner.trouble());
    }

    /** Asks once more for what this hold waits for, since a person wants it; says why where that is not done. */
    public void retryNow(long holdId) {
        for (Pin pin : table.all()) {
            if (!pin.leavers.containsKey(holdId)) {
                continue;
            }
            if (pin.state == State.UNPIN_DUE
                    && owner.isOurs()
                    && (pin.askedNanos == Pin.NEVER || table.nowNanos - pin.askedNanos >= SECOND)) {
                unpin(pin);
            } else if (pin.state != State.UNPINNING) {
                results.notLeft(holdId, staying(pin));
            }
        }
    }

    /** Retries now for every hold, except where that could take a pin that is not ours. */
    public void retryNow() {
        for (Pin pin : table.all()) {
            if (pin.state == State.UNPIN_DUE && owner.isOurs()) {
                unpin(pin);
            } else if (pin.state == State.UNPIN_DUE || pin.state == State.UNSURE || pin.state == State.KEPT) {
                tellNotLeft(pin);
            }
        }
    }

    private String staying(Pin pin) {
        if (!owner.isOurs()) {
            return owner.trouble().orElse("the engine has not answered yet");
        }
        return pin.kind.whyItStays(pin, blockTokens);
    }

    private void tellNotLeft(Pin pin) {
        String why = staying(pin);
        List.copyOf(pin.leavers.keySet()).forEach(id -> results.notLeft(id, why));
    }

    /** Holds that still wait for an unpin, those of an earlier life included. */
    public Set<Long> leavers() {
        return table.leavers();
    }

    /** Blocks that nobody needs any more and that may still be pinned, a refused unpin included. */
    public Set<Long> leaving() {
        return table.blocks(pin -> pin.leaving() && pin.kind.releasable());
    }

    /** Returns the blocks that will take their path out of the tree: their unpin is under way or repeated, or they run out. */
    public Set<Long> freeing() {
        return table.blocks(pin -> pin.counted
                && switch (pin.state) {
                    case UNPINNING -> true;
                    case UNPIN_DUE -> !pin.refused;
                    case KEPT -> !pin.kind.releasable() && pin.kind.endsInTime();
                    default -> false;
                });
    }

    /** Blocks that the engine holds, or may hold, for us, each as if it were in all of its caches. */
    public long pinnedBlocks() {
        return table.pinnedBlocks();
    }

    /** Blocks that the cache of one rank holds, or may hold, for us. */
    public long pinnedBlocks(int rank) {
        return table.pinnedBlocks(rank);
    }

    /** The last blocks of the paths that are pinned for each hold. */
    public Map<Long, Set<Long>> ends() {
        return table.ends();
    }

    /**
     * Pins the block for the hold, or lets it join; does nothing while an earlier call about the block, or for this
     * hold about another one, is under way.
     *
     * @param path the hold's own, or one over it
     */
    public void want(Hold hold, HoldRequest path, int blocks, LastLook look) {
        Set<Pin> has = table.neededBy(hold.id());
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
        Optional<Pin> known = table.find(key);
        Entry intent =
                new Entry(Step.PINNING, hold.id(), hold.origin(), key.backend(), key.handle(), block, blocks, "");
        if (known.isEmpty()) {
            Pin pin = new Pin(backend, kinds.of(backend.traits()), key, intent, false);
            table.add(pin);
            pin.trouble = tree.several() ? Unpins.ON_RANKS : "";
            plan(hold, new Attempt(pin, command, look));
        } else if (known.get().state == State.KEPT && !known.get().kind.releasable()) {
            // Made anew for somebody, it is no second pin.
            Pin pin = known.get();
            table.count(pin, block, blocks);
            pin.leavers.remove(hold.id());
            pin.state = State.PLANNED;
            plan(hold, new Attempt(pin, command, look));
        } else if (known.get().state == State.PINNED && !has.contains(known.get())) {
            table.need(known.get(), hold);
            join(known.get(), known.get().entry(Step.PINNED, hold.id(), hold.origin()));
        }
    }

    private void plan(Hold hold, Attempt attempt) {
        Pin pin = attempt.pin;
        table.need(pin, hold);
        pin.kind.onPlanned(pin);
        if (!pin.backend.traits().needsLedger()) {
            send(attempt);
            return;
        }
        writer.write(
                owner.header(),
                pin.entry(Step.PINNING, hold.id(), hold.origin()),
                unwritten -> unwritten.ifPresentOrElse(
                        why -> pinAnswered(pin, new Outcome(Kind.REJECTED, why)), () -> send(attempt)),
                closed -> pinAnswered(pin, new Outcome(Kind.NOT_SENT, "Not sent: " + closed + ".")));
    }

    private void send(Attempt attempt) {
        turns.take(() -> begin(attempt)
                .ifPresentOrElse(
                        why -> turns.over(() -> answered(attempt, new Outcome(Kind.NOT_SENT, why))),
                        () -> acting.call(
                                () -> attempt.pin.backend.pin(attempt.command),
                                outcome -> turns.over(() -> answered(attempt, outcome)))));
    }

    /** Begins a pin whose turn has come; returns the reason why it does not leave after all. */
    private Optional<String> begin(Attempt attempt) {
        Pin pin = attempt.pin;
        Optional<String> refusal = pin.holds.isEmpty()
                ? Optional.of("nobody wanted it any more when its turn came")
                : attempt.look.refusal(pin.backend, pin.block);
        if (refusal.isEmpty()
                && tree.several()
                && (!pin.counted || !tree.ranksWith(pin.block).equals(tree.pinnedOn(pin.block)))) {
            refusal = Optional.of("other caches of the engine have its last block by now than when it was planned");
        }
        if (refusal.isEmpty()) {
            pin.state = State.PINNING;
            pin.sentNanos = table.nowNanos;
            doubts.watchArrival(pin);
            if (pin.backend.traits().sendsPrefix()) {
                results.calling(attempt.command);
            }
        }
        return refusal;
    }

    private void answered(Attempt attempt, Outcome outcome) {
        Pin pin = attempt.pin;
        results.called(attempt.command, outcome);
        switch (outcome.kind()) {
            case ACCEPTED, CLIPPED -> renewals.mayLast(pin, pin.backend.traits(), 0);
            case DEFERRED -> renewals.mayLast(pin, pin.backend.traits(), ARRIVAL_NANOS);
            case REJECTED, MISSING, NOT_SENT -> {}
        }
        if (outcome.kind() == Kind.ACCEPTED) {
            renewals.begin(pin, pin.backend, attempt.command, pin.sentNanos);
        }
        pinAnswered(pin, outcome);
    }

    private void pinAnswered(Pin pin, Outcome outcome) {
        pin.pinnedNanos = table.nowNanos;
        switch (outcome.kind()) {
            case ACCEPTED -> {
                pin.state = State.PINNED;
                if (!pin.doubtful) {
                    doubts.unwatchArrival(pin);
                }
                pin.kind.onMade(pin);
                if (!pin.kind.releasable()) {
                    releaseFormerHolders(pin);
                }
                record(pin, Step.PINNED);
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
                table.nobodyNeeds(pin);
                if (pin.kind.outlivesRefusal(pin)) {
                    keep(pin);
                } else {
                    gone(pin);
                }
                holds.forEach(id -> results.notPinned(id, outcome));
            }
            case CLIPPED -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                table.nobodyNeeds(pin);
                pin.doubtful = true;
                pin.pinnedIn = outcome.caches();
                pin.trouble = "it was pinned otherwise than asked, and is taken back: " + outcome.reason();
                unpin(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
            case DEFERRED -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                table.nobodyNeeds(pin);
                pin.mayArriveUntilNanos = table.nowNanos + ARRIVAL_NANOS;
                pin.kind.onUnclear(pin);
                if (tree.several()) {
                    pin.doubtful = true;
                }
                pin.trouble = "no clear answer to the pin, which may still arrive: " + outcome.reason();
                unpin(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
        }
    }

    /** Releases holds that had left a pin and could not release it, now that another hold needs it. */
    private void releaseFormerHolders(Pin pin) {
        table.unreleasableChanged();
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
            table.needNoMore(entry.holdId(), pin);
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
        return table.all().stream().anyMatch(pin -> pin.backend.traits().takesMemory());
    }

    /**
     * Returns the number of blocks that the rank's cache holds for us unless it dropped some: not what may have been
     * unpinned by now.
     */
    public long surelyPinnedBlocks(int rank) {
        return table.surelyPinnedBlocks(rank);
    }

    /** The hold needs its block no more. */
    public void leave(long holdId) {
        Optional<Set<Pin>> its = table.takeNeeded(holdId);
        if (its.isPresent()) {
            // What is to be unpinned first: the hold has left only when nothing of it leaves any more.
            its.get().stream()
                    .sorted(Comparator.comparing(pin -> pin.holds.size() > 1))
                    .forEach(pin -> Optional.ofNullable(pin.holds.remove(holdId))
                            .ifPresent(origin -> leave(pin, holdId, origin)));
            return;
        }
        for (Pin other : table.all()) {
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
        unpins.atOnce(leaving);
    }

    /**
     * Assumes that the engine has emptied its caches, since this rank's is empty. To be called before the tree is
     * cleared.
     */
    public void engineForgot(int rank) {
        for (Pin pin : table.all()) {
            table.nobodyNeeds(pin);
            renewals.end(pin);
            if (pin.state == State.PINNED && pin.kind.releasable()) {
                unpin(pin);
            } else if (pin.state == State.PINNED) {
                pin.state = State.KEPT;
            }
        }
        table.cacheEmptied(rank);
        doubts.cacheEmptied();
    }

    /** Takes in that a process answers that was started since: nothing is left in it of what was pinned before. */
    public void engineIsAnotherProcess() {
        doubts.anotherProcess();
    }

    private void unpin(Pin pin) {
        renewals.end(pin);
        if (!pin.kind.releasable()) {
            keep(pin);
            return;
        }
        unpins.unpin(pin);
    }

    /**
     * This cache has removed blocks that were counted as pinned. A pin keeps its block, so what was removed while its
     * call was under way, or just before, was pinned elsewhere: in another cache, or where the block came back to, and
     * there it may lie in the middle of what a request stored.
     *
     * @return the holds that such pins are made for, on an engine with several caches
     */
    public Set<Long> removed(int rank, Set<Long> blocks) {
        return doubts.removed(rank, blocks);
    }

    private void gone(Pin pin) {
        table.remove(pin);
        renewals.forget(pin);
        doubts.unwatchArrival(pin);
        pin.trouble = "";
        record(pin, Step.RELEASED);
        Optional<String> how = pin.kind.howItEnded(pin);
        List.copyOf(pin.leavers.keySet()).forEach(id -> leftUnlessNeeded(id, how));
    }

    /** A hold may have an old pin on its way out while a newer one is made: it has left when both are gone. */
    private void leftUnlessNeeded(long holdId) {
        leftUnlessNeeded(holdId, Optional.empty());
    }

    private void leftUnlessNeeded(long holdId, Optional<String> over) {
        if (table.hasLeft(holdId)) {
            over.ifPresentOrElse(why -> results.over(holdId, why), () -> results.left(holdId));
        }
    }

    private void record(Pin pin, Step step) {
        pin.leavers.forEach((id, origin) -> record(pin, step, id, origin));
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
