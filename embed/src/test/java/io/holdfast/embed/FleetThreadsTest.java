package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.BLOCK;
import static io.holdfast.embed.ToldEngine.tokens;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.Tier;
import io.holdfast.embed.ToldEngine.ContentOnly;
import io.holdfast.embed.ledger.FileLedgerStore;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may call what, and what it costs the caller. */
class FleetThreadsTest {
    private static final int[] LONG = tokens(100, 300);
    /** What a run may allocate once, whatever its length. */
    private static final long ONCE = 16 << 10;

    private static final int MATCHES = 5_000;

    @TempDir
    Path state;

    @Test
    void match_intoAKeptBuffer_allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Fleet fleet = new Fleet(BLOCK);
        for (int i = 0; i < 40; i++) {
            Engine engine = fleet.add(EngineOptions.sglang("engine " + i));
            new ToldEngine(engine.events(1)).stores(tokens(100, 10 + 7 * i));
        }
        PrefixMatch match = new PrefixMatch();
        long[] names = new long[300];
        ContentNames.names(LONG, 0, LONG.length, BLOCK, ContentNames.NO_NAMESPACE, names);
        long[] found = new long[1];
        Runnable matches = () -> {
            for (int i = 0; i < MATCHES; i++) {
                fleet.match(LONG, match);
                found[0] += match.tokens(match.longest().orElseThrow());
                fleet.matchNames(names, 0, 300, match);
                found[0] += match.tokens(match.longest().orElseThrow(), 1, Tier.GPU);
            }
        };
        matches.run();

        long before = threads.getCurrentThreadAllocatedBytes();
        matches.run();
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;

        assertThat(found[0]).isEqualTo(4L * MATCHES * 283 * BLOCK);
        assertThat(bytes).as("of %d matches", 2 * MATCHES).isLessThan(ONCE);
    }

    /** A prefix comes and goes in whole batches; engines come and go, and their caches' numbers with them. */
    @Test
    void match_whileAnotherThreadApplies_seesWholeBatchesOfTheRightEngine() throws Exception {
        int[] ours = tokens(10_000, 64);
        int[] theirs = tokens(50_000, 48);
        Fleet fleet = new Fleet(BLOCK);
        Engine lasting = fleet.add(EngineOptions.sglang("lasting"));
        ToldEngine told = new ToldEngine(lasting.events());
        Queue<String> wrong = new ConcurrentLinkedQueue<>();
        AtomicLong looks = new AtomicLong();
        AtomicLong hits = new AtomicLong();
        CountDownLatch stop = new CountDownLatch(1);
        List<Thread> readers = IntStream.range(0, 3)
                .mapToObj(i -> Thread.ofPlatform().start(() -> {
                    PrefixMatch match = new PrefixMatch();
                    while (stop.getCount() > 0) {
                        fleet.match(ours, match);
                        int all = match.tokens(lasting);
                        if (all != 0 && all != ours.length) {
                            wrong.add("half a batch: " + all);
                        }
                        match.longest()
                                .filter(found -> found != lasting)
                                .ifPresent(found -> wrong.add("ours at " + found));
                        fleet.match(theirs, match);
                        match.longest().ifPresent(found -> {
                            hits.incrementAndGet();
                            boolean right = found.id().startsWith("theirs") && match.tokens(found) == theirs.length;
                            if (!right) {
                                wrong.add("theirs at " + found + ": " + match.tokens(found));
                            }
                        });
                        looks.incrementAndGet();
                    }
                }))
                .toList();
        long rounds = 0;
        while (rounds < 500 || looks.get() < 500 || hits.get() < 20) {
            told.stores(ours);
            // One of them has the number that the other had before.
            Engine guest = fleet.add(EngineOptions.sglang((rounds % 2 == 0 ? "theirs " : "other ") + rounds));
            new ToldEngine(guest.events())
                    .stores(Tier.GPU, 0, ContentOnly.YES, rounds % 2 == 0 ? theirs : tokens(90_000, 8));
            told.removes(Tier.GPU, 0, ours);
            fleet.remove(guest);
            fleet.doWork();
            rounds++;
        }
        stop.countDown();
        for (Thread reader : readers) {
            reader.join();
        }
        fleet.close();

        assertThat(wrong).isEmpty();
    }

    @Test
    void runner_worksOnTheOneThreadOfItsFactory_andEndsWithIt() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        Queue<Thread> made = new ConcurrentLinkedQueue<>();
        ThreadFactory factory = task -> {
            Thread thread = Thread.ofPlatform().name("the embedder's").unstarted(task);
            made.add(thread);
            return thread;
        };
        Fleet fleet = new Fleet(BLOCK);
        try (FileLedgerStore store = FileLedgerStore.open(state, "one")) {
            Engine one = fleet.add(
                    EngineOptions.sglang("one").withHolding(Holding.of(new DryRunBackend(), store, Runnable::run)));
            FleetRunner runner = FleetRunner.start(fleet, factory);

            HoldView waits = one.hold(LONG, Lease.absolute(Duration.ofMinutes(1)))
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS);

            assertThat(waits.wantedBlocks()).isEqualTo(300);
            assertThat(made).hasSize(1);
            Set<Thread> after = Thread.getAllStackTraces().keySet();
            assertThat(after.stream().filter(thread -> !before.contains(thread)).map(Thread::getName))
                    .as("none of a pool, a timer or JeroMQ")
                    .contains("the embedder's")
                    .noneMatch(
                            name -> name.matches("(?i)(thread-|pool-|iothread|reaper|timer|forkjoin|zmq|holdfast).*"));
            assertThat(runner.fault()).isEmpty();
            runner.close();
            runner.close();
            assertThat(made.element().isAlive()).isFalse();
            assertThat(fleet.closed()).isTrue();
            assertThat(runner.fault()).isEmpty();
        }
    }

    @Test
    void runnerOfAFleetThatIsClosed_endsWithoutAFault() throws Exception {
        Queue<Thread> made = new ConcurrentLinkedQueue<>();
        Fleet fleet = new Fleet(BLOCK);
        FleetRunner runner = FleetRunner.start(fleet, task -> {
            Thread thread = Thread.ofPlatform().unstarted(task);
            made.add(thread);
            return thread;
        });

        fleet.close();
        made.element().join();

        assertThat(runner.fault()).isEmpty();
        runner.close();
    }

    @Test
    void runner_closed_waitsForWorkUnderWay() throws Exception {
        HeldUpClock clock = new HeldUpClock();
        Fleet fleet = new Fleet(BLOCK, clock);
        fleet.add(EngineOptions.sglang("one"));
        FleetRunner runner = FleetRunner.start(fleet, Thread.ofPlatform().factory());
        clock.awaitReader();

        Thread closing = Thread.ofPlatform().start(runner::close);
        while (closing.getState() != Thread.State.WAITING && closing.isAlive()) {
            Thread.onSpinWait();
        }

        assertThat(closing.isAlive()).as("it waits").isTrue();
        clock.goOn();
        closing.join();
        assertThat(fleet.closed()).isTrue();
    }

    @Test
    void runnerWhoseClockFails_saysSo() throws Exception {
        Queue<Thread> made = new ConcurrentLinkedQueue<>();
        Fleet fleet = new Fleet(BLOCK, () -> {
            throw new IllegalStateException("no time");
        });
        fleet.add(EngineOptions.sglang("one"));
        FleetRunner runner = FleetRunner.start(fleet, task -> {
            Thread thread = Thread.ofPlatform().unstarted(task);
            made.add(thread);
            return thread;
        });
        made.element().join();

        assertThat(runner.fault().orElseThrow()).contains("no time").contains("start another fleet");
        assertThat(fleet.closed()).isTrue();
    }

    /** Without sockets it rests as well, until somebody leaves it something. */
    @Test
    void worker_thatRests_isWokenByWhatIsLeftForIt() throws Exception {
        Fleet fleet = new Fleet(BLOCK);
        FleetRunner runner = FleetRunner.start(fleet, Thread.ofPlatform().factory());
        for (int i = 0; i < 50; i++) {
            Engine engine = fleet.add(EngineOptions.sglang("one"));
            fleet.remove(engine).toCompletableFuture().get(60, TimeUnit.SECONDS);
        }
        assertThat(fleet.engines()).isEmpty();
        runner.close();
    }
}
