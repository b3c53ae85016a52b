package io.holdfast.core.hold;

import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.TreeView;
import io.holdfast.core.prefix.WantedPrefixes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** The register of holds: those that live, the last few that are over, and who waits to hear of them. */
public final class Holds {
    private static final int MOST_LEAVING = 16 * 1_024;
    public static final int MOST_LIVING = 1024;
    /** Most blocks of all living holds: 32 MiB of names. */
    public static final int MOST_BLOCKS = 4 << 20;

    private static final int REMEMBERED = 64;

    private final Executor answering;
    private final TreeView tree;
    private final WantedPrefixes prefixes;
    private final Map<Long, Hold> living = new LinkedHashMap<>();
    /** Holds that are over, as they were last seen: the names of their blocks are not kept. */
    private final Map<Long, HoldView> over = new LinkedHashMap<>();

    private final Map<Long, Undecided> awaitingDecision = new LinkedHashMap<>();
    private final Map<Long, List<Consumer<HoldView>>> awaitingEnd = new LinkedHashMap<>();
    private long nextId;
    private long nowNanos;
    private long blockTokens;
    private long ownUntilNanos = Long.MIN_VALUE;
    private int names;
    private long views;
    private final Map<Hint, Long> hints = new EnumMap<>(Hint.class);
    /** Ends of automatic holds that somebody released, and when. */
    private final Map<Long, Long> letGo = new LinkedHashMap<>();

    /** Requesters of a hold, and until when they wait to hear of it. */
    private record Undecided(List<CompletableFuture<HoldView>> answers, long untilNanos) {}

    /** Answers are completed by {@code answering}: when, and on which thread, is for it to say. */
    public Holds(long firstId, TreeView tree, WantedPrefixes prefixes, Executor answering) {
        this.nextId = firstId;
        this.tree = tree;
        this.prefixes = prefixes;
        this.answering = answering;
    }

    public void now(long nanos, long tokensPerBlock) {
        nowNanos = nanos;
        blockTokens = tokensPerBlock;
    }

    /** Returns the last blocks of the prefixes that are held. */
    public Set<Long> heldEnds() {
        Set<Long> held = new HashSet<>();
        for (Hold hold : living.values()) {
            if (hold.state() == HoldState.HELD) {
                held.add(hold.end());
            }
        }
        return held;
    }

    public long nextId() {
        return nextId;
    }

    /** Takes a number for a hold that is {@linkplain #restore restored} under it later. */
    public long takeId() {
        return nextId++;
    }

    public Hold register(HoldOrigin origin, HoldRequest request, String reason) {
        return add(Hold.requested(nextId++, origin, request, nowNanos, reason));
    }

    private Hold add(Hold hold) {
        living.put(hold.id(), hold);
        names += hold.request().size();
        prefixes.want(hold.end(), hold.request().blocks());
        return hold;
    }

    /**
     * Takes a requested hold up under the number and with the claims that it had; later ones are numbered from there
     * on.
     *
     * @return false where no claim is left, a hold of that number lives, or there is no memory for it
     */
    public boolean restore(long id, HoldRequest request, List<ClaimView> claims, String reason) {
        if (claims.isEmpty() || living.containsKey(id) || full() || !fits(request.size())) {
            return false;
        }
        over.remove(id);
        nextId = Math.max(nextId, id + 1);
        add(Hold.restored(id, HoldOrigin.REQUESTED, request, Claims.restored(claims, nowNanos), nowNanos, reason));
        return true;
    }

    /**
     * Has a request with a requester join the living hold of its prefix, or renews what that requester has in it;
     * absent where there is none to join.
     *
     * @throws RejectedExecutionException with one sentence, where it has as many requesters as it may have
     */
    public Optional<Hold> join(HoldRequest request) {
        if (request.requester().isEmpty()) {
            return Optional.empty();
        }
        Optional<Hold> found = wanted().filter(
                        hold -> hold.claims().shared() && hold.request().samePrefix(request))
                .findFirst();
        found.ifPresent(hold -> {
            if (hold.claims().full() && !hold.claims().has(request.requester())) {
                throw new RejectedExecutionException("Hold " + hold.id() + " has " + Claims.MOST
                        + " requesters, which is the most: release it for one of them first.");
            }
            Hold joined = hold.askedAgain(request, hold.claims().with(request, nowNanos));
            names += joined.request().size() - hold.request().size();
            living.put(hold.id(), joined);
        });
        return found.flatMap(hold -> living(hold.id()));
    }

    /**
     * Has a requested hold that is not given up run for so long from now, for one of its requesters or for all; never
     * beyond a cap. Answers the hold as it is then; absent where there is none of this number, or none of that
     * requester's.
     */
    public Optional<HoldView> extend(long id, Optional<String> requester, Duration length) {
        living(id)
                .filter(hold -> !hold.automatic() && hold.state() != HoldState.EXPIRING)
                .ifPresent(hold -> living.put(id, hold.claimedBy(hold.claims().extended(requester, length, nowNanos))));
        return living(id)
                .filter(hold -> requester.map(hold.claims()::has).orElse(true))
                .map(this::view)
                .or(() -> Optional.ofNullable(over.get(id)));
    }

    /**
     * Ends what one requester wants of a hold; with the last of them the hold expires. Absent where that requester
     * wants nothing of it.
     */
    public Optional<Hold> leave(long id, String requester) {
        Optional<Hold> found = living(id).filter(hold -> hold.claims().has(requester));
        found.filter(hold -> hold.state() != HoldState.EXPIRING)
                .ifPresent(hold -> update(hold.claims()
                        .without(requester)
                        .map(hold::claimedBy)
                        .orElseGet(() -> hold.expiring("released by its last requester, " + requester))));
        return found.flatMap(hold -> living(id));
    }

    /** Ends what one requester wants of the hold of exactly this prefix; absent where there is no hold of it. */
    public Optional<Hold> leave(HoldRequest prefix, String requester) {
        return wanted().filter(hold ->
                        hold.request().samePrefix(prefix) && hold.claims().has(requester))
                .findFirst()
                .flatMap(hold -> leave(hold.id(), requester));
    }

    /** Counts a hint. */
    public void hinted(Hint hint) {
        hints.merge(hint, 1L, Long::sum);
    }

    /**
     * Takes a hint that the conversation which begins with this path was used, or goes on, and answers the holds that it
     * concerned: it prolongs what prolongs itself of all holds on the path.
     */
    public List<Hold> hint(Hint hint, Prefix path) {
        hinted(hint);
        List<Hold> concerned = wanted().filter(hold -> hold.claims().refreshed() && begins(hold.request(), path))
                .toList();
        concerned.forEach(
                hold -> living.put(hold.id(), hold.claimedBy(hold.claims().usedNow(nowNanos))));
        return concerned.stream().flatMap(hold -> living(hold.id()).stream()).toList();
    }

    /** A router saw a request use this path: it prolongs what uses prolong, and what is held automatically. */
    public void touched(Prefix path) {
        living.replaceAll((id, hold) ->
                hold.state() != HoldState.EXPIRING && hold.claims().refreshed() && begins(hold.request(), path)
                        ? hold.claimedBy(hold.claims().used(nowNanos))
                        : hold);
    }

    /** Returns the holds that this requester wants and that are not given up. */
    public List<Hold> wantedBy(String requester) {
        return wanted().filter(hold -> hold.claims().has(requester)).toList();
    }

    /**
     * Returns the holds on this path that are not given up: of exactly this prefix, and of what goes on from it. All
     * that is shorter may be others' as well.
     */
    public List<Hold> on(Prefix path) {
        return wanted().filter(hold -> begins(path, hold.request())).toList();
    }

    /** Holds nothing automatically that ends with this block, until a request of a user's went over it again. */
    public void letGo(long end) {
        letGo.put(end, nowNanos);
        if (letGo.size() > MOST_LIVING) {
            letGo.remove(letGo.keySet().iterator().next());
        }
    }

    /** Returns true if the prefix was {@linkplain #letGo let go of} and not used since. */
    public boolean isLetGo(long end) {
        Long since = letGo.get(end);
        if (since != null && lastUse(end) > since) {
            letGo.remove(end);
            return false;
        }
        return since != null;
    }

    private static boolean begins(Prefix shorter, Prefix longer) {
        int blocks = shorter.blocks();
        return blocks <= longer.blocks() && shorter.block(blocks - 1) == longer.block(blocks - 1);
    }

    /** Returns the number of times that each hint was given. */
    public Map<Hint, Long> hints() {
        return Map.copyOf(hints);
    }

    /**
     * Adds the tokens, once they are known, to holds requested by the names of their blocks. One that waits in the
     * cache is then sent by its tokens.
     */
    public void learnTokens(UnaryOperator<HoldRequest> told) {
        for (Hold hold : living()) {
            if (hold.waits() && hold.request().tokens().isEmpty() && tree.resident(hold.end())) {
                HoldRequest known = told.apply(hold.request());
                int more = known.size() - hold.request().size();
                if (fits(more)) {
                    names += more;
                    living.put(hold.id(), hold.told(known));
                }
            }
        }
    }

    /** The engine was seen to have all that is held. */
    public void proven(long nanos) {
        living.replaceAll((id, hold) -> hold.state() == HoldState.HELD ? hold.proven(nanos) : hold);
    }

    /**
     * Returns the time of the newest proof of a pin: where another hold has it already, the engine was not asked again.
     */
    public long provenNanos(long pinnedBlock) {
        return living.values().stream()
                .filter(hold -> hold.state() == HoldState.HELD && hold.lastBlock() == pinnedBlock)
                .mapToLong(Hold::provenNanos)
                .max()
                .orElse(nowNanos);
    }

    /** Gives each automatic hold the lease that its prefix has now. */
    public void automaticLeases(LongFunction<Lease> leases) {
        living.replaceAll((id, hold) -> hold.automatic() && hold.state() != HoldState.EXPIRING
                ? hold.claimedBy(hold.claims().lasting(leases.apply(hold.end())))
                : hold);
    }

    private Stream<Hold> wanted() {
        return living.values().stream().filter(hold -> hold.state() != HoldState.EXPIRING);
    }

    /**
     * Returns true if there are as many as there may be; holds that only wait to be released do not count, up to a
     * bound of their own.
     */
    public boolean full() {
        return wanted().count() >= MOST_LIVING || living.size() >= MOST_LEAVING;
    }

    /** Returns true if there is memory for the names of so many blocks more. */
    public boolean fits(int more) {
        return more <= MOST_BLOCKS - names;
    }

    /**
     * Returns the reason why a hold is refused before anything of it is kept; absent where there is memory for it. What
     * fits the cache beside its requests is the planner's.
     *
     * @param mostBlocks blocks of the engine's cache, or a number to go by where that is unknown
     */
    public Optional<RuntimeException> refusal(HoldRequest request, String engine, int mostBlocks, boolean unknown) {
        if (request.blocks() > mostBlocks) {
            return Optional.of(new IllegalArgumentException("A prefix of " + request.blocks()
                    + " blocks can never fit engine " + engine + ", whose cache has "
                    + (unknown ? "an unknown number, so at most " + mostBlocks + " are taken" : mostBlocks)
                    + ": hold a shorter one."));
        }
        if (full()) {
            return Optional.of(new RejectedExecutionException(
                    "Engine " + engine + " has " + MOST_LIVING + " holds, which is the most: release one first."));
        }
        if (!fits(request.size())) {
            return Optional.of(new RejectedExecutionException("The holds of engine " + engine + " take " + names
                    + " block names in all, and with this one they would take more than " + MOST_BLOCKS
                    + ": release one first."));
        }
        return Optional.empty();
    }

    /** Returns the holds that are not over, oldest first. */
    public List<Hold> living() {
        return List.copyOf(living.values());
    }

    public Optional<Hold> living(long id) {
        return Optional.ofNullable(living.get(id));
    }

    public void update(Hold hold) {
        if (!hold.over()) {
            living.put(hold.id(), hold);
            return;
        }
        if (living.remove(hold.id()) != null) {
            names -= hold.request().size();
            prefixes.unwant(hold.end());
        }
        over.put(hold.id(), view(hold));
        if (over.size() > REMEMBERED) {
            over.remove(over.keySet().iterator().next());
        }
        decided(hold);
        ended(hold);
    }

    /** Tells those who wait for its end that there is none for now: it is not unpinned. */
    public void endRefused(Hold hold) {
        update(hold);
        ended(hold);
    }

    /** Tells the requesters of a hold what became of it. */
    public void decided(Hold hold) {
        Undecided waiting = awaitingDecision.remove(hold.id());
        if (waiting != null) {
            HoldView view = view(hold);
            waiting.answers.forEach(answer -> complete(answer, view));
        }
    }

    public void awaitDecision(long id, CompletableFuture<HoldView> answer, long untilNanos) {
        awaitingDecision.put(id, new Undecided(new ArrayList<>(List.of(answer)), untilNanos));
    }

    /** Who joins a hold hears of it when those do who asked before. */
    public void awaitDecisionToo(Hold hold, CompletableFuture<HoldView> answer) {
        Undecided waiting = awaitingDecision.get(hold.id());
        if (waiting == null) {
            complete(answer, view(hold));
        } else {
            waiting.answers.add(answer);
        }
    }

    /** Withdraws holds of which nothing became known in time: their requesters would not know their ids. */
    public List<Hold> outOfPatience() {
        List<Long> ids = awaitingDecision.entrySet().stream()
                .filter(each -> each.getValue().untilNanos <= nowNanos)
                .map(Map.Entry::getKey)
                .toList();
        return ids.stream().flatMap(id -> living(id).stream()).toList();
    }

    /** Tells the requesters of this hold that it was withdrawn. */
    public void withdrawn(long id, RuntimeException why) {
        Undecided waiting = awaitingDecision.remove(id);
        if (waiting != null) {
            waiting.answers.forEach(answer -> fail(answer, why));
        }
    }

    /** Answers once the hold has ended; absent when there is no hold of this id. */
    public void awaitEnd(long id, CompletableFuture<Optional<HoldView>> answer) {
        HoldView gone = over.get(id);
        if (living.containsKey(id)) {
            awaitingEnd.computeIfAbsent(id, key -> new ArrayList<>()).add(view -> complete(answer, Optional.of(view)));
        } else {
            complete(answer, gone == null ? Optional.empty() : Optional.of(gone));
        }
    }

    /**
     * Ends what has outlived its leases, and automatic holds that were evicted again before they could be pinned.
     *
     * @param ownNanos until then blocks may have been touched by requests of our own
     */
    public void age(long ownNanos) {
        ownUntilNanos = ownNanos;
        for (Hold before : living()) {
            if (before.state() == HoldState.EXPIRING) {
                continue;
            }
            Hold hold = before.claimedBy(before.claims().used(lastUse(before.end())));
            Optional<Claims> left = hold.claims().living(nowNanos);
            if (left.isEmpty()) {
                Claim last = hold.claims().last();
                update(hold.expiring(
                        hold.automatic()
                                ? "not used for " + last.lease().length().toSeconds()
                                        + " s, as long as an automatic hold of this prefix lasts"
                                : last.whyOver()));
            } else if (hold.automatic() && hold.waits() && !tree.resident(hold.end())) {
                update(hold.expiring(
                        hold.state() == HoldState.LOST
                                ? "lost: " + hold.evidence()
                                : hold.retryNanos() > hold.sinceNanos()
                                        ? "evicted while it waited: " + hold.reason()
                                        : "evicted before it could be pinned"));
            } else {
                living.put(hold.id(), hold.claimedBy(left.get()));
            }
        }
    }

    /**
     * Returns the last use of a prefix by users: a hold is prolonged by their requests, not by ours. A store under its prefix is a
     * sign of one even where nobody can tell whether it belongs to a request that was seen to begin before.
     */
    private long lastUse(long end) {
        long touched = tree.lastTouch(end);
        return Math.max(prefixes.lastPassed(end), touched > ownUntilNanos ? touched : Long.MIN_VALUE);
    }

    public List<HoldView> views() {
        List<HoldView> views = new ArrayList<>(over.values());
        living.values().forEach(hold -> views.add(view(hold)));
        return views;
    }

    public <T> void complete(CompletableFuture<T> answer, T value) {
        answering.execute(() -> answer.complete(value));
    }

    public void fail(CompletableFuture<?> answer, RuntimeException cause) {
        answering.execute(() -> answer.completeExceptionally(cause));
    }

    private void ended(Hold hold) {
        List<Consumer<HoldView>> answers = awaitingEnd.remove(hold.id());
        if (answers != null) {
            HoldView view = view(hold);
            answers.forEach(answer -> answer.accept(view));
        }
    }

    /** A hold as people see it, also when it was over a moment ago. */
    public Optional<HoldView> view(long id) {
        return living(id).map(this::view).or(() -> Optional.ofNullable(over.get(id)));
    }

    private HoldView view(Hold hold) {
        return hold.view(nowNanos, blockTokens, prefixes.lastHit(hold.end()), ++views);
    }
}
