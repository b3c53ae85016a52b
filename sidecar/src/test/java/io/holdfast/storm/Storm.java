package io.holdfast.storm;

import io.holdfast.core.effect.EffectSettings;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/*
 * One seeded storm: engines, sidecars and their clients through all that the seed has in store, and then quiet, in which
 * everything has to come to rest.
 *
 * The script
 * ----------
 * A seed draws its world (engines, sizes, who listens to whom, what operators wrote) and which faults it has; then each of
 * them comes again and again at times of its own. Nothing is made to meet, but for one thing: what no sidecar can know in
 * time (somebody else's pins, a capacity that falls, a flush) happens in calms, in which no request is there and the readings
 * that follow are good; and until it could be acted on, clients send nothing that would not fit. So what stops an engine is
 * the sidecars' fault.
 *
 * The variant
 * -----------
 * By which backend sidecars hold, on which engine, is drawn apart from all else, so that the storms of one variant stay what
 * they are. Where holds are requests there is no guard to keep: what is looked for is what stays behind, what is counted too
 * low, and what is sent that nobody wants (see TouchOracle and TouchJudge). What cannot be taken back ends with the cache that
 * has it, so a restart that is heard is believed. Of such a storm's events none comes twice or out of order and none is
 * numbered anew, and what may be on its way is remembered for a replay: otherwise a cache that lives looks like a new one, and
 * nobody could count.
 *
 * The loop
 * --------
 * Every sidecar measures what its holds do, three in four in windows so short that a storm sees many: automatic holds, and the
 * half of the requested ones that clients offer for it, are let go again and again. Clients report first tokens, since of the
 * engine's own there are too few between two faults. What that adds is drawn apart as well. Where holds are priorities
 * nothing is measured: nothing takes them back.
 *
 * Two sidecars at one engine hold half of what there is together, each less than a half: neither can know what the other is
 * about to do.
 *
 * The fleet
 * ---------
 * A storm with one has three to five engines, all of them over one store: see StormFleet. Where holds are pins each of them
 * has one sidecar there, since two could not keep one guard against a third who asks both.
 *
 * The catalogue
 * -------------
 * Of the emulator's faults by name all come that make sense without HTTP: capacity-falls, decode-cannot-evict, auto-unpin (not
 * with twins, which it makes deadly by itself), flush-refused, pin-ignored, hold-lost, pin-late (as late answers), drift,
 * throttling, holds-slow, cold-first-wave, warming, restart, slow-start (as a restart that takes long), and of the events
 * loss, delay, duplicates, reorder, replay-short and sequence-reset. Not here: what only an answer's body or stream shows
 * (empty-outputs, stalled-stream, broken-sse, http-error, usage-wrong), since nobody reads answers; clock-skew, since nobody
 * reads the stamps; pin-forgiving, which would hide what is looked for; other-model and dp-ranks, which are refused or
 * told apart before a controller is made.
 *
 * The quiet
 * ---------
 * Traffic and faults end, whoever is down is started with its first configuration, and all leases run out. Then the ledgers
 * are held against the engines, and each engine gets the largest request that it accepts. Where holds are requests, some are
 * asked for once more before, with nothing under way, and what is then said to be held has to be; and an empty cache has to
 * empty the ledgers.
 */
final class Storm {
    /** What is known of a storm when it is over. */
    record Result(
            long seed,
            StormVariant variant,
            double bite,
            int kept,
            int unforeseenDeaths,
            boolean exact,
            boolean switched,
            Map<String, String> failures) {
        /** Whether a quarter of the guard was held for a tenth of the time. */
        boolean bites() {
            return bite >= 0.1;
        }
    }

    static final int LONGEST_LEASE = 45;
    /** Least lease of an automatic hold, which waits for a use for up to 12 of them. */
    private static final Duration AUTOMATIC_LEASE = Duration.ofSeconds(20);

    private static final long QUIET =
            (Math.max(LONGEST_LEASE, 12 * AUTOMATIC_LEASE.toSeconds()) + 170) * Timeline.SECOND;
    /** The same with a fleet, whose prompts are more than there is room for: what waited for it is held in its turn. */
    private static final Duration AUTOMATIC_LEASE_IN_FLEET = Duration.ofSeconds(8);

    private static final long QUIET_IN_FLEET = (2 * 12 * AUTOMATIC_LEASE_IN_FLEET.toSeconds() + 170) * Timeline.SECOND;

    private final StormVariant variant;
    private final int ranks;
    private final long seed;
    private final SplittableRandom random;
    private final Timeline time = new Timeline();
    private final StormOracle oracle;
    private final List<VirtualEngine> engines = new ArrayList<>();
    private final Map<VirtualEngine, Traffic> traffic = new LinkedHashMap<>();
    private final List<StormProcess> processes = new ArrayList<>();
    private final Map<StormProcess, VirtualEngine> homes = new LinkedHashMap<>();
    private final boolean holding;
    private final long end;
    private final boolean twins;
    private final Calms calms;
    private final TouchJudge judge;
    /** Apart from all else, so that storms stay what they were before anything was measured. */
    private final SplittableRandom measuring;
    /** What the engines share, drawn apart as well. */
    private final Optional<StormFleet> fleet;

    private boolean raging = true;
    private long samples;
    private long biting;
    private boolean switched;

    /** @param holding whether clients ask for holds: without any, nothing that goes wrong is a sidecar's fault */
    Storm(long seed, boolean holding) {
        this(seed, holding, false);
    }

    Storm(long seed, boolean holding, boolean tracing) {
        this(seed, holding, tracing, 1);
    }

    /** @param ranks how many data-parallel ranks each engine has */
    Storm(long seed, boolean holding, boolean tracing, int ranks) {
        this(StormVariant.PIN_BLOCKS, seed, holding, tracing, ranks);
    }

    /** What the seed draws, its variant included. */
    static Storm of(long seed) {
        return new Storm(StormVariant.of(seed), seed, true, false, 1);
    }

    Storm(StormVariant variant, long seed, boolean holding, boolean tracing, int ranks) {
        this(variant, seed, holding, tracing, ranks, Optional.empty());
    }

    /** What the seed draws, with three to five engines that may know of each other. */
    static Storm of(long seed, StormFleet.Kind kind) {
        return new Storm(StormVariant.of(seed), seed, true, false, 1, Optional.of(kind));
    }

    Storm(
            StormVariant variant,
            long seed,
            boolean holding,
            boolean tracing,
            int ranks,
            Optional<StormFleet.Kind> kind) {
        this.variant = variant;
        this.ranks = ranks;
        this.seed = seed;
        this.oracle = new StormOracle(time, tracing);
        this.holding = holding;
        this.random = new SplittableRandom(seed);
        this.measuring = new SplittableRandom(~seed);
        this.fleet = kind.map(each -> new StormFleet(each, seed, time, oracle));
        this.end = random.nextLong(80, 130) * Timeline.SECOND;
        this.twins = random.nextInt(4) == 0;
        int alone = switch (random.nextInt(10)) {
            case 0, 1, 2, 3, 4, 5 -> 1;
            case 6, 7, 8 -> 2;
            default -> 3;
        };
        int count = fleet.map(StormFleet::engines).orElse(alone);
        for (int i = 0; i < count; i++) {
            addEngine("engine " + i);
        }
        fleet.ifPresent(each -> each.share(traffic, homes));
        this.calms = new Calms(variant, time, random, oracle, traffic, homes);
        this.judge = new TouchJudge(variant, time, oracle, traffic, homes);
    }

    private void addEngine(String name) {
        int page = 16;
        int pages = random.nextInt(64, 200);
        int context = page * (int) (pages * (0.15 + 0.2 * random.nextDouble()));
        SglangSettings settings = SglangSettings.defaults()
                .withSizes(pages * page, page, context)
                .withMaxRunning(random.nextInt(3, 9))
                .withChunkedPrefillTokens(8192)
                .withVariant(variant.code)
                .withEviction(variant.eviction)
                .withSessions(variant.sessions())
                .withStreaming(variant.streaming());
        Speed speed = new Speed(random.nextInt(30, 120), 4_000, random.nextInt(15, 40) * 1_000, 1);
        VirtualEngine engine = new VirtualEngine(
                name, time, settings, speed, oracle, variant.vllm, variant == StormVariant.NIXL_LEASE);
        engines.add(engine);
        if (ranks > 1) {
            List<VirtualEngine> all = new ArrayList<>(List.of(engine));
            for (int rank = 1; rank < ranks; rank++) {
                all.add(new VirtualEngine(name + " rank " + rank, time, settings, speed, oracle));
            }
            VirtualEngine.join(all);
        }
        int longestAnswer =
                Math.max(8, random.nextInt(4) == 0 ? settings.maxAnswerTokens(1) : random.nextInt(8, context / 3 + 9));
        boolean shortFirst = random.nextInt(3) == 0;
        traffic.put(
                engine,
                new Traffic(
                        engine,
                        time,
                        random.split(),
                        oracle,
                        longestAnswer,
                        twins,
                        shortFirst,
                        variant.soft(),
                        end,
                        fleet.map(each -> each.tokens(engines.size())).orElseGet(FreshTokens::new)));
        boolean two = engines.size() == 1
                && random.nextInt(4) == 0
                && ranks == 1
                // Who shares a guard can keep it as long as no third may ask both.
                && (fleet.isEmpty() || variant.soft());
        for (int i = 0; i < (two ? 2 : 1); i++) {
            StormSidecar.Written written = new StormSidecar.Written(
                    Duration.ofMillis(random.nextInt(2, 8) * 100L),
                    !two && random.nextInt(4) == 0 && holding,
                    fleet.isPresent() ? AUTOMATIC_LEASE_IN_FLEET : AUTOMATIC_LEASE,
                    variant.way,
                    longestAnswer,
                    random.nextInt(3) == 0,
                    settings.maxPromptTokens(),
                    Optional.of(effect()),
                    Optional.empty());
            double appetite = two ? 0.45 : 0.6 + 0.8 * random.nextDouble();
            StormProcess process = new StormProcess(
                    name + (i == 0 ? " first" : " second"), time, random.split(), oracle, engine, written, appetite);
            processes.add(process);
            homes.put(process, engine);
        }
    }

    /** As it comes without a word of the operator's, or in windows of which a storm sees many. */
    private EffectSettings effect() {
        return measuring.nextInt(4) == 0
                ? EffectSettings.DEFAULTS
                : EffectSettings.DEFAULTS.withWindow(Duration.ofMillis(measuring.nextInt(1_500, 4_000)));
    }

    /** Runs and has every step go into a digest, by which two versions of the code can be compared. */
    Result run(StormDigest into) {
        oracle.digest(into);
        return run();
    }

    Result run() {
        traffic.values().forEach(Traffic::begin);
        processes.forEach(StormProcess::start);
        processes.forEach(this::client);
        engines.forEach(this::sample);
        faults();
        fleet.ifPresent(StormFleet::begin);
        time.runUntil(end);
        quiet();
        judge();
        return new Result(
                seed,
                variant,
                samples == 0 ? 0 : biting / (double) samples,
                oracle.keptPins(),
                oracle.unforeseenDeaths(),
                judge.exact(),
                switched,
                oracle.failures());
    }

    // The clients of sidecars

    private void client(StormProcess process) {
        if (!raging || !holding) {
            return;
        }
        time.after(random.nextLong(200, 2_000) * Timeline.MILLI, () -> client(process));
        VirtualEngine engine = process.engine();
        process.sidecar().ifPresent(sidecar -> {
            sidecar.report(measuring.nextDouble(0.05, 0.5), 40);
            int kind = random.nextInt(100);
            if (kind < 4) {
                sidecar.releaseOne(random);
            } else if (kind < 5) {
                sidecar.releaseAll();
                time.after(
                        random.nextLong(6 * Timeline.SECOND),
                        () -> process.sidecar().filter(sidecar::equals).ifPresent(StormSidecar::resume));
            } else {
                int wanted = sidecar.wantedTokens(engine.page());
                for (int i = 0; i < 4; i++) {
                    Traffic.Shared prefix = traffic.get(engine).any();
                    int more = prefix.tokens().length;
                    if (wanted + more <= process.appetite * engine.guard()) {
                        Duration lease = process.lease(LONGEST_LEASE);
                        if (measuring.nextBoolean()) {
                            sidecar.holdToBeMeasured(prefix.blocks(), prefix.tokens(), lease);
                        } else {
                            sidecar.hold(prefix.blocks(), prefix.tokens(), lease);
                        }
                        wanted += more;
                    }
                }
            }
        });
    }

    // The faults

    private void faults() {
        for (StormProcess process : processes) {
            now(60, 8, 25, () -> network(process));
            now(60, 8, 30, () -> events(process));
            now(40, 15, 40, () -> {
                process.kill();
                time.after(random.nextLong(8 * Timeline.SECOND), process::start);
            });
            now(25, 20, 60, () -> process.end(() -> time.after(random.nextLong(3 * Timeline.SECOND), process::start)));
            now(30, 10, 40, () -> {
                process.disk.full(true);
                time.after(random.nextLong(10 * Timeline.SECOND), () -> process.disk.full(false));
            });
            now(25, 10, 40, () -> process.disk.hang(random.nextLong(15 * Timeline.SECOND)));
            now(40, 5, 20, () -> {
                process.badReadings(random.nextInt(20, 100));
                time.after(random.nextLong(20 * Timeline.SECOND), () -> process.badReadings(0));
            });
            now(12, 25, 60, () -> configuration(process));
        }
        for (VirtualEngine engine : engines) {
            now(35, 25, 60, () -> restart(engine));
            now(50, 10, 30, () -> calms.calm(engine, () -> calms.flush(engine)));
            if (ranks == 1) {
                now(40, 10, 40, () -> calms.calm(engine, () -> calms.foreign(engine)));
            }
            now(25, 20, 50, () -> calms.calm(engine, () -> calms.capacity(engine)));
            now(50, 5, 20, () -> traffic.get(engine).flood());
            now(12, 10, 40, () -> {
                // A release is sent whatever is heard; what none is sent for is taken for gone with the old numbers.
                if (!variant.lasts()) {
                    engine.ranks().forEach(VirtualEngine::numberAnew);
                }
            });
            now(20, 10, 30, () -> {
                // Who remembers less than is on its way makes what comes late look like another life as well.
                int batches = random.nextInt(1, 20) * (variant.lasts() ? 100 : 1);
                engine.ranks().forEach(rank -> rank.remember(batches));
            });
            speed(engine, new GpuFault.Drift(random.nextInt(-30, 60), 20));
            speed(engine, new GpuFault.Throttling(0.7, 5));
            speed(engine, new GpuFault.HoldsSlow(20));
            speed(engine, new GpuFault.ColdFirstWave(20, Duration.ofMillis(300)));
            speed(engine, new GpuFault.Warming(20));
            speed(engine, new CacheFault.FlushRefused(3));
            if (!twins) {
                speed(engine, new CacheFault.AutoUnpin(50));
            }
            speed(engine, new CacheFault.HoldLost(20));
            speed(engine, new CacheFault.DecodeCannotEvict());
            if (random.nextInt(40) == 0) {
                engine.ranks().forEach(rank -> rank.faults.begin(new CacheFault.PinIgnored()));
            }
        }
    }

    /** In so many of 100 seeds, again and again after so many seconds. */
    private void now(int chance, int least, int most, Runnable what) {
        if (random.nextInt(100) < chance) {
            again(least, most, what);
        }
    }

    private void again(int least, int most, Runnable what) {
        time.after(random.nextLong(least * Timeline.SECOND / 2, most * Timeline.SECOND), () -> {
            if (raging) {
                what.run();
                again(least, most, what);
            }
        });
    }

    private void speed(VirtualEngine engine, Fault fault) {
        if (random.nextInt(12) == 0) {
            again(5, 30, () -> {
                VirtualEngine rank = anyRank(engine);
                rank.faults.begin(fault);
                time.after(random.nextLong(20 * Timeline.SECOND), () -> rank.faults.end(fault.kind()));
            });
        }
    }

    private VirtualEngine anyRank(VirtualEngine engine) {
        return ranks == 1 ? engine : engine.ranks().get(random.nextInt(ranks));
    }

    private void network(StormProcess process) {
        process.networkWeather(
                switch (random.nextInt(6)) {
                    case 0 -> new VirtualNetwork.Weather(30, 0, 0, 0, 0, 50 * Timeline.MILLI);
                    case 1 -> new VirtualNetwork.Weather(0, 30, 0, 0, 0, 50 * Timeline.MILLI);
                    case 2 -> new VirtualNetwork.Weather(0, 0, 40, 0, 0, 4 * Timeline.SECOND);
                    case 3 -> new VirtualNetwork.Weather(0, 0, 0, 60, 0, 20 * Timeline.MILLI);
                    case 4 -> new VirtualNetwork.Weather(0, 0, 0, 0, 30, 20 * Timeline.MILLI);
                    default -> new VirtualNetwork.Weather(10, 10, 10, 10, 0, Timeline.SECOND);
                });
        time.after(random.nextLong(12 * Timeline.SECOND), () -> process.networkWeather(VirtualNetwork.Weather.FAIR));
    }

    private void events(StormProcess process) {
        EventPath.Weather weather = switch (random.nextInt(4)) {
            case 0 -> new EventPath.Weather(20, 0, 0, 2 * Timeline.MILLI, random.nextBoolean());
            case 1 -> new EventPath.Weather(0, 0, 0, random.nextLong(12 * Timeline.SECOND), random.nextBoolean());
            case 2 -> new EventPath.Weather(0, 20, 20, 2 * Timeline.MILLI, true);
            default -> new EventPath.Weather(5, 5, 5, random.nextLong(4 * Timeline.SECOND), true);
        };
        // What comes twice or out of order looks like another life, in which nothing would be protected.
        process.weather(variant.lasts() ? weather.inOrder() : weather);
        time.after(random.nextLong(15 * Timeline.SECOND), () -> process.weather(EventPath.Weather.FAIR));
    }

    private void configuration(StormProcess process) {
        boolean changes = variant.sessions() && random.nextBoolean();
        boolean moves = engines.size() > 1 && random.nextBoolean();
        VirtualEngine other = engines.get(random.nextInt(engines.size()));
        Runnable change = () -> {
            if (moves) {
                process.moveTo(process.engine() == homes.get(process) ? other : homes.get(process));
            } else if (changes) {
                process.holdBy(StormSidecar.Way.KEEP_WARM);
            } else {
                process.dryRun(!process.isDry());
            }
            process.start();
        };
        if (random.nextBoolean()) {
            process.kill();
            time.after(random.nextLong(2 * Timeline.SECOND), change);
        } else {
            process.end(change);
        }
        time.after(random.nextLong(2, 15) * Timeline.SECOND, () -> home(process));
    }

    /** Back to what the operator wrote first. */
    private void home(StormProcess process) {
        boolean elsewhere = !process.holdsByFirstWay() || process.isDry() || process.engine() != homes.get(process);
        process.dryRun(false);
        process.moveTo(homes.get(process));
        if (elsewhere) {
            process.kill();
            process.start();
        }
    }

    /** A server dies with all its ranks. */
    private void end(VirtualEngine engine) {
        engine.ranks().forEach(VirtualEngine::kill);
        engine.ranks().forEach(oracle::revived);
    }

    private void restart(VirtualEngine engine) {
        end(engine);
        time.after(random.nextLong(8 * Timeline.SECOND), () -> {
            engine.ranks().forEach(VirtualEngine::start);
            time.after(
                    random.nextLong(2 * Timeline.SECOND),
                    () -> traffic.get(engine).again());
        });
    }

    // What is measured meanwhile

    private void sample(VirtualEngine engine) {
        if (!raging) {
            return;
        }
        time.after(500 * Timeline.MILLI, () -> sample(engine));
        engine.ranks().forEach(rank -> {
            oracle.look(rank);
            rank.lookAtEnds(traffic.get(engine).ends());
        });
        samples++;
        processes.forEach(process -> process.sidecar().ifPresent(sidecar -> oracle.says(sidecar::describe)));
        switched |= processes.stream()
                .flatMap(process -> process.sidecar().stream())
                .anyMatch(StormSidecar::switched);
        biting += engine.isUp() && engine.guard() > 0 && 4 * judge.heldTokens(engine) >= engine.guard() ? 1 : 0;
        if (variant.counts()) {
            processes.stream().filter(process -> homes.get(process) == engine).forEach(judge::countsEnough);
        }
        if (engine.ranks().stream().anyMatch(oracle::stopped) && random.nextInt(10) == 0) {
            restart(engine);
        }
        if (!engine.ranks().stream().allMatch(VirtualEngine::isUp) && random.nextInt(20) == 0) {
            restart(engine);
        }
    }

    // The end

    private void quiet() {
        raging = false;
        fleet.ifPresent(StormFleet::quiet);
        time.runUntil(time.now() + 15 * Timeline.SECOND);
        for (VirtualEngine engine : engines) {
            engine.ranks()
                    .forEach(rank -> List.copyOf(rank.faults.all()).forEach(fault -> rank.faults.end(fault.kind())));
            boolean all = engine.ranks().stream().allMatch(VirtualEngine::isUp);
            if (engine.ranks().stream().anyMatch(oracle::stopped) || (ranks > 1 && !all)) {
                end(engine);
            }
            engine.ranks().forEach(VirtualEngine::start);
            traffic.get(engine).calm(true);
        }
        for (StormProcess process : processes) {
            process.networkWeather(VirtualNetwork.Weather.FAIR);
            process.weather(EventPath.Weather.FAIR);
            process.badReadings(0);
            process.quiet();
            process.disk.full(false);
            home(process);
            process.start();
            process.sidecar().ifPresent(StormSidecar::resume);
        }
        if (variant.soft()) {
            judge.holdOnceMore(holding);
        }
        time.runUntil(time.now() + (fleet.isPresent() ? QUIET_IN_FLEET : QUIET));
        if (variant.soft()) {
            judge.atRest();
        }
    }

    /** What is known of the fleet when the storm is over. */
    Optional<StormFleet.Told> fleet() {
        return fleet.map(StormFleet::told);
    }

    private void judge() {
        fleet.ifPresent(StormFleet::judge);
        for (StormProcess process : processes) {
            for (VirtualEngine engine : engines) {
                engine.ranks().forEach(rank -> oracle.settle(process.name, rank, process.store.open(engine)));
            }
            if (process.sidecar().isEmpty()) {
                oracle.fail("a sidecar does not start", process.name);
            }
            process.sidecar().filter(sidecar -> sidecar.holds() > 0).ifPresent(sidecar -> {
                if (process.store.open(process.engine()).isEmpty()) {
                    oracle.fail("a hold outlives its lease", process.name + ": " + sidecar.describe());
                }
            });
        }
        if (fleet.isPresent()) {
            admitTogether();
        } else {
            for (VirtualEngine engine : engines) {
                engine.ranks().forEach(rank -> admit(engine, rank));
            }
        }
        if (variant.soft()) {
            judge.emptied();
        }
    }

    private void admit(VirtualEngine engine, VirtualEngine rank) {
        boolean[] served = largest(engine, rank);
        time.runUntil(time.now() + 120 * Timeline.SECOND);
        admitted(rank, served);
    }

    /** The same for engines that are too many for one after another. */
    private void admitTogether() {
        Map<VirtualEngine, boolean[]> served = new LinkedHashMap<>();
        engines.forEach(engine -> served.put(engine, largest(engine, engine)));
        time.runUntil(time.now() + 120 * Timeline.SECOND);
        served.forEach(this::admitted);
    }

    private boolean[] largest(VirtualEngine engine, VirtualEngine rank) {
        boolean[] served = new boolean[1];
        traffic.get(engine).largest(rank, new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                served[0] |= last;
            }

            @Override
            public void failed(String message) {}
        });
        return served;
    }

    private void admitted(VirtualEngine rank, boolean[] served) {
        if (!served[0]) {
            oracle.fail("the largest request is not served at the end", oracle.describe(rank, rank.stats()));
        }
    }
}
