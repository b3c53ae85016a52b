package io.holdfast.core.pin;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.pin.Pin.State;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes pins back: once each, when it is safe, and by what the engine answers. */
final class Unpins {
    private static final Logger LOG = LoggerFactory.getLogger(Unpins.class);
    private static final long SECOND = 1_000_000_000L;
    private static final long REFUSED_AGAIN_NANOS = 60 * SECOND;
    private static final int LONGEST_BACK_OFF_LOG2 = 5;
    private static final int MOST_IN_ONE_CALL = 512;

    /** Note of a pin that may be in any of several caches. */
    static final String ON_RANKS = "its call reaches every data-parallel rank";

    private static final String TWINS =
            "a second block of the engine has the hash of this one by now, and an unpin could hit that one: it stays"
                    + " pinned until the engine has removed both, clears its cache or restarts";
    /** Beginning by which a note of the ledger is known, whatever follows. */
    private static final String ASTRAY_BEGINS = "it may be pinned ";

    private static final String ASTRAY = ASTRAY_BEGINS
            + "where it lies in the middle of what a request stored, and the end of that is not known to be there: an"
            + " unpin could end the engine, so it stays pinned until the events show that it cannot, or the engine, at"
            + " rest, shows that it is gone";

    private final PinTable table;
    private final PinDoubts doubts;
    private final Acting acting;
    private final Turns turns = new Turns();
    private final Then then;
    private final List<Pin> together = new ArrayList<>();
    private boolean gathering;

    /** Receives what became of pins. */
    interface Then {
        /** Nothing is pinned any more. */
        void gone(Pin pin);

        /** It is pinned still, for a while or until the engine shows otherwise. */
        void notGone(Pin pin);

        /** Its entries are in another step from now on. */
        void stepped(Pin pin, Step step);
    }

    Unpins(PinTable table, PinDoubts doubts, Acting acting, Then then) {
        this.table = table;
        this.doubts = doubts;
        this.acting = acting;
        this.then = then;
    }

    /** Takes up what an earlier life noted about a pin. */
    static void takeUpNote(Pin pin, Entry entry) {
        pin.doubtful |= entry.note().equals(ON_RANKS) || entry.note().startsWith(ASTRAY_BEGINS);
        if (pin.state == State.KEPT && pin.trouble.isEmpty()) {
            pin.trouble = TWINS;
        }
    }

    /** Unpins a pin that nobody needs, now or when that is safe. */
    void unpin(Pin pin) {
        switch (doubts.mayUnpin(pin)) {
            case KEEP_FOR_TWIN -> stay(pin, State.KEPT, Step.KEPT, TWINS);
            case KEEP_ASTRAY -> {
                pin.doubtful = true;
                stay(pin, State.KEPT, Step.KEPT, ASTRAY);
            }
            case WAIT_FOR_ARRIVAL -> dueAt(pin, pin.mayArriveUntilNanos, pin.trouble);
            case LOOK_AGAIN -> {
                pin.state = State.UNPIN_DUE;
                pin.dueNanos = table.nowNanos + PinDoubts.LOOK_AGAIN_NANOS;
            }
            case UNPIN -> send(pin);
        }
    }

    private void send(Pin pin) {
        pin.state = State.UNPINNING;
        pin.askedNanos = table.nowNanos;
        if (gathering) {
            together.add(pin);
        } else {
            turns.take(() -> call(pin));
        }
    }

    /** Sends an unpin whose turn has come, unless it could hit a twin by now. */
    private void call(Pin pin) {
        if (doubts.twins(pin)) {
            turns.over(() -> answered(pin, new Outcome(Kind.NOT_SENT, TWINS)));
        } else {
            acting.call(
                    () -> pin.backend.unpin(List.of(pin.key.handle())),
                    outcome -> turns.over(() -> answered(pin, outcome)));
        }
    }

    /** Unpins whatever leaves meanwhile by as few calls as can be, past those that wait. */
    void atOnce(Runnable leaving) {
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
                    .limit(table.severalCaches() ? 1 : MOST_IN_ONE_CALL)
                    .toList();
            together.removeAll(new HashSet<>(batch));
            List<String> handles = batch.stream().map(pin -> pin.key.handle()).toList();
            turns.takeNow();
            acting.call(() -> backend.unpin(handles), outcome -> turns.over(() -> answered(batch, outcome)));
        }
    }

    private void answered(List<Pin> batch, Outcome outcome) {
        boolean whichOnes = batch.size() > 1 && outcome.kind() == Kind.CLIPPED;
        Outcome each = whichOnes
                ? new Outcome(
                        Kind.DEFERRED,
                        "of " + batch.size() + " that were unpinned by one call the engine found only some: "
                                + outcome.reason())
                : outcome;
        batch.forEach(pin -> answered(pin, each));
    }

    private void answered(Pin pin, Outcome outcome) {
        pin.answered |= outcome.kind() != Kind.NOT_SENT;
        pin.unclear = outcome.kind() == Kind.DEFERRED;
        UnpinAnswer answer =
                UnpinAnswer.to(outcome.kind(), pin.backend.traits(), pin.askedNanos < pin.mayArriveUntilNanos);
        pin.refused = answer == UnpinAnswer.REFUSED;
        switch (answer) {
            case GONE -> then.gone(pin);
            case ONCE_IT_HAS_ARRIVED -> dueAt(pin, pin.mayArriveUntilNanos, pin.trouble);
            case AGAIN ->
                dueAt(
                        pin,
                        table.nowNanos + (SECOND << Math.min(pin.attempts++, LONGEST_BACK_OFF_LOG2)),
                        "its unpin is sent again, since it "
                                + (pin.unclear ? "had no clear answer: " : "could not be: ") + outcome.reason());
            case REFUSED ->
                dueAt(
                        pin,
                        table.nowNanos + REFUSED_AGAIN_NANOS,
                        "the engine refused the unpin, so the block stays pinned; it is asked again every minute: "
                                + outcome.reason());
            case UNSURE ->
                stay(
                        pin,
                        State.UNSURE,
                        Step.UNSURE,
                        "no clear answer to the unpin, which is not repeated, since that could take a pin of somebody"
                                + " else: it counts until the engine, at rest, shows that it is gone: "
                                + outcome.reason());
        }
    }

    private void dueAt(Pin pin, long nanos, String trouble) {
        pin.state = State.UNPIN_DUE;
        pin.dueNanos = nanos;
        pin.trouble = trouble;
        then.notGone(pin);
    }

    private void stay(Pin pin, State state, Step step, String trouble) {
        pin.state = state;
        pin.trouble = trouble;
        if (pin.written != step) {
            pin.written = step;
            LOG.warn("Block {}: {}", pin.block, trouble);
            then.stepped(pin, step);
        }
        then.notGone(pin);
    }
}
