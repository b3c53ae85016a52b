package io.holdfast.core;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.VisibleRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Our own requests to one engine: what is under way, known again in its events, and taken out of its numbers. */
final class OwnRequests {
    /*
     * Two kinds
     * ---------
     * A prefix that is gone is stored by a request of our own: one at a time, and a dozen an hour whatever became of
     * them. Whether it did what it was for is read from the events: the prefix is there, and ends an insertion. The
     * answer alone says nothing, since an engine that has the prefix within a longer path stores nothing new.
     *
     * A backend that holds by sending the prefix sends one for each pin. They find it in the cache and cost little; how
     * long all of them together took within an hour is counted, for backends that make many of them.
     *
     * They must not teach
     * -------------------
     * What they store is not what users share, their prompts are none of theirs. The engine's events do not say who
     * asked, so a request is taken for ours while one is under way, or was a moment ago, and its path ends on the way
     * that we sent. One that found all of it in the cache stored nothing, and nothing is to be known again.
     *
     * The engine's counters
     * ---------------------
     * They count our requests as everybody's. So each is taken off from the first reading on that was requested after
     * its answer. A reading that was requested while one was under way may have it or not: then what was known before
     * stands, and of the tokens that users found it tells at least how many those are. When the engine counts less than
     * before it began anew, and what we sent earlier is in its numbers no more.
     */
    static final int AN_HOUR = 12;
    private static final int MOST_UNCOUNTED = 1_000;
    static final long HOUR_NANOS = 3_600_000_000_000L;
    private static final long SEEN_WITHIN_NANOS = 5_000_000_000L;

    private final Optional<PrefixSender> sender;
    private final Acting acting;
    private final Deque<Long> storedNanos = new ArrayDeque<>();
    private final List<Call> calls = new ArrayList<>();
    private final Deque<Call> lately = new ArrayDeque<>();
    /** Answered, and not taken off the engine's numbers yet. */
    private final Deque<Call> uncounted = new ArrayDeque<>();

    private Answers answers = (prefix, blocks, outcome) -> {};
    private Optional<Storing> storing = Optional.empty();
    private long nowNanos;
    private long busyNanos = Long.MIN_VALUE;
    private long sent;
    private long answered;
    private long failed;
    private long inVain;
    private Sums sums = Sums.NONE;
    private double lastCount = -1;
    private Optional<EngineReadings> lastUsers = Optional.empty();
    private double usersCached;
    /** Tokens found, now or later, by requests that were sent and never answered. */
    private double neverKnown;

    /** A request of our own. */
    static final class Call {
        private final HoldRequest prefix;
        private final int blocks;
        private final int tokens;
        private final long sentNanos;
        private final boolean stores;
        private Optional<Outcome> answer = Optional.empty();
        private long answeredNanos;

        private Call(HoldRequest prefix, int blocks, int tokens, long sentNanos, boolean stores) {
            this.prefix = prefix;
            this.blocks = blocks;
            this.tokens = tokens;
            this.sentNanos = sentNanos;
            this.stores = stores;
        }

        long answeredNanos() {
            return answeredNanos;
        }

        /** Returns the time from the sending to the answer. */
        long nanos() {
            return answeredNanos - sentNanos;
        }

        /** Returns true if it may have stored blocks that the events are still to tell. */
        private boolean storedSomething() {
            return stores
                    || answer.filter(outcome -> outcome.cachedTokens().isPresent())
                            .map(outcome -> outcome.cachedTokens().getAsLong() < tokens(prefix, blocks))
                            .orElse(false);
        }

        /** Tokens of its prefix that the engine computed again. */
        long computed() {
            return Math.max(0, tokens(prefix, blocks) - (long) cached());
        }

        /**
         * Returns the tokens that it found; where the engine does not tell, all of what is there already, nothing of
         * what is not.
         */
        private double cached() {
            return answer.filter(outcome -> outcome.cachedTokens().isPresent())
                    .map(outcome -> (double) outcome.cachedTokens().getAsLong())
                    .orElse(stores ? 0.0 : prefix.tokenCount() / (double) prefix.blocks() * blocks);
        }
    }

    private record Storing(long holdId, Call call) {}

    /** Hears what became of each request for the first blocks of a prefix. */
    interface Answers {
        void answered(HoldRequest prefix, int blocks, Outcome outcome);
    }

    /** Our share of the engine's counters. */
    private record Sums(double requests, double seconds, double tokens, double cached) {
        static final Sums NONE = new Sums(0, 0, 0, 0);

        Sums plus(Call call) {
            return new Sums(requests + 1, seconds + call.nanos() / 1e9, tokens + call.tokens, cached + call.cached());
        }
    }

    /**
     * Outcome of a request that was to store a prefix.
     *
     * @param trouble why its prefix is not there; empty where it is
     * @param unclear whether the engine gave no clear answer, so that the request may have hurt it
     */
    record Finished(long holdId, Optional<String> trouble, boolean unclear) {}

    OwnRequests(Optional<PrefixSender> sender, Acting acting) {
        this.sender = sender;
        this.acting = acting;
    }

    /** Has each answer told. */
    void tell(Answers listener) {
        answers = listener;
    }

    void now(long nanos) {
        nowNanos = nanos;
        calls.removeIf(call -> call.answer.isPresent()
                && (!call.storedSomething() || call.answeredNanos + SEEN_WITHIN_NANOS <= nowNanos));
        while (!lately.isEmpty() && lately.peekFirst().answeredNanos + HOUR_NANOS <= nowNanos) {
            lately.removeFirst();
        }
        boolean stores = storing.isPresent() || calls.stream().anyMatch(call -> call.answer.isPresent());
        busyNanos = stores ? nanos : busyNanos;
    }

    /** Returns when one may last have touched blocks by storing some; before all time where none ever did. */
    long busyNanos() {
        return busyNanos;
    }

    /** Returns the reason why no prefix is stored by a request of our own now; empty when one may be. */
    Optional<String> hindrance() {
        if (sender.isEmpty()) {
            return Optional.of("the sidecar sends no requests of its own to this engine");
        }
        if (storing.isPresent()) {
            return Optional.of("another prefix is being stored by a request of the sidecar's own");
        }
        while (!storedNanos.isEmpty() && storedNanos.peekFirst() + HOUR_NANOS <= nowNanos) {
            storedNanos.removeFirst();
        }
        return storedNanos.size() < AN_HOUR
                ? Optional.empty()
                : Optional.of(
                        "the sidecar has sent " + AN_HOUR + " requests of its own within an hour, which is the most");
    }

    /** Has the engine store a prefix for this hold. */
    void store(long holdId, HoldRequest prefix) {
        Call call = begin(new Call(prefix, prefix.blocks(), prefix.tokenCount(), nowNanos, true));
        storing = Optional.of(new Storing(holdId, call));
        storedNanos.addLast(nowNanos);
        busyNanos = nowNanos;
        int[] tokens = prefix.tokensOf(prefix.blocks());
        PrefixSender by = sender.orElseThrow();
        acting.call(() -> by.send(tokens), outcome -> end(call, outcome));
    }

    /** Has the engine store a prefix that nobody here asks for yet; its caller bounds how many of these there are. */
    void warm(HoldRequest prefix, Consumer<Outcome> then) {
        Call call = begin(new Call(prefix, prefix.blocks(), prefix.tokenCount(), nowNanos, true));
        busyNanos = nowNanos;
        int[] tokens = prefix.tokensOf(prefix.blocks());
        PrefixSender by = sender.orElseThrow();
        acting.call(() -> by.send(tokens), outcome -> {
            end(call, outcome);
            then.accept(outcome);
        });
    }

    /** Returns true while a prefix is being stored for a hold. */
    boolean isStoring() {
        return storing.isPresent();
    }

    /** Returns true if requests of our own can be sent at all. */
    boolean sends() {
        return sender.isPresent();
    }

    /** A request of the first blocks of a prefix that is in the cache leaves for the engine. */
    Call begin(HoldRequest prefix, int blocks) {
        return begin(new Call(prefix, blocks, tokens(prefix, blocks), nowNanos, false));
    }

    /** Begins a request with one token more. */
    Call beginTouch(HoldRequest prefix, int blocks) {
        return begin(new Call(prefix, blocks, tokens(prefix, blocks) + 1, nowNanos, false));
    }

    private static int tokens(HoldRequest prefix, int blocks) {
        return prefix.tokenCount() / prefix.blocks() * blocks;
    }

    private Call begin(Call call) {
        calls.add(call);
        sent++;
        return call;
    }

    /** It was answered, or never left. */
    void end(Call call, Outcome outcome) {
        call.answer = Optional.of(outcome);
        call.answeredNanos = nowNanos;
        if (outcome.kind() == Outcome.Kind.ACCEPTED || outcome.kind() == Outcome.Kind.CLIPPED) {
            answered++;
            uncounted.addLast(call);
            lately.addLast(call);
        } else {
            failed++;
        }
        if (outcome.kind() == Outcome.Kind.DEFERRED) {
            // The engine may have worked for it all the same, or may still.
            lately.addLast(call);
            neverKnown += call.cached();
        }
        answers.answered(call.prefix, call.blocks, outcome);
    }

    /**
     * Returns how long the requests took that were answered within the last hour, and those that are under way so far.
     */
    Duration timeWithinAnHour() {
        return Duration.ofNanos(lately.stream().mapToLong(Call::nanos).sum()
                + calls.stream()
                        .filter(call -> call.answer.isEmpty())
                        .mapToLong(call -> nowNanos - call.sentNanos)
                        .sum());
    }

    /** Returns true if this is a request of ours. */
    boolean isOwn(VisibleRequest request) {
        // Asked of every request, and mostly there is no call.
        for (Call own : calls) {
            if (request.blocks() > 0
                    && request.blocks() <= own.blocks
                    && own.prefix.block(request.blocks() - 1) == request.lastBlock()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the outcome of the request that was to store a prefix, once that is known; {@code there} says whether it
     * can be pinned now.
     */
    Optional<Finished> finished(Predicate<HoldRequest> there) {
        if (storing.isEmpty() || storing.get().call.answer.isEmpty()) {
            return Optional.empty();
        }
        Call call = storing.get().call;
        Outcome answer = call.answer.orElseThrow();
        Optional<String> trouble;
        if (there.test(call.prefix)) {
            trouble = Optional.empty();
        } else if (answer.kind() != Outcome.Kind.ACCEPTED) {
            trouble = Optional.of(answer.reason());
        } else if (nowNanos < call.answeredNanos + SEEN_WITHIN_NANOS) {
            return Optional.empty();
        } else {
            trouble =
                    Optional.of("the engine answered, and its events do not show that it stored the prefix by itself");
        }
        inVain += trouble.isPresent() && answer.kind() == Outcome.Kind.ACCEPTED ? 1 : 0;
        long holdId = storing.get().holdId;
        storing = Optional.empty();
        return Optional.of(new Finished(holdId, trouble, answer.kind() == Outcome.Kind.DEFERRED));
    }

    /** The readings without our own requests; {@code originNanos} is when this controller's time began. */
    EngineReadings usersOnly(EngineReadings all, long originNanos) {
        if (!(all.ttftCount() instanceof Reading.Known count)) {
            // Its next numbers have them.
            while (uncounted.size() > MOST_UNCOUNTED) {
                uncounted.removeFirst();
            }
            return all;
        }
        long askedNanos = count.atNanos() - originNanos;
        if (count.value() < lastCount) {
            sums = Sums.NONE;
            uncounted.removeIf(call -> call.answeredNanos <= askedNanos);
            lastUsers = Optional.empty();
            usersCached = 0;
            neverKnown = 0;
        }
        lastCount = count.value();
        while (!uncounted.isEmpty() && uncounted.peekFirst().answeredNanos <= askedNanos) {
            sums = sums.plus(uncounted.removeFirst());
        }
        boolean unsure = !uncounted.isEmpty() || calls.stream().anyMatch(call -> call.answer.isEmpty());
        EngineReadings users = unsure && lastUsers.isPresent()
                ? all.withCounters(lastUsers.get())
                : all.lessCounters(sums.requests, sums.seconds, sums.tokens, sums.cached);
        lastUsers = Optional.of(users);
        double mayBeOurs = Stream.concat(uncounted.stream(), calls.stream().filter(call -> call.answer.isEmpty()))
                .mapToDouble(Call::cached)
                .sum();
        usersCached = Math.max(
                usersCached,
                all.cachedTokens().number().orElse(0) - sums.cached - neverKnown - (unsure ? mayBeOurs : 0));
        return users;
    }

    /** Tokens that users' requests found in the cache since the engine began to count: at least so many by now. */
    double usersCached() {
        return usersCached;
    }

    long sent() {
        return sent;
    }

    /** Returns the number of requests that were answered, and as far as is known did what they were for. */
    long answered() {
        return answered - inVain;
    }

    /** Returns the number of requests that were not answered or were in vain. */
    long failed() {
        return failed + inVain;
    }
}
