package io.holdfast.benchmarks;

import io.holdfast.core.ControllerSettings;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.Holding;
import io.holdfast.embed.SharedFleet;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.Hot;
import io.holdfast.embed.cell.HotEnd;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.events.SglangBlockNames;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Measures what a fleet does to a tick: three engines with the same events, of which one takes part in a cell of 64, tick by turns
 * in virtual time. Printed is the processor time of a tick, and the ratio of its 99th percentile to the first engine's, for
 * the second one that shares nothing either (A/A) and for the one in the fleet.
 *
 * <p>A round of the fleet is work of another thread, and is printed by itself; what it asks of the engine's own thread is
 * in its ticks.
 */
public final class TickLoad {
    private static final int BLOCK = 16;
    private static final int HEAD = 64;
    private static final int TAIL = 32;
    private static final int HEADS = 400;
    private static final int CAPACITY = 40_000;
    private static final int REQUESTS_A_TICK = 2;
    private static final Duration TICK = Duration.ofMillis(100);
    private static final int TICKS_A_SECOND = 10;
    private static final int WARM_UP = 2_000;
    private static final Cell CELL = new Cell("model", BLOCK, "");
    private static final List<String> ARMS = List.of("alone", "alone again", "in a fleet");

    private final ThreadMXBean processor = ManagementFactory.getThreadMXBean();
    private final SplittableRandom random = new SplittableRandom(1);
    private long nanos = 1_000_000_000L;
    private final List<Arm> arms = new ArrayList<>();
    private final MemoryFleetStore store = new MemoryFleetStore(() -> nanos);
    private final SharedFleet shared;
    private final List<CellMember> others = new ArrayList<>();
    private final int[][] heads = new int[HEADS][HEAD * BLOCK];
    private final LinkedHashMap<Integer, long[]> leastRecent = new LinkedHashMap<>(16, 0.75f, true);
    private int resident;
    private int nextTail = HEADS;
    private long batch;
    private long rounds;
    private long roundNanos;

    /** One engine that takes all pins and evicts as if there were none, so that all of them have the same events. */
    private final class Arm {
        private final Fleet fleet = new Fleet(BLOCK, () -> nanos);
        private final Engine engine;
        private final KvEventSink events;

        Arm(String id) throws IOException {
            ControllerSettings settings = new ControllerSettings(
                    id,
                    BudgetSettings.defaults(),
                    AutomaticHolds.ON,
                    Duration.ofMinutes(5),
                    Duration.ZERO,
                    TICK,
                    ControllerSettings.OWN_REQUESTS_AN_HOUR,
                    Optional.empty());
            RandomGenerator coins = new SplittableRandom(2);
            engine = fleet.add(EngineOptions.sglang(id)
                    .withHolding(Holding.of(new Taking(), new Nowhere(), Runnable::run)
                            .withSettings(settings)
                            .withRandom(coins)));
            events = engine.events();
        }
    }

    private static final class Taking implements Backend {
        @Override
        public String name() {
            return "taking";
        }

        @Override
        public BackendTraits traits() {
            return BackendTraits.soft();
        }

        @Override
        public Optional<String> hindrance() {
            return Optional.empty();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return CompletableFuture.completedFuture(new Capabilities(true, "takes all"));
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "pinned"));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "unpinned"));
        }
    }

    private static final class Nowhere implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.of();
        }

        @Override
        public void append(LedgerLine line) {
            // A disk is not measured here.
        }

        @Override
        public void replaceWith(List<LedgerLine> lines) {
            // As above.
        }
    }

    /** A store that tells nothing, for those whose digests alone are needed. */
    private record Deaf(FleetStore store) implements FleetStore {
        @Override
        public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
            return store.put(key, value, ttl);
        }

        @Override
        public CompletionStage<Optional<byte[]>> get(Key key) {
            return CompletableFuture.completedFuture(Optional.empty());
        }

        @Override
        public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
            return CompletableFuture.completedFuture(Map.of());
        }

        @Override
        public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
            return CompletableFuture.completedFuture(new LinkedHashMap<>());
        }

        @Override
        public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
            return CompletableFuture.completedFuture(false);
        }

        @Override
        public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
            return CompletableFuture.completedFuture(false);
        }

        @Override
        public String said() {
            return "deaf";
        }

        @Override
        public void close() {
            // It is another's.
        }
    }

    private TickLoad(int engines) throws IOException {
        for (String id : ARMS) {
            arms.add(new Arm(id.replace(' ', '-')));
        }
        for (int[] head : heads) {
            Arrays.setAll(head, i -> random.nextInt(150_000));
        }
        shared = new SharedFleet(arms.getLast().fleet, store, CELL, "this", random.split());
        for (int i = 1; i < engines; i++) {
            Hot hot = hot(i);
            others.add(new CellMember(
                    new Deaf(store), CELL, "e" + i, "", () -> nanos, random.split(), () -> hot, List::of));
        }
    }

    /** Takes the number of ticks in a block (1,000), of blocks (20) and of engines in the cell (64). */
    public static void main(String[] args) throws IOException {
        int ticks = args.length > 0 ? Integer.parseInt(args[0]) : 1_000;
        int blocks = args.length > 1 ? Integer.parseInt(args[1]) : 20;
        new TickLoad(args.length > 2 ? Integer.parseInt(args[2]) : 64).run(ticks, blocks);
    }

    /** A digest of another engine: of what is hot here it has a part, and touches as a router sends them there. */
    private Hot hot(int engine) {
        List<HotEnd> ends = new ArrayList<>();
        for (int i = 0; i < Hot.MOST_ENDS; i++) {
            int head = (i + engine) % HEADS;
            long[] names = new long[HEAD];
            ContentNames.names(heads[head], 0, heads[head].length, BLOCK, ContentNames.NO_NAMESPACE, names);
            boolean its = head % 8 == engine % 8;
            ends.add(new HotEnd(names[HEAD - 1], HEAD * BLOCK, its ? 60 : 1, its, its));
        }
        return new Hot(OptionalDouble.of(90), OptionalLong.of((long) CAPACITY * BLOCK), ends);
    }

    private void run(int ticks, int blocks) {
        long[][] times = new long[ARMS.size()][ticks];
        for (int i = 0; i < WARM_UP; i++) {
            tick(i, Optional.empty(), 0);
        }
        double[][] ratios = new double[ARMS.size()][blocks];
        double[][] medians = new double[ARMS.size()][blocks];
        double[][] tails = new double[ARMS.size()][blocks];
        rounds = 0;
        roundNanos = 0;
        for (int block = 0; block < blocks; block++) {
            for (int i = 0; i < ticks; i++) {
                tick(WARM_UP + block * ticks + i, Optional.of(times), i);
            }
            for (int arm = 0; arm < times.length; arm++) {
                Arrays.sort(times[arm]);
                medians[arm][block] = times[arm][ticks / 2] / 1e3;
                tails[arm][block] = times[arm][ticks * 99 / 100] / 1e3;
                ratios[arm][block] = tails[arm][block] / tails[0][block];
            }
            System.out.printf(
                    Locale.ROOT,
                    "%d: 99 %% of a tick %.0f, %.0f, %.0f us%n",
                    block + 1,
                    tails[0][block],
                    tails[1][block],
                    tails[2][block]);
        }
        System.out.printf(
                Locale.ROOT,
                "%d blocks of %d ticks each; the fleet has %d engines, of %d prefixes here %d are worth less for it%n",
                blocks,
                ticks,
                shared.members().getFirst().view().engines().size(),
                shared.members().getFirst().view().prefixes().size(),
                shared.members().getFirst().view().prefixes().stream()
                        .filter(each -> shared.members().getFirst().view().superfluous(each.name()))
                        .count());
        for (int arm = 0; arm < ARMS.size(); arm++) {
            System.out.printf(
                    Locale.ROOT,
                    "%-12s tick %s us (median), %s us (99 %%); 99 %% to the first's %s%n",
                    ARMS.get(arm),
                    spread(medians[arm], 0),
                    spread(tails[arm], 0),
                    arm == 0 ? "1" : spread(ratios[arm], 3));
        }
        System.out.printf(
                Locale.ROOT,
                "%.1f ms a second of virtual time for the part in the fleet, by another thread%n",
                roundNanos / 1e6 / rounds);
    }

    /** The median and the quartiles. */
    private static String spread(double[] values, int digits) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        String form = "%." + digits + "f";
        return String.format(
                Locale.ROOT,
                form + " [" + form + "-" + form + "]",
                sorted[sorted.length / 2],
                sorted[sorted.length / 4],
                sorted[sorted.length * 3 / 4]);
    }

    private void tick(int number, Optional<long[][]> times, int at) {
        nanos += TICK.toNanos();
        for (int i = 0; i < REQUESTS_A_TICK; i++) {
            request();
        }
        if (number % TICKS_A_SECOND == 0) {
            arms.forEach(arm -> arm.engine.readings(readings()));
            others.forEach(other -> other.poll(nanos));
            long start = processor.getCurrentThreadCpuTime();
            shared.poll();
            roundNanos += processor.getCurrentThreadCpuTime() - start;
            rounds++;
        }
        for (int i = 0; i < arms.size(); i++) {
            int turn = (number + i) % arms.size();
            long start = processor.getCurrentThreadCpuTime();
            arms.get(turn).fleet.doWork();
            long took = processor.getCurrentThreadCpuTime() - start;
            times.ifPresent(all -> all[turn][at] = took);
        }
    }

    /** One prompt: a head that is asked for the more often the lower its number, and a tail of its own. */
    private void request() {
        int head = (int) (HEADS * Math.pow(random.nextDouble(), 3));
        int tail = nextTail++;
        int[] prompt = Arrays.copyOf(heads[head], (HEAD + TAIL) * BLOCK);
        for (int i = HEAD * BLOCK; i < prompt.length; i++) {
            prompt[i] = random.nextInt(150_000);
        }
        long[] names = SglangBlockNames.of(prompt, BLOCK);
        boolean known = leastRecent.get(head) != null;
        int from = known ? HEAD : 0;
        while (resident + HEAD + TAIL - from > CAPACITY) {
            evict(head);
        }
        StoredBlocks stored = new StoredBlocks().blockTokens(BLOCK).in(Tier.GPU);
        if (known) {
            stored.under(names[HEAD - 1]);
        }
        for (int i = from; i < names.length; i++) {
            stored.add(names[i]);
            for (int t = i * BLOCK; t < (i + 1) * BLOCK; t++) {
                stored.addToken(prompt[t]);
            }
        }
        send(events -> events.stored(stored));
        leastRecent.put(tail, Arrays.copyOfRange(names, HEAD, names.length));
        // What lies above goes later.
        leastRecent.put(head, Arrays.copyOf(names, HEAD));
        resident += names.length - from;
    }

    private void evict(int kept) {
        Map.Entry<Integer, long[]> oldest = leastRecent.entrySet().iterator().next();
        if (oldest.getKey() == kept) {
            throw new IllegalStateException("the cache is too small for a prompt");
        }
        long[] blocks = oldest.getValue();
        long[] reversed = new long[blocks.length];
        Arrays.setAll(reversed, i -> blocks[blocks.length - 1 - i]);
        leastRecent.remove(oldest.getKey());
        send(events -> events.removed(reversed, 0, reversed.length, Tier.GPU, 0));
        resident -= blocks.length;
    }

    private void send(Consumer<KvEventSink> event) {
        for (Arm arm : arms) {
            arm.events.batchStarted(batch, nanos / 1_000);
            event.accept(arm.events);
            arm.events.batchEnded();
        }
        batch++;
    }

    private EngineReadings readings() {
        return EngineReadings.unknownBut("the benchmark does not say")
                .capacityTokens(Reading.known(CAPACITY * BLOCK, "benchmark", nanos))
                .blockTokens(Reading.known(BLOCK, "benchmark", nanos))
                .contextTokens(Reading.known(4_096, "benchmark", nanos))
                .largestAcceptedTokens(Reading.known(4_096, "benchmark", nanos))
                .runningRequests(Reading.known(1, "benchmark", nanos))
                .waitingRequests(Reading.known(0, "benchmark", nanos))
                .usedTokens(Reading.known(0, "benchmark", nanos))
                .build();
    }
}
