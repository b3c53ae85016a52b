package io.holdfast.storm;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.events.VllmBlockNames;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.HoldReport;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmSettings;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/*
 * A server with the real rules of SGLang, with or without the branch that pins on the GPU, or of vLLM, in virtual time.
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

    /** An answer counts on from here, whatever was asked. */
    private static final int FIRST_OF_ANSWER = 7;

    private static final long EVENTLESS_PASS = 50_000;

    /** Lease of each vLLM with NIXL. */
    static final Duration NIXL_LEASE = Duration.ofSeconds(30);

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
            inPass = engine.load();
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
    /** In place of tokens found: what the connector was asked for it did not do. */
    static final int REFUSED = -1;

    private final Deque<Call> inbox = new ArrayDeque<>();
    private final Deque<Frame> past = new ArrayDeque<>();
    private final boolean vllm;
    private final boolean nixl;
    private final KvEventEncoder encoder;
    private final StoredBlocks chain = new StoredBlocks();
    /** Resident copies of each block, by its events. */
    private final Map<Long, Integer> copies = new HashMap<>();

    private final Set<Long> twins = new HashSet<>();
    /** Told when the server goes before it has answered. */
    private final List<Runnable> asked = new ArrayList<>();

    private final Map<Long, Long> ended = new HashMap<>();
    private PassClock clock = new PassClock();
    private EngineRules engine;
    private Load inPass;
    private boolean up = true;
    private boolean awake;
    private long life;
    private long sequence;
    private int remembered = 10_000;
    private int limit;
    private long stuckSince = Long.MAX_VALUE;
    /** Time since which requests wait and none runs. */
    private long waitingSince = Long.MAX_VALUE;

    private List<VirtualEngine> ranks = List.of(this);

    /** SGLang of this kind. */
    VirtualEngine(String name, Timeline time, SglangSettings settings, Speed speed, StormOracle oracle) {
        this(name, time, settings, speed, oracle, false);
    }

    /** @param vllm whether it is a vLLM of these sizes, with Holdfast's connector */
    VirtualEngine(String name, Timeline time, SglangSettings settings, Speed speed, StormOracle oracle, boolean vllm) {
        this(name, time, settings, speed, oracle, vllm, false);
    }

    /** @param nixl whether a vLLM has NIXL in place of Holdfast's connector */
    VirtualEngine(
            String name,
            Timeline time,
            SglangSettings settings,
            Speed speed,
            StormOracle oracle,
            boolean vllm,
            boolean nixl) {
        this.name = name;
        this.vllm = vllm;
        this.nixl = nixl;
        this.encoder = new KvEventEncoder(vllm ? Dialect.VLLM_MAPS : Dialect.SGLANG_MAPS);
        this.time = time;
        this.settings = settings;
        this.speed = speed;
        this.oracle = oracle;
        this.limit = settings.capacityTokens();
        this.engine = born();
        this.inPass = engine.load();
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
    Load stats() {
        return clock.now > time.now() ? inPass : engine.load();
    }

    Load reported() {
        return engine.reported();
    }

    boolean isIdle() {
        return up && !awake && inbox.isEmpty() && stats().running() == 0 && stats().waiting() == 0;
    }

    Map<Long, Integer> pins() {
        return engine.pins();
    }

    /** Whether a pin of the block takes memory; the engine's own faults make some that are counted and take none. */
    boolean holds(long block) {
        return engine.holds(block);
    }

    /** Blocks that requests of at least this priority have left in the cache. */
    Set<Long> ofPriority(long least) {
        return engine.ofPriority(least);
    }

    /** Blocks that open sessions refer to, by the session's id. */
    Map<String, Set<Long>> ofSessions() {
        return engine.ofSessions();
    }

    /** What the engine calls the blocks of a prompt. */
    long[] names(int[] tokens) {
        return vllm
                ? new VllmBlockNames(VllmSettings.defaults().hashing()).of(tokens, page())
                : SglangBlockNames.of(tokens, page());
    }

    boolean isVllm() {
        return vllm;
    }

    boolean endsNode(long block) {
        return !engine.endingNodes(List.of(block)).isEmpty();
    }

    /** When the block was last seen to end a node; -1 where nobody looked. */
    long lastEnded(long block) {
        return ended.getOrDefault(block, -1L);
    }

    /** Looks where nodes end. */
    void lookAtEnds(List<Long> blocks) {
        engine.endingNodes(blocks).forEach(block -> ended.put(block, time.now()));
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

    /**
     * The same for a client that hears when the server goes.
     *
     * @param served hears how many tokens were found in the cache; {@link #REFUSED} where an order was refused
     * @param lost when nobody answers any more
     */
    void ask(int[] tokens, RequestOptions options, IntConsumer served, Runnable lost) {
        if (!up) {
            lost.run();
            return;
        }
        asked.add(lost);
        Generation[] own = new Generation[1];
        own[0] = new Generation(tokens, options, false, time.now(), new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                if (last) {
                    asked.remove(lost);
                    boolean refused = own[0].report()
                            .filter(report -> report.result() instanceof HoldReport.Result.Refused)
                            .isPresent();
                    served.accept(refused ? REFUSED : cachedTokens);
                }
            }

            @Override
            public void failed(String message) {
                if (asked.remove(lost)) {
                    lost.run();
                }
            }
        });
        submit(own[0]);
    }

    void flush(Consumer<Boolean> answer) {
        send(
                () -> {
                    boolean done = engine.flush();
                    if (done) {
                        oracle.cleared(this);
                        oracle.touches.flushed(this);
                    }
                    answer.accept(done);
                },
                () -> answer.accept(false));
    }

    void closeSession(String session) {
        closeSession(session, () -> {}, () -> {});
    }

    void closeSession(String session, Runnable done, Runnable lost) {
        send(
                () -> {
                    engine.closeSession(session);
                    done.run();
                },
                lost);
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
                        int said = engine.pin(block);
                        oracle.pinned(who, this, block, said > 0);
                        done += said;
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
                        int said = engine.unpin(block);
                        oracle.unpinned(who, this, block, said > 0, counted);
                        done += said;
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
        List<Runnable> unanswered = List.copyOf(asked);
        asked.clear();
        unanswered.forEach(Runnable::run);
    }

    void start() {
        if (up) {
            return;
        }
        up = true;
        life++;
        sequence = 0;
        stuckSince = Long.MAX_VALUE;
        waitingSince = Long.MAX_VALUE;
        engine = born();
        inPass = engine.load();
        engine.limitTokens(limit);
        List.copyOf(ears).forEach(Ear::up);
        wake();
    }

    private EngineRules born() {
        clock = new PassClock();
        clock.now = time.now();
        long born = life;
        Gpu gpu = new Gpu(speed, faults, clock, () -> false);
        Model model = request -> FIRST_OF_ANSWER + request.answered();
        Consumer<List<CacheEvent>> publisher = events -> publish(born, events);
        return vllm
                ? EngineRules.vllm(settings, nixl, faults, clock, gpu, model, publisher)
                : new EngineRules.Sglang(
                        new SglangEngine(settings, faults, clock, gpu, model, publisher, ElasticPool.OWN));
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
            waits(engine.load());
            if (!worked || faults.has(CacheFault.AutoUnpin.class)) {
                oracle.ownDoing(this);
            }
            if (worked) {
                stuckSince = Long.MAX_VALUE;
                clock.now = Math.max(clock.now, time.now() + EVENTLESS_PASS);
                wake();
            } else if (engine.load().waiting() > 0) {
                stuckSince = Math.min(stuckSince, time.now());
                oracle.stuck(this, engine.load());
                time.after(Timeline.SECOND, this::wake);
            }
        } catch (EngineDeath death) {
            oracle.died(this, String.valueOf(death.getMessage()));
            kill();
        }
    }

    /** Leases end in time, so nothing waits longer for what they keep. */
    private void waits(Load load) {
        boolean blocked = load.waiting() > 0 && load.running() == 0 && limit >= settings.contextTokens();
        waitingSince = blocked ? Math.min(waitingSince, time.now()) : Long.MAX_VALUE;
        if (blocked && time.now() - waitingSince > NIXL_LEASE.toNanos() + Timeline.SECOND) {
            oracle.fail("a request waits longer than a lease", oracle.describe(this, load));
        }
    }

    /** Since when requests wait while nothing runs. */
    long stuckSince() {
        return stuckSince;
    }

    private void publish(long of, List<CacheEvent> events) {
        for (CacheEvent event : events) {
            if (!oracle.watching()) {
                unwatched(event);
                continue;
            }
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
                        if (copies.merge(block, -1, Integer::sum) < 1) {
                            oracle.touches.removed(this, block);
                        }
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

    private void unwatched(CacheEvent event) {
        switch (event) {
            case CacheEvent.Stored stored -> encoder.stored(chain(stored));
            case CacheEvent.Removed removed -> {
                long[] blocks =
                        removed.blocks().stream().mapToLong(BlockName::hash).toArray();
                encoder.removed(blocks, 0, blocks.length, removed.tier(), 0);
            }
            case CacheEvent.Cleared _ -> encoder.cleared();
        }
    }

    /** A prompt and what every engine answers to it. */
    static int[] answered(int[] prompt, int answer) {
        int[] said = Arrays.copyOf(prompt, prompt.length + answer);
        Arrays.setAll(said, i -> i < prompt.length ? prompt[i] : FIRST_OF_ANSWER + i - prompt.length);
        return said;
    }

    /** When the pass that is under way ends: what it says is said then. */
    long passEnds() {
        return Math.max(clock.now, time.now());
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
