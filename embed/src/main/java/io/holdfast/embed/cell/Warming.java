package io.holdfast.embed.cell;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.events.BlockNaming;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** Fills the empty cache of an engine with what is hot at the others of its cell. */
final class Warming {
    /*
     * When
     * ----
     * Once for each life of the cache, where it is known to be as good as empty: the engine has served nobody, or its
     * events, of which none is missing, show few blocks, since users may come sooner than a poll. A cache that is merely
     * unknown is left alone.
     *
     * What, and how much
     * ------------------
     * What would save the most prefill an hour comes first, as far as the budget of tokens goes. Each prefix is stored by
     * requests of our own for one token, one after the other, and only while nobody waits at the engine; the controller
     * looks at that as the request leaves. They are recognised, and teach nothing. The budget of seconds counts what these
     * requests take; waiting for room counts as well, ten times less, so that a busy engine ends it, too.
     *
     * In whose way
     * ------------
     * A request that has left cannot be called back, and a user's that comes a moment later waits for it. So a prefix is
     * stored in steps, each a little longer than the one before, of which the engine computes what is new: nobody waits for
     * more than one step. And after a step comes a rest, so that few users' requests meet one at all, but for what is
     * stored before users come. Polls are a second apart, so a poll that comes late makes up for the rest that was over before it.
     *
     * Whose word
     * ----------
     * The list was read from a store, the tokens come from a process that may be asked, and are believed where they give
     * the name that the list has. Whether the engine has such tokens at all, it says itself.
     */
    private static final long AGAIN_NANOS = Duration.ofMillis(500).toNanos();
    private static final int PATIENCE = 10;
    /** Time after which it is decided with what is known: a first connection to a store takes seconds. */
    private static final long UNDECIDED_NANOS = Duration.ofMinutes(1).toNanos();
    /** Time in which an engine that answers again shows that it began anew, if it did. */
    private static final long SETTLED_NANOS = Duration.ofSeconds(15).toNanos();
    /** Time after which an answer never comes. */
    private static final long LONGEST_ANSWER_NANOS = Duration.ofMinutes(2).toNanos();

    private static final Duration LEASE = Duration.ofMinutes(1);
    /** Part of the cache that may be filled already. */
    private static final double EMPTY = 0.1;
    /** Tokens by which a step goes further than the one before: a short prompt of a user's. */
    private static final int STEP_TOKENS = 256;
    /** Part of the time that our requests run where users' requests come meanwhile. */
    private static final double SHARE = 0.05;
    /** Longest time between two polls that is made up for. */
    private static final long LATE_NANOS = Duration.ofSeconds(1).toNanos();

    private final Controller controller;
    private final BlockNaming naming;
    private final CellMember member;
    private final TokenSource source;
    private final int blockTokens;
    private final WarmingBudget budget;
    private final LongSupplier clock;

    private final Deque<CellPrefix> left = new ArrayDeque<>();
    private final Map<String, String> addresses = new HashMap<>();
    private Optional<Long> incarnation = Optional.empty();
    private Optional<CellPrefix> now = Optional.empty();
    private Optional<Path> path = Optional.empty();
    /** Tokens of the path that are stored. */
    private int reached;

    private boolean busy;
    private boolean over = true;
    private Optional<Long> undecidedNanos = Optional.empty();
    /** When the engine was last seen to give no answer in this life of its cache. */
    private Optional<Long> silentNanos = Optional.empty();

    private long askedNanos;
    /** Prefixes whose request may have hurt the engine. */
    private final Set<Long> harmful = new HashSet<>();

    private long begunNanos;
    private long nextNanos;
    private long sentNanos;
    private long takenNanos;
    private long restedNanos;
    private long planned;
    private long stored;
    private int prefixes;
    private String why = "nothing is known of the fleet yet";

    Warming(
            Controller controller,
            BlockNaming naming,
            CellMember member,
            TokenSource source,
            int blockTokens,
            WarmingBudget budget,
            LongSupplier clock) {
        this.controller = controller;
        this.naming = naming;
        this.member = member;
        this.source = source;
        this.blockTokens = blockTokens;
        this.budget = budget;
        this.clock = clock;
    }

    /**
     * A prefix.
     *
     * @param blocks the engine's names of its blocks
     * @param names the cell's names of the same
     */
    @SuppressWarnings("ArrayRecordComponent")
    private record Path(int[] tokens, long[] blocks, Set<Long> names) {
        int blockTokens() {
            return tokens.length / blocks.length;
        }

        /** Returns what a step sends: so many tokens further than is reached, in whole blocks. */
        HoldRequest until(int reached) {
            int further = Math.max(1, STEP_TOKENS / blockTokens());
            int end = Math.min(blocks.length, reached / blockTokens() + further);
            return new HoldRequest(
                    Arrays.copyOf(blocks, end), Arrays.copyOf(tokens, end * blockTokens()), Lease.absolute(LEASE));
        }
    }

    /** State for people and for readiness. */
    synchronized WarmingView view() {
        if (silentNanos.filter(at -> clock.getAsLong() - at < SETTLED_NANOS).isPresent()) {
            return new WarmingView(
                    false, 0, 0, planned, "the engine gave no answer a moment ago, and may have begun anew");
        }
        boolean decided = !budget.any()
                || incarnation.equals(Optional.of(controller.view().incarnation()));
        return new WarmingView(decided && over, prefixes, stored, planned, why);
    }

    synchronized void poll(long nanos) {
        if (!budget.any()) {
            why = "warming is switched off";
            return;
        }
        if (busy && nanos - askedNanos > LONGEST_ANSWER_NANOS) {
            busy = false;
            end("no answer came");
        }
        EngineView engine = controller.view();
        if (incarnation.isPresent()
                && engine.readings().runningRequests().number().isEmpty()) {
            silentNanos = Optional.of(nanos);
        }
        if (!over && !incarnation.equals(Optional.of(engine.incarnation()))) {
            end("the engine began anew");
        }
        if (over && !incarnation.equals(Optional.of(engine.incarnation()))) {
            begin(engine, nanos);
        }
        goOn(nanos);
    }

    private void goOn(long nanos) {
        if (!over && !busy && nanos - nextNanos >= 0) {
            next(nanos);
        }
    }

    private void begin(EngineView engine, long nanos) {
        if (undecidedNanos.isEmpty()) {
            undecidedNanos = Optional.of(nanos);
        }
        boolean waits = nanos - undecidedNanos.get() < UNDECIDED_NANOS;
        CellView cell = member.view();
        EngineReadings readings = engine.readings();
        boolean known = readings.capacityTokens().number().isPresent()
                && readings.usedTokens().number().isPresent();
        if (waits && (cell.engines().isEmpty() || !known)) {
            why = known ? "the store has not answered yet" : "the engine has not reported its cache yet";
            return;
        }
        undecidedNanos = Optional.empty();
        silentNanos = Optional.empty();
        incarnation = Optional.of(engine.incarnation());
        planned = 0;
        stored = 0;
        prefixes = 0;
        // Some engines report what they served from their first request on.
        boolean fresh = readings.ttftCount().number().orElse(0) == 0
                && readings.usedTokens().number().orElse(1) == 0;
        double few = EMPTY * readings.capacityTokens().number().orElse(0);
        boolean empty =
                (engine.blocks() == 0 && fresh) || (engine.certain() && (double) engine.blocks() * blockTokens <= few);
        if (cell.engines().size() < 2 || !empty) {
            why = cell.engines().size() < 2
                    ? "no other engine of its cell is there"
                    : "more than a tenth of its cache is filled already, or it is not known how much";
            return;
        }
        left.clear();
        addresses.clear();
        cell.engines().forEach(each -> addresses.put(each.id(), each.address()));
        long room = Math.min(
                budget.tokens(), (long) (readings.capacityTokens().number().getAsDouble() / 2));
        List<CellPrefix> byWorth = cell.prefixes().stream()
                .filter(prefix -> prefix.tokens().isPresent()
                        && !harmful.contains(prefix.name())
                        && donor(prefix).isPresent())
                .sorted(Comparator.comparingDouble((CellPrefix prefix) ->
                                prefix.touchesAnHour() * prefix.tokens().getAsInt())
                        .reversed())
                .toList();
        for (CellPrefix prefix : byWorth) {
            int tokens = prefix.tokens().getAsInt();
            if (planned + tokens <= room) {
                planned += tokens;
                left.add(prefix);
            }
        }
        over = left.isEmpty();
        why = over
                ? "nothing is hot at engines whose sidecars may be asked for tokens: fleet.peers and fleet.address say"
                        + " which"
                : "it begins";
        begunNanos = nanos;
        nextNanos = nanos;
        takenNanos = 0;
        restedNanos = 0;
    }

    /** Returns the address of an engine that has it and may be asked. */
    private Optional<String> donor(CellPrefix prefix) {
        return prefix.copies().stream()
                .map(copy -> addresses.getOrDefault(copy.engine(), ""))
                .filter(address -> !address.isEmpty() && source.mayAsk(address))
                .findFirst();
    }

    private void next(long nanos) {
        long waited = Math.max(0, nanos - begunNanos - takenNanos - restedNanos);
        if (takenNanos + waited / PATIENCE > budget.time().toNanos()) {
            end("the budget of " + budget.time().toSeconds() + " s is spent");
            return;
        }
        if (path.isPresent()) {
            send(path.get(), nanos);
            return;
        }
        now = Optional.ofNullable(left.poll());
        if (now.isEmpty()) {
            end("all of it was sent");
            return;
        }
        CellPrefix prefix = now.get();
        Optional<String> address = donor(prefix);
        if (address.isEmpty()) {
            planned -= prefix.tokens().orElse(0);
            return;
        }
        busy = true;
        askedNanos = nanos;
        Optional<Long> life = incarnation;
        CompletionStage<?> unused = SharedEngine.asked(() -> source.tokens(
                        address.get(), prefix.name(), prefix.tokens().orElseThrow()))
                .thenCompose(tokens -> named(prefix, tokens))
                .whenComplete((made, failure) -> {
                    synchronized (this) {
                        busy = false;
                        if (life.equals(incarnation) && !over) {
                            path = Optional.ofNullable(made);
                            reached = 0;
                            if (failure == null) {
                                leaveOut(made.names());
                            } else {
                                failed(prefix, address.get(), SharedEngine.cause(failure));
                            }
                            goOn(clock.getAsLong());
                        }
                    }
                });
    }

    /** What goes on to the prefix at hand, as prompts with a longer head do, is stored with it. */
    private void leaveOut(Set<Long> within) {
        left.removeIf(prefix -> {
            boolean stored = within.contains(prefix.name());
            planned -= stored ? prefix.tokens().orElse(0) : 0;
            return stored;
        });
    }

    /** Nobody is asked again who gave no answer, or a wrong one; the time that it took is gone as well. */
    private void failed(CellPrefix prefix, String address, Throwable cause) {
        if (cause instanceof TokensUnknown) {
            planned -= prefix.tokens().orElse(0);
            why = String.valueOf(cause.getMessage());
            return;
        }
        takenNanos += Math.max(0, clock.getAsLong() - askedNanos);
        addresses.values().removeIf(address::equals);
        why = "tokens of a prefix could not be had: " + cause.getMessage();
        left.addFirst(prefix);
    }

    /** The engine does not say that it has the tokens of a prefix. */
    private static final class TokensUnknown extends IllegalStateException {
        private static final long serialVersionUID = 1;

        TokensUnknown() {
            super("the engine does not say that it has the tokens of a prefix");
        }
    }

    private CompletionStage<Path> named(CellPrefix prefix, int[] tokens) {
        long[] names = SharedEngine.names(tokens, blockTokens);
        if (tokens.length != prefix.tokens().orElse(0)
                || names.length == 0
                || names[names.length - 1] != prefix.name()) {
            throw new CompletionException(
                    new IllegalStateException("what another sidecar sent for a hot prefix is another one"));
        }
        long[] blocks = naming.of(tokens, blockTokens);
        long largest = new HoldRequest(blocks, tokens, Lease.absolute(LEASE)).largestToken();
        return source.engineHas(largest).thenCompose(has -> {
            if (!has) {
                return CompletableFuture.failedFuture(new TokensUnknown());
            }
            controller.hasToken(largest);
            return CompletableFuture.completedStage(
                    new Path(tokens, blocks, Arrays.stream(names).boxed().collect(Collectors.toSet())));
        });
    }

    private void send(Path whole, long nanos) {
        HoldRequest step = whole.until(reached);
        busy = true;
        askedNanos = nanos;
        sentNanos = nanos;
        long name = now.orElseThrow().name();
        Optional<Long> life = incarnation;
        CompletionStage<?> unused = SharedEngine.asked(() -> controller.warm(step))
                .whenComplete((outcome, failure) -> {
                    synchronized (this) {
                        busy = false;
                        if (life.equals(incarnation) && !over) {
                            take(whole, step, name, failure == null ? outcome.kind() : Outcome.Kind.NOT_SENT);
                            goOn(clock.getAsLong());
                        }
                    }
                });
    }

    private void take(Path whole, HoldRequest step, long name, Outcome.Kind kind) {
        if (kind == Outcome.Kind.NOT_SENT) {
            // The same one is next, when that is over.
            nextNanos = sentNanos + AGAIN_NANOS;
            why = "a request waits at the engine, or nothing is sent there yet";
            return;
        }
        rest(clock.getAsLong());
        switch (kind) {
            case ACCEPTED -> {
                stored += step.tokenCount() - reached;
                reached = step.tokenCount();
                why = "it goes on";
                if (reached == whole.tokens().length) {
                    prefixes++;
                    path = Optional.empty();
                }
            }
            case MISSING -> end("nothing is sent there: it is paused, on a dry run, or has no such requests");
            case DEFERRED -> {
                harmful.add(name);
                end("a request had no clear answer, which may have hurt the engine");
            }
            default -> {
                planned -= whole.tokens().length - reached;
                path = Optional.empty();
            }
        }
    }

    /** Counts what a request took, and says when the next one may leave. */
    private void rest(long nanos) {
        long took = nanos - sentNanos;
        takenNanos += took;
        long from = nextNanos - (sentNanos - LATE_NANOS) > 0 ? nextNanos : sentNanos - LATE_NANOS;
        long rest = view().part() < budget.unseen() ? 0 : (long) (took / SHARE) - took;
        nextNanos = from + took + rest;
        restedNanos += rest;
    }

    private void end(String reason) {
        over = true;
        path = Optional.empty();
        left.clear();
        why = reason;
    }
}
