package io.holdfast.core;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.requests.VisibleRequest;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Predicate;

/** Our own requests to one engine: one at a time, so many an hour, and known again in its events. */
final class OwnRequests {
    /*
     * A request of our own costs the engine what a user's costs, so it is rationed: one at a time, and a dozen an hour
     * whatever became of them. It must not teach: what it stores is not what users share, its prompt is none of theirs. The
     * engine's events do not say who asked, so a request is taken for ours while one is under way, or was a moment ago, and
     * its path ends on the way that we sent.
     *
     * Whether it did what it was for is read from the events: the prefix is there, and ends an insertion. The answer alone
     * says nothing, since an engine that has the prefix within a longer path stores nothing new.
     */
    private static final int AN_HOUR = 12;
    private static final long HOUR_NANOS = 3_600_000_000_000L;
    private static final long SEEN_WITHIN_NANOS = 5_000_000_000L;

    private final Optional<PrefixSender> sender;
    private final Executor acting;
    private final Executor owner;
    private final Deque<Long> sentNanos = new ArrayDeque<>();
    private Optional<UnderWay> underWay = Optional.empty();
    private long nowNanos;
    private long busyNanos = Long.MIN_VALUE;
    private long sent;
    private long failed;

    private static final class UnderWay {
        final long holdId;
        final HoldRequest prefix;
        Optional<Outcome> answer = Optional.empty();
        long answeredNanos;

        UnderWay(long holdId, HoldRequest prefix) {
            this.holdId = holdId;
            this.prefix = prefix;
        }
    }

    /**
     * What became of one that is over.
     *
     * @param trouble why its prefix is not there; empty where it is
     * @param unclear whether the engine gave no clear answer, so that the request may have hurt it
     */
    record Finished(long holdId, Optional<String> trouble, boolean unclear) {}

    /** {@code acting} is where calls are made, {@code owner} where their answers are taken. */
    OwnRequests(Optional<PrefixSender> sender, Executor acting, Executor owner) {
        this.sender = sender;
        this.acting = acting;
        this.owner = owner;
    }

    void now(long nanos) {
        nowNanos = nanos;
        busyNanos = underWay.isPresent() ? nanos : busyNanos;
    }

    /** When one was last under way, so that blocks may have been touched by it until then; before all time where none ever was. */
    long busyNanos() {
        return busyNanos;
    }

    /** Why no prefix is stored by a request of our own now; empty when one may be. */
    Optional<String> hindrance() {
        if (sender.isEmpty()) {
            return Optional.of("the sidecar sends no requests of its own to this engine");
        }
        if (underWay.isPresent()) {
            return Optional.of("another prefix is being stored by a request of the sidecar's own");
        }
        while (!sentNanos.isEmpty() && sentNanos.peekFirst() + HOUR_NANOS <= nowNanos) {
            sentNanos.removeFirst();
        }
        return sentNanos.size() < AN_HOUR
                ? Optional.empty()
                : Optional.of(
                        "the sidecar has sent " + AN_HOUR + " requests of its own within an hour, which is the most");
    }

    void send(long holdId, HoldRequest prefix) {
        UnderWay request = new UnderWay(holdId, prefix);
        underWay = Optional.of(request);
        sentNanos.addLast(nowNanos);
        busyNanos = nowNanos;
        sent++;
        int[] tokens = prefix.tokensOf(prefix.blocks());
        PrefixSender by = sender.orElseThrow();
        CompletionStage<Outcome> unused = CompletableFuture.completedFuture(tokens)
                .thenComposeAsync(by::send, acting)
                .whenComplete((outcome, failure) -> owner.execute(() -> {
                    request.answer = Optional.of(
                            failure == null
                                    ? outcome
                                    : new Outcome(
                                            Outcome.Kind.NOT_SENT, "it could not be sent: " + failure.getMessage()));
                    request.answeredNanos = nowNanos;
                }));
    }

    /** Whether this is a request of ours. */
    boolean isOwn(VisibleRequest request) {
        return underWay.filter(own -> request.blocks() > 0
                        && request.blocks() <= own.prefix.blocks()
                        && own.prefix.block(request.blocks() - 1) == request.lastBlock())
                .isPresent();
    }

    /** What became of the one under way, once that is known; {@code there} says whether its prefix can be pinned now. */
    Optional<Finished> finished(Predicate<HoldRequest> there) {
        if (underWay.isEmpty() || underWay.get().answer.isEmpty()) {
            return Optional.empty();
        }
        UnderWay own = underWay.get();
        Outcome answer = own.answer.orElseThrow();
        Optional<String> trouble;
        if (there.test(own.prefix)) {
            trouble = Optional.empty();
        } else if (answer.kind() != Outcome.Kind.ACCEPTED) {
            trouble = Optional.of(answer.reason());
        } else if (nowNanos < own.answeredNanos + SEEN_WITHIN_NANOS) {
            return Optional.empty();
        } else {
            trouble =
                    Optional.of("the engine answered, and its events do not show that it stored the prefix by itself");
        }
        failed += trouble.isPresent() ? 1 : 0;
        underWay = Optional.empty();
        return Optional.of(new Finished(own.holdId, trouble, answer.kind() == Outcome.Kind.DEFERRED));
    }

    long sent() {
        return sent;
    }

    long failed() {
        return failed;
    }
}
