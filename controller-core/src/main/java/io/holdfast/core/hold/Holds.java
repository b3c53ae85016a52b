package io.holdfast.core.hold;

import io.holdfast.core.index.TreeView;
import io.holdfast.core.prefix.SharedPrefixes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/** The register of holds: those that live, the last few that are over, and who waits to hear of them. */
public final class Holds {
    public static final int MOST_LIVING = 1024;
    /** Of all that live: 32 MiB of names. */
    public static final int MOST_BLOCKS = 4 << 20;

    private static final int REMEMBERED = 64;

    private final Executor answering;
    private final TreeView tree;
    private final SharedPrefixes prefixes;
    private final Map<Long, Hold> living = new LinkedHashMap<>();
    /** As they were last seen: the names of their blocks are not kept. */
    private final Map<Long, HoldView> over = new LinkedHashMap<>();

    private final Map<Long, Undecided> awaitingDecision = new LinkedHashMap<>();
    private final Map<Long, List<Consumer<HoldView>>> awaitingEnd = new LinkedHashMap<>();
    private long nextId;
    private long nowNanos;
    private long blockTokens;
    private int weight;

    /** Who asked for a hold, and until when they wait to hear of it. */
    private record Undecided(CompletableFuture<HoldView> answer, long untilNanos) {}

    /** Answers are completed on {@code answering}, so that nobody's continuation runs on the controller's thread. */
    public Holds(long firstId, TreeView tree, SharedPrefixes prefixes, Executor answering) {
        this.nextId = firstId;
        this.tree = tree;
        this.prefixes = prefixes;
        this.answering = answering;
    }

    public void now(long nanos, long tokensPerBlock) {
        nowNanos = nanos;
        blockTokens = tokensPerBlock;
    }

    public long nextId() {
        return nextId;
    }

    public Hold register(HoldOrigin origin, HoldRequest request, String reason) {
        return add(Hold.requested(nextId++, origin, request, nowNanos, reason));
    }

    private Hold add(Hold hold) {
        living.put(hold.id(), hold);
        weight += hold.request().weight();
        prefixes.want(hold.end(), hold.request().blocks());
        return hold;
    }

    /** A requested hold under the number that it had; later ones are numbered from there on. */
    public void restore(long id, HoldRequest request, String reason) {
        over.remove(id);
        nextId = Math.max(nextId, id + 1);
        add(Hold.requested(id, HoldOrigin.REQUESTED, request, nowNanos, reason));
    }

    /** Whether there are as many as there may be. */
    public boolean full() {
        return living.size() >= MOST_LIVING;
    }

    /** Whether there is memory for the names of so many blocks more. */
    public boolean fits(int more) {
        return more <= MOST_BLOCKS - weight;
    }

    /** What all that live weigh, in names of blocks; those that holds share are counted for each. */
    public int weight() {
        return weight;
    }

    /** Those that are not over, oldest first. */
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
            weight -= hold.request().weight();
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

    /** Tells those who asked for it what became of it. */
    public void decided(Hold hold) {
        Undecided waiting = awaitingDecision.remove(hold.id());
        if (waiting != null) {
            complete(waiting.answer, view(hold));
        }
    }

    public void awaitDecision(long id, CompletableFuture<HoldView> answer, long untilNanos) {
        awaitingDecision.put(id, new Undecided(answer, untilNanos));
    }

    /** Withdraws holds of which nothing became known in time: who asked for them would not know their ids. */
    public List<Hold> outOfPatience() {
        List<Long> ids = awaitingDecision.entrySet().stream()
                .filter(each -> each.getValue().untilNanos <= nowNanos)
                .map(Map.Entry::getKey)
                .toList();
        return ids.stream().flatMap(id -> living(id).stream()).toList();
    }

    /** Tells who asked for this hold that it was withdrawn. */
    public void withdrawn(long id, RuntimeException why) {
        Undecided waiting = awaitingDecision.remove(id);
        if (waiting != null) {
            fail(waiting.answer, why);
        }
    }

    /** Absent when there is no such hold. */
    public void awaitEnd(long id, CompletableFuture<Optional<HoldView>> answer) {
        HoldView gone = over.get(id);
        if (living.containsKey(id)) {
            awaitingEnd.computeIfAbsent(id, key -> new ArrayList<>()).add(view -> complete(answer, Optional.of(view)));
        } else {
            complete(answer, gone == null ? Optional.empty() : Optional.of(gone));
        }
    }

    /** Ends what has outlived its lease, and automatic holds that were evicted again before they could be pinned. */
    public void age() {
        for (Hold hold : living()) {
            if (hold.state() == HoldState.EXPIRING) {
                continue;
            }
            long seconds = hold.request().lease().toSeconds();
            if (deadline(hold) <= nowNanos) {
                update(hold.expiring(
                        hold.automatic()
                                ? "not touched for " + seconds + " s"
                                : "its lease of " + seconds + " s is over"));
            } else if (hold.automatic() && hold.waits() && !tree.resident(hold.end())) {
                update(hold.expiring(
                        hold.state() == HoldState.LOST
                                ? "lost: " + hold.evidence()
                                : "evicted before it could be pinned"));
            }
        }
    }

    public List<HoldView> views() {
        List<HoldView> views = new ArrayList<>(over.values());
        living.values().forEach(hold -> views.add(view(hold)));
        return views;
    }

    /** Completes an answer away from the controller's thread. */
    public <T> void complete(CompletableFuture<T> answer, T value) {
        try {
            answering.execute(() -> answer.complete(value));
        } catch (RejectedExecutionException closed) {
            answer.complete(value);
        }
    }

    /** Fails an answer away from the controller's thread. */
    public void fail(CompletableFuture<?> answer, RuntimeException cause) {
        try {
            answering.execute(() -> answer.completeExceptionally(cause));
        } catch (RejectedExecutionException closed) {
            answer.completeExceptionally(cause);
        }
    }

    private void ended(Hold hold) {
        List<Consumer<HoldView>> answers = awaitingEnd.remove(hold.id());
        if (answers != null) {
            HoldView view = view(hold);
            answers.forEach(answer -> answer.accept(view));
        }
    }

    private HoldView view(Hold hold) {
        return hold.view(deadline(hold), nowNanos, blockTokens);
    }

    /** A requested hold ages from its request, an automatic one from its last touch. */
    private long deadline(Hold hold) {
        long from = hold.automatic() ? Math.max(hold.sinceNanos(), tree.lastTouch(hold.end())) : hold.sinceNanos();
        return from + hold.request().lease().toNanos();
    }
}
