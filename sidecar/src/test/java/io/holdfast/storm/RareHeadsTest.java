package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.storm.StockEngine.Kind;
import io.holdfast.storm.StockRun.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A head that is used seldom, or by two clients at the same moment, and lost in between: with the defaults, in virtual time. */
final class RareHeadsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int CAPACITY = 24_576;
    private static final int HEAD = 2_048;
    private static final int USES = 10;
    /** Three ways on, the loss and the request that stores it again come before. */
    private static final int LEARNING = 4;

    /** {@code measured} is whether holds were off before it so that their effect could be measured. */
    private record Use(int found, int clients, boolean measured) {}

    /** What became of the uses, and why the head is not held where it is not. */
    private record Outcome(List<Use> uses, String said) {
        private long missedUnmeasured() {
            return late().filter(use -> !use.measured && use.found < use.clients)
                    .count();
        }

        private Stream<Use> late() {
            return uses.subList(LEARNING, uses.size()).stream();
        }
    }

    /** Minutes between two uses and clients at a time; the cache turns over once a minute. */
    static Stream<Arguments> gaps() {
        List<Arguments> slice = List.of(Arguments.of(2, 1), Arguments.of(5, 2));
        List<Arguments> rest = List.of(
                Arguments.of(2, 2),
                Arguments.of(5, 1),
                Arguments.of(10, 1),
                Arguments.of(10, 2),
                Arguments.of(20, 1),
                Arguments.of(20, 2));
        return Stream.concat(slice.stream(), DEEP ? rest.stream() : Stream.empty());
    }

    @ParameterizedTest
    @MethodSource("gaps")
    void seldomUsedHead_isHeldFromUseToUse_orThePlanSaysWhyNot(int minutes, int clients) {
        Outcome outcome = play(Kind.SGLANG_SESSIONS, Duration.ofMinutes(minutes), clients, CAPACITY);
        assertThat(outcome.missedUnmeasured() == 0
                        || (outcome.said.contains("automaticLeaseSeconds")
                                && outcome.said.contains(minutes * 60 + " s apart")))
                .as("%s", outcome)
                .isTrue();
    }

    static Stream<Kind> keptWarm() {
        return DEEP ? Stream.of(Kind.SGLANG, Kind.VLLM) : Stream.of(Kind.VLLM);
    }

    @ParameterizedTest
    @MethodSource("keptWarm")
    void seldomUsedHead_isNotKeptWarmForLongerThanItSaves(Kind kind) {
        StockRun run = new StockRun(new StockEngine(kind, 16, 8_192, CAPACITY), 3, true);
        uses(run, Duration.ofMinutes(10), 1, CAPACITY);
        long mostARound = HEAD / KEPT_WARM_TOKENS + 2;
        assertThat(run.own()).as("touches cost no more than computing it again").isLessThan(USES * mostARound);
    }

    /** What a touch costs beside the prompt, in tokens. */
    private static final int KEPT_WARM_TOKENS = 64;

    @Test
    void headOfTwoClientsAtTheSameMoment_lostHalfOfTheTime_isKept() {
        StockRun run = new StockRun(new StockEngine(Kind.VLLM, 16, 8_192, CAPACITY), 3, true);
        SplittableRandom random = new SplittableRandom(3);
        int[] head = run.tokens.take(2 * HEAD);
        List<Integer> found = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            long begin = run.time.now();
            found.add(together(run, random, head, 2));
            flood(run, random, i % 2 == 0 ? CAPACITY : CAPACITY / 3);
            run.pass(Duration.ofNanos(begin + 6_000_000_000L - run.time.now()));
        }
        assertThat(found.subList(0, 4)).as("lost at first").anyMatch(each -> each < 2);
        assertThat(found.subList(8, found.size()).stream()
                        .mapToInt(Integer::intValue)
                        .sum())
                .as("found %s, %s", found, run.whyNot())
                .isGreaterThanOrEqualTo((int) (0.9 * 2 * (found.size() - 8)));
        assertThat(run.failures()).isEmpty();
    }

    private static Outcome play(Kind kind, Duration every, int clients, int flood) {
        StockRun run = new StockRun(new StockEngine(kind, 16, 8_192, CAPACITY), 3, true);
        List<Use> uses = uses(run, every, clients, flood);
        assertThat(run.failures()).isEmpty();
        return new Outcome(uses, run.whyNot());
    }

    private static List<Use> uses(StockRun run, Duration every, int clients, int flood) {
        SplittableRandom random = new SplittableRandom(3);
        int[] head = run.tokens.take(HEAD);
        List<Use> uses = new ArrayList<>();
        Duration off = Duration.ZERO;
        for (int i = 0; i < USES; i++) {
            long begin = run.time.now();
            boolean measuring = run.measuring();
            int found = together(run, random, head, clients);
            uses.add(new Use(found, clients, measuring || !run.off().equals(off)));
            off = run.off();
            // Once a minute, so that the cache is turned over by each use.
            for (long minute = 0; minute < every.toMinutes(); minute++) {
                flood(run, random, flood);
                run.pass(Duration.ofNanos(
                        Math.max(0, begin + Duration.ofMinutes(minute + 1).toNanos() - run.time.now())));
            }
        }
        return uses;
    }

    /** At the same moment. */
    private static int together(StockRun run, SplittableRandom random, int[] head, int clients) {
        int[] found = new int[1];
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            requests.add(new Request(run.tokens.after(head, random.nextInt(20, 200)), 16, head.length));
        }
        run.serve(requests, clients, (_, cached, _) -> found[0] += cached >= head.length ? 1 : 0);
        return found[0];
    }

    private static void flood(StockRun run, SplittableRandom random, int tokens) {
        List<Request> prompts = new ArrayList<>();
        for (int stored = 0; stored < tokens; ) {
            prompts.add(new Request(run.tokens.take(random.nextInt(512, 2_048)), 16));
            stored += prompts.getLast().prompt().length;
        }
        run.serve(prompts, 4, (_, _, _) -> {});
    }

    /** Prints what is found: engine, minutes, clients. */
    public static void main(String[] args) {
        System.out.println(play(
                Kind.valueOf(args[0]),
                Duration.ofMinutes(Long.parseLong(args[1])),
                Integer.parseInt(args[2]),
                CAPACITY));
    }
}
