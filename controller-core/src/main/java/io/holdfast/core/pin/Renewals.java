package io.holdfast.core.pin;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Renews pins that end automatically after a time; belongs to the controller's thread. */
final class Renewals<P> {
    /*
     * A pin that ends automatically surely is there until its time after the last call that was answered with a yes was
     * sent, and may be there until its time after the last call that may have been carried out was answered, or could
     * have arrived. Between the two nobody knows. What is needed has to surely be there; what is counted may be. So an
     * answer that comes late has the next renewal soon, and one that comes after the time is none.
     */
    private static final long SECOND = 1_000_000_000L;
    private static final long NEVER = Long.MIN_VALUE;
    /** Number of tries, in the time of one renewal, for a pin that is refused for now. */
    private static final int TRIES_A_RENEWAL = 4;

    private final Acting acting;
    private final Turns turns;
    private final Then<P> then;
    private final Map<P, Term> terms = new LinkedHashMap<>();
    private long nowNanos;

    /** Receives the outcome. */
    interface Then<P> {
        /** It is about to be renewed by sending the prefix. */
        default void calling(PinCommand command) {}

        /** It was answered. */
        default void called(PinCommand command, Outcome outcome) {}

        /** It is pinned still. */
        void renewed(P pin);

        /** It is not what it was made for any more, and something of it may be left. */
        void lost(P pin, String why);

        /** A call to renew it was answered when nobody needed it any more. */
        default void settled(P pin) {}
    }

    private static final class Term {
        final Backend backend;
        final PinCommand command;
        boolean needed = true;
        long sureUntilNanos;
        long nextNanos;
        String trouble = "";

        Term(Backend backend, PinCommand command) {
            this.backend = backend;
            this.command = command;
        }

        BackendTraits traits() {
            return backend.traits();
        }
    }

    private final Map<P, Long> mayLast = new LinkedHashMap<>();
    /** Pins about which a call is under way, which may be carried out whatever becomes of them meanwhile. */
    private final Set<P> underWay = new HashSet<>();

    /** Renewals take their turns among these. */
    Renewals(Acting acting, Turns turns, Then<P> then) {
        this.acting = acting;
        this.turns = turns;
        this.then = then;
    }

    /** Begins to renew a pin that was requested at that time and was made. */
    void begin(P pin, Backend backend, PinCommand command, long askedNanos) {
        if (!backend.traits().endsInTime()) {
            return;
        }
        Term term = new Term(backend, command);
        term.sureUntilNanos = askedNanos + term.traits().endsAfter().toNanos();
        term.nextNanos = askedNanos + term.traits().renewedEvery().toNanos();
        terms.put(pin, term);
    }

    /** It is needed no more. */
    void end(P pin) {
        Optional.ofNullable(terms.remove(pin)).ifPresent(term -> term.needed = false);
    }

    /** A call about it may be carried out so long after now. */
    void mayLast(P pin, BackendTraits traits, long arrivalNanos) {
        if (traits.endsInTime()) {
            mayLast.merge(pin, nowNanos + arrivalNanos + traits.endsAfter().toNanos(), Math::max);
        }
    }

    /** Returns true if a call to renew it has no answer yet. */
    boolean isUnderWay(P pin) {
        return underWay.contains(pin);
    }

    /** Returns true if a call about it may keep it still. */
    boolean mayLast(P pin) {
        return isUnderWay(pin) || nowNanos < mayLast.getOrDefault(pin, NEVER);
    }

    /** It is gone. */
    void forget(P pin) {
        end(pin);
        mayLast.remove(pin);
        underWay.remove(pin);
    }

    void poll(long nanos) {
        nowNanos = nanos;
        for (Map.Entry<P, Term> each : List.copyOf(terms.entrySet())) {
            Term term = each.getValue();
            if (!term.needed || isUnderWay(each.getKey()) || nanos < term.nextNanos) {
                continue;
            }
            if (nanos >= term.sureUntilNanos) {
                end(each.getKey());
                then.lost(
                        each.getKey(),
                        "it could not be renewed in time, and ends automatically "
                                + term.traits().endsAfter().toSeconds() + " s after its last renewal"
                                + (term.trouble.isEmpty() ? "" : ": " + term.trouble));
            } else {
                renew(each.getKey(), term);
            }
        }
    }

    private void renew(P pin, Term term) {
        long askedNanos = nowNanos;
        underWay.add(pin);
        turns.take(() -> {
            if (term.needed) {
                if (term.traits().sendsPrefix()) {
                    then.calling(term.command);
                }
                acting.call(
                        () -> term.backend.renew(term.command),
                        outcome -> turns.over(() -> {
                            then.called(term.command, outcome);
                            answered(pin, term, outcome, askedNanos);
                        }));
            } else {
                turns.over(() ->
                        answered(pin, term, new Outcome(Outcome.Kind.NOT_SENT, "it is needed no more"), askedNanos));
            }
        });
    }

    private void answered(P pin, Term term, Outcome outcome, long askedNanos) {
        if (!underWay.remove(pin)) {
            return;
        }
        switch (outcome.kind()) {
            // What was found to be missing was computed again by the same call, and is kept as long as any other.
            case ACCEPTED, CLIPPED, MISSING -> mayLast(pin, term.traits(), 0);
            case DEFERRED -> mayLast(pin, term.traits(), Pins.ARRIVAL_NANOS);
            case REJECTED, NOT_SENT -> {}
        }
        if (!term.needed) {
            then.settled(pin);
            return;
        }
        switch (outcome.kind()) {
            case ACCEPTED -> {
                term.sureUntilNanos = askedNanos + term.traits().endsAfter().toNanos();
                term.nextNanos = askedNanos + term.traits().renewedEvery().toNanos();
                term.trouble = "";
                if (nowNanos < term.sureUntilNanos) {
                    then.renewed(pin);
                }
            }
            case NOT_SENT, DEFERRED -> {
                term.nextNanos = nowNanos + SECOND;
                term.trouble = outcome.reason();
            }
            case CLIPPED, REJECTED, MISSING -> {
                if (outcome.forNow()) {
                    // It is there until its time has run out, and what is in the way may go before.
                    term.nextNanos = nowNanos + term.traits().renewedEvery().toNanos() / TRIES_A_RENEWAL;
                    term.trouble = outcome.reason();
                    return;
                }
                end(pin);
                then.lost(pin, outcome.reason());
            }
        }
    }
}
