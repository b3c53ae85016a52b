package io.holdfast.core;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.rank.ReleaseShadow;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Gives back the memory of those who are finished, and has it measured what others found because of it. */
final class Releases {
    private static final String ON_PATH = "released with all that is held on its path";

    private final Holds holds;
    private final HoldOutcomes outcomes;
    private final Backends backends;
    private final EngineObservers observers;
    private final Tick tick;

    private Consumer<HoldView> onEnding = hold -> {};
    private long nowNanos;
    private long blockTokens;
    private long ended;
    /** Counted where outcomes are answered, which need not be on the controller's thread. */
    private final AtomicLong tokens = new AtomicLong();

    private long unmeasured;

    /** A hold that ends, how much of it no other hold keeps, and what becomes of it. */
    private record Ending(long aloneTokens, CompletableFuture<Optional<HoldView>> end) {}

    Releases(Holds holds, HoldOutcomes outcomes, Backends backends, EngineObservers observers, Tick tick) {
        this.holds = holds;
        this.outcomes = outcomes;
        this.backends = backends;
        this.observers = observers;
        this.tick = tick;
    }

    /** Has this hear of each hold that somebody gives back, before it is unpinned. */
    void onEnding(Consumer<HoldView> heard) {
        onEnding = heard;
    }

    void now(long nanos, long tokensPerBlock) {
        nowNanos = nanos;
        blockTokens = tokensPerBlock;
    }

    /** Ends all that one requester wants; a requester without a name wants nothing that is known. */
    void of(String requester, CompletableFuture<GivenBack> answer) {
        leave(holds.wantedBy(requester), requester, answer);
    }

    /** Ends what one requester wants of a conversation that is over. */
    void over(Prefix path, String requester, CompletableFuture<GivenBack> answer) {
        tick.hint(Hint.OVER, path);
        holds.hinted(Hint.OVER);
        List<Hold> on = holds.on(path);
        leave(holds.wantedBy(requester).stream().filter(on::contains).toList(), requester, answer);
    }

    private void leave(List<Hold> concerned, String requester, CompletableFuture<GivenBack> answer) {
        giveBack(
                requester.isEmpty() ? List.of() : concerned,
                hold -> holds.leave(hold.id(), requester).orElse(hold),
                answer);
    }

    /** Ends all that is held on this path but for some, and holds none of it automatically before it was used. */
    void on(Prefix path, Set<Long> kept, CompletableFuture<GivenBack> answer) {
        tick.hint(Hint.OVER, path);
        giveBack(
                holds.on(path),
                hold -> {
                    if (kept.contains(hold.id())) {
                        return hold;
                    }
                    return expiring(hold, ON_PATH);
                },
                answer);
    }

    /** Ends a hold whose prefix is held automatically only once it was used again. */
    private Hold expiring(Hold hold, String reason) {
        holds.letGo(hold.end());
        return hold.expiring(reason);
    }

    /** Ends one hold, whoever wants it. */
    void one(long holdId, String reason, CompletableFuture<GivenBack> answer) {
        giveBack(
                holds.living(holdId).filter(hold -> hold.state() != HoldState.EXPIRING).stream()
                        .toList(),
                hold -> expiring(hold, reason),
                answer);
    }

    /** Notes a release of which nobody knows what it kept. */
    void unknown(String why) {
        observers.first().released().unmeasured(why);
        unmeasured++;
    }

    /** Has {@code end} end what it can of these holds; those that expire then are given up. */
    private void giveBack(List<Hold> concerned, UnaryOperator<Hold> end, CompletableFuture<GivenBack> answer) {
        Map<Long, Duration> leasesLeft = new HashMap<>();
        concerned.forEach(hold -> holds.view(hold.id()).ifPresent(view -> leasesLeft.put(hold.id(), view.leaseLeft())));
        List<Hold> after = concerned.stream().map(end).toList();
        List<Hold> ending = new ArrayList<>();
        List<HoldView> wanted = new ArrayList<>();
        for (Hold hold : after) {
            if (hold.state() == HoldState.EXPIRING) {
                holds.update(hold);
                holds.view(hold.id()).ifPresent(onEnding);
                ending.add(hold);
            } else {
                holds.view(hold.id()).ifPresent(wanted::add);
            }
        }
        BackendTraits traits = backends.chosen().traits();
        List<Prefix> others = new ArrayList<>();
        holds.living().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .map(this::pinnedPath)
                .forEach(others::add);
        long shared = 0;
        List<Ending> all = new ArrayList<>();
        for (Hold hold : ending) {
            Prefix path = pinnedPath(hold);
            int alone = path.blocks()
                    - others.stream()
                            .mapToInt(other -> common(path, other))
                            .max()
                            .orElse(0);
            shared += (path.blocks() - alone) * blockTokens;
            if (alone > 0) {
                others.add(path);
                if (traits.letsGo()) {
                    measure(path, leasesLeft.getOrDefault(hold.id(), Duration.ZERO));
                }
            }
            CompletableFuture<Optional<HoldView>> over = new CompletableFuture<>();
            outcomes.release(hold.id(), hold.reason(), over);
            all.add(new Ending(alone * blockTokens, over));
        }
        ended += ending.size();
        answerWhenOver(all, shared, wanted, traits, answer);
    }

    private void answerWhenOver(
            List<Ending> all,
            long shared,
            List<HoldView> wanted,
            BackendTraits traits,
            CompletableFuture<GivenBack> answer) {
        CompletableFuture<?> over =
                CompletableFuture.allOf(all.stream().map(Ending::end).toArray(CompletableFuture[]::new));
        if (all.isEmpty()) {
            holds.complete(answer, sum(all, shared, wanted, traits));
            return;
        }
        CompletableFuture<?> unused = over.whenComplete((done, failure) -> {
            if (failure == null) {
                GivenBack given = sum(all, shared, wanted, traits);
                tokens.addAndGet(traits.letsGo() ? given.evictableTokens() : 0);
                answer.complete(given);
            } else {
                answer.completeExceptionally(failure);
            }
        });
    }

    private static GivenBack sum(List<Ending> all, long shared, List<HoldView> wanted, BackendTraits traits) {
        List<HoldView> views = new ArrayList<>();
        long evictable = 0;
        long left = 0;
        for (Ending each : all) {
            Optional<HoldView> view = each.end().join();
            view.ifPresent(views::add);
            if (view.filter(hold -> hold.state() != HoldState.RELEASED).isPresent()) {
                left += each.aloneTokens();
            } else {
                evictable += each.aloneTokens();
            }
        }
        boolean runsOut = traits.onlyRunsOut();
        boolean stays = !traits.letsGo();
        return new GivenBack(
                views,
                evictable,
                runsOut ? left : 0,
                runsOut && left > 0 ? traits.endsAfter() : Duration.ZERO,
                stays ? left : 0,
                runsOut || stays ? 0 : left,
                shared,
                wanted);
    }

    private void measure(Prefix path, Duration leaseLeft) {
        ReleaseShadow shadow = observers.first().released();
        if (observers.silent().isPresent()) {
            shadow.unmeasured("the engine publishes no events, so what requests find is not known block by block");
            unmeasured++;
        } else if (observers.count() > 1) {
            shadow.unmeasured("the engine has several caches, and nobody knows which of them a request goes to");
            unmeasured++;
        } else if (!shadow.gaveBack(path.block(path.blocks() - 1), nowNanos + leaseLeft.toNanos())) {
            unmeasured++;
        }
    }

    /** Returns the path that is pinned for a hold, which may go on beyond what was requested; empty where none is. */
    private Prefix pinnedPath(Hold hold) {
        int blocks = hold.pinnedBlocks();
        if (blocks > hold.request().blocks()) {
            long[] path = observers.first().tree().path(hold.lastBlock());
            if (path.length == blocks) {
                return new Path(path);
            }
        }
        return new Beginning(hold.request(), hold.heldBlocks());
    }

    private record Beginning(Prefix of, int blocks) implements Prefix {
        @Override
        public long block(int depth) {
            return of.block(depth);
        }
    }

    private static final class Path implements Prefix {
        private final long[] names;

        Path(long[] names) {
            this.names = names;
        }

        @Override
        public int blocks() {
            return names.length;
        }

        @Override
        public long block(int depth) {
            return names[depth];
        }
    }

    /** Returns how many blocks two paths begin with alike: a block's name stands for all that is above it. */
    private static int common(Prefix one, Prefix other) {
        int alike = 0;
        int apart = Math.min(one.blocks(), other.blocks()) + 1;
        while (apart - alike > 1) {
            int middle = (alike + apart) >>> 1;
            if (one.block(middle - 1) == other.block(middle - 1)) {
                alike = middle;
            } else {
                apart = middle;
            }
        }
        return alike;
    }

    EngineView.GivenBack view() {
        ReleaseShadow shadow = observers.first().released();
        return new EngineView.GivenBack(
                ended,
                tokens.get(),
                reading(shadow, shadow.foundTokens()),
                reading(shadow, shadow.lostTokens()),
                unmeasured,
                shadow.whyNot());
    }

    private Reading reading(ReleaseShadow shadow, long number) {
        return shadow.measured()
                ? Reading.known((double) number, "a model of the cache without the release", nowNanos)
                : Reading.unknown(shadow.whyNot());
    }
}
