package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * One engine's part in a cell: says what is hot at it, and knows what the others say.
 *
 * <h2>Rounds</h2>
 *
 * About every {@link #PERIOD} it puts a sign that the engine is there, its digest, its report and the holds that it
 * took, and reads those of the others. {@link #poll} begins calls and looks whether they were answered; what is not
 * answered within a period is given up.
 *
 * <h2>When a round tells something</h2>
 *
 * All calls were done, and the store shows our own sign as we put it, in this round or in the one before. So a store that
 * drops, repeats or invents values, or that stands still, is found out by what it says about us. The view counts from
 * when that sign was put, and two periods later there is none: the engine decides as if it were alone.
 *
 * <h2>Above 100 engines</h2>
 *
 * Reading all digests grows with the square of the engines. Then each adds its touches to a window of sums and reads the
 * largest of them, above 200 it tells no digest any more, and who has a copy is not known: no copy is called
 * superfluous, and whether touches follow the cache is not measured. Who is there is read from the signs, which are small. Clocks need not agree on the window: its number
 * is part of the sign, the highest is in force, and who sees it grow old puts the next one. A window's age times the
 * engines is summed in it too, as the name 0, which is no block's.
 */
public final class CellMember {
    /** Time between two rounds, a tenth more or less. */
    public static final Duration PERIOD = Duration.ofSeconds(10);
    /**
     * Time after which what was not renewed counts no more: two periods at their longest, and a second between polls.
     */
    public static final Duration TWO_PERIODS = Duration.ofSeconds(23);
    /** The most holds of the fleet that a cell has. */
    public static final int MOST_HOLDS = 200;
    /** The most engines that a cell has; larger ones are parted by their namespace. */
    public static final int MOST_ENGINES = 1_000;

    private static final double JITTER = 0.1;
    private static final Duration TTL = Duration.ofSeconds(45);
    private static final Duration WINDOW = Duration.ofMinutes(10);
    private static final Duration WINDOW_TTL = Duration.ofMinutes(25);
    private static final String TOUCHES = "touches";
    private static final long AGE = 0;
    private static final int SUMS_ABOVE = 100;
    private static final int DIGESTS_BELOW = 80;
    /** Those that died lately are still there. */
    private static final int MOST_DIGESTS = 2 * SUMS_ABOVE;

    private static final int MOST_SUMS = 2_000;
    /** How many digests may be missing between the newest sign of an engine and its digest. */
    private static final int DIGEST_BEHIND = 2;
    /** Above 100 engines reports are read while somebody asks for them. */
    private static final Duration ASKED = Duration.ofMinutes(1);

    private final FleetStore store;
    private final String cell;
    private final String engine;
    private final String address;
    private final LongSupplier clock;
    private final RandomGenerator random;
    private final Supplier<Hot> hot;
    private final Supplier<List<HeldCopy>> reports;
    private final Optional<CurveExchange> curves;
    private final long process;

    private final HoldBook book = new HoldBook();
    private final Roll roll = new Roll();
    private final FollowMeter meter = new FollowMeter();
    private final Tally tally = new Tally();

    private Optional<Round> round = Optional.empty();
    private long count = -1;
    private long putNow;
    private long putBefore;
    private Optional<Long> next = Optional.empty();
    private Hot own = Hot.NOTHING;
    private List<HeldCopy> ownCopies = List.of();
    private boolean reported;
    private Map<String, Digest> digests = Map.of();
    private Map<Long, Double> sums = Map.of();
    private boolean bySums;
    private long window;
    private long windowSince;
    private Optional<Long> added = Optional.empty();

    private volatile Optional<Known> known = Optional.empty();
    private volatile Optional<Long> asked = Optional.empty();
    private volatile Optional<Long> twinSeen = Optional.empty();

    /** What a good round told, and when the sign was put that it showed. */
    private record Known(CellView view, Map<String, HoldReport> reports, long goodNanos) {}

    /**
     * Takes part for one engine; nobody else does for it at the same time.
     *
     * @param engine its name, of letters, digits, dots, colons and dashes, which no other engine of the cell has
     * @param address where its sidecar is reached; empty where nobody may ask it
     * @param clock nanoseconds, of any origin
     * @param hot what is hot at it now; called by {@link #poll}
     * @param reports what it made of {@link #wanted}; called by {@link #poll}
     * @throws IllegalArgumentException with one sentence, where the engine's name or the address is none
     */
    public CellMember(
            FleetStore store,
            Cell cell,
            String engine,
            String address,
            LongSupplier clock,
            RandomGenerator random,
            Supplier<Hot> hot,
            Supplier<List<HeldCopy>> reports) {
        this(store, cell, engine, address, clock, random, hot, reports, Optional.empty());
    }

    CellMember(
            FleetStore store,
            Cell cell,
            String engine,
            String address,
            LongSupplier clock,
            RandomGenerator random,
            Supplier<Hot> hot,
            Supplier<List<HeldCopy>> reports,
            Optional<CurveExchange> curves) {
        Form.checkEngine(engine);
        Form.checkAddress(address);
        this.store = store;
        this.cell = cell.id();
        this.engine = engine;
        this.address = address;
        this.clock = clock;
        this.random = random;
        this.hot = hot;
        this.reports = reports;
        this.curves = curves;
        this.process = random.nextLong();
    }

    /**
     * Does what is due. One thread calls it at least once a second, by preference not that of the engine's events; it
     * never waits.
     *
     * @param nowNanos the time by the member's clock
     */
    public void poll(long nowNanos) {
        round.ifPresent(each -> advance(each, nowNanos));
        if (round.isEmpty() && next.map(due -> nowNanos - due >= 0).orElse(true)) {
            begin(nowNanos);
        } else if (round.isEmpty()) {
            putHolds(new Round(nowNanos, false), book.toPut(nowNanos, true));
        }
        known.filter(each -> each.view().engines().size() > roll.size(nowNanos) + 1)
                .ifPresent(each -> known = Optional.of(new Known(look(nowNanos), each.reports(), each.goodNanos())));
    }

    /** What is known of the cell now; {@link CellView#NONE} after two periods without an answer. Any thread may ask. */
    public CellView view() {
        return good().map(Known::view).orElse(CellView.NONE);
    }

    /**
     * Takes a hold for the fleet, which this process puts again until it ends; taking it again prolongs it. Any thread
     * may.
     *
     * @return false where the cell has as many as it can, or where the same was released before
     */
    public boolean hold(FleetHold hold) {
        return book.take(hold, clock.getAsLong());
    }

    /** Ends a hold of the fleet, whoever took it; false where there is none. Any thread may. */
    public boolean release(String id) {
        return book.release(id, clock.getAsLong());
    }

    /**
     * Holds of the fleet for which this engine is chosen now, with what is left of their leases; none while nothing is
     * known of the cell. Any thread may ask.
     */
    public List<FleetHold> wanted() {
        Rendezvous among = view().rendezvous();
        return book.all(clock.getAsLong()).keySet().stream()
                .filter(hold -> among.chooses(engine, hold.name(), hold.copies()))
                .toList();
    }

    /** All holds of the fleet, and what engines said about their copies of each. Any thread may ask. */
    public List<FleetHoldView> fleetHolds() {
        long now = clock.getAsLong();
        asked = Optional.of(now);
        Rendezvous among = view().rendezvous();
        Map<String, Map<String, HeldCopy>> said = new HashMap<>();
        good().ifPresent(each -> each.reports()
                .forEach((name, report) -> report.copies()
                        .forEach(copy -> said.computeIfAbsent(copy.hold(), id -> new TreeMap<>())
                                .put(name, copy))));
        List<FleetHoldView> all = new ArrayList<>();
        book.all(now)
                .forEach((hold, ours) -> all.add(new FleetHoldView(
                        hold, ours, among.top(hold.name(), hold.copies()), said.getOrDefault(hold.id(), Map.of()))));
        return all;
    }

    /** Ids of the holds of the fleet that are not over. */
    Set<String> living() {
        return book.all(clock.getAsLong()).keySet().stream().map(FleetHold::id).collect(Collectors.toSet());
    }

    /** What taking part cost, and what became of it. Any thread may ask. */
    public CellCounters counters() {
        long now = clock.getAsLong();
        return tally.read(
                known.map(each -> OptionalDouble.of(seconds(now - each.goodNanos())))
                        .orElse(OptionalDouble.empty()),
                twinSeen.filter(at -> now - at < ASKED.toNanos()).isPresent());
    }

    private Optional<Known> good() {
        return known.filter(each -> clock.getAsLong() - each.goodNanos() <= TWO_PERIODS.toNanos());
    }

    private void begin(long now) {
        Round begun = new Round(now, true);
        count++;
        putBefore = putNow;
        putNow = now;
        own = hot.get();
        ownCopies = List.copyOf(reports.get());
        if (bySums && now - windowSince >= WINDOW.toNanos()) {
            window++;
            windowSince = now;
        }
        // Before the store has shown our sign that of an earlier process of ours may still be there.
        if (known.isPresent()) {
            begun.before(() -> store.get(new FleetStore.Key(cell, Presence.KIND, engine)));
        }
        put(begun, Presence.KIND, engine, new Presence(engine, address, process, count, window).bytes(cell), TTL);
        // Digests are read in cells of up to 100 engines; who counts them may be behind.
        if (!bySums || roll.size(now) < MOST_DIGESTS) {
            put(begun, Digest.KIND, engine, new Digest(engine, address, process, count, own).bytes(cell), TTL);
        }
        if (reported || !ownCopies.isEmpty()) {
            reported = !ownCopies.isEmpty();
            put(begun, HoldReport.KIND, engine, new HoldReport(engine, ownCopies).bytes(cell), TTL);
        }
        curves.flatMap(CurveExchange::toTell)
                .ifPresent(own -> put(begun, Curves.KIND, engine, own.bytes(cell), CurveExchange.TTL));
        if (bySums) {
            addTouches(begun, now);
        }
        added = Optional.of(now);
        putHolds(begun, book.toPut(now, false));
    }

    /** Puts holds, and goes on with the round that they belong to. */
    private void putHolds(Round begun, List<FleetHold> holds) {
        for (FleetHold hold : holds) {
            // A hold may last longer than anything stays in a store, but is put again in each round.
            long millis = Math.clamp(hold.leaseMillis(), 1, FleetStore.LONGEST_TTL.toMillis());
            Duration ttl = hold.released() ? Duration.ofNanos(HoldBook.RELEASED_NANOS) : Duration.ofMillis(millis);
            put(begun, FleetHold.KIND, hold.keyName(), hold.bytes(cell), ttl);
        }
        if (begun.readsToo || !holds.isEmpty()) {
            round = Optional.of(begun);
            advance(begun, begun.began);
        }
    }

    private void put(Round begun, String kind, String name, byte[] value, Duration ttl) {
        begun.put(() -> store.put(new FleetStore.Key(cell, kind, name), value, ttl));
        tally.sent(value.length);
    }

    private void addTouches(Round begun, long now) {
        double elapsed = Math.min(seconds(now - added.orElse(now - PERIOD.toNanos())), seconds(TWO_PERIODS.toNanos()));
        Map<Long, Double> amounts = new HashMap<>();
        own.ends().stream()
                .filter(end -> end.touchesAnHour() > 0)
                .forEach(end -> amounts.put(end.name(), end.touchesAnHour() * elapsed / 3_600));
        amounts.put(AGE, elapsed);
        begun.put(() -> store.add(windowKey(), amounts, WINDOW_TTL));
        tally.sent(16 * amounts.size());
    }

    private FleetStore.Key windowKey() {
        return new FleetStore.Key(cell, TOUCHES, Long.toString(window));
    }

    private void advance(Round under, long now) {
        if (now - under.began >= PERIOD.toNanos()) {
            end(under, now, false);
        } else if (under.putsDone() && !under.readsToo) {
            round = Optional.empty();
        } else if (under.putsDone() && !under.reads()) {
            read(under, now);
            advance(under, now);
        } else if (under.readsDone()) {
            end(under, now, learned(under, now));
        }
    }

    private void read(Round under, long now) {
        Map<String, Integer> most = new HashMap<>();
        most.put(Presence.KIND, MOST_ENGINES);
        most.put(FleetHold.KIND, 2 * MOST_HOLDS);
        if (!bySums || asked.map(at -> now - at < ASKED.toNanos()).orElse(false)) {
            most.put(HoldReport.KIND, MOST_ENGINES);
        }
        if (bySums) {
            under.top(store, windowKey(), MOST_SUMS + 1);
        } else {
            most.put(Digest.KIND, MOST_DIGESTS);
        }
        if (curves.filter(CurveExchange::looks).isPresent()) {
            most.put(Curves.KIND, CurveExchange.MOST_ENGINES);
        }
        under.list(store, cell, most);
    }

    private void end(Round ended, long now, boolean good) {
        round = Optional.empty();
        double factor = 1 + JITTER * (2 * random.nextDouble() - 1);
        // After a failure sooner: one of them must not look like a death to the others.
        long wait = (long) (PERIOD.toNanos() * factor * (good ? 1 : 0.5));
        long due = ended.began + wait;
        next = Optional.of(due - now < 0 ? now : due);
        if (ended.readsToo) {
            tally.round(good ? Optional.empty() : Optional.of(ended.trouble()), seconds(now - ended.began), bySums);
        }
    }

    /** Takes what a round read; false where it tells nothing. */
    private boolean learned(Round ended, long now) {
        if (!ended.succeeded()) {
            return false;
        }
        try {
            ended.before().ifPresent(sign -> lookForTwin(sign, now));
            Map<String, Presence> signs =
                    parsed(ended.listed(Presence.KIND), MOST_ENGINES, Presence::parse, Presence::engine);
            Presence echo = signs.remove(engine);
            if (echo == null || echo.count() > count || echo.count() < count - 1) {
                return false;
            }
            Map<String, FleetHold> holds =
                    parsed(ended.listed(FleetHold.KIND), 2 * MOST_HOLDS, FleetHold::parse, FleetHold::keyName);
            Map<String, HoldReport> said =
                    parsed(ended.listed(HoldReport.KIND), MOST_ENGINES, HoldReport::parse, HoldReport::engine);
            Map<String, Digest> read = parsed(ended.listed(Digest.KIND), MOST_DIGESTS, Digest::parse, Digest::engine);
            Map<String, Curves> counted =
                    parsed(ended.listed(Curves.KIND), CurveExchange.MOST_ENGINES, Curves::parse, Curves::engine);
            Map<Long, Double> top = sums(ended.sums());

            roll.read(signs, now);
            Map<String, Presence> alive = roll.alive(now);
            tally.refused(Refusal.TOO_MANY, book.read(holds.values(), now));
            said.keySet().retainAll(alive.keySet());
            said.put(engine, new HoldReport(engine, ownCopies));
            counted.keySet().retainAll(alive.keySet());
            curves.ifPresent(each -> each.read(counted.values()));
            learnHot(read, top, alive, now);
            known = Optional.of(new Known(look(now), Map.copyOf(said), echo.count() == count ? putNow : putBefore));
            return true;
        } catch (RuntimeException e) {
            // A collection of the store's may do anything when it is read.
            return false;
        }
    }

    /** Looks at our sign as it is before we put the next: ours, unless somebody else has put another since. */
    private void lookForTwin(byte[] sign, long now) {
        if (Presence.parse(cell, sign) instanceof Parsed.Read<Presence>(Presence seen) && seen.process() != process) {
            tally.refused(Refusal.SAME_NAME, 1);
            twinSeen = Optional.of(now);
        }
    }

    private void learnHot(Map<String, Digest> read, Map<Long, Double> top, Map<String, Presence> alive, long now) {
        if (bySums) {
            digests = Map.of();
            learnSums(top, alive, now);
        } else {
            read.remove(engine);
            int all = read.size();
            read.values()
                    .removeIf(digest -> Optional.ofNullable(alive.get(digest.engine()))
                            .map(sign ->
                                    sign.process() != digest.process() || sign.count() - digest.count() > DIGEST_BEHIND)
                            .orElse(true));
            tally.refused(Refusal.STALE, all - read.size());
            read.put(engine, new Digest(engine, address, process, count, own));
            digests = Map.copyOf(read);
            meter.observe(digests);
        }
        int engines = alive.size() + 1;
        if (bySums ? engines < DIGESTS_BELOW : engines > SUMS_ABOVE) {
            bySums = !bySums;
            sums = Map.of();
            digests = Map.of();
            windowSince = now;
            meter.clear();
        }
    }

    private void learnSums(Map<Long, Double> top, Map<String, Presence> alive, long now) {
        double age = Optional.ofNullable(top.remove(AGE)).orElse(0.0) / (alive.size() + 1);
        // A window that has just begun has not heard all engines: what the last one said stays.
        if (age >= seconds(PERIOD.toNanos()) || (sums.isEmpty() && age >= 1)) {
            top.replaceAll((name, sum) -> sum / age * 3_600);
            sums = top;
        }
        long newest = alive.values().stream().mapToLong(Presence::window).max().orElse(0);
        if (newest > window) {
            window = newest;
            windowSince = now;
        }
    }

    private CellView look(long now) {
        List<CellEngine> engines = roll.engines(now);
        engines.add(new CellEngine(engine, address, Duration.ofNanos(now - putNow)));
        engines.sort(Comparator.comparing(CellEngine::id));
        if (bySums) {
            return CellView.ofSums(engine, engines, sums, own);
        }
        Map<String, Hot> alive = new HashMap<>();
        engines.forEach(each ->
                Optional.ofNullable(digests.get(each.id())).ifPresent(digest -> alive.put(each.id(), digest.hot())));
        return CellView.of(engine, engines, alive, meter.follows());
    }

    /** Reads so many values of a store's answer, and leaves out those that are none of this cell and key. */
    private <T> Map<String, T> parsed(
            Map<String, byte[]> values,
            int most,
            BiFunction<String, byte[], Parsed<T>> parser,
            Function<T, String> key) {
        Map<String, T> read = new HashMap<>();
        int seen = 0;
        for (Map.Entry<String, byte[]> each : values.entrySet()) {
            if (seen++ == most) {
                tally.refused(Refusal.TOO_MANY, 1);
                break;
            }
            tally.received(each.getValue().length);
            switch (parser.apply(cell, each.getValue())) {
                case Parsed.Refused<T>(Refusal why) -> tally.refused(why, 1);
                case Parsed.Read<T>(T value) -> {
                    if (key.apply(value).equals(each.getKey())) {
                        read.put(each.getKey(), value);
                    } else {
                        tally.refused(Refusal.OTHER_KEY, 1);
                    }
                }
            }
        }
        return read;
    }

    private Map<Long, Double> sums(Map<Long, Double> values) {
        Map<Long, Double> read = new HashMap<>();
        for (Map.Entry<Long, Double> each : values.entrySet()) {
            if (read.size() > MOST_SUMS) {
                tally.refused(Refusal.TOO_MANY, 1);
                break;
            }
            tally.received(16);
            if (each.getValue() >= 0 && Double.isFinite(each.getValue())) {
                read.put(each.getKey(), each.getValue());
            } else {
                tally.refused(Refusal.MALFORMED, 1);
            }
        }
        return read;
    }

    private static double seconds(long nanos) {
        return nanos / 1e9;
    }
}
