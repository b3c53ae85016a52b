package io.holdfast.embed;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.events.KvEventLoop;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * The engines that a router sends prompts to: which of them has most of a prompt cached, and what is held there.
 *
 * <pre>{@code
 * Fleet fleet = new Fleet(16);
 * Engine one = fleet.add(EngineOptions.sglang("one").withEvents("tcp://10.0.0.7:5557"));
 * Engine two = fleet.add(EngineOptions.vllm("two").withEvents("tcp://10.0.0.8:5557"));
 * FleetRunner runner = FleetRunner.start(fleet, Thread.ofPlatform().name("fleet").factory());
 * ...
 * Optional<Engine> longest = fleet.match(tokens).longest();
 * }</pre>
 */
public final class Fleet implements AutoCloseable {
    /*
     * Threads
     * -------
     * One thread works: it calls doWork again and again, reads the sockets there, and so is the only writer of the
     * index and the only caller of the controllers. Everybody else matches without a lock, or leaves something to be
     * done: what concerns one engine in its controller's mailbox, what concerns the fleet in a queue here. Both wake
     * the worker.
     *
     * One stream, two namings
     * -----------------------
     * Each event is decoded once and told twice. Routing asks many engines about one prompt, so it names blocks by
     * their content, which is the same everywhere and costs one hash a block; an engine is told to pin by its own
     * names, which differ from engine to engine and cost a SHA-256 a block. An index of the first kind cannot answer
     * for the second: ghosts, ends of insertions and holes hang on names that the engine may give two blocks of one
     * content. So an engine that holds has both, and one that is only routed to has the first alone.
     *
     * Coming and going
     * ----------------
     * An engine is matched as soon as its cache is in the index, and no more from the call that removes it on; its
     * events are followed until what it held is released, since an unpin must know where its pin is. A cache's id may
     * be given out again, so a match that sees the roster change looks again.
     *
     * How old an answer may be
     * ------------------------
     * To apply each batch as it comes costs more than the batches do. While prompts are matched, events wait for 10 ms
     * to be applied together; while nobody asks, for 100.
     */

    private static final int LONGEST_WAIT_MILLIS = 50;
    private static final Duration GATHER = Duration.ofMillis(100);
    private static final Duration GATHER_WHILE_MATCHED = Duration.ofMillis(10);

    private final int blockTokens;
    private final LongSupplier clock;
    private final BlockTree tree = new BlockTree(BlockTree.Naming.CONTENT_CHAIN);
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean working = new AtomicBoolean();
    private final Object changing = new Object();

    private volatile Roster roster = Roster.EMPTY;
    /** Also those that are about to go. */
    private volatile List<Engine> driven = List.of();

    private volatile Optional<KvEventLoop> loop = Optional.empty();
    private volatile Optional<Thread> waiting = Optional.empty();
    private volatile boolean woken;
    private volatile boolean matched;
    private volatile boolean closed;

    /** Creates a fleet of engines whose blocks have so many tokens, on the machine's own clock. */
    public Fleet(int blockTokens) {
        this(blockTokens, System::nanoTime);
    }

    /**
     * Creates a fleet on another clock.
     *
     * @param blockTokens tokens in a block: SGLang's {@code --page-size}, vLLM's {@code --block-size}
     * @param clock nanoseconds from an origin of its own; readings bear its times
     */
    public Fleet(int blockTokens, LongSupplier clock) {
        if (blockTokens < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockTokens + ".");
        }
        this.blockTokens = blockTokens;
        this.clock = clock;
    }

    /** Number of tokens in a block. */
    public int blockTokens() {
        return blockTokens;
    }

    /** The engines, in the order in which they were added. */
    public List<Engine> engines() {
        return roster.engines();
    }

    /** The engine of this id; absent where there is none. */
    public Optional<Engine> engine(String id) {
        return roster.named(id);
    }

    /**
     * Adds an engine, which need not be there yet; any thread, any time. It is followed from the next
     * {@link #doWork} on.
     *
     * @throws IllegalArgumentException where there is one of that id
     */
    public Engine add(EngineOptions options) {
        synchronized (changing) {
            requireOpen();
            if (driven.stream().anyMatch(each -> each.id().equals(options.id()))) {
                throw new IllegalArgumentException("Engine " + options.id()
                        + " is in the fleet already: remove it first, and wait for the answer, or give this one another"
                        + " id.");
            }
            Engine engine = new Engine(this, options);
            roster = roster.with(engine);
            driven = concat(driven, engine);
            tasks.add(engine::attach);
            wakeup();
            return engine;
        }
    }

    /**
     * Removes an engine; any thread, any time. No match finds it any more; what it holds is released, and it is
     * followed for as long as that takes.
     *
     * @return answered when it is gone
     */
    public CompletionStage<Released> remove(Engine engine) {
        synchronized (changing) {
            requireOpen();
            if (!driven.contains(engine) || !engine.leaves()) {
                throw new IllegalArgumentException(
                        "Engine " + engine.id() + " is not in this fleet, or not any more: it needs no removing.");
            }
            roster = roster.without(engine);
        }
        CompletableFuture<Released> gone = new CompletableFuture<>();
        engine.letGo("the engine is removed from the fleet").whenComplete((released, failure) -> {
            Released done = failure == null ? released : new Released(0, 0);
            tasks.add(() -> {
                detach(engine);
                gone.complete(done);
            });
            wakeup();
            if (closed) {
                gone.complete(done);
            }
        });
        return gone;
    }

    /**
     * Releases all that is held anywhere, before the process ends; any thread, while a thread works for the fleet.
     *
     * @return answered with the sums once every engine has answered
     */
    public CompletionStage<Released> letGo() {
        CompletionStage<Released> all = CompletableFuture.completedFuture(new Released(0, 0));
        for (Engine engine : roster.engines()) {
            all = all.thenCombine(
                    engine.letGo("the process ends").exceptionally(failure -> new Released(0, 0)),
                    (sum, one) -> new Released(sum.released() + one.released(), sum.pending() + one.pending()));
        }
        return all;
    }

    /**
     * Finds how much of a prompt each engine has cached; any thread. It makes a buffer for the answer: keep one to
     * match often.
     */
    public PrefixMatch match(int[] tokens) {
        PrefixMatch into = new PrefixMatch();
        match(tokens, into);
        return into;
    }

    /** Finds it into a buffer of the calling thread, which allocates nothing. */
    public void match(int[] tokens, PrefixMatch into) {
        match(tokens, 0, tokens.length, ContentNames.NO_NAMESPACE, into);
    }

    /**
     * Finds it for a part of an array, for a request with a salt or a LoRA adapter.
     *
     * @param namespace of both, by {@link ContentNames#namespace(String, String)}
     */
    public void match(int[] tokens, int from, int count, long namespace, PrefixMatch into) {
        into.name(tokens, from, count, blockTokens, namespace);
        into.fill(this);
    }

    /** Finds it by the {@link ContentNames} of blocks that the caller has already, of which {@code count} are meant. */
    public void matchNames(long[] names, int from, int count, PrefixMatch into) {
        Objects.checkFromIndexSize(from, count, names.length);
        into.fill(this, names, from, count);
    }

    /** {@link #doWork(int)} without waiting, for a loop that knows itself when to rest. */
    public int doWork() {
        return doWork(0);
    }

    /**
     * Does what there is to do: applies events, handles mail, decides. One thread calls it again and again, at least
     * some ten times a second.
     *
     * @param timeoutMillis how long to wait, at most, where there is nothing
     * @return how much was done; 0 where there was nothing
     */
    public int doWork(int timeoutMillis) {
        requireOpen();
        if (!working.compareAndSet(false, true)) {
            throw new IllegalStateException(
                    "Two threads work for this fleet at once, and only one may: let one of them stop.");
        }
        try {
            int work = runTasks();
            work += hear(work > 0 ? 0 : timeoutMillis);
            for (Engine engine : driven) {
                engine.lookAtViews();
                work += engine.poll(clock.getAsLong());
            }
            return work;
        } finally {
            working.set(false);
            finishIfClosed();
        }
    }

    /** Makes {@link #doWork} return soon; any thread. */
    public void wakeup() {
        woken = true;
        loop.ifPresent(KvEventLoop::wakeup);
        waiting.ifPresent(LockSupport::unpark);
    }

    /**
     * Ends everything; any thread. A {@link #doWork} that is under way comes to its end first. Whatever waits for an
     * answer gets one. Pins stay as they are, and in the ledger for the next process to release: {@link #letGo} comes
     * before, where they should not.
     */
    @Override
    public void close() {
        synchronized (changing) {
            closed = true;
            roster = Roster.EMPTY;
        }
        wakeup();
        finishIfClosed();
    }

    /** Returns true once it was closed. */
    public boolean closed() {
        return closed;
    }

    /** Runs once, in the thread that comes last out of this fleet's work. */
    private void finishIfClosed() {
        if (closed && working.compareAndSet(false, true)) {
            driven.forEach(engine -> engine.end("the fleet is closed"));
            runTasks();
            driven = List.of();
            loop.ifPresent(KvEventLoop::close);
        }
    }

    private int hear(int timeoutMillis) {
        if (loop.isPresent()) {
            loop.get().gatherFor(matched ? GATHER_WHILE_MATCHED : GATHER);
            matched = false;
            return loop.get().doWork(timeoutMillis);
        }
        if (timeoutMillis > 0) {
            waiting = Optional.of(Thread.currentThread());
            if (!woken) {
                LockSupport.parkNanos(this, Math.min(timeoutMillis, LONGEST_WAIT_MILLIS) * 1_000_000L);
            }
            waiting = Optional.empty();
        }
        woken = false;
        return 0;
    }

    private int runTasks() {
        int done = 0;
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
            done++;
        }
        return done;
    }

    private void detach(Engine engine) {
        engine.end("it was removed from the fleet");
        engine.subscriptions().forEach(each -> loop().unsubscribe(each));
        drop(engine);
        synchronized (changing) {
            driven = driven.stream().filter(each -> each != engine).toList();
        }
    }

    private void drop(Engine engine) {
        engine.takeCaches().forEach(tree::dropCache);
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("The fleet is closed: make another one.");
        }
    }

    private static List<Engine> concat(List<Engine> engines, Engine last) {
        return Stream.concat(engines.stream(), Stream.of(last)).toList();
    }

    /* What engines and matches ask. */

    /** Returns the index for a match, which will want it up to date from now on. */
    BlockTree matched() {
        if (!matched) {
            matched = true;
        }
        return tree;
    }

    Roster roster() {
        return roster;
    }

    /** Does what was left to be done, for the working thread between two rounds. */
    void settle() {
        runTasks();
    }

    /** Loop that listens to events; it takes sockets only once an engine is listened to. */
    KvEventLoop loop() {
        if (loop.isEmpty()) {
            loop = Optional.of(new KvEventLoop(clock));
        }
        return loop.get();
    }

    LongSupplier clock() {
        return clock;
    }

    /** Has something done by the working thread between two rounds. */
    void onLoop(Consumer<KvEventLoop> task) {
        later(() -> task.accept(loop()));
    }

    /** Has something done by the working thread; by nobody once the fleet is closed. */
    void later(Runnable task) {
        tasks.add(task);
        wakeup();
    }

    Cache addCache(Engine engine, CacheTraits traits) {
        Cache cache = tree.addCache(traits);
        synchronized (changing) {
            if (roster.has(engine)) {
                roster = roster.withCache(engine, cache.id());
            }
        }
        return cache;
    }

    /** Nothing of it is found any more. */
    void forget(Engine engine) {
        synchronized (changing) {
            if (roster.has(engine)) {
                roster = roster.without(engine);
            }
        }
        drop(engine);
    }
}
