package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.storm.HostileTraffic.Pattern;
import io.holdfast.storm.HostileTraffic.Timed;
import io.holdfast.storm.StockEngine.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Traffic that is meant to mislead a sidecar with the defaults: what requests find is at most half a point below what they find
 * in the same engine alone, whatever the pattern.
 */
final class NoHarmByDefaultTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int SEEDS = DEEP ? 10 : Pattern.values().length;
    private static final int WASTED_SEEDS = DEEP ? 10 : 1;
    /** Of all prompt tokens. */
    private static final double MOST_LESS = 0.005;

    private static final int REQUEST_TOKENS = 65;
    /** Of all prompt tokens. */
    private static final double MOST_SPENT = 0.1;

    /** What requests found of their prompts. */
    record Found(long promptTokens, long cachedTokens, int failed, List<String> failures, long own) {
        double share() {
            return (double) cachedTokens / promptTokens;
        }
    }

    @ParameterizedTest
    @EnumSource
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void hostileTraffic_findsNoLessThanWithoutHolds(Kind kind) {
        List<String> harmed = new ArrayList<>();
        for (long seed = 0; seed < SEEDS; seed++) {
            for (Pattern pattern : patterns(kind, seed)) {
                StockEngine engine = engine(kind, seed);
                Found without = play(pattern, seed, engine, false);
                Found with = play(pattern, seed, engine, true);
                String sentence = String.format(
                        Locale.ROOT,
                        "%s, seed %d, %s: found %.2f %% with a sidecar and %d requests of its own, %.2f %% without",
                        pattern,
                        seed,
                        engine,
                        100 * with.share(),
                        with.own(),
                        100 * without.share());
                assertThat(with.promptTokens()).as("the same traffic").isEqualTo(without.promptTokens());
                assertThat(with.failed()).as(sentence).isEqualTo(without.failed());
                assertThat(with.failures()).as(sentence).isEmpty();
                if (with.share() < without.share() - MOST_LESS) {
                    harmed.add(sentence);
                }
            }
        }
        assertThat(harmed).isEmpty();
    }

    /** In computed tokens, a request of the sidecar's own costs as much as a short prompt, and none of these saves anything. */
    @ParameterizedTest
    @EnumSource(names = {"SGLANG", "VLLM"})
    void headsThatNobodyUsesAgain_areKeptWarmForLittle(Kind kind) {
        for (long seed = 0; seed < WASTED_SEEDS; seed++) {
            Found with = play(Pattern.SHARED_TWICE, seed, new StockEngine(kind, 16, 8_192, 8_192), true);
            assertThat((double) with.own() * REQUEST_TOKENS / with.promptTokens())
                    .as("%d requests beside %d tokens of prompts", with.own(), with.promptTokens())
                    .isLessThan(MOST_SPENT);
        }
    }

    /** Each pattern with each seed where there is time; else each pattern at one kind by turns, and all together at each. */
    private static List<Pattern> patterns(Kind kind, long seed) {
        Pattern[] all = Pattern.values();
        Pattern one = all[(int) (seed % all.length)];
        boolean itsTurn = one == Pattern.MIXED || one.ordinal() % Kind.values().length == kind.ordinal();
        return DEEP ? List.of(all) : itsTurn ? List.of(one) : List.of();
    }

    static StockEngine engine(Kind kind, long seed) {
        SplittableRandom random = new SplittableRandom(~seed);
        int[] capacities = {8_192, 24_576, 65_536};
        int capacity = capacities[random.nextInt(capacities.length)];
        int page = random.nextInt(3) == 0 ? 64 : 16;
        int context = random.nextBoolean() ? 8_192 : 32_768;
        return new StockEngine(kind, page, kind.isVllm() ? Math.min(context, capacity) : context, capacity);
    }

    static Found play(Pattern pattern, long seed, StockEngine engine, boolean beside) {
        StockRun run = new StockRun(engine, seed, beside);
        long[] tokens = new long[2];
        for (Timed timed : HostileTraffic.of(pattern, seed, engine, run.tokens)) {
            run.sendAfter(Duration.ofMillis(timed.millis()), timed.request(), (request, cached, _) -> {
                tokens[0] += request.prompt().length;
                tokens[1] += cached;
            });
        }
        run.untilAnswered();
        return new Found(tokens[0], tokens[1], run.failed(), run.failures(), run.own());
    }
}
