package io.holdfast.storm;

import io.holdfast.core.ControllerSettings;
import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Reason;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.PrefixMatch;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.sidecar.AsConfigured;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/*
 * Eight stock engines behind one router, in virtual time, with a sidecar beside each: each knows of no other, or all share one
 * store.
 *
 * Traffic
 * -------
 * System prompts of many applications, of very unequal popularity, before texts that come once, and among them prompts that
 * nobody sends again. Requests come at random times whatever became of those before them, and are the same for all arms of
 * a seed. The system prompts together take not quite half of what the eight caches have, and what comes once fills
 * a cache within half a minute: so an engine loses by itself what it does not see more often than that.
 *
 * Routers
 * -------
 * One goes round. The others follow the engines' events by the embedded index and decide as routers of the field do: while
 * loads are far apart, by load; else by what has most of the prompt, where that is a good part of it; else by load. How far apart
 * is what they differ in: as many requests as an engine has at a time, or half as many.
 *
 * Sidecars
 * --------
 * They decide by the defaults, but once a second and not ten times: nothing here changes within less.
 *
 * What is counted
 * ---------------
 * Tokens of prompts that were found, of all prompt tokens of the requests; and what is held, looked at every second.
 */
final class EightEngines {
    /** How requests are sent to engines. */
    enum Routing {
        ROUND_ROBIN(0),
        CACHE_AWARE(4),
        CACHE_AND_LOAD_AWARE(2);

        /** Requests by which loads may differ. */
        private final int farApart;

        Routing(int farApart) {
            this.farApart = farApart;
        }
    }

    /** What is beside the engines. */
    enum Sidecars {
        ALONE,
        /** The same with other random numbers of their own, for what chance makes of one arm. */
        ALONE_AGAIN,
        FLEET
    }

    /**
     * What was seen of one arm.
     *
     * @param found part of all prompt tokens that requests found
     * @param heldTokens tokens that all engines together held, on average
     * @param copies engines that held a prefix which any held, on average
     * @param firstToken mean milliseconds to the first token
     * @param follows how far touches are measured to follow the cache at the end, the median of the engines
     * @param elsewhere holds that an engine left to others' copies, on average
     * @param failures requests that failed, and what the oracle found wrong
     */
    record Seen(
            double found,
            double heldTokens,
            double copies,
            double firstToken,
            double follows,
            double elsewhere,
            List<String> failures) {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "found %.2f %%, held %.0f tokens, %.2f copies, first token after %.1f ms, touches follow %.2f,"
                            + " %.1f left to others%s",
                    100 * found,
                    heldTokens,
                    copies,
                    firstToken,
                    follows,
                    elsewhere,
                    failures.isEmpty() ? "" : ", " + failures);
        }
    }

    private record Arrival(long after, int[] prompt, int answer) {}

    private static final int ENGINES = 8;
    private static final StockEngine STOCK = new StockEngine(StockEngine.Kind.SGLANG_SESSIONS, 64, 16_384, 32_768);
    /** Answers take seconds, so that an engine has some four requests at a time; slow steps keep the play short. */
    private static final Speed SPEED = new Speed(20, 2_000, 100_000, 1);

    private static final int HEADS = 64;
    private static final int SHORTEST_HEAD = 512;
    private static final int LONGEST_HEAD = 3_072;
    private static final double REQUESTS_A_SECOND = 8;
    private static final double WITH_A_HEAD = 0.75;

    private static final double GOOD_PART = 0.3;
    private static final double FAR_APART_FACTOR = 1.5;

    private final Routing routing;
    private final Timeline time = new Timeline();
    private final StormOracle oracle = new StormOracle(time, false, false);
    private final List<VirtualEngine> engines = new ArrayList<>();
    private final List<StormProcess> processes = new ArrayList<>();
    private final List<SharedEngine> parts = new ArrayList<>();
    private final Fleet index = new Fleet(STOCK.page(), time::now);
    private final PrefixMatch match = new PrefixMatch();
    private final int[] load = new int[ENGINES];
    private int turn;

    private long promptTokens;
    private long cachedTokens;
    private long firstTokenNanos;
    private int answered;
    private final List<String> failed = new ArrayList<>();
    private double heldTokens;
    private double holds;
    private double held;
    private double elsewhere;
    private int looks;

    private EightEngines(long seed, Routing routing, Sidecars sidecars) {
        this.routing = routing;
        SplittableRandom random = new SplittableRandom(sidecars == Sidecars.ALONE_AGAIN ? seed - 1_000_000 : ~seed);
        MemoryFleetStore store = new MemoryFleetStore(time::now);
        Cell cell = new Cell("m", STOCK.page(), "");
        ControllerSettings settings = AsConfigured.controller(STOCK.kind().type, "tickMillis: 1000");
        for (int i = 0; i < ENGINES; i++) {
            String name = "engine-" + i;
            VirtualEngine engine = new VirtualEngine(name, time, STOCK.settings(), SPEED, oracle, false);
            engine.remember(100);
            engines.add(engine);
            Engine routed = index.add(EngineOptions.sglang(name));
            new EventPath("router", time, random.split(), engine, oracle, routed.events(), true, () -> {});
            SplittableRandom own = random.split();
            StormProcess process = new StormProcess(
                    "sidecar-" + i, time, own, oracle, engine, new StormSidecar.Written(settings, STOCK.kind().way), 0);
            process.start();
            processes.add(process);
            if (sidecars == Sidecars.FLEET) {
                SharedEngine part = process.sidecar()
                        .orElseThrow()
                        .share(store, cell, name, time::now, own.split(), TokenSource.NONE);
                parts.add(part);
                poll(part);
            }
        }
        time.runUntil(time.now() + 3 * Timeline.SECOND);
    }

    /** Plays one arm of a seed. */
    static Seen play(long seed, Routing routing, Sidecars sidecars, Duration length) {
        return new EightEngines(seed, routing, sidecars).all(arrivals(seed, length));
    }

    private static List<Arrival> arrivals(long seed, Duration length) {
        SplittableRandom random = new SplittableRandom(seed);
        FreshTokens tokens = new FreshTokens();
        List<int[]> heads = new ArrayList<>();
        double[] popularity = new double[HEADS];
        double all = 0;
        for (int i = 0; i < HEADS; i++) {
            int blocks = random.nextInt(SHORTEST_HEAD / STOCK.page(), LONGEST_HEAD / STOCK.page() + 1);
            heads.add(tokens.take(blocks * STOCK.page()));
            all += 1.0 / (i + 1);
            popularity[i] = all;
        }
        List<Arrival> arrivals = new ArrayList<>();
        double seconds = 0;
        while (seconds < length.toSeconds()) {
            seconds -= Math.log(1 - random.nextDouble()) / REQUESTS_A_SECOND;
            int[] prompt;
            if (random.nextDouble() < WITH_A_HEAD) {
                int at = Arrays.binarySearch(popularity, random.nextDouble() * all);
                prompt = tokens.after(heads.get(at < 0 ? -at - 1 : at), random.nextInt(64, 513));
            } else {
                prompt = tokens.take(random.nextInt(1_024, 4_097));
            }
            arrivals.add(new Arrival((long) (seconds * Timeline.SECOND), prompt, random.nextInt(16, 65)));
        }
        return arrivals;
    }

    private void poll(SharedEngine part) {
        part.poll();
        time.after(Timeline.SECOND, () -> poll(part));
    }

    private Seen all(List<Arrival> arrivals) {
        arrivals.forEach(arrival -> time.after(arrival.after(), () -> send(arrival)));
        time.after(Timeline.SECOND, this::look);
        time.runUntil(time.now() + arrivals.getLast().after());
        double[] follows = parts.stream()
                .mapToDouble(part -> part.member().view().follows())
                .sorted()
                .toArray();
        index.close();
        failed.addAll(oracle.failures().values());
        return new Seen(
                (double) cachedTokens / promptTokens,
                heldTokens / looks,
                held == 0 ? 0 : holds / held,
                firstTokenNanos / 1e6 / answered,
                follows.length == 0 ? 0 : follows[follows.length / 2],
                elsewhere / looks,
                List.copyOf(failed));
    }

    private int choose(int[] prompt) {
        if (routing == Routing.ROUND_ROBIN) {
            return turn++ % ENGINES;
        }
        List<Integer> byLoad = IntStream.range(0, ENGINES)
                .boxed()
                .sorted(Comparator.comparingInt(i -> load[i]))
                .toList();
        int least = byLoad.getFirst();
        int most = load[byLoad.getLast()];
        if (most - load[least] > routing.farApart && most > FAR_APART_FACTOR * load[least]) {
            return least;
        }
        index.match(prompt, match);
        int best = least;
        for (int each : byLoad) {
            best = cached(each) > cached(best) ? each : best;
        }
        return cached(best) > GOOD_PART * prompt.length ? best : least;
    }

    private int cached(int engine) {
        return match.tokens(index.engines().get(engine));
    }

    private void send(Arrival arrival) {
        int to = choose(arrival.prompt());
        VirtualEngine engine = engines.get(to);
        load[to]++;
        long sent = time.now();
        boolean[] begun = {false};
        engine.submit(new Generation(
                arrival.prompt(), RequestOptions.of(arrival.answer()), true, sent, new TokenListener() {
                    @Override
                    public void token(int token, int count, int cached, boolean last) {
                        if (!begun[0]) {
                            begun[0] = true;
                            answered++;
                            promptTokens += arrival.prompt().length;
                            cachedTokens += cached;
                            firstTokenNanos += engine.passEnds() - sent;
                        }
                        if (last) {
                            time.at(engine.passEnds(), () -> load[to]--);
                        }
                    }

                    @Override
                    public void failed(String message) {
                        failed.add(message);
                        load[to]--;
                    }
                }));
    }

    private void look() {
        time.after(Timeline.SECOND, this::look);
        looks++;
        Map<Long, Integer> copies = new HashMap<>();
        for (StormProcess process : processes) {
            EngineView view = process.sidecar().orElseThrow().view();
            heldTokens += view.holds().stream()
                    .filter(hold -> hold.state() == HoldState.HELD)
                    .mapToLong(HoldView::heldTokens)
                    .sum();
            for (Plan.Line line : view.lastPlan().lines()) {
                if (line.action() == Plan.Action.KEEP) {
                    copies.merge(line.prefix(), 1, Integer::sum);
                } else if (line.code() == Reason.HELD_ELSEWHERE) {
                    elsewhere++;
                }
            }
        }
        held += copies.size();
        holds += copies.values().stream().mapToInt(each -> each).sum();
    }

    /** One figure of the arms of all seeds, alone and in a fleet. */
    private record Pair(Seen alone, Seen fleet) {
        double points() {
            return 100 * (fleet.found - alone.found);
        }

        double held() {
            return 100 * fleet.heldTokens / alone.heldTokens;
        }
    }

    private static String spread(List<Pair> pairs, String form, ToDoubleFunction<Pair> figure) {
        double[] all = pairs.stream().mapToDouble(figure).sorted().toArray();
        String one = "%" + form;
        return String.format(
                Locale.ROOT,
                one + " (" + one + " to " + one + ")",
                Arrays.stream(all).average().orElseThrow(),
                all[0],
                all[all.length - 1]);
    }

    /**
     * Prints what eight sidecars see alone and in a fleet: so many seeds, minutes, {@code FLEET}, or {@code ALONE_AGAIN} for
     * what is chance, and the names of the routings, or all.
     */
    public static void main(String[] args) {
        int seeds = Integer.parseInt(args[0]);
        Duration length = Duration.ofMinutes(Integer.parseInt(args[1]));
        Sidecars other = Sidecars.valueOf(args[2]);
        List<Routing> routings = args.length == 3
                ? List.of(Routing.values())
                : Arrays.stream(args).skip(3).map(Routing::valueOf).toList();
        for (Routing routing : routings) {
            List<Pair> pairs = new ArrayList<>();
            for (long seed = 0; seed < seeds; seed++) {
                Pair pair = new Pair(play(seed, routing, Sidecars.ALONE, length), play(seed, routing, other, length));
                pairs.add(pair);
                System.out.println(routing + " seed " + seed + " ALONE: " + pair.alone());
                System.out.println(routing + " seed " + seed + " " + other + ": " + pair.fleet());
            }
            System.out.printf(
                    Locale.ROOT,
                    "%s, %d seeds of %d min, mean (least to most): found ALONE %s %%, %s %s points; held tokens ALONE"
                            + " %s, then %s %%; copies ALONE %s, then %s; touches follow %s%n",
                    routing,
                    seeds,
                    length.toMinutes(),
                    spread(pairs, ".1f", pair -> 100 * pair.alone().found()),
                    other,
                    spread(pairs, "+.2f", Pair::points),
                    spread(pairs, ".0f", pair -> pair.alone().heldTokens()),
                    spread(pairs, ".0f", Pair::held),
                    spread(pairs, ".2f", pair -> pair.alone().copies()),
                    spread(pairs, ".2f", pair -> pair.fleet().copies()),
                    spread(pairs, ".2f", pair -> pair.fleet().follows()));
        }
    }
}
