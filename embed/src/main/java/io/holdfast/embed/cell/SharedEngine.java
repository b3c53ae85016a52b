package io.holdfast.embed.cell;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.Traffic;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.plan.Copies;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.prefix.HotPrefix;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.events.BlockNaming;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * One engine with its controller in a cell: it tells the others what is hot, weighs their copies, and holds what the fleet
 * wants of it.
 *
 * <p>One thread polls it; the rest may be called by any.
 */
public final class SharedEngine {
    /*
     * Two names
     * ---------
     * A controller knows blocks by its engine's names, which differ from engine to engine, and a cell by names that come
     * from the tokens alone. So what is told to the others are prefixes whose tokens are kept here; what they say is
     * brought back to the engine's names by the same list. What has no tokens is told to nobody, and stays worth what it
     * is worth to one engine alone.
     *
     * Holds of the fleet
     * ------------------
     * A hold that this engine is chosen for is requested of its controller like anybody's, under a requester of its own,
     * with a lease of two periods that is renewed for as long as the fleet wants it. So a store that is lost, or lies,
     * keeps nothing longer than that, and the engine's own budget and guard have the last word.
     *
     * Tokens
     * ------
     * They are needed to name the blocks, and are prompt text. They come from the call that took the hold, from what
     * this engine saw itself, or from the process that took it, and are believed where they give the hold's name. They
     * are kept while the hold is, and told to nobody but who may ask that process.
     */
    private static final long LOOK_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long RENEW_NANOS = Duration.ofSeconds(8).toNanos();
    private static final long ASK_AGAIN_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long LONGEST_ANSWER_NANOS = Duration.ofMinutes(1).toNanos();
    private static final Duration LEASE = Duration.ofSeconds(30);
    /** Part of the cache that a fleet may ask for: a store may be anybody's word. */
    private static final double MOST_OF_THE_CACHE = 0.5;

    private static final String REQUESTER = "fleet:";
    /** Most tokens of holds that are kept: 16 MiB. */
    private static final int MOST_TOKENS = 4 << 20;

    private final CellMember member;
    private final CurveExchange curves;
    private final Warming warming;
    private final Controller controller;
    private final BlockNaming naming;
    private final int blockTokens;
    private final TokenSource source;
    private final String address;
    private final LongSupplier clock;
    private final RandomGenerator random;

    /* Written by whoever answers, under this object's lock. */
    private final Map<Long, Long> names = new HashMap<>();
    private List<HotPrefix> hottest = List.of();
    private Optional<Duration> residence = Optional.empty();
    private Map<Long, int[]> seen = Map.of();
    private final Map<String, int[]> taken = new LinkedHashMap<>();
    private final Map<String, Copy> copies = new LinkedHashMap<>();
    private Map<Long, Double> told = Map.of();
    private long lookedNanos;
    private boolean looking;
    private boolean begun;

    /** What became of one hold of the fleet here. */
    private static final class Copy {
        final long name;
        final int tokens;
        Optional<HoldRequest> request = Optional.empty();
        Optional<int[]> fetched = Optional.empty();
        Optional<HoldView> view = Optional.empty();
        String reason = "it is about to be asked for";
        boolean refused;
        boolean asking;
        long nextNanos;
        boolean due = true;

        Copy(FleetHold hold) {
            this.name = hold.name();
            this.tokens = hold.tokens();
        }

        /** A hold that came to mean another prefix is another one, for which room has to be found. */
        boolean isOf(FleetHold hold) {
            return hold.name() == name && hold.tokens() == tokens;
        }

        /** Also where an answer never came. */
        boolean isDue(long now) {
            return (due && !asking) || now - nextNanos >= 0;
        }

        void later(long now, long nanos) {
            due = false;
            nextNanos = now + nanos;
        }
    }

    /**
     * Takes part for one engine, whose controller somebody else polls.
     *
     * @param engine its name in the cell, which no other engine of it has
     * @param address where this process is asked for tokens; empty where it cannot be
     * @param naming how the engine names blocks
     */
    public SharedEngine(
            FleetStore store,
            Cell cell,
            String engine,
            String address,
            LongSupplier clock,
            RandomGenerator random,
            Controller controller,
            BlockNaming naming,
            TokenSource source) {
        this(store, cell, engine, address, clock, random, controller, naming, source, WarmingBudget.NONE);
    }

    /**
     * Takes part for one engine whose empty cache is filled with what is hot at the others.
     *
     * @param warming the most that may take
     */
    public SharedEngine(
            FleetStore store,
            Cell cell,
            String engine,
            String address,
            LongSupplier clock,
            RandomGenerator random,
            Controller controller,
            BlockNaming naming,
            TokenSource source,
            WarmingBudget warming) {
        this.controller = controller;
        this.naming = naming;
        this.blockTokens = cell.blockTokens();
        this.source = source;
        this.address = address;
        this.clock = clock;
        this.random = random;
        this.curves = new CurveExchange(controller, engine);
        this.member = new CellMember(
                store, cell, engine, address, clock, random, this::hot, this::reports, Optional.of(curves));
        this.warming = new Warming(controller, naming, member, source, blockTokens, warming, clock);
    }

    /** Its part in the cell, for what is known there. */
    public CellMember member() {
        return member;
    }

    /** Progress of filling its empty cache. */
    public WarmingView warming() {
        return warming.view();
    }

    /**
     * How many engines this one, being new, took over from how soon what is used again; 0 where it learned that alone.
     */
    public int curvesTakenFrom() {
        return curves.takenFrom();
    }

    /** Does what is due, at least once a second; it never waits. */
    public void poll() {
        long now = clock.getAsLong();
        look(now);
        curves.poll(now);
        member.poll(now);
        weigh();
        follow(now);
        warming.poll(now);
    }

    /** The holds of the fleet that were taken here, with their tokens, for whoever goes on after it. */
    public synchronized Map<FleetHold, int[]> taken() {
        Map<FleetHold, int[]> all = new LinkedHashMap<>();
        member.fleetHolds().stream()
                .filter(FleetHoldView::ours)
                .map(FleetHoldView::hold)
                .forEach(hold -> Optional.ofNullable(taken.get(hold.id())).ifPresent(tokens -> all.put(hold, tokens)));
        return all;
    }

    /** Goes on with a hold that another part of this process had taken; false where there is no room for it. */
    public synchronized boolean adopt(FleetHold hold, int[] tokens) {
        int kept = taken.values().stream().mapToInt(its -> its.length).sum();
        if (kept + tokens.length > MOST_TOKENS || !member.hold(hold)) {
            return false;
        }
        taken.put(hold.id(), tokens);
        return true;
    }

    /** Ends its part: what it told ends by itself, and what it held for the fleet with its lease. */
    public void leave() {
        controller.copies(Copies.NONE);
        List<Copy> all;
        synchronized (this) {
            all = List.copyOf(copies.values());
            copies.clear();
        }
        all.forEach(this::giveUp);
    }

    /* What is hot. */

    private void look(long now) {
        synchronized (this) {
            if (looking || (begun && now - lookedNanos < LOOK_NANOS)) {
                return;
            }
            looking = true;
            begun = true;
            lookedNanos = now;
        }
        CompletionStage<?> unused = controller
                .hottest(Hot.MOST_ENDS)
                .thenCombine(controller.traffic(), this::take)
                .whenComplete((done, failure) -> {
                    synchronized (this) {
                        looking = false;
                    }
                });
    }

    private synchronized boolean take(List<HotPrefix> found, Traffic traffic) {
        Map<Long, int[]> tokens = new HashMap<>();
        Map<Long, Long> named = new HashMap<>();
        for (HotPrefix prefix : found) {
            Optional<Long> name = Optional.ofNullable(names.get(prefix.lastBlock()))
                    .or(() -> prefix.tokens().flatMap(this::name));
            name.ifPresent(known -> {
                named.put(prefix.lastBlock(), known);
                prefix.tokens().ifPresent(its -> tokens.put(known, its));
            });
        }
        names.clear();
        names.putAll(named);
        hottest = found;
        seen = Map.copyOf(tokens);
        residence = traffic.residence().median();
        return true;
    }

    private Optional<Long> name(int[] tokens) {
        return name(tokens, blockTokens);
    }

    /** Returns the name of the last whole block of a prompt. */
    static Optional<Long> name(int[] tokens, int blockTokens) {
        long[] blocks = names(tokens, blockTokens);
        return blocks.length == 0 ? Optional.empty() : Optional.of(blocks[blocks.length - 1]);
    }

    /** Returns the names of the whole blocks of a prompt. */
    static long[] names(int[] tokens, int blockTokens) {
        long[] blocks = new long[tokens.length / blockTokens];
        int count = ContentNames.names(tokens, 0, tokens.length, blockTokens, ContentNames.NO_NAMESPACE, blocks);
        return Arrays.copyOf(blocks, count);
    }

    private synchronized Hot hot() {
        EngineReadings readings = controller.view().readings();
        OptionalDouble capacity = readings.capacityTokens().number();
        List<HotEnd> ends = new ArrayList<>();
        Set<Long> once = new HashSet<>();
        for (HotPrefix prefix : hottest) {
            Long name = names.get(prefix.lastBlock());
            if (name != null && once.add(name)) {
                ends.add(new HotEnd(
                        name,
                        prefix.blocks() * blockTokens,
                        (float) Math.min(prefix.touchesAnHour(), 1e9),
                        prefix.resident(),
                        prefix.held()));
            }
        }
        return Hot.most(
                residence.map(time -> OptionalDouble.of(time.toNanos() / 1e9)).orElse(OptionalDouble.empty()),
                capacity.isPresent() ? OptionalLong.of((long) capacity.getAsDouble()) : OptionalLong.empty(),
                ends);
    }

    /** Tells the controller what other engines' copies leave of a hold's worth here. */
    private void weigh() {
        CellView view = member.view();
        Map<Long, Double> now = new HashMap<>();
        synchronized (this) {
            names.forEach((block, name) -> {
                double worth = view.worthHere(name);
                if (worth < 1) {
                    now.put(block, worth);
                }
            });
            if (now.equals(told)) {
                return;
            }
            told = Map.copyOf(now);
        }
        controller.copies(new Copies(now));
    }

    /* Holds of the fleet. */

    /**
     * Has engines of the cell hold the whole blocks of a prompt.
     *
     * @param copies how many; {@link FleetHold#ALL} for each
     * @param requester who asks; empty for nobody by name
     * @return what was taken, or absent where the cell has as many as it can
     * @throws IllegalArgumentException with one sentence, where the prompt is shorter than a block or a number is out of
     *     bounds
     */
    public Optional<FleetHold> hold(int[] tokens, int copies, String requester, int weight, Duration lease) {
        return take(random.nextLong(), tokens, copies, requester, weight, lease);
    }

    /**
     * Has engines of the cell hold a prefix under a name: who declares the same under the same name means one hold, and
     * doing so again prolongs it.
     *
     * @throws IllegalArgumentException as {@link #hold}
     */
    public Optional<FleetHold> declare(String name, int[] tokens, int copies, Duration lease) {
        long id = ContentNames.next(ContentNames.extra(name), name(tokens).orElse(0L));
        return take(id, tokens, copies, name, 1, lease);
    }

    private Optional<FleetHold> take(long id, int[] tokens, int copies, String requester, int weight, Duration lease) {
        int blocks = tokens.length / blockTokens;
        int[] whole = Arrays.copyOf(tokens, blocks * blockTokens);
        long name = name(whole)
                .orElseThrow(() -> new IllegalArgumentException("The prefix has " + tokens.length
                        + " tokens, less than one block of " + blockTokens + "; nothing of it can be held."));
        FleetHold wish = FleetHold.of(id, name, blocks, whole.length, copies, requester, weight, lease, address);
        return adopt(wish, whole) ? Optional.of(wish) : Optional.empty();
    }

    /** Ends a hold of the fleet, whoever took it; false where there is none. */
    public boolean release(String id) {
        return member.release(id);
    }

    /** The tokens of a hold that this process took; absent where it did not, or where that is over. */
    public synchronized Optional<int[]> tokens(String id) {
        return Optional.ofNullable(taken.get(id)).map(int[]::clone);
    }

    /** The tokens of a prefix that is hot here, or of a hold that this process took, by the name of its last block. */
    public synchronized Optional<int[]> tokens(long name) {
        return Optional.ofNullable(seen.get(name))
                .or(() -> taken.values().stream()
                        .filter(tokens -> name(tokens).equals(Optional.of(name)))
                        .findFirst())
                .map(int[]::clone);
    }

    private void follow(long now) {
        List<FleetHold> wanted = member.wanted();
        List<Copy> over = new ArrayList<>();
        List<FleetHold> due = new ArrayList<>();
        synchronized (this) {
            Map<String, FleetHold> byId = new HashMap<>();
            wanted.forEach(hold -> byId.put(hold.id(), hold));
            copies.entrySet().removeIf(copy -> {
                boolean gone = Optional.ofNullable(byId.get(copy.getKey()))
                        .filter(copy.getValue()::isOf)
                        .isEmpty();
                if (gone) {
                    over.add(copy.getValue());
                }
                return gone;
            });
            double room = MOST_OF_THE_CACHE
                    * controller.view().readings().capacityTokens().number().orElse(0);
            for (FleetHold hold : heaviestFirst(wanted)) {
                Copy copy = copies.computeIfAbsent(hold.id(), id -> new Copy(hold));
                // Whoever writes to the store can say anything: what is held is as long as is said here, or nothing is.
                if (hold.tokens() != (long) hold.blocks() * blockTokens) {
                    copy.reason = "it says another number of tokens than its blocks have";
                    continue;
                }
                room -= hold.tokens();
                if (room < 0 && copy.request.isEmpty()) {
                    copy.reason = "the fleet asks for more than half of this engine's cache";
                } else if (copy.isDue(now)) {
                    due.add(hold);
                }
            }
            taken.keySet().retainAll(member.living());
        }
        over.forEach(this::giveUp);
        due.forEach(hold -> request(hold, now));
    }

    private static List<FleetHold> heaviestFirst(List<FleetHold> wanted) {
        return wanted.stream()
                .sorted(Comparator.comparingInt(FleetHold::weight).reversed().thenComparing(FleetHold::id))
                .toList();
    }

    private void giveUp(Copy copy) {
        copy.request.ifPresent(request -> {
            CompletionStage<?> unused = controller.leave(request, request.requester());
        });
    }

    private void request(FleetHold hold, long now) {
        Optional<int[]> known;
        synchronized (this) {
            Copy copy = copies.get(hold.id());
            if (copy == null) {
                return;
            }
            known = Optional.ofNullable(taken.get(hold.id()))
                    .or(() -> copy.fetched)
                    .or(() -> Optional.ofNullable(seen.get(hold.name())))
                    .or(() -> copy.request.flatMap(HoldRequest::tokens))
                    .filter(tokens -> tokens.length == hold.tokens());
            copy.asking = true;
            copy.nextNanos = now + LONGEST_ANSWER_NANOS;
        }
        if (known.isPresent()) {
            hold(hold, known.get());
        } else {
            fetch(hold);
        }
    }

    private void fetch(FleetHold hold) {
        Optional<String> whyNot = source.whyNot(hold);
        if (whyNot.isPresent()) {
            settled(hold, copy -> copy.reason = "no tokens: no request here had it yet, and " + whyNot.get());
            return;
        }
        CompletionStage<?> unused = asked(() -> source.tokens(hold)).whenComplete((tokens, failure) -> {
            if (failure != null) {
                settled(hold, copy -> copy.reason = "no tokens: " + sentence(failure));
            } else if (!name(tokens).equals(Optional.of(hold.name())) || tokens.length != hold.tokens()) {
                settled(hold, copy -> copy.reason = "no tokens: what the process that took it sent is another prefix");
            } else {
                boolean kept;
                synchronized (this) {
                    Copy copy = copies.get(hold.id());
                    int all = copies.values().stream()
                            .mapToInt(
                                    each -> each.fetched.map(its -> its.length).orElse(0))
                            .sum();
                    kept = copy != null && all + tokens.length <= MOST_TOKENS;
                    if (kept && copy != null) {
                        copy.fetched = Optional.of(tokens);
                    }
                }
                if (kept) {
                    CompletionStage<?> unusedAnswer = known(tokens).whenComplete((has, trouble) -> hold(hold, tokens));
                } else {
                    settled(hold, copy -> copy.reason = "no tokens: too many of others are kept already");
                }
            }
        });
    }

    /** Has the engine say that it has the tokens of a prefix that it never saw, so that it may be sent there. */
    private CompletionStage<?> known(int[] tokens) {
        long largest =
                Arrays.stream(tokens).mapToLong(Integer::toUnsignedLong).max().orElse(0);
        return asked(() -> source.engineHas(largest)).thenAccept(has -> {
            if (has) {
                controller.hasToken(largest);
            }
        });
    }

    private void hold(FleetHold hold, int[] tokens) {
        HoldRequest request;
        try {
            long left = Math.min(LEASE.toMillis(), Math.max(1, hold.leaseMillis()));
            request = new HoldRequest(naming.of(tokens, blockTokens), tokens, Lease.absolute(Duration.ofMillis(left)))
                    .by(REQUESTER + hold.id());
        } catch (RuntimeException e) {
            settled(hold, copy -> copy.reason = "its blocks cannot be named there yet");
            return;
        }
        synchronized (this) {
            Copy copy = copies.get(hold.id());
            if (copy == null) {
                return;
            }
            copy.request = Optional.of(request);
        }
        CompletionStage<?> unused = controller
                .request(request)
                .whenComplete((view, failure) -> settled(hold, copy -> {
                    copy.view = Optional.ofNullable(view);
                    copy.refused = view != null && view.state() == HoldState.RELEASED;
                    copy.reason = view != null ? "" : "it was refused there, and that engine's sidecar says why";
                }));
    }

    /** Notes an answer; where the hold went meanwhile, what was asked for it goes as well. */
    private void settled(FleetHold hold, Consumer<Copy> answer) {
        synchronized (this) {
            Copy copy = copies.get(hold.id());
            if (copy != null) {
                answer.accept(copy);
                copy.asking = false;
                copy.later(clock.getAsLong(), copy.view.isPresent() && !copy.refused ? RENEW_NANOS : ASK_AGAIN_NANOS);
                return;
            }
        }
        Copy late = new Copy(hold);
        answer.accept(late);
        late.view.ifPresent(view -> {
            CompletionStage<?> unused = controller.leave(view.id(), REQUESTER + hold.id());
        });
    }

    static String sentence(Throwable failure) {
        return String.valueOf(cause(failure).getMessage());
    }

    static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    /** What throws is an answer as well. */
    static <T> CompletionStage<T> asked(Supplier<CompletionStage<T>> question) {
        try {
            return question.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Of the engine's own words none is told: they may repeat a prompt. */
    private static String reason(HoldView view, Plan plan) {
        String code = plan.lines().stream()
                .filter(line -> line.holdId() == view.id())
                .map(line -> line.code().name().toLowerCase(Locale.ROOT))
                .findFirst()
                .orElse(view.state().name().toLowerCase(Locale.ROOT));
        return code + "; hold " + view.id() + " of that engine has the sentence";
    }

    private synchronized List<HeldCopy> reports() {
        Map<Long, HoldView> now = new HashMap<>();
        EngineView picture = controller.view();
        picture.holds().forEach(view -> now.put(view.id(), view));
        List<HeldCopy> all = new ArrayList<>();
        copies.forEach((id, copy) -> {
            Optional<HoldView> view = copy.view.map(asked -> now.getOrDefault(asked.id(), asked));
            HeldCopy.State state = view.map(HoldView::state)
                    .map(known -> switch (known) {
                        case REQUESTED -> HeldCopy.State.WAITING;
                        case HELD -> HeldCopy.State.HELD;
                        case EXPIRING -> HeldCopy.State.EXPIRING;
                        case LOST -> HeldCopy.State.LOST;
                        case RELEASED -> HeldCopy.State.REFUSED;
                    })
                    .orElse(HeldCopy.State.WAITING);
            String reason = view.map(known -> reason(known, picture.lastPlan())).orElse(copy.reason);
            int tokens = (int) Math.min(
                    view.filter(known -> known.state() == HoldState.HELD)
                            .map(HoldView::heldTokens)
                            .orElse(0L),
                    HotEnd.MOST_TOKENS);
            all.add(new HeldCopy(id, state, tokens, shortened(reason)));
        });
        return all;
    }

    /** A report is one line of bounded length. */
    private static String shortened(String reason) {
        String line = reason.chars()
                .map(c -> Character.isISOControl(c) ? ' ' : c)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        int most = HeldCopy.LONGEST_REASON;
        if (line.length() <= most) {
            return line;
        }
        int end = Character.isHighSurrogate(line.charAt(most - 2)) ? most - 2 : most - 1;
        return line.substring(0, end) + "\u2026";
    }
}
