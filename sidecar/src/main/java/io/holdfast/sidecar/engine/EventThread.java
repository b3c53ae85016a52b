package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.FrameListener;
import io.holdfast.events.KvEventLoop;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that reads every engine's events and drives every controller.
 *
 * <p>Each round reads what the sockets have, then polls the controllers that were told something or whose time has come:
 * beside many engines a round is about a few of them. Between two rounds events gather; mail for a
 * controller, a new subscription and the end of the thread end that. A controller that throws, polled or told of an event, is
 * a fault of ours: it is driven no more and {@link #fault} says so, while the other engines go on.
 *
 * <p>A thread that does not come round may be held up by a machine that is overloaded, or hang for good; nobody can tell which.
 * Every controller is faulted at once, since nothing ends what they hold meanwhile. When the thread comes round again, for as
 * many looks as it was missed and twice as many each time, whoever asked by {@link #onReturn} is told, and may look after the
 * engines with other controllers: the old ones decided by what they saw before, and stay out of office.
 */
public final class EventThread implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventThread.class);
    private static final int STOP_SECONDS = 10;
    private static final int LONGEST_WAIT_SECONDS = 1;
    /** Age at which a view answers as it is. */
    private static final long FRESH_NANOS = 10_000_000;

    private static final int MOST_DOUBLINGS = 5;
    private static final int IDLE_ROUNDS = 4;
    private static final String HANGS =
            "the event thread hangs, so every pin is released; engines are followed again when it comes round"
                    + " again, and if it does not, restart the sidecar and report this";

    private final KvEventLoop loop;
    private final LongSupplier clock;
    private volatile int pollMillis;
    private final List<Driven> driven = new CopyOnWriteArrayList<>();
    private final Queue<Consumer<KvEventLoop>> tasks = new ConcurrentLinkedQueue<>();
    private final Queue<Wanted> wanted = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile long cameRoundAt;
    private volatile long beganAt;
    private final AtomicLong rounds = new AtomicLong();
    private volatile boolean stopping;
    /** For {@link #look} alone. */
    private long seenRounds;

    private int looksWithoutARound;

    private int looksWithARound;
    private final AtomicInteger hangs = new AtomicInteger();
    private volatile boolean hanging;
    private volatile Runnable onReturn = () -> {};

    /** Somebody who waits until all is applied that had arrived when they asked. */
    private record Wanted(long askedAt, CompletableFuture<Void> done) {}

    /** A controller with what became of driving it. */
    private static final class Driven {
        private final Controller controller;
        private final Consumer<String> onFault;
        private final AtomicReference<String> fault = new AtomicReference<>("");
        private final AtomicBoolean hasMail = new AtomicBoolean(true);
        /** For the thread alone. */
        private boolean toldEvents;

        private long polledNanos;

        Driven(Controller controller, Consumer<String> onFault) {
            this.controller = controller;
            this.onFault = onFault;
        }

        String fault() {
            return fault.get();
        }

        /** Does this unless there is a fault, and makes what it throws the fault: an error of the machine as well. */
        void attempt(String what, Runnable step) {
            if (fault().isEmpty()) {
                try {
                    step.run();
                } catch (RuntimeException | Error e) {
                    fail(what + " (" + e + "); restart the sidecar and report this");
                    LOG.error(
                            "Engine {} is followed no more: {}.",
                            controller.view().engineId(),
                            what,
                            e);
                }
            }
        }

        /** Polls the controller if it was told something, or not polled for this long. */
        void poll(long nanos, long atLeastEachNanos) {
            if (hasMail.getAndSet(false) || toldEvents || nanos - polledNanos >= atLeastEachNanos) {
                toldEvents = false;
                polledNanos = nanos;
                attempt("its controller failed", () -> controller.poll(nanos));
            }
        }

        void fail(String sentence) {
            if (fault.compareAndSet("", sentence)) {
                onFault.accept(sentence);
            }
        }
    }

    /** A sink whose failure ends one engine instead of all. */
    private record Guarded(Driven driven, KvEventSink sink) implements KvEventSink {
        private void tell(Runnable event) {
            driven.toldEvents = true;
            driven.attempt("its events could not be applied", event);
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {
            tell(() -> sink.batchStarted(sequence, stampMicros));
        }

        @Override
        public void stored(StoredBlocks chain) {
            tell(() -> sink.stored(chain));
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            tell(() -> sink.removed(hashes, from, to, tier, group));
        }

        @Override
        public void cleared() {
            tell(sink::cleared);
        }

        @Override
        public void batchEnded() {
            tell(sink::batchEnded);
        }

        @Override
        public void gap(Gap gap) {
            tell(() -> sink.gap(gap));
        }

        @Override
        public void restarted(long seen) {
            tell(() -> sink.restarted(seen));
        }
    }

    public EventThread(LongSupplier clock, int pollMillis) {
        this(clock, pollMillis, FrameListener.NONE);
    }

    /** The same with somebody who is shown the events as they came. */
    public EventThread(LongSupplier clock, int pollMillis, FrameListener frames) {
        this.loop = new KvEventLoop(clock, frames);
        this.clock = clock;
        comeRoundEvery(pollMillis);
        this.cameRoundAt = clock.getAsLong();
        this.beganAt = cameRoundAt;
        this.thread = Thread.ofPlatform().name("holdfast-events").daemon().unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    /** Drives the controller until it fails, and tells why it did, once, on whatever thread that is noticed. */
    public void drive(Controller controller, Consumer<String> onFault) {
        Driven fresh = new Driven(controller, onFault);
        driven.add(fresh);
        controller.onMail(() -> {
            fresh.hasMail.set(true);
            loop.wakeup();
        });
    }

    /** Drives the controller no more; whoever subscribed for it ends that before. */
    void leave(Controller controller) {
        driven.removeIf(each -> each.controller == controller);
    }

    /**
     * Lets events gather for so long, and waits no longer for them, before it polls the controllers again: four times as
     * long while there is nothing to decide for any of them.
     */
    public void comeRoundEvery(int millis) {
        pollMillis = millis;
    }

    /**
     * Looks whether the thread came round since the last look; to be called regularly by one other thread.
     *
     * <p>Looks are counted, not time: after the whole machine was suspended nobody is to blame.
     *
     * @param mostWithout after how many looks without a round the thread is given up
     */
    public void look(int mostWithout) {
        if (stopping || thread.getState() == Thread.State.NEW) {
            return;
        }
        long now = rounds.get();
        boolean cameRound = now != seenRounds;
        looksWithoutARound = cameRound ? 0 : looksWithoutARound + 1;
        looksWithARound = cameRound ? looksWithARound + 1 : 0;
        seenRounds = now;
        if (!thread.isAlive()) {
            failAll("the event thread has ended; restart the sidecar and report this");
        } else if (looksWithoutARound >= mostWithout) {
            if (!hanging) {
                hanging = true;
                hangs.incrementAndGet();
            }
            failAll(HANGS);
        } else if (hanging && looksWithARound >= (long) mostWithout << Math.min(hangs.get() - 1, MOST_DOUBLINGS)) {
            hanging = false;
            onReturn.run();
        }
    }

    /** What is done, on the thread that looks, when the thread has come round again after it was said to hang. */
    public void onReturn(Runnable then) {
        onReturn = then;
    }

    /** Whether this controller is out of office for no fault of its own. */
    public boolean missed(Controller controller) {
        return fault(controller).equals(HANGS);
    }

    /** How often it was said to hang. */
    public int hangs() {
        return hangs.get();
    }

    private void failAll(String sentence) {
        driven.forEach(each -> each.fail(sentence));
    }

    /** The sink, with what it throws made the fault of this driven controller. */
    KvEventSink guarded(Controller controller, KvEventSink sink) {
        return new Guarded(
                driven.stream()
                        .filter(each -> each.controller == controller)
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("This controller is not driven here.")),
                sink);
    }

    /** Does this for a controller unless it failed, on the thread; what is thrown is a fault of that controller's. */
    void attempt(Controller controller, String what, Runnable step) {
        driven.stream()
                .filter(each -> each.controller == controller)
                .findFirst()
                .ifPresent(each -> each.attempt(what, step));
    }

    /** Runs on the thread, between two rounds. */
    void execute(Consumer<KvEventLoop> task) {
        tasks.add(task);
        loop.wakeup();
    }

    /**
     * Completes when everything is applied that has arrived by now: at once where a round has just begun, else after one
     * that is not waited for; any thread. A thread that hangs is not waited for either.
     */
    public CompletionStage<Void> upToDate() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        if (hanging || clock.getAsLong() - beganAt <= FRESH_NANOS) {
            done.complete(null);
        } else {
            wanted.add(new Wanted(clock.getAsLong(), done));
            loop.wakeup();
            done.completeOnTimeout(null, LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
        }
        return done;
    }

    public double lagNanos() {
        return clock.getAsLong() - cameRoundAt;
    }

    /** Why the process should be restarted; absent while all is well. */
    public Optional<String> fault() {
        if (!thread.isAlive()) {
            return Optional.of("The event thread has ended; restart the sidecar.");
        }
        return driven.stream()
                .filter(each -> !each.fault().isEmpty())
                .map(each -> "Engine " + each.controller.view().engineId() + ": " + each.fault() + ".")
                .findFirst();
    }

    /** Why a controller is driven no more; empty while all is well. */
    public String fault(Controller controller) {
        return driven.stream()
                .filter(each -> each.controller == controller)
                .map(Driven::fault)
                .findFirst()
                .orElse("");
    }

    private void run() {
        try (loop) {
            while (!stopping) {
                int roundMillis = roundMillis();
                for (Consumer<KvEventLoop> task = tasks.poll(); task != null; task = tasks.poll()) {
                    task.accept(loop);
                }
                loop.gatherFor(Duration.ofMillis(roundMillis));
                loop.doWork(roundMillis);
                beganAt = loop.beganAt();
                poll(roundMillis);
                tellUpToDate();
                cameRoundAt = clock.getAsLong();
                rounds.incrementAndGet();
            }
        } catch (RuntimeException | Error e) {
            LOG.error("The event thread ended: nothing is followed or decided any more, restart the sidecar.", e);
        }
    }

    /** A round answers whoever asked before it began; who asked amid it waits for one more, which begins at once. */
    private void tellUpToDate() {
        wanted.removeIf(each -> {
            boolean answered = beganAt - each.askedAt >= 0;
            if (answered) {
                each.done.complete(null);
            }
            // Whoever waited in vain for a second has gone.
            return answered || each.done.isDone();
        });
        if (!wanted.isEmpty()) {
            loop.wakeup();
        }
    }

    private void poll(int roundMillis) {
        for (Driven each : driven) {
            each.poll(clock.getAsLong(), roundMillis * 1_000_000L);
        }
    }

    /** To be woken costs more than to apply what a round brings, and who only watches needs no plan. */
    int roundMillis() {
        boolean watches = driven.stream().allMatch(each -> each.controller.idle());
        return watches ? IDLE_ROUNDS * pollMillis : pollMillis;
    }

    @Override
    public void close() {
        stopping = true;
        if (thread.getState() == Thread.State.NEW) {
            loop.close();
            return;
        }
        loop.wakeup();
        try {
            // Whatever it hangs in, the process must end.
            if (!thread.join(Duration.ofSeconds(STOP_SECONDS))) {
                LOG.warn("The event thread did not stop within {} s and is left behind.", STOP_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
