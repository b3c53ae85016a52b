package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.sidecar.config.ApiError;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives back what one engine holds for somebody who is finished, so that it stays given back after a restart. */
public final class EngineReleases {
    private static final Logger LOG = LoggerFactory.getLogger(EngineReleases.class);
    /** Begins the ids of sessions that hold something for a sidecar. */
    private static final String OF_HOLDS = "holdfast-";

    private final EngineLink link;
    private final Ledger ledger;
    private final Optional<Function<String, CompletionStage<Outcome>>> closer;

    /** @param closer closes a session at the engine; empty where clients open none */
    EngineReleases(EngineLink link, Ledger ledger, Optional<Function<String, CompletionStage<Outcome>>> closer) {
        this.link = link;
        this.ledger = ledger;
        this.closer = closer;
    }

    /** Ends all that one requester wants. */
    public CompletionStage<GivenBack> of(String requester) {
        List<HoldView> unnamed = link.lasting().unnamed().stream()
                .filter(hold -> hold.claims().stream()
                        .anyMatch(claim -> claim.requester().equals(requester)))
                .toList();
        unnamed.forEach(this::forget);
        return given(() -> link.controller().releaseOf(requester))
                .thenApply(given -> given.andEnded(unnamed.stream()
                        .map(hold -> hold.abandoned(false, "released by its requester, " + requester))
                        .toList()));
    }

    /** Ends what is held of this prefix and of what goes on from it, but for what the configuration declares. */
    public CompletionStage<GivenBack> on(Prefix prefix) {
        Set<Long> declared = link.view().holds().stream()
                .map(HoldView::id)
                .filter(this::isDeclared)
                .collect(Collectors.toSet());
        return given(() -> link.controller().releaseOn(prefix, declared));
    }

    /** Ends what one requester wants of a conversation that is over. */
    public CompletionStage<GivenBack> over(Prefix prefix, String requester) {
        return given(() -> link.controller().over(prefix, requester));
    }

    /** Ends one hold, for everybody. */
    public CompletionStage<GivenBack> hold(long holdId) {
        if (isDeclared(holdId)) {
            return refused(" has this session for a hold that the configuration declares, which lasts as long as it is"
                    + " named there.");
        }
        return given(() -> link.controller().giveBack(holdId, "its session was released on request"));
    }

    /** Returns the hold that has this session of the engine; absent where none of ours has. */
    public OptionalLong holdOfSession(String session) {
        return ledger.outstanding().stream()
                .filter(entry -> entry.handle().equals(session))
                .mapToLong(LedgerLine.Entry::holdId)
                .findFirst();
    }

    /** Closes a session that a client opened, whose id is safe in JSON. */
    public CompletionStage<Outcome> closeSession(String session) {
        if (link.isOutOfOffice()) {
            return link.outOfOffice();
        }
        if (link.config().dryRun() || link.view().dryRun()) {
            return refused(" is on a dry run, in which no session is closed; close it at the engine, or end the dry run"
                    + " first.");
        }
        if (session.startsWith(OF_HOLDS)) {
            return refused(" has nothing to release by session " + session + ": ids that begin with " + OF_HOLDS
                    + " are those of holds; release the hold.");
        }
        return closer.map(close -> close.apply(session).thenApply(closed -> {
                    if (closed.kind() == Outcome.Kind.ACCEPTED) {
                        link.controller()
                                .releasedUnknown("a client's session was closed, and the engine does not say what it"
                                        + " kept nor for how long");
                    }
                    return closed;
                }))
                .orElseGet(() -> refused(" has no sessions that clients open; release by requester or by the prefix."));
    }

    private <T> CompletionStage<T> refused(String why) {
        return CompletableFuture.failedStage(new ApiError(409, "Engine " + link.id() + why));
    }

    /** Has a hold that somebody gave back stay so after a restart, however long its unpin takes. */
    void forget(HoldView hold) {
        if (outlives(hold)) {
            CompletionStage<?> _ = link.lasting().released(hold.id());
        }
    }

    /** Returns true if a hold lasts through restarts until somebody releases it: one that is declared is asked for again. */
    private boolean outlives(HoldView hold) {
        return hold.origin() == HoldOrigin.REQUESTED && !isDeclared(hold.id());
    }

    private boolean isDeclared(long holdId) {
        return link.lasting().name(holdId).isPresent();
    }

    /** Answers when what ended would stay so after a restart, or it was waited for that for a moment. */
    private CompletionStage<GivenBack> given(Supplier<CompletionStage<GivenBack>> asked) {
        return link.answered(asked, link::outOfOffice)
                .thenCompose(given -> CompletableFuture.allOf(given.concerned().stream()
                                .filter(this::outlives)
                                .map(hold -> link.lasting()
                                        .changed(hold)
                                        .toCompletableFuture()
                                        .completeOnTimeout(false, 1, TimeUnit.SECONDS)
                                        .exceptionally(failure -> false))
                                .toArray(CompletableFuture[]::new))
                        .thenApply(written -> given))
                .whenComplete((given, failure) -> {
                    if (given != null && !given.ended().isEmpty()) {
                        LOG.info(
                                "Engine {}: {} holds were released for somebody who is finished; {} tokens can be"
                                        + " evicted now.",
                                link.id(),
                                given.ended().size(),
                                given.evictableTokens());
                    }
                });
    }
}
