package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Plan;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The traffic that Holdfast is for, in virtual time: system prompts that nobody sends alone, each before many users' texts,
 * then a flood of other prompts, in rounds; beside a real controller and the rules of the branch that pins on the GPU.
 */
final class SystemPrompts {
    /** {@code tokens} of each of so many prompts, before so many texts a round each. */
    record Workload(int prompts, int tokens, int texts, int floodTokens, int alwaysRunning) {}

    /** What became of the texts of a round. */
    record Round(int requests, int hits, long cachedTokens) {
        boolean allHit() {
            return hits == requests;
        }
    }

    private static final int CAPACITY = 24_576;
    private static final int PAGE = 16;
    private static final int CONTEXT = 6_144;
    private static final int LONGEST_ANSWER = 192;

    final VirtualEngine engine;
    final StormProcess sidecar;

    private final Workload workload;
    private final int floodAnswer;
    private final Timeline time = new Timeline();
    private final SplittableRandom random;
    private final StormOracle oracle;
    private final List<int[]> prompts = new ArrayList<>();
    private int nextToken = 1_000;
    private int failed;
    private long served;

    SystemPrompts(long seed, Workload workload, boolean automatic) {
        this(seed, workload, automatic, Way.PIN_BLOCKS);
    }

    /** On the branch that pins, or on a stock engine, by what that way needs. */
    SystemPrompts(long seed, Workload workload, boolean automatic, Way way) {
        this(seed, workload, automatic, way, 20);
    }

    /** On an engine that takes so long to compute a token of a prompt. */
    SystemPrompts(long seed, Workload workload, boolean automatic, Way way, int microsPerToken) {
        this.random = new SplittableRandom(seed);
        this.workload = workload;
        // An answer of a block raises its prompt by one: only such a flood pushes out what users' prompts share.
        this.floodAnswer = way == Way.PRIORITY_TOUCH ? 20 : 4;
        this.oracle = new StormOracle(time, false);
        SglangSettings settings = new SglangSettings(
                CAPACITY,
                PAGE,
                CONTEXT,
                32,
                2048,
                way == Way.PIN_BLOCKS ? Variant.PIN_GPU : Variant.STOCK,
                way == Way.PRIORITY_TOUCH ? Eviction.PRIORITY : Eviction.LRU,
                way == Way.SESSION_HOLD,
                0,
                0.5);
        engine = new VirtualEngine("engine", time, settings, new Speed(microsPerToken, 2_000, 5_000, 1), oracle);
        sidecar = new StormProcess(
                "sidecar",
                time,
                random.split(),
                oracle,
                engine,
                new StormSidecar.Written(
                        Duration.ofMillis(100),
                        automatic,
                        Duration.ofMinutes(5),
                        way,
                        LONGEST_ANSWER,
                        workload.alwaysRunning > 0,
                        CONTEXT / 2),
                0);
        for (int i = 0; i < workload.prompts; i++) {
            prompts.add(fresh(workload.tokens));
        }
        sidecar.start();
        for (int i = 0; i < workload.alwaysRunning; i++) {
            keepRunning();
        }
        pass(Duration.ofSeconds(3));
    }

    /** Asks for each prompt by the names of its own blocks. */
    void holdAll(Duration lease) {
        prompts.forEach(prompt -> sidecar.sidecar().orElseThrow().hold(SglangBlockNames.of(prompt, PAGE), lease));
        pass(Duration.ofSeconds(1));
    }

    /** Asks for each prompt by its own tokens, which lets the sidecar send it. */
    void holdAllByTokens(Duration lease) {
        prompts.forEach(
                prompt -> sidecar.sidecar().orElseThrow().hold(SglangBlockNames.of(prompt, PAGE), prompt, lease));
        pass(Duration.ofSeconds(1));
    }

    /** The texts, one after another, and then a flood. */
    Round round() {
        int[] hits = new int[1];
        long[] cached = new long[1];
        List<int[]> all = new ArrayList<>();
        for (int text = 0; text < workload.texts; text++) {
            for (int[] prompt : prompts) {
                all.add(join(prompt, fresh(random.nextInt(20, 200))));
            }
        }
        for (int[] request : all) {
            send(request, random.nextInt(1, 24), cachedTokens -> {
                cached[0] += cachedTokens;
                hits[0] += cachedTokens >= workload.tokens / PAGE * PAGE ? 1 : 0;
            });
            pass(Duration.ofMillis(100));
        }
        pass(Duration.ofSeconds(5));
        flood();
        return new Round(all.size(), hits[0], cached[0]);
    }

    /** Prompts that share nothing, longer and longer, each sent to an engine at rest: what they cost can be measured. */
    void oneByOne(int count) {
        for (int i = 0; i < count; i++) {
            send(fresh(64 + 48 * i), 4, cachedTokens -> {});
            pass(Duration.ofSeconds(1));
        }
    }

    /** Prompts that share nothing. */
    void flood() {
        for (int flooded = 0; flooded < workload.floodTokens; flooded += 1_024) {
            send(fresh(1_024), floodAnswer, cachedTokens -> {});
            pass(Duration.ofMillis(40));
        }
        pass(Duration.ofSeconds(5));
    }

    EngineView.OwnRequests ownRequests() {
        return sidecar.sidecar().orElseThrow().view().own();
    }

    List<Round> rounds(int count) {
        List<Round> rounds = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rounds.add(round());
        }
        return rounds;
    }

    /** Whether the largest request that the engine accepts is answered. */
    boolean largestIsServed() {
        long before = served;
        send(fresh(engine.settings.maxPromptTokens() - LONGEST_ANSWER), LONGEST_ANSWER, cachedTokens -> {});
        for (int i = 0; i < 120 && served == before; i++) {
            pass(Duration.ofSeconds(1));
        }
        return served > before;
    }

    void pass(Duration duration) {
        time.runUntil(time.now() + duration.toNanos());
    }

    List<HoldView> holds() {
        return sidecar.sidecar().orElseThrow().view().holds();
    }

    HoldView onlyHold() {
        List<HoldView> holds = holds();
        if (holds.size() != 1) {
            throw new AssertionError("There is one hold: " + holds);
        }
        return holds.getFirst();
    }

    /** The engine empties its cache. */
    void flush() {
        engine.flush(done -> {});
        pass(Duration.ofSeconds(3));
    }

    void restart() {
        engine.kill();
        pass(Duration.ofSeconds(3));
        engine.start();
        pass(Duration.ofSeconds(3));
    }

    Plan plan() {
        return sidecar.sidecar().orElseThrow().view().lastPlan();
    }

    int pinnedTokens() {
        return oracle.pinnedTokens(engine);
    }

    int failed() {
        return failed;
    }

    List<String> failures() {
        return List.copyOf(oracle.failures().values());
    }

    private void keepRunning() {
        if (engine.isUp()) {
            send(fresh(200), LONGEST_ANSWER, cachedTokens -> time.after(Timeline.MILLI, this::keepRunning));
        }
    }

    @FunctionalInterface
    private interface Answered {
        void with(int cachedTokens);
    }

    private void send(int[] prompt, int answer, Answered answered) {
        engine.submit(new Generation(prompt, RequestOptions.of(answer), false, time.now(), new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                if (last) {
                    served++;
                    answered.with(cachedTokens);
                }
            }

            @Override
            public void failed(String message) {
                failed++;
            }
        }));
    }

    private int[] fresh(int tokens) {
        int[] fresh = new int[tokens];
        for (int i = 0; i < tokens; i++) {
            fresh[i] = nextToken++;
        }
        return fresh;
    }

    private static int[] join(int[] a, int[] b) {
        int[] joined = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, joined, a.length, b.length);
        return joined;
    }

    /** Prints what happens, for whoever looks into it: prompts, tokens, texts, flood, running, and what holds. */
    public static void main(String[] args) {
        int[] numbers = Arrays.stream(args, 0, 5).mapToInt(Integer::parseInt).toArray();
        Workload workload = new Workload(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
        for (long seed = 0; seed < (args.length > 6 ? Integer.parseInt(args[6]) : 1); seed++) {
            Way way = args.length > 7 ? Way.valueOf(args[7]) : Way.PIN_BLOCKS;
            SystemPrompts run = new SystemPrompts(seed, workload, args[5].equals("automatic"), way);
            if (args[5].equals("tokens")) {
                run.holdAllByTokens(Duration.ofHours(1));
            }
            if (args[5].equals("requested")) {
                run.holdAll(Duration.ofHours(1));
            }
            int hits = 0;
            for (int i = 1; i <= 8; i++) {
                Round round = run.round();
                hits += round.hits();
                System.out.println("round " + i + ": " + round + ", " + run.pinnedTokens() + " tokens pinned");
                if (args.length < 7) {
                    run.plan().lines().stream().limit(6).forEach(line -> System.out.println("    " + line));
                }
            }
            System.out.println("seed " + seed + ": hits " + hits + ", largest served " + run.largestIsServed()
                    + ", failed " + run.failed() + ", " + run.failures());
        }
    }
}
