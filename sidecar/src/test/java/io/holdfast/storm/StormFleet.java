package io.holdfast.storm;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.HoldState;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellCounters;
import io.holdfast.embed.cell.CellEngine;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.CellView;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.Hot;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;

/*
 * What the engines of one storm share: a store that storms as well, prompts that come to several of them, and clients who
 * ask the fleet for holds.
 *
 * Drawn apart
 * -----------
 * Everything here is drawn by random numbers of its own, those of the traffic apart from those of the fleet: so a storm
 * without a fleet stays what it was, and one with the same engines and prompts can be played with a fleet and without.
 *
 * What is compared
 * ----------------
 * Each call of a controller wakes its sidecar, whose next tick may then come some milliseconds sooner; a view that a page
 * shows does that as well. Where decisions are compared to those without a fleet nobody is woken by it, so that all
 * ticks are at the same times.
 *
 * What is looked for
 * ------------------
 * The sidecars' own oracle goes on as ever: an engine that stops, a leak, more than the guard leaves. Beside it, no claim of
 * the fleet lasts longer than its hold by more than what is promised: two periods, in which nobody heard, and a lease of 30
 * seconds. Where values are invented or put again a hold's end is whatever the store says, so that is looked at in the
 * quiet only. Then either the store is gone, and nothing may be left of a fleet, or it is well and empty, and after two
 * periods each engine knows all.
 */
final class StormFleet {
    /** Which part a storm with several engines plays. */
    enum Kind {
        /** All that can go wrong with a store, and clients who ask the fleet. */
        STORMY(true, true),
        /** The same engines and prompts, and nobody knows of another. */
        ALONE(false, true),
        /** The store never answers, whatever clients ask for. */
        LOST(true, true),
        /** Each engine has prompts of its own, and nobody knows of another. */
        ALONE_APART(false, false),
        /** Each engine has prompts of its own, so that no copy is worth less for the fleet's sake. */
        TOGETHER_APART(true, false);

        private final boolean takesPart;
        private final boolean shares;

        Kind(boolean takesPart, boolean shares) {
            this.takesPart = takesPart;
            this.shares = shares;
        }
    }

    /**
     * What was seen of a fleet.
     *
     * @param held whether an engine held something for it
     * @param heldByTwo whether two held the same at once
     * @param weighed whether an engine left something to another's copy
     * @param rounds rounds in which a member learned something
     */
    record Told(boolean held, boolean heldByTwo, boolean weighed, long rounds) {}

    private static final int PAGE = 16;
    private static final Cell CELL = new Cell("m", PAGE, "");
    private static final long TWO_PERIODS = CellMember.TWO_PERIODS.toNanos();
    private static final long LEASE = 30 * Timeline.SECOND;
    /** Between two looks of a part, and of this one. */
    private static final long LOOKS = Timeline.SECOND;

    /** What a storm's store may do. */
    private enum Trouble {
        SLOW,
        SILENT,
        FAILING,
        FROZEN,
        EMPTY,
        PARTED,
        ECHO,
        INVENTED
    }

    /** One sidecar's part, for one life. */
    private final class Life {
        final StormProcess process;
        final StormSidecar sidecar;
        final SharedEngine engine;
        final String name;
        final long born = time.now();
        boolean left;

        Life(StormProcess process, StormSidecar sidecar) {
            this.process = process;
            this.sidecar = sidecar;
            this.name = names.getOrDefault(process, process.name.replace(' ', '-'));
            long origin = lives.nextLong();
            this.engine = sidecar.share(
                    store.line(name), CELL, name, () -> time.now() + origin, lives.split(), new Tokens(name));
        }

        boolean alive() {
            return !left && process.sidecar().filter(sidecar::equals).isPresent();
        }
    }

    private final Kind kind;
    private final Timeline time;
    private final StormOracle oracle;
    private final SplittableRandom drawn;
    private final SplittableRandom requests;
    private final SplittableRandom lives;
    private final SplittableRandom weather;
    private final SplittableRandom clients;
    private final StormStore store;
    private final HostileValues hostile;
    private final int engines;
    private final boolean following;
    private final Set<Trouble> troubles = new TreeSet<>();
    private final boolean badSource;
    private final FreshTokens shared = new FreshTokens(1_000_000_000);

    private Map<VirtualEngine, Traffic> traffic = Map.of();
    private final Map<StormProcess, String> names = new HashMap<>();
    private final List<Map<VirtualEngine, int[]>> prompts = new ArrayList<>();
    private final Map<StormProcess, Life> alive = new LinkedHashMap<>();
    private final List<FleetHold> taken = new ArrayList<>();
    private final Map<String, Long> ends = new HashMap<>();

    private boolean raging = true;
    private boolean gone;
    private boolean held;
    private boolean heldByTwo;
    private boolean weighed;
    private long rounds;

    StormFleet(Kind kind, long seed, Timeline time, StormOracle oracle) {
        this.kind = kind;
        this.time = time;
        this.oracle = oracle;
        this.drawn = new SplittableRandom(seed ^ 0x5f1e_e75f_1ee7L);
        this.requests = drawn.split();
        this.lives = drawn.split();
        this.weather = drawn.split();
        this.clients = drawn.split();
        this.store = new StormStore(time, drawn.split());
        this.hostile = new HostileValues(store, CELL.id(), drawn.split());
        this.engines = drawn.nextInt(3, 6);
        this.following = drawn.nextBoolean();
        for (Trouble trouble : Trouble.values()) {
            if (drawn.nextInt(100) < 35) {
                troubles.add(trouble);
            }
        }
        this.badSource = drawn.nextBoolean();
    }

    int engines() {
        return engines;
    }

    /** Tokens of an engine's own prompts, which no other has. */
    FreshTokens tokens(int engine) {
        return new FreshTokens(engine * 10_000_000 + 1_000);
    }

    Told told() {
        return new Told(held, heldByTwo, weighed, rounds);
    }

    // The world

    /** Brings prompts to several engines, and has their sidecars take part. */
    void share(Map<VirtualEngine, Traffic> all, Map<StormProcess, VirtualEngine> homes) {
        traffic = all;
        int least = all.keySet().stream()
                .mapToInt(engine -> engine.settings.contextTokens())
                .min()
                .orElseThrow();
        int most = Math.max(3, least * 2 / 3 / PAGE);
        for (int i = drawn.nextInt(3, 9); i > 0; i--) {
            int blocks = drawn.nextInt(2, most);
            int[] tokens = shared.take(blocks * PAGE);
            Map<VirtualEngine, int[]> prompt = new LinkedHashMap<>();
            all.forEach((engine, own) -> {
                int[] here = kind.shares ? tokens : shared.take(blocks * PAGE);
                prompt.put(engine, here);
                if (drawn.nextBoolean()) {
                    own.add(here);
                }
            });
            prompts.add(prompt);
        }
        boolean oneName = drawn.nextBoolean();
        homes.forEach((process, engine) -> {
            if (oneName) {
                names.put(process, engine.name.replace(' ', '-'));
            }
            if (kind.takesPart) {
                process.lives(born -> join(process, born), this::leave);
            }
        });
    }

    void begin() {
        request();
        if (kind.takesPart) {
            look();
            switch (kind) {
                case STORMY -> {
                    client();
                    troubles.forEach(this::trouble);
                    if (weather.nextInt(6) == 0) {
                        again(weather, 20, 60, this::intrude);
                    }
                }
                case LOST -> {
                    store.mood(StormStore.Mood.SILENT);
                    client();
                }
                case TOGETHER_APART, ALONE, ALONE_APART -> {}
            }
        }
    }

    private void request() {
        if (!raging) {
            return;
        }
        time.after(requests.nextLong(100, 700) * Timeline.MILLI, this::request);
        Map<VirtualEngine, int[]> prompt = prompts.get(requests.nextInt(prompts.size()));
        List<VirtualEngine> all = List.copyOf(traffic.keySet());
        VirtualEngine drawnOne = all.get(requests.nextInt(all.size()));
        VirtualEngine engine = !following || requests.nextInt(10) == 0
                ? drawnOne
                : all.stream()
                        .filter(each -> has(each, prompt.get(each)))
                        .findFirst()
                        .orElse(drawnOne);
        traffic.get(engine).arrives(prompt.get(engine), 1 + requests.nextInt(3 * PAGE));
    }

    private static boolean has(VirtualEngine engine, int[] tokens) {
        return engine.isUp() && engine.resident(engine.names(tokens)[tokens.length / PAGE - 1]);
    }

    // Who takes part

    private void join(StormProcess process, StormSidecar born) {
        Life life = new Life(process, born);
        Optional.ofNullable(alive.put(process, life)).ifPresent(this::count);
        time.after(lives.nextLong(LOOKS), () -> poll(life));
    }

    private void count(Life life) {
        CellCounters counters = life.engine.member().counters();
        rounds += counters.rounds() - counters.failed();
    }

    private void leave(StormSidecar ending) {
        alive.values().stream().filter(life -> life.sidecar == ending).forEach(life -> {
            life.left = true;
            life.engine.leave();
        });
    }

    private void poll(Life life) {
        if (life.alive()) {
            time.after(LOOKS, () -> poll(life));
            try {
                if (kind == Kind.STORMY) {
                    life.engine.poll();
                } else {
                    life.process.withoutWaking(life.engine::poll);
                }
            } catch (RuntimeException e) {
                oracle.fail("a part of the fleet throws", life.name + ": " + e + " at " + e.getStackTrace()[0]);
            }
        }
    }

    private List<Life> living() {
        return alive.values().stream().filter(Life::alive).toList();
    }

    private <T> Optional<T> any(SplittableRandom random, List<T> all) {
        return all.isEmpty() ? Optional.empty() : Optional.of(all.get(random.nextInt(all.size())));
    }

    /** Somebody else takes part under the name of one for a while. */
    private void intrude() {
        any(weather, living()).ifPresent(life -> {
            CellMember member = new CellMember(
                    store.line(life.name),
                    CELL,
                    life.name,
                    "",
                    time::now,
                    weather.split(),
                    () -> Hot.NOTHING,
                    List::of);
            intrude(member, time.now() + weather.nextLong(40 * Timeline.SECOND));
        });
    }

    private void intrude(CellMember member, long until) {
        if (raging && time.now() < until) {
            member.poll(time.now());
            time.after(LOOKS, () -> intrude(member, until));
        }
    }

    // Clients

    private void client() {
        if (!raging) {
            return;
        }
        time.after(clients.nextLong(500, 4_000) * Timeline.MILLI, this::client);
        any(clients, living()).ifPresent(life -> {
            int act = clients.nextInt(100);
            if (act < 15) {
                any(clients, taken).ifPresent(hold -> life.engine.release(hold.id()));
                return;
            }
            int which = clients.nextInt(prompts.size());
            Map<VirtualEngine, int[]> prompt = prompts.get(which);
            int[] tokens = clients.nextInt(5) > 0
                    ? prompt.values().iterator().next()
                    : traffic.get(any(clients, List.copyOf(traffic.keySet())).orElseThrow())
                            .any(clients)
                            .tokens();
            int copies = clients.nextInt(3) == 0 ? FleetHold.ALL : 1 + clients.nextInt(engines);
            Duration lease = Duration.ofSeconds(clients.nextInt(3, Storm.LONGEST_LEASE + 1));
            Optional<FleetHold> hold = act < 30
                    ? life.engine.declare(
                            "prompt-" + which, prompt.values().iterator().next(), copies, lease)
                    : life.engine.hold(tokens, copies, "client-" + act % 3, 1 + clients.nextInt(3), lease);
            hold.ifPresent(each -> {
                oracle.note(() -> life.name + " takes " + each);
                taken.add(each);
                ends.merge(each.id(), time.now() + lease.toNanos(), Math::max);
            });
        });
    }

    /** Other sidecars, asked for tokens. */
    private final class Tokens implements TokenSource {
        private final String who;

        Tokens(String who) {
            this.who = who;
        }

        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return badSource && lives.nextInt(20) == 0 ? Optional.of("nobody may be asked") : Optional.empty();
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            CompletableFuture<int[]> answer = new CompletableFuture<>();
            int mood = badSource ? lives.nextInt(100) : 99;
            long longest = mood < 15 ? 40 * Timeline.SECOND : Timeline.SECOND;
            if (mood >= 15 && mood < 22) {
                return answer;
            }
            time.after(lives.nextLong(longest), () -> {
                Optional<int[]> found = living().stream()
                        .filter(life -> !life.name.equals(who))
                        .flatMap(life -> life.engine.tokens(hold.id()).stream())
                        .findFirst();
                if (mood >= 22 && mood < 40) {
                    answer.complete(wrong(found.orElse(new int[] {1})));
                } else if (found.isEmpty() || (mood >= 40 && mood < 50)) {
                    answer.completeExceptionally(new IllegalStateException("nobody there has them"));
                } else {
                    answer.complete(found.get());
                }
            });
            return answer;
        }

        private int[] wrong(int[] right) {
            return switch (lives.nextInt(4)) {
                case 0 -> new int[0];
                case 1 -> Arrays.copyOf(right, right.length - 1);
                case 2 -> Arrays.copyOf(right, right.length + PAGE);
                default -> {
                    int[] other = right.clone();
                    other[lives.nextInt(other.length)]++;
                    yield other;
                }
            };
        }
    }

    // The store

    private void again(SplittableRandom random, int least, int most, Runnable what) {
        time.after(random.nextLong(least * Timeline.SECOND / 2, most * Timeline.SECOND), () -> {
            if (raging) {
                what.run();
                again(random, least, most, what);
            }
        });
    }

    private void trouble(Trouble trouble) {
        switch (trouble) {
            case SLOW, SILENT, FAILING, FROZEN ->
                again(weather, 15, 50, () -> {
                    oracle.note(() -> "the store is " + trouble);
                    store.mood(StormStore.Mood.valueOf(trouble.name()));
                    time.after(weather.nextLong(35 * Timeline.SECOND), this::mend);
                });
            case EMPTY ->
                again(weather, 15, 60, () -> {
                    oracle.note(() -> "the store is empty");
                    store.empty();
                });
            case PARTED ->
                again(weather, 20, 60, () -> {
                    Set<String> others = living().stream()
                            .map(life -> life.name)
                            .filter(_ -> weather.nextBoolean())
                            .collect(Collectors.toSet());
                    oracle.note(() -> "the store is parted: " + others);
                    store.part(others);
                    time.after(weather.nextLong(45 * Timeline.SECOND), this::heal);
                });
            case ECHO -> again(weather, 1, 8, hostile::echo);
            case INVENTED -> again(weather, 1, 6, this::invent);
        }
    }

    private void mend() {
        if (raging) {
            store.mood(StormStore.Mood.FAIR);
        }
    }

    private void heal() {
        if (raging) {
            store.heal();
        }
    }

    private void invent() {
        List<String> there = alive.values().stream().map(life -> life.name).toList();
        List<Long> known = new ArrayList<>();
        prompts.forEach(prompt -> prompt.values().forEach(tokens -> known.add(name(tokens))));
        List<FleetHold> lately = taken.subList(Math.max(0, taken.size() - 10), taken.size());
        if (!there.isEmpty()) {
            hostile.put(there, lately, known);
        }
    }

    private static long name(int[] tokens) {
        long[] blocks = new long[tokens.length / PAGE];
        int count = ContentNames.names(tokens, 0, tokens.length, PAGE, ContentNames.NO_NAMESPACE, blocks);
        return blocks[count - 1];
    }

    // What is looked at

    private void look() {
        time.after(LOOKS, this::look);
        Map<String, Set<VirtualEngine>> holding = new HashMap<>();
        for (Life life : living()) {
            for (StormSidecar.FleetClaim claim : life.sidecar.fleetClaims()) {
                if (claim.state() == HoldState.HELD) {
                    holding.computeIfAbsent(claim.hold(), _ -> new HashSet<>()).add(life.process.engine());
                }
                inTime(life, claim);
            }
            weighed |= life.sidecar.leavesToOthers();
        }
        held |= !holding.isEmpty();
        heldByTwo |= holding.values().stream().anyMatch(on -> on.size() > 1);
    }

    private void inTime(Life life, StormSidecar.FleetClaim claim) {
        boolean honest = !troubles.contains(Trouble.ECHO) && !troubles.contains(Trouble.INVENTED);
        if (kind == Kind.STORMY && honest) {
            long end = ends.getOrDefault(claim.hold(), 0L) + TWO_PERIODS + LEASE + 2 * LOOKS;
            if (time.now() > end) {
                oracle.fail("a hold of the fleet outlives its lease", life.name + ": " + claim);
            }
        }
        if (claim.left().toNanos() > LEASE) {
            oracle.fail("a claim of the fleet is longer than it may be", life.name + ": " + claim);
        }
    }

    // The end

    /** The storm is over: the store is gone for good, or well and empty. */
    void quiet() {
        raging = false;
        if (kind != Kind.STORMY) {
            return;
        }
        store.heal();
        gone = weather.nextBoolean();
        if (gone) {
            oracle.note(() -> "the store is gone");
            store.mood(StormStore.Mood.SILENT);
        } else {
            oracle.note(() -> "the store is well");
            store.empty();
            store.mood(StormStore.Mood.FAIR);
        }
        time.after(TWO_PERIODS + 3 * LOOKS, this::calmed);
    }

    /** Two periods later, everything is as if there never had been anything else. */
    private void calmed() {
        Set<String> all = living().stream()
                .filter(life -> time.now() - life.born > TWO_PERIODS)
                .map(life -> life.name)
                .collect(Collectors.toSet());
        boolean alone = living().stream().map(life -> life.name).distinct().count() == living().size();
        for (Life life : living()) {
            Set<String> seen = life.engine.member().view().engines().stream()
                    .map(CellEngine::id)
                    .collect(Collectors.toSet());
            if (gone) {
                nothingIsKnown(life);
            } else if (alone && time.now() - life.born > TWO_PERIODS && !seen.containsAll(all)) {
                oracle.fail(
                        "not back within two periods",
                        life.name + " sees " + seen + " of " + all + ": "
                                + life.engine.member().counters());
            }
        }
    }

    private void nothingIsKnown(Life life) {
        if (life.engine.member().view() != CellView.NONE) {
            oracle.fail("something is known without a store", life.name);
        }
        if (life.sidecar.leavesToOthers()) {
            oracle.fail("a copy counts without a store", life.name);
        }
        if (!life.sidecar.fleetClaims().isEmpty()) {
            oracle.fail("something is held for a fleet without a store", life.name + life.sidecar.fleetClaims());
        }
    }

    void judge() {
        alive.values().forEach(this::count);
        for (Life life : living()) {
            if (!life.sidecar.fleetClaims().isEmpty()) {
                oracle.fail("a hold of the fleet at the end", life.name + ": " + life.sidecar.fleetClaims());
            }
            if (!life.engine.member().fleetHolds().isEmpty()) {
                oracle.fail(
                        "a fleet's hold that nobody wants",
                        life.name + ": " + life.engine.member().fleetHolds());
            }
            if (gone) {
                nothingIsKnown(life);
            }
        }
    }
}
