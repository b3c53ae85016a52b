package io.holdfast.core;

import io.holdfast.core.LedgerEntry.Step;
import io.holdfast.core.index.EngineTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the engine has, or may have, pinned for us, and the only place that asks it to pin or unpin. */
final class Ledger {
    /*
     * One pin per block
     * -----------------
     * Engines count pins: a second pin of a block needs a second unpin, and nothing lists what is pinned. So a block is
     * pinned by exactly one call however many holds end at it; holds join a pin that exists, and the last one to leave
     * takes it back. The state of a pin is what we know about the engine:
     *
     *     PINNING    the call is under way                           PINNED     the engine said yes
     *     UNPINNING  the call is under way                           RETRY      may be pinned; unpinned again after a while
     *     STUCK      the engine refused the unpin, or must not be asked; counted as pinned until the engine clears or restarts, or somebody asks
     *                for another attempt; until then its holds stay as they are, on their way out
     *
     * A pin without a clear answer (DEFERRED: a time-out, a broken connection) may or may not be in the engine. It is
     * never repeated, which could pin twice; it is taken back first, and an unpin may be repeated, since unpinning what is
     * not pinned is answered with MISSING.
     *
     * A hold has one pin at a time. The block that is best for it may change while a call is under way; the call's answer
     * comes first, and nothing is asked about another block before.
     *
     * Twins
     * -----
     * A pinned block may get a twin: a second block of the engine under the same hash. An unpin names the hash, and may
     * take a pin from the twin that it never had, which can end the engine. So while there are two, the unpin is not asked
     * and the pin is STUCK: memory stays taken and counted, until no copy is left, or the engine clears or restarts.
     * That trade is deliberate: a smaller cache for a while, against an engine that may be gone.
     *
     * Written ahead
     * -------------
     * Nothing pinned survives in our memory when the process is killed, and the engine forgets nothing by itself. So the
     * intent is durable (PINNING) before the call is made, and whatever is not RELEASED at the next start is unpinned
     * before anything else is pinned. When the ledger cannot be written, there is no pin. A hold that joins writes its
     * own PINNED line and asks the engine nothing. After an unpin RELEASED is written; a crash in between costs one more
     * unpin, answered with MISSING.
     *
     * Threads
     * -------
     * The state belongs to the controller's thread. Appending (which waits for a disk) and calling happen on `acting`, one
     * at a time and in order; answers come back as letters. Each pin has at most one call under way, so there is no order
     * of answers to care about. Of all pins at most eight have a call under way; the others wait in order.
     *
     * What the tree counts
     * --------------------
     * A pin's path is counted in the tree from the decision to pin until the answer to the unpin: as long as the engine
     * may have it. Pins whose path is not known (left over from an earlier life, or overtaken by a clear) count with the
     * number of blocks in their entry.
     */

    /** What became of holds; called on the controller's thread. */
    interface Results {
        void pinned(long holdId, long block, int blocks, String reason);

        /** Not pinned, and nothing is left of the attempt but, if deferred, its undoing. */
        void notPinned(long holdId, Outcome outcome);

        /** The engine holds nothing for it any more. */
        void left(long holdId);

        /** The engine refused the unpin, or it cannot be asked; told again whenever the hold is to leave. */
        void stuck(long holdId, String trouble);

        /** An unpin has no answer yet and is repeated. */
        void leavingDeferred(long holdId, String reason);
    }

    private enum State {
        PINNING,
        PINNED,
        UNPINNING,
        RETRY,
        STUCK
    }

    /** One block that is, or may be, pinned. */
    private static final class Pin {
        final PinCommand command;
        final boolean fromEarlierLife;
        /** Who needs it. */
        final Map<Long, HoldOrigin> holds = new LinkedHashMap<>();
        /** Whose entries are still to be closed, though they do not need it any more. */
        final Map<Long, HoldOrigin> leavers = new LinkedHashMap<>();

        State state;
        boolean counted;
        long retryNanos;
        int deferrals;
        String trouble = "";

        Pin(PinCommand command, State state, boolean fromEarlierLife) {
            this.command = command;
            this.state = state;
            this.fromEarlierLife = fromEarlierLife;
        }

        boolean leaving() {
            return state != State.PINNING && state != State.PINNED;
        }

        LedgerEntry entry(Step step, long holdId, HoldOrigin origin) {
            return new LedgerEntry(step, holdId, origin, command.lastBlock(), command.blocks());
        }

        List<LedgerEntry> entries(Step step, Map<Long, HoldOrigin> of) {
            List<LedgerEntry> entries = new ArrayList<>();
            of.forEach((holdId, origin) -> entries.add(entry(step, holdId, origin)));
            return entries;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);
    private static final long SECOND = 1_000_000_000L;
    private static final int LONGEST_BACK_OFF_LOG2 = 5;
    private static final String TWINS =
            "a second block of the engine has the hash of this one by now, and an unpin could"
                    + " hit that one: it stays pinned until the engine has removed both, clears its cache or restarts";
    private static final String CLOSED = "the executor that acts for the ledger takes no more work";

    private final LedgerBook book;
    private final Backend backend;
    private final SerialExecutor acting;
    private final Calls calls;
    private final Mailbox mailbox;
    private final EngineTree tree;
    private final Results results;
    private final Map<Long, Pin> pins = new LinkedHashMap<>();
    private long nowNanos;

    Ledger(LedgerBook book, Backend backend, Executor acting, Mailbox mailbox, EngineTree tree, Results results) {
        this.book = book;
        this.backend = backend;
        this.acting = new SerialExecutor(acting);
        this.calls = new Calls(this.acting);
        this.mailbox = mailbox;
        this.tree = tree;
        this.results = results;
        for (LedgerEntry entry : book.outstanding()) {
            PinCommand command = new PinCommand(entry.holdId(), entry.lastBlock(), entry.blocks());
            pins.computeIfAbsent(entry.lastBlock(), block -> new Pin(command, State.RETRY, true))
                    .leavers
                    .put(entry.holdId(), entry.origin());
        }
    }

    /** Repeats unpins that are due. */
    void poll(long nanos) {
        nowNanos = nanos;
        for (Pin pin : pins.values()) {
            boolean noTwinsLeft =
                    pin.state == State.STUCK && pin.trouble.equals(TWINS) && !tree.ambiguous(pin.command.lastBlock());
            if (noTwinsLeft || (pin.state == State.RETRY && pin.retryNanos <= nanos)) {
                unpin(pin);
            }
        }
    }

    /** Makes every unpin that waits for its next attempt due, those that the engine refused included. */
    void retryNow() {
        pins.values().forEach(this::retry);
    }

    /** The same for the unpins that this hold waits for. */
    void retryNow(long holdId) {
        pins.values().stream().filter(pin -> pin.leavers.containsKey(holdId)).forEach(this::retry);
    }

    private void retry(Pin pin) {
        pin.retryNanos = nowNanos;
        if (pin.state == State.STUCK) {
            pin.state = State.RETRY;
        }
    }

    /** Holds that still wait for an unpin, those of an earlier life included. */
    Set<Long> leavers() {
        Set<Long> leavers = new HashSet<>();
        pins.values().forEach(pin -> leavers.addAll(pin.leavers.keySet()));
        return leavers;
    }

    /** Whether a pin or an unpin was asked for and has no outcome yet. */
    boolean callsUnderWay() {
        return pins.values().stream().anyMatch(pin -> pin.state == State.PINNING || pin.state == State.UNPINNING);
    }

    /** Pins from an earlier life of this process that the engine has not yet answered for. */
    int leftovers() {
        return (int) pins.values().stream()
                .filter(pin -> pin.fromEarlierLife && pin.leaving() && pin.state != State.STUCK)
                .count();
    }

    /** Blocks that nobody needs any more and that may still be pinned, a refused unpin included. */
    Set<Long> leaving() {
        return blocks(Pin::leaving);
    }

    /** Those whose unpin is under way or repeated and will take their path out of the tree. */
    Set<Long> freeing() {
        return blocks(pin -> pin.counted && (pin.state == State.UNPINNING || pin.state == State.RETRY));
    }

    private Set<Long> blocks(Predicate<Pin> which) {
        Set<Long> blocks = new HashSet<>();
        pins.forEach((block, pin) -> {
            if (which.test(pin)) {
                blocks.add(block);
            }
        });
        return blocks;
    }

    /** Blocks that the engine holds, or may hold, for us. */
    long pinnedBlocks() {
        long outside = 0;
        for (Pin pin : pins.values()) {
            outside += pin.counted ? 0 : pin.command.blocks();
        }
        return tree.pinnedBlocks() + outside;
    }

    /**
     * Pins the block for the hold, or lets it join; does nothing while an earlier call about the block, or for this hold
     * about another one, is under way.
     */
    void want(Hold hold, long block, int blocks, boolean mustBeWritten) {
        if (pins.values().stream().anyMatch(other -> other.holds.containsKey(hold.id()))) {
            return;
        }
        Pin pin = pins.get(block);
        if (pin == null) {
            Pin fresh = new Pin(new PinCommand(hold.id(), block, blocks), State.PINNING, false);
            fresh.holds.put(hold.id(), hold.origin());
            pins.put(block, fresh);
            tree.pinPath(block);
            fresh.counted = true;
            pin(fresh, fresh.entry(Step.PINNING, hold.id(), hold.origin()), mustBeWritten);
        } else if (pin.state == State.PINNED) {
            pin.holds.put(hold.id(), hold.origin());
            join(pin, pin.entry(Step.PINNED, hold.id(), hold.origin()), mustBeWritten);
        }
    }

    /** The hold needs its block no more. */
    void leave(long holdId) {
        for (Pin pin : List.copyOf(pins.values())) {
            if (pin.holds.containsKey(holdId)) {
                leave(pin, holdId);
                return;
            }
        }
        for (Pin pin : pins.values()) {
            if (pin.leavers.containsKey(holdId) && pin.state == State.STUCK) {
                results.stuck(holdId, pin.trouble);
                return;
            }
        }
        leftUnlessNeeded(holdId);
    }

    /** A hold may have an old block on its way out while a newer one is pinned: it has left when both are gone. */
    private void leftUnlessNeeded(long holdId) {
        if (pins.values().stream().noneMatch(pin -> pin.leavers.containsKey(holdId) || pin.holds.containsKey(holdId))) {
            results.left(holdId);
        }
    }

    /** The engine's cache was emptied, and with it every pin. To be called after the tree was cleared. */
    void engineForgot() {
        for (Pin pin : List.copyOf(pins.values())) {
            pin.counted = false;
            pin.leavers.putAll(pin.holds);
            pin.holds.clear();
            if (pin.state != State.PINNING && pin.state != State.UNPINNING) {
                recordLater(pin.entries(Step.RELEASED, pin.leavers));
                drop(pin);
            }
            // Under way: the call may have come after the emptying, so the answer decides.
        }
    }

    private void leave(Pin pin, long holdId) {
        HoldOrigin origin = pin.holds.get(holdId);
        if (origin == null) {
            return;
        }
        pin.holds.remove(holdId);
        if (!pin.holds.isEmpty()) {
            recordLater(List.of(pin.entry(Step.RELEASED, holdId, origin)));
            leftUnlessNeeded(holdId);
            return;
        }
        pin.leavers.put(holdId, origin);
        if (pin.state == State.PINNED) {
            unpin(pin);
        }
    }

    private void pin(Pin pin, LedgerEntry intent, boolean mustBeWritten) {
        Runnable refused = () -> mailbox.outcome(() -> pinAnswered(pin, new Outcome(Outcome.Kind.DEFERRED, CLOSED)));
        acting.execute(
                () -> {
                    Optional<String> unwritten = write(intent);
                    if (unwritten.isPresent() && mustBeWritten) {
                        mailbox.outcome(() -> pinAnswered(pin, rejectedBy(unwritten.get())));
                    } else {
                        ask(
                                () -> backend.pin(pin.command),
                                outcome -> note(pin, intent, outcome),
                                outcome -> pinAnswered(pin, outcome));
                    }
                },
                refused);
    }

    private void note(Pin pin, LedgerEntry intent, Outcome outcome) {
        switch (outcome.kind()) {
            case ACCEPTED, CLIPPED -> record(List.of(pin.entry(Step.PINNED, intent.holdId(), intent.origin())));
            case REJECTED, MISSING -> record(List.of(pin.entry(Step.RELEASED, intent.holdId(), intent.origin())));
            case DEFERRED -> {}
        }
    }

    private void pinAnswered(Pin pin, Outcome outcome) {
        switch (outcome.kind()) {
            case ACCEPTED, CLIPPED -> {
                pin.state = State.PINNED;
                if (pin.holds.isEmpty()) {
                    unpin(pin);
                } else {
                    pin.holds
                            .keySet()
                            .forEach(id -> results.pinned(
                                    id, pin.command.lastBlock(), pin.command.blocks(), outcome.reason()));
                }
            }
            case REJECTED, MISSING -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                pin.holds.clear();
                drop(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
            case DEFERRED -> {
                List<Long> holds = List.copyOf(pin.holds.keySet());
                pin.leavers.putAll(pin.holds);
                pin.holds.clear();
                unpin(pin);
                holds.forEach(id -> results.notPinned(id, outcome));
            }
        }
    }

    private void join(Pin pin, LedgerEntry entry, boolean mustBeWritten) {
        acting.execute(
                () -> {
                    Optional<String> unwritten = write(entry);
                    mailbox.outcome(() -> joined(pin, entry, unwritten.filter(why -> mustBeWritten)));
                },
                () -> mailbox.outcome(() -> joined(pin, entry, Optional.of(CLOSED))));
    }

    private void joined(Pin pin, LedgerEntry entry, Optional<String> trouble) {
        if (!pin.holds.containsKey(entry.holdId())) {
            return;
        }
        if (trouble.isPresent()) {
            leave(pin, entry.holdId());
            results.notPinned(entry.holdId(), rejectedBy(trouble.get()));
        } else {
            results.pinned(
                    entry.holdId(), entry.lastBlock(), entry.blocks(), "shares the pin of another hold on this block");
        }
    }

    private void unpin(Pin pin) {
        if (tree.ambiguous(pin.command.lastBlock())) {
            stuck(pin, TWINS);
            return;
        }
        pin.state = State.UNPINNING;
        List<LedgerEntry> released = pin.entries(Step.RELEASED, pin.leavers);
        ask(
                () -> backend.unpin(pin.command),
                outcome -> {
                    if (isGone(outcome)) {
                        record(released);
                    }
                },
                outcome -> unpinAnswered(pin, outcome));
    }

    private void unpinAnswered(Pin pin, Outcome outcome) {
        if (isGone(outcome)) {
            drop(pin);
        } else if (outcome.kind() == Outcome.Kind.DEFERRED) {
            pin.state = State.RETRY;
            pin.retryNanos = nowNanos + (SECOND << Math.min(pin.deferrals++, LONGEST_BACK_OFF_LOG2));
            pin.leavers.keySet().forEach(id -> results.leavingDeferred(id, outcome.reason()));
        } else {
            stuck(
                    pin,
                    "the engine refused the unpin, so the block may stay pinned until it clears its cache or restarts: "
                            + outcome.reason());
        }
    }

    private void stuck(Pin pin, String trouble) {
        pin.state = State.STUCK;
        pin.trouble = trouble;
        LOG.warn("Block {}: {}", pin.command.lastBlock(), trouble);
        List.copyOf(pin.leavers.keySet()).forEach(id -> results.stuck(id, trouble));
    }

    private static boolean isGone(Outcome outcome) {
        return switch (outcome.kind()) {
            case ACCEPTED, CLIPPED, MISSING -> true;
            case DEFERRED, REJECTED -> false;
        };
    }

    private static Outcome rejectedBy(String unwritten) {
        return new Outcome(Outcome.Kind.REJECTED, unwritten);
    }

    private void drop(Pin pin) {
        pins.remove(pin.command.lastBlock());
        if (pin.counted) {
            tree.unpinPath(pin.command.lastBlock());
        }
        List.copyOf(pin.leavers.keySet()).forEach(this::leftUnlessNeeded);
    }

    /** Makes a call; its outcome is noted in the book on the acting executor and then answered on the controller's thread. */
    private void ask(Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> note, Consumer<Outcome> answered) {
        calls.make(call, outcome -> {
            Runnable letter = () -> mailbox.outcome(() -> answered.accept(outcome));
            acting.execute(
                    () -> {
                        note.accept(outcome);
                        letter.run();
                    },
                    letter);
        });
    }

    private Optional<String> write(LedgerEntry entry) {
        try {
            book.append(entry);
            return Optional.empty();
        } catch (IOException | RuntimeException e) {
            return Optional.of(
                    "the ledger cannot be written, and without it a pin could outlive us: " + e.getMessage());
        }
    }

    private void recordLater(List<LedgerEntry> entries) {
        acting.execute(
                () -> record(entries), () -> LOG.warn("Unpins are not written to the ledger, since {}.", CLOSED));
    }

    /** Writes what is only to be known at the next start: unwritten, it costs an unpin that finds nothing. */
    private void record(List<LedgerEntry> entries) {
        for (LedgerEntry entry : entries) {
            write(entry).ifPresent(why -> LOG.warn("Hold {}: {}", entry.holdId(), why));
        }
    }
}
