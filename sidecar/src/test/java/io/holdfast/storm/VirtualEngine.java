package io.holdfast.storm;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.EngineLook;
import io.holdfast.rules.sglang.PinAnswer;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangStats;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/*
 * A server with the real rules of the branch that pins on the GPU, in virtual time.
 *
 * A pass of the engine is one step of the rules and takes the time that its GPU says: the state changes when the pass
 * begins, what it says (tokens, events) is said when it ends, and what arrives meanwhile is looked at between two passes, as
 * in the real loop. Readings see what the engine shows in the middle of a pass.
 */
final class VirtualEngine {
    /** A batch of events as its publisher remembers it. */
    static final class Frame {
        private final long sequence;
        private final byte[] payload;

        Frame(long sequence, byte[] payload) {
            this.sequence = sequence;
            this.payload = payload;
        }

        long sequence() {
            return sequence;
        }

        byte[] payload() {
            return payload;
        }
    }

    /** Whoever listens to the events. */
    interface Ear {
        void batch(Frame frame);

        /** The server is gone, and with it the connection. */
        void down();

        void up();
    }

    private record Call(Runnable work, Runnable lost) {}

    private static final long EVENTLESS_PASS = 50_000;

    private final class PassClock implements EngineClock {
        private long now;

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public double unixSeconds() {
            return 1_700_000_000 + now / 1e9;
        }

        @Override
        public void await(long deadlineNanos) {
            inPass = engine.stats();
            now = Math.max(now, deadlineNanos);
        }
    }

    final String name;
    final SglangSettings settings;
    final Faults faults = Faults.none();

    private final Timeline time;
    private final Speed speed;
    private final StormOracle oracle;
    private final List<Ear> ears = new ArrayList<>();
    private final Deque<Call> inbox = new ArrayDeque<>();
    private final Deque<Frame> past = new ArrayDeque<>();
    private final KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
    private final StoredBlocks chain = new StoredBlocks();
    /** Resident copies of each block, by its events. */
    private final Map<Long, Integer> copies = new HashMap<>();

    private final Set<Long> twins = new HashSet<>();

    private final Map<Long, Long> ended = new HashMap<>();
    private PassClock clock = new PassClock();
    private SglangEngine engine;
    private SglangStats inPass;
    private boolean up = true;
    private boolean awake;
    private long life;
    private long sequence;
    private int remembered = 10_000;
    private int limit;
    private long stuckSince = Long.MAX_VALUE;
    private List<VirtualEngine> ranks = List.of(this);

    VirtualEngine(String name, Timeline time, SglangSettings settings, Speed speed, StormOracle oracle) {
        this.name = name;
        this.time = time;
        this.settings = settings;
        this.speed = speed;
        this.oracle = oracle;
        this.limit = settings.capacityTokens();
        this.engine = born();
        this.inPass = engine.stats();
        wake();
    }

    /** Makes these the data-parallel ranks of one server, each with a cache and a scheduler of its own. */
    static void join(List<VirtualEngine> ranks) {
        ranks.forEach(rank -> rank.ranks = List.copyOf(ranks));
    }

    /** All ranks of the server that this is one of; itself alone as a rule. */
    List<VirtualEngine> ranks() {
        return ranks;
    }

    boolean isUp() {
        return up;
    }

    /** Counts the lives of the server. */
    long life() {
        return life;
    }

    int page() {
        return settings.pageTokens();
    }

    int capacity() {
        return limit;
    }

    /** What may be pinned beside the largest request. */
    int guard() {
        return Math.max(0, limit - Math.min(settings.contextTokens(), limit));
    }

    /** What a client could read now. */
    SglangStats stats() {
        return clock.now > time.now() ? inPass : engine.stats();
    }

    SglangStats reported() {
        return engine.reported();
    }

    boolean isIdle() {
        return up && !awake && inbox.isEmpty() && stats().running() == 0 && stats().waiting() == 0;
    }

    Map<Long, Integer> pins() {
        return EngineLook.pins(engine);
    }

    /** Whether a pin of the block takes memory; the engine's own faults make some that are counted and take none. */
    boolean holds(long block) {
        return EngineLook.holds(engine, block);
    }

    /** Blocks that requests of at least this priority have left in the cache. */
    Set<Long> ofPriority(long least) {
        return EngineLook.ofPriority(engine, least);
    }

    boolean endsNode(long block) {
        return !EngineLook.endingNodes(engine, List.of(block)).isEmpty();
    }

    /** When the block was last seen to end a node; -1 where nobody looked. */
    long lastEnded(long block) {
        return ended.getOrDefault(block, -1L);
    }

    /** Looks where nodes end. */
    void lookAtEnds(List<Long> blocks) {
        EngineLook.endingNodes(engine, blocks).forEach(block -> ended.put(block, time.now()));
    }

    boolean resident(long block) {
        return copies.getOrDefault(block, 0) > 0;
    }

    /** Whether the block ever had a second copy in this life. */
    boolean hadTwin(long block) {
        return twins.contains(block);
    }

    /** Whether the block has a second copy now. */
    boolean hasTwin(long block) {
        return copies.getOrDefault(block, 0) > 1;
    }

    void listen(Ear ear) {
        ears.add(ear);
    }

    void ignore(Ear ear) {
        ears.remove(ear);
    }

    /** The publisher's memory from a batch on. */
    List<Frame> past(long from) {
        return past.stream().filter(frame -> frame.sequence() >= from).toList();
    }

    void remember(int batches) {
        remembered = batches;
        forgetOldest();
    }

    /** The numbers of the batches begin anew and the publisher forgets; the cache goes on. */
    void numberAnew() {
        sequence = 0;
        past.clear();
    }

    void submit(Generation request) {
        send(() -> engine.submit(request), () -> request.fail("gone"));
    }

    void flush(Consumer<Boolean> answer) {
        send(
                () -> {
                    boolean done = engine.flush();
                    if (done) {
                        oracle.cleared(this);
                    }
                    answer.accept(done);
                },
                () -> answer.accept(false));
    }

    void closeSession(String session) {
        send(() -> engine.closeSession(session), () -> {});
    }

    void limit(int tokens) {
        send(
                () -> {
                    limit = Math.min(tokens, settings.capacityTokens());
                    engine.limitTokens(limit);
                },
                () -> {});
    }

    /** {@code lost} when the server ends before it looked at the call. */
    void pin(String who, long[] blocks, Consumer<Integer> answer, Runnable lost) {
        send(
                () -> {
                    int done = 0;
                    for (long block : blocks) {
                        PinAnswer said = engine.pin(new long[] {block});
                        oracle.pinned(who, this, block, said.count() > 0);
                        done += said.count();
                    }
                    answer.accept(done);
                },
                lost);
    }

    void unpin(String who, long[] blocks, Consumer<Integer> answer, Runnable lost) {
        send(
                () -> {
                    int done = 0;
                    for (long block : blocks) {
                        boolean counted = pins().containsKey(block);
                        oracle.unpinning(who, this, block);
                        PinAnswer said = engine.unpin(new long[] {block});
                        oracle.unpinned(who, this, block, said.count() > 0, counted);
                        done += said.count();
                    }
                    answer.accept(done);
                },
                lost);
    }

    void kill() {
        if (!up) {
            return;
        }
        up = false;
        copies.clear();
        twins.clear();
        past.clear();
        List<Call> lost = List.copyOf(inbox);
        inbox.clear();
        oracle.cleared(this);
        List.copyOf(ears).forEach(Ear::down);
        lost.forEach(call -> call.lost().run());
    }

    void start() {
        if (up) {
            return;
        }
        up = true;
        life++;
        sequence = 0;
        stuckSince = Long.MAX_VALUE;
        engine = born();
        inPass = engine.stats();
        engine.limitTokens(limit);
        List.copyOf(ears).forEach(Ear::up);
        wake();
    }

    private SglangEngine born() {
        clock = new PassClock();
        clock.now = time.now();
        long born = life;
        return new SglangEngine(
                settings,
                faults,
                clock,
                new Gpu(speed, faults, clock, () -> false),
                request -> 7 + request.answered(),
                events -> publish(born, events),
                ElasticPool.OWN);
    }

    private void send(Runnable work, Runnable lost) {
        if (!up) {
            lost.run();
            return;
        }
        inbox.add(new Call(work, lost));
        wake();
    }

    private void wake() {
        if (!awake && up) {
            awake = true;
            long of = life;
            time.at(clock.now, () -> pass(of));
        }
    }

    private void pass(long of) {
        awake = false;
        if (!up || of != life) {
            wake();
            return;
        }
        clock.now = Math.max(clock.now, time.now());
        try {
            for (Call next = inbox.poll(); next != null; next = inbox.poll()) {
                next.work().run();
            }
            boolean worked = engine.step();
            if (!worked || faults.has(CacheFault.AutoUnpin.class)) {
                oracle.ownDoing(this);
            }
            if (worked) {
                stuckSince = Long.MAX_VALUE;
                clock.now = Math.max(clock.now, time.now() + EVENTLESS_PASS);
                wake();
            } else if (engine.stats().waiting() > 0) {
                stuckSince = Math.min(stuckSince, time.now());
                oracle.stuck(this, engine.stats());
                time.after(Timeline.SECOND, this::wake);
            }
        } catch (EngineDeath death) {
            oracle.died(this, String.valueOf(death.getMessage()));
            kill();
        }
    }

    /** Since when requests wait while nothing runs. */
    long stuckSince() {
        return stuckSince;
    }

    private void publish(long of, List<CacheEvent> events) {
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored -> {
                    Optional<Long> parent = stored.parent().map(BlockName::hash);
                    for (BlockName block : stored.blocks()) {
                        oracle.chain(block.hash(), parent);
                        if (copies.merge(block.hash(), 1, Integer::sum) > 1) {
                            twins.add(block.hash());
                        }
                        parent = Optional.of(block.hash());
                    }
                    oracle.trace(() -> name + " stores " + stored.blocks() + " under " + stored.parent());
                    parent.ifPresent(last -> ended.put(last, clock.now));
                    encoder.stored(chain(stored));
                }
                case CacheEvent.Removed removed -> {
                    long[] blocks =
                            removed.blocks().stream().mapToLong(BlockName::hash).toArray();
                    for (long block : blocks) {
                        copies.merge(block, -1, Integer::sum);
                    }
                    oracle.trace(() -> name + " removes " + removed.blocks());
                    encoder.removed(blocks, 0, blocks.length, removed.tier(), 0);
                }
                case CacheEvent.Cleared _ -> {
                    copies.clear();
                    twins.clear();
                    encoder.cleared();
                }
            }
        }
        byte[] payload = encoder.finish(clock.unixSeconds(), 0);
        time.at(clock.now, () -> {
            if (up && of == life) {
                Frame frame = new Frame(sequence++, payload);
                past.addLast(frame);
                forgetOldest();
                List.copyOf(ears).forEach(ear -> ear.batch(frame));
            }
        });
    }

    private void forgetOldest() {
        while (past.size() > remembered) {
            past.removeFirst();
        }
    }

    private StoredBlocks chain(CacheEvent.Stored stored) {
        chain.reset().blockTokens(stored.blockTokens()).in(stored.tier());
        stored.parent().ifPresent(parent -> chain.under(parent.hash()));
        stored.blocks().forEach(block -> chain.add(block.hash()));
        for (int i = 0; i < stored.tokens().size(); i++) {
            chain.addToken(stored.tokens().get(i));
        }
        return chain;
    }
}
