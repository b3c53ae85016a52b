package io.holdfast.storm;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** A sidecar as its operator sees it: started, killed, ended, configured anew, with one ledger all along. */
final class StormProcess {
    private static final long READING_EVERY = 500 * Timeline.MILLI;

    final String name;
    final Disk disk;
    final VirtualNetwork network;
    final StormSidecar.Store store = new StormSidecar.Store();
    /** The client of this sidecar wants to hold so much of the guard. */
    final double appetite;

    private final Timeline time;
    private final SplittableRandom random;
    private final StormOracle oracle;
    private final boolean replay;
    private final boolean fromGauges;
    private final StormSidecar.Way home;
    private StormSidecar.Written written;
    /** The engine that the configuration names. */
    private VirtualEngine configured;

    private EventPath.Weather weather = EventPath.Weather.FAIR;
    private Optional<StormSidecar> sidecar = Optional.empty();
    /** One for each rank of the engine. */
    private List<EventPath> paths = List.of();

    private int badReadings;
    private long lives;
    private int restReadings;
    private boolean polling;
    private boolean quiet;
    private boolean dry;
    private boolean unwoken;
    private Consumer<StormSidecar> onBirth = _ -> {};
    private Consumer<StormSidecar> onEnd = _ -> {};

    StormProcess(
            String name,
            Timeline time,
            SplittableRandom random,
            StormOracle oracle,
            VirtualEngine engine,
            StormSidecar.Written written,
            double appetite) {
        this.name = name;
        this.time = time;
        this.random = random;
        this.oracle = oracle;
        this.disk = new Disk(time);
        this.network = new VirtualNetwork(name, time, random.split(), oracle, disk, engine);
        this.written = written;
        this.configured = engine;
        this.home = written.way();
        this.appetite = appetite;
        this.replay = random.nextInt(3) > 0;
        this.fromGauges = random.nextInt(4) == 0;
    }

    Optional<StormSidecar> sidecar() {
        return sidecar;
    }

    /** Has each life told of when it begins, and when its process is about to let go of all for its end. */
    void lives(Consumer<StormSidecar> begins, Consumer<StormSidecar> ends) {
        onBirth = begins;
        onEnd = ends;
    }

    VirtualEngine engine() {
        return network.engine();
    }

    boolean isUp() {
        return sidecar.isPresent();
    }

    boolean isDry() {
        return dry;
    }

    /** Readings that showed an engine at rest since the last call of {@link #forgetRest}. */
    int restReadings() {
        return restReadings;
    }

    void forgetRest() {
        restReadings = 0;
    }

    void weather(EventPath.Weather other) {
        weather = other;
        fairness();
        paths.forEach(way -> way.weather(other));
    }

    void networkWeather(VirtualNetwork.Weather other) {
        network.weather(other);
        fairness();
    }

    private void fairness() {
        oracle.unfair(
                name,
                !weather.equals(EventPath.Weather.FAIR) || !network.weather().fair());
    }

    /** Of 100 readings so many are absent, old or late. */
    void badReadings(int chance) {
        badReadings = chance;
    }

    /** From now on little happens. */
    void quiet() {
        quiet = true;
    }

    void start() {
        if (isUp()) {
            return;
        }
        lives++;
        long life = lives;
        oracle.began(name);
        dry = written.way() == StormSidecar.Way.DRY_RUN;
        if (configured != engine()) {
            network.to(configured);
            oracle.moved(name);
        }
        if (dry) {
            oracle.ranDry(name);
        }
        try {
            StormSidecar born = new StormSidecar(name, time, network, disk, store, written, random.split());
            sidecar = Optional.of(born);
            born.onMail(() -> pollSoon(born));
            time.after(random.nextLong(5, 400) * Timeline.MILLI, () -> subscribe(born));
            ask(born, life);
            tick(born);
            onBirth.accept(born);
        } catch (IOException e) {
            // As a supervisor does.
            time.after(3 * Timeline.SECOND, () -> {
                if (life == lives) {
                    start();
                }
            });
        }
    }

    void kill() {
        lives++;
        paths.forEach(EventPath::close);
        paths = List.of();
        sidecar.ifPresent(StormSidecar::kill);
        oracle.killed(name);
        sidecar = Optional.empty();
    }

    /** Ends it as a supervisor does: lets go first, for ten seconds at most; {@code then} is called once. */
    void end(Runnable then) {
        if (sidecar.isEmpty()) {
            then.run();
            return;
        }
        StormSidecar ending = sidecar.get();
        Runnable gone = () -> {
            if (sidecar.filter(ending::equals).isPresent()) {
                kill();
                then.run();
            }
        };
        onEnd.accept(ending);
        ending.letGo().whenComplete((_, _) -> time.after(Timeline.MILLI, gone));
        time.after(10 * Timeline.SECOND, gone);
    }

    /** Takes effect at the next start. */
    void moveTo(VirtualEngine other) {
        configured = other;
    }

    /** Takes effect at the next start. */
    void dryRun(boolean value) {
        holdBy(value ? StormSidecar.Way.DRY_RUN : home);
    }

    /** Takes effect at the next start. */
    void holdBy(StormSidecar.Way way) {
        written = written.by(way);
    }

    /** Whether it holds by what its operator wrote first. */
    boolean holdsByFirstWay() {
        return written.way() == home;
    }

    private void subscribe(StormSidecar born) {
        if (sidecar.filter(born::equals).isPresent()) {
            List<EventPath> ways = new ArrayList<>();
            for (VirtualEngine rank : engine().ranks()) {
                EventPath way = new EventPath(
                        name,
                        time,
                        random.split(),
                        rank,
                        oracle,
                        born.events(ways.size()),
                        replay,
                        () -> pollSoon(born));
                way.weather(weather);
                ways.add(way);
            }
            paths = ways;
        }
    }

    private void poll(StormSidecar born) {
        born.poll();
        oracle.decides(name, born::decided);
    }

    /** Does what sends mail to the sidecar's controller, which finds it the next time that it looks by itself. */
    void withoutWaking(Runnable what) {
        unwoken = true;
        what.run();
        unwoken = false;
    }

    private void pollSoon(StormSidecar born) {
        if (!polling && !unwoken) {
            polling = true;
            time.after(2 * Timeline.MILLI, () -> {
                polling = false;
                if (sidecar.filter(born::equals).isPresent()) {
                    poll(born);
                }
            });
        }
    }

    private void tick(StormSidecar born) {
        if (sidecar.filter(born::equals).isPresent()) {
            paths.forEach(EventPath::round);
            poll(born);
            time.after(quiet ? Timeline.SECOND : written.tick().toNanos(), () -> tick(born));
        }
    }

    private void ask(StormSidecar born, long life) {
        if (life != lives) {
            return;
        }
        time.after(quiet ? 2 * Timeline.SECOND : READING_EVERY, () -> ask(born, life));
        boolean bad = badReadings > 0 && random.nextInt(100) < badReadings;
        if (bad && random.nextBoolean()) {
            if (random.nextBoolean()) {
                born.noReadings();
            }
            return;
        }
        VirtualEngine asked = engine();
        if (!asked.isUp()) {
            born.noReadings();
            return;
        }
        long at = time.now();
        List<Load> stats = asked.ranks().stream()
                .map(rank -> fromGauges ? rank.reported() : rank.stats())
                .toList();
        int capacity = asked.capacity();
        boolean rest = asked.ranks().stream().allMatch(VirtualEngine::isIdle);
        time.after(bad ? random.nextLong(4 * Timeline.SECOND) : 3 * Timeline.MILLI, () -> {
            if (life == lives) {
                born.readings(asked.settings, capacity, stats, at);
                restReadings += rest ? 1 : 0;
            }
        });
    }

    /** How long a hold of the client lasts. */
    Duration lease(int longestSeconds) {
        return Duration.ofSeconds(random.nextInt(3, longestSeconds + 1));
    }
}
