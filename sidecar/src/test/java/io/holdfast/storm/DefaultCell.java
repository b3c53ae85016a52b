package io.holdfast.storm;

import io.holdfast.storm.StockEngine.Kind;
import io.holdfast.storm.StockRun.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A stock engine and the traffic that Holdfast is for: in each round twelve users' requests behind one system prompt that
 * nobody sends alone, then prompts that come once.
 *
 * @param atATime requests
 * @param answer tokens
 */
record DefaultCell(StockEngine engine, int atATime, int answer, Head head, Flood flood) {
    /** The system prompt. */
    enum Head {
        USUAL,
        /** With tools and examples, as long as the cache and the context leave room for. */
        LONG
    }

    /** What comes between two rounds. */
    enum Flood {
        /** As many tokens as the cache has, at once. */
        WHOLE,
        /** The same in two parts, with a pause between them. */
        HALVES,
        /** So little that nothing is lost. */
        AMPLE
    }

    /**
     * What a sidecar did to it.
     *
     * @param firstHold the first round in which something was held; 0 for none
     * @param before share of users' requests that found the whole head until that round
     * @param after the same in the rounds after it, but for requests that came while holds were off to measure it;
     *     NaN where there is none
     * @param measured share of the requests in the rounds after it that came while holds were off for that; NaN where none came
     * @param p99 of the time to first token of the prompts that come once, with holds
     * @param p99Without without a sidecar
     * @param own requests of the sidecar's own
     * @param off how long nothing was held in order to measure
     * @param took all of it, in the engine's time
     * @param why nothing was held
     */
    record Result(
            DefaultCell cell,
            int firstHold,
            double before,
            double after,
            double measured,
            double without,
            Duration p99,
            Duration p99Without,
            long own,
            Duration off,
            Duration took,
            int failed,
            List<String> failures,
            String why) {

        /** How much longer the prompts that come once take to their first token; 0.05 is 5 %. */
        double slower() {
            return p99Without.isZero() ? 0 : (double) p99.toNanos() / p99Without.toNanos() - 1;
        }
    }

    static final int USERS = 12;
    private static final int LONGEST_TEXT = 200;
    private static final int SHORTEST_PROMPT = 512;
    private static final int LONGEST_PROMPT = 2_048;
    private static final int LEAST_LONG_HEAD = 3_072;
    private static final int MOST_LONG_HEAD = 12_000;
    /** So many prompts that come once are needed for a 99th percentile. */
    private static final int FLOODS = 200;

    private static final Duration PAUSE = Duration.ofSeconds(2);

    /** Whether the engine starts, such a head is there, and the cache has room for two requests. */
    boolean exists() {
        return engine.starts()
                && (head == Head.USUAL || headTokens() >= LEAST_LONG_HEAD)
                && headTokens() + LONGEST_TEXT + answer < engine.context()
                && 2 * (Math.max(headTokens() + LONGEST_TEXT, LONGEST_PROMPT) + answer + engine.page())
                        <= engine.capacity();
    }

    int headTokens() {
        return head == Head.USUAL
                ? Math.min(512, engine.capacity() / 4)
                : Math.min(
                        MOST_LONG_HEAD,
                        Math.min(engine.capacity() / 8, engine.context() - LONGEST_TEXT - answer - 512));
    }

    /** Whether what runs at once needs the whole cache: an engine evicts then whatever can be evicted, held or not. */
    boolean fills() {
        return (long) atATime * (LONGEST_PROMPT + answer) + headTokens() > engine.capacity();
    }

    int rounds() {
        return engine.capacity() > 500_000 ? 6 : engine.capacity() > 100_000 ? 7 : 8;
    }

    /** How often it is done again with other numbers, so that there are prompts enough for a percentile. */
    int seeds() {
        int promptsARound = Math.max(1, engine.capacity() / ((SHORTEST_PROMPT + LONGEST_PROMPT) / 2 + answer));
        return Math.max(1, (FLOODS + promptsARound * rounds() - 1) / (promptsARound * rounds()));
    }

    /** The same without what makes no difference to an engine that is alone. */
    DefaultCell alone() {
        Kind kind = engine.kind().isVllm() ? Kind.VLLM : Kind.SGLANG;
        int context = kind == Kind.VLLM ? 8_192 : Math.max(8_192, headTokens() + 2_048);
        return head == Head.USUAL
                ? new DefaultCell(
                        new StockEngine(kind, engine.page(), context, engine.capacity()), atATime, answer, head, flood)
                : new DefaultCell(
                        new StockEngine(kind, engine.page(), engine.context(), engine.capacity()),
                        atATime,
                        answer,
                        head,
                        flood);
    }

    /** What clients saw of an engine without a sidecar. */
    Seen seenAlone() {
        Seen all = new Seen();
        for (long seed = 0; seed < seeds(); seed++) {
            all.add(new Play(seed, false).all());
        }
        return all;
    }

    Result run(Seen alone) {
        Seen all = new Seen();
        int firstHold = 0;
        boolean always = true;
        long own = 0;
        int failed = 0;
        Duration off = Duration.ZERO;
        Duration took = Duration.ZERO;
        List<String> failures = new ArrayList<>();
        String why = "";
        for (long seed = 0; seed < seeds(); seed++) {
            Play play = new Play(seed, true);
            all.add(play.all());
            firstHold = Math.max(firstHold, play.firstHold);
            if (play.firstHold == 0) {
                always = false;
                why = play.run.whyNot();
            }
            own += play.run.own();
            failed += play.run.failed();
            off = off.plus(play.run.off());
            took = took.plusNanos(play.run.time.now());
            failures.addAll(play.run.failures());
        }
        return new Result(
                this,
                always ? firstHold : 0,
                share(all.foundBefore, all.before),
                share(all.foundAfter, all.after),
                share(all.measured, all.after + all.measured),
                share(alone.foundBefore + alone.foundAfter, alone.before + alone.after),
                all.p99(),
                alone.p99(),
                own,
                off,
                took,
                failed,
                failures,
                why);
    }

    private static double share(long part, long all) {
        return all == 0 ? Double.NaN : (double) part / all;
    }

    /** What clients saw. */
    static final class Seen {
        private long before;
        private long foundBefore;
        private long after;
        private long foundAfter;
        private long measured;
        private long[] firstTokens = new long[0];

        void add(Seen other) {
            before += other.before;
            foundBefore += other.foundBefore;
            after += other.after;
            foundAfter += other.foundAfter;
            measured += other.measured;
            firstTokens = LongStream.concat(Arrays.stream(firstTokens), Arrays.stream(other.firstTokens))
                    .toArray();
        }

        Duration p99() {
            if (firstTokens.length == 0) {
                return Duration.ZERO;
            }
            long[] sorted = firstTokens.clone();
            Arrays.sort(sorted);
            return Duration.ofNanos(sorted[(int) Math.ceil(0.99 * sorted.length) - 1]);
        }
    }

    private final class Play {
        private final StockRun run;
        private final SplittableRandom random;
        private final int[] shared;
        private final List<Long> firstTokens = new ArrayList<>();
        private final Seen seen = new Seen();
        private int round;
        private int firstHold;

        Play(long seed, boolean beside) {
            this.random = new SplittableRandom(seed);
            this.run = new StockRun(engine, seed, beside);
            this.shared = run.tokens.take(headTokens());
        }

        Seen all() {
            for (round = 1; round <= rounds(); round++) {
                run.serve(users(), atATime, this::served);
                look();
                switch (flood) {
                    case WHOLE -> flood(engine.capacity());
                    case HALVES -> {
                        flood(engine.capacity() / 2);
                        run.pass(PAUSE);
                        look();
                        flood(engine.capacity() / 2);
                    }
                    case AMPLE -> flood(engine.capacity() / 4 / rounds());
                }
                run.pass(PAUSE);
                look();
            }
            seen.firstTokens = firstTokens.stream().mapToLong(Long::longValue).toArray();
            return seen;
        }

        private void look() {
            if (firstHold == 0 && !run.held().isEmpty()) {
                firstHold = round;
            }
        }

        private List<Request> users() {
            return IntStream.range(0, USERS)
                    .mapToObj(_ -> new Request(
                            run.tokens.after(shared, random.nextInt(20, LONGEST_TEXT)), answer, shared.length))
                    .toList();
        }

        private void flood(int tokens) {
            List<Request> prompts = new ArrayList<>();
            for (int stored = 0; stored < tokens; ) {
                int length = random.nextInt(SHORTEST_PROMPT, LONGEST_PROMPT + 1);
                prompts.add(new Request(run.tokens.take(length), answer));
                // The last token of an answer and what fills no block are in no cache.
                stored += (length + answer - 1) / engine.page() * engine.page();
            }
            run.serve(prompts, atATime, this::served);
        }

        private void served(Request request, int cachedTokens, Duration timeToFirstToken) {
            if (request.head() == 0) {
                firstTokens.add(timeToFirstToken.toNanos());
                return;
            }
            boolean found = cachedTokens >= request.head() / engine.page() * engine.page();
            if (firstHold == 0 || round == firstHold) {
                seen.before++;
                seen.foundBefore += found ? 1 : 0;
            } else if (!run.measuring()) {
                seen.after++;
                seen.foundAfter += found ? 1 : 0;
            } else {
                seen.measured++;
            }
        }
    }

    @Override
    public String toString() {
        return engine.kind() + " page " + engine.page() + " context " + engine.context() + " capacity "
                + engine.capacity() + ", " + atATime + " at a time, answers of " + answer + ", head " + headTokens()
                + ", flood " + flood;
    }

    /** Times what a cell takes: kind, page, context, capacity, at a time, answer, head, flood. */
    public static void main(String[] args) {
        DefaultCell cell = new DefaultCell(
                new StockEngine(
                        Kind.valueOf(args[0]),
                        Integer.parseInt(args[1]),
                        Integer.parseInt(args[2]),
                        Integer.parseInt(args[3])),
                Integer.parseInt(args[4]),
                Integer.parseInt(args[5]),
                Head.valueOf(args[6]),
                Flood.valueOf(args[7]));
        for (int i = 0; i < (args.length > 8 ? Integer.parseInt(args[8]) : 1); i++) {
            long begin = System.nanoTime();
            Seen alone = cell.alone().seenAlone();
            long between = System.nanoTime();
            System.out.println(cell.run(alone));
            System.out.println((between - begin) / 1_000_000 + " ms alone, " + (System.nanoTime() - between) / 1_000_000
                    + " ms with a sidecar");
        }
    }
}
