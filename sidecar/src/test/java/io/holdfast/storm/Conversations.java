package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldState;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * Conversations in virtual time: each goes on after a while, with all that was said before, and ends after some turns; between
 * them prompts that come once. More of it than the cache has room for, beside a real controller and the engine's rules.
 */
final class Conversations {
    /**
     * @param everyMillis a request starts, on average
     * @param oneShots share of requests that begin nothing
     * @param turns of a conversation, on average
     * @param thinkSeconds between an answer and the next turn, on average
     */
    record Workload(int capacity, int everyMillis, double oneShots, double turns, double thinkSeconds) {}

    /** What became of the prompts so far. */
    record Found(long requests, long promptTokens, long cachedTokens, long held) {
        double ratio() {
            return promptTokens == 0 ? 0 : (double) cachedTokens / promptTokens;
        }
    }

    private static final int CONTEXT = 4_096;
    private static final int LONGEST_ANSWER = 128;

    private final StormHarness harness;
    private final Workload workload;
    /** When requests come and what they are; what a conversation says next it draws itself, whenever that is. */
    private final SplittableRandom starts;

    private OptionalDouble hintsRight = OptionalDouble.empty();
    private long requests;
    private long promptTokens;
    private long cachedTokens;

    /** On the engine that this way needs, with or without holding. */
    Conversations(long seed, Workload workload, Way way, boolean holds) {
        this.starts = new SplittableRandom(seed);
        this.workload = workload;
        this.harness = new StormHarness(
                workload.capacity,
                CONTEXT,
                way,
                20,
                new SplittableRandom(~seed),
                new StormSidecar.Written(
                        Duration.ofMillis(100),
                        true,
                        Duration.ofMinutes(5),
                        holds ? way : Way.DRY_RUN,
                        LONGEST_ANSWER,
                        true,
                        CONTEXT / 2));
        pass(Duration.ofSeconds(3));
        next();
    }

    /** Each answer comes with the client's word whether the conversation goes on, which is right so often. */
    Conversations hinting(double right) {
        hintsRight = OptionalDouble.of(right);
        return this;
    }

    void pass(Duration duration) {
        harness.pass(duration);
    }

    /** Since the last call. */
    Found found() {
        Found found = new Found(requests, promptTokens, cachedTokens, held());
        requests = 0;
        promptTokens = 0;
        cachedTokens = 0;
        return found;
    }

    long held() {
        return view().holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .count();
    }

    EngineView view() {
        return harness.view();
    }

    int failed() {
        return harness.failed();
    }

    List<String> failures() {
        return harness.failures();
    }

    private void next() {
        SplittableRandom random = starts.split();
        if (random.nextDouble() < workload.oneShots) {
            send(harness.tokens.take(random.nextInt(300, 700)), random.nextInt(8, 40), said -> {});
        } else {
            turn(harness.tokens.take(random.nextInt(200, 400)), random);
        }
        harness.time.after((long) (exponential(workload.everyMillis, random) * Timeline.MILLI), this::next);
    }

    /** One turn of a conversation, and what follows it. */
    private void turn(int[] prompt, SplittableRandom random) {
        send(prompt, random.nextInt(40, LONGEST_ANSWER), said -> {
            boolean over = random.nextDouble() < 1 / workload.turns || said.length > CONTEXT / 2 - 300;
            if (hintsRight.isPresent()) {
                boolean right = random.nextDouble() < hintsRight.getAsDouble();
                // The last token of an answer is in no cache.
                harness.sidecar()
                        .hint(
                                SglangBlockNames.of(Arrays.copyOf(said, said.length - 1), StormHarness.PAGE),
                                over != right);
            }
            if (!over) {
                harness.time.after(
                        (long) (exponential(workload.thinkSeconds * 1_000, random) * Timeline.MILLI),
                        () -> turn(harness.tokens.after(said, random.nextInt(20, 120)), random));
            }
        });
    }

    private static double exponential(double mean, SplittableRandom random) {
        return -mean * Math.log(1 - random.nextDouble());
    }

    private void send(int[] prompt, int answer, Consumer<int[]> answered) {
        requests++;
        promptTokens += prompt.length;
        harness.send(prompt, answer, (said, cached) -> {
            cachedTokens += cached;
            answered.accept(said);
        });
    }

    /** Prints what happens, for whoever looks into it: capacity, milliseconds, one-shots, turns, seconds, way, minutes, seeds. */
    public static void main(String[] args) {
        Workload workload = new Workload(
                Integer.parseInt(args[0]),
                Integer.parseInt(args[1]),
                Double.parseDouble(args[2]),
                Double.parseDouble(args[3]),
                Double.parseDouble(args[4]));
        for (long seed = 0; seed < Integer.parseInt(args[7]); seed++) {
            for (boolean holds : new boolean[] {false, true}) {
                Conversations run = new Conversations(seed, workload, Way.valueOf(args[5]), holds);
                if (args.length > 8) {
                    run.hinting(Double.parseDouble(args[8]));
                }
                System.out.println("seed " + seed + (holds ? " with holds" : " without"));
                for (int minute = 0; minute < Integer.parseInt(args[6]); minute += 5) {
                    run.pass(Duration.ofMinutes(5));
                    Found found = run.found();
                    System.out.printf(
                            Locale.ROOT,
                            "  %.1f %% cached, %d held, %s%n",
                            100 * found.ratio(),
                            found.held(),
                            run.view().byRank().why());
                }
                System.out.println("  failed " + run.failed() + ", " + run.failures());
            }
        }
    }
}
