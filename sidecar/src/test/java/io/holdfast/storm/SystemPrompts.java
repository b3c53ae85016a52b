package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Plan;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;

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
    private static final int CONTEXT = 6_144;
    private static final int LONGEST_ANSWER = 192;

    private final StormHarness harness;
    private final Workload workload;
    private final int floodAnswer;
    private final SplittableRandom random;
    private final List<int[]> prompts = new ArrayList<>();
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
        this.harness = new StormHarness(
                CAPACITY,
                CONTEXT,
                way,
                microsPerToken,
                random.split(),
                new StormSidecar.Written(
                        Duration.ofMillis(100),
                        automatic,
                        Duration.ofMinutes(5),
                        way,
                        LONGEST_ANSWER,
                        workload.alwaysRunning > 0,
                        CONTEXT / 2));
        for (int i = 0; i < workload.prompts; i++) {
            prompts.add(harness.tokens.take(workload.tokens));
        }
        for (int i = 0; i < workload.alwaysRunning; i++) {
            keepRunning();
        }
        pass(Duration.ofSeconds(3));
    }

    /** Asks for each prompt by the names of its own blocks. */
    void holdAll(Duration lease) {
        prompts.forEach(prompt -> harness.sidecar().hold(SglangBlockNames.of(prompt, StormHarness.PAGE), lease));
        pass(Duration.ofSeconds(1));
    }

    /** Asks for each prompt by its own tokens, which lets the sidecar send it. */
    void holdAllByTokens(Duration lease) {
        prompts.forEach(
                prompt -> harness.sidecar().hold(SglangBlockNames.of(prompt, StormHarness.PAGE), prompt, lease));
        pass(Duration.ofSeconds(1));
    }

    /** The texts, one after another, and then a flood. */
    Round round() {
        int[] hits = new int[1];
        long[] cached = new long[1];
        List<int[]> all = new ArrayList<>();
        for (int text = 0; text < workload.texts; text++) {
            for (int[] prompt : prompts) {
                all.add(harness.tokens.after(prompt, random.nextInt(20, 200)));
            }
        }
        for (int[] request : all) {
            send(request, random.nextInt(1, 24), cachedTokens -> {
                cached[0] += cachedTokens;
                hits[0] += cachedTokens >= workload.tokens / StormHarness.PAGE * StormHarness.PAGE ? 1 : 0;
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
            send(harness.tokens.take(64 + 48 * i), 4, cachedTokens -> {});
            pass(Duration.ofSeconds(1));
        }
    }

    /** Prompts that share nothing. */
    void flood() {
        for (int flooded = 0; flooded < workload.floodTokens; flooded += 1_024) {
            send(harness.tokens.take(1_024), floodAnswer, cachedTokens -> {});
            pass(Duration.ofMillis(40));
        }
        pass(Duration.ofSeconds(5));
    }

    EngineView.OwnRequests ownRequests() {
        return harness.view().own();
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
        send(
                harness.tokens.take(harness.engine.settings.maxPromptTokens() - LONGEST_ANSWER),
                LONGEST_ANSWER,
                cachedTokens -> {});
        for (int i = 0; i < 120 && served == before; i++) {
            pass(Duration.ofSeconds(1));
        }
        return served > before;
    }

    void pass(Duration duration) {
        harness.pass(duration);
    }

    List<HoldView> holds() {
        return harness.view().holds();
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
        harness.engine.flush(done -> {});
        pass(Duration.ofSeconds(3));
    }

    void restart() {
        harness.engine.kill();
        pass(Duration.ofSeconds(3));
        harness.engine.start();
        pass(Duration.ofSeconds(3));
    }

    Plan plan() {
        return harness.view().lastPlan();
    }

    int pinnedTokens() {
        return harness.pinnedTokens();
    }

    int failed() {
        return harness.failed();
    }

    List<String> failures() {
        return harness.failures();
    }

    private void keepRunning() {
        if (harness.engine.isUp()) {
            send(
                    harness.tokens.take(200),
                    LONGEST_ANSWER,
                    cachedTokens -> harness.time.after(Timeline.MILLI, this::keepRunning));
        }
    }

    private void send(int[] prompt, int answer, IntConsumer cached) {
        harness.send(prompt, answer, (said, cachedTokens) -> {
            served++;
            cached.accept(cachedTokens);
        });
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
