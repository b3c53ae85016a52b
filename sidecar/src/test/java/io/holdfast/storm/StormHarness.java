package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** One engine and the sidecar beside it in virtual time: the engine's real rules, a real controller, and nothing goes wrong. */
final class StormHarness {
    static final int PAGE = 16;

    final Timeline time = new Timeline();
    final VirtualEngine engine;
    final FreshTokens tokens = new FreshTokens();

    private final StormOracle oracle = new StormOracle(time, false);
    private final StormProcess process;
    private int failed;

    /** An engine as this way to hold needs it, which takes so long to compute a token of a prompt. */
    StormHarness(
            int capacity,
            int context,
            Way way,
            int microsPerToken,
            SplittableRandom coins,
            StormSidecar.Written written) {
        SglangSettings settings = SglangSettings.defaults()
                .withSizes(capacity, PAGE, context)
                .withChunkedPrefillTokens(2048)
                .withVariant(way == Way.PIN_BLOCKS ? Variant.PIN_GPU : Variant.STOCK)
                .withEviction(way == Way.PRIORITY_TOUCH ? Eviction.PRIORITY : Eviction.LRU)
                .withSessions(way == Way.SESSION_HOLD);
        engine = new VirtualEngine("engine", time, settings, new Speed(microsPerToken, 2_000, 5_000, 1), oracle);
        process = new StormProcess("sidecar", time, coins, oracle, engine, written, 0);
        process.start();
    }

    void pass(Duration duration) {
        time.runUntil(time.now() + duration.toNanos());
    }

    StormSidecar sidecar() {
        return process.sidecar().orElseThrow();
    }

    EngineView view() {
        return sidecar().view();
    }

    int pinnedTokens() {
        return oracle.pinnedTokens(engine);
    }

    /** Requests that the engine failed. */
    int failed() {
        return failed;
    }

    /** What the oracle found wrong. */
    List<String> failures() {
        return List.copyOf(oracle.failures().values());
    }

    @FunctionalInterface
    interface Answered {
        /** {@code said} is the prompt and its answer. */
        void with(int[] said, int cachedTokens);
    }

    void send(int[] prompt, int answer, Answered answered) {
        int[] said = Arrays.copyOf(prompt, prompt.length + answer);
        int[] length = {prompt.length};
        engine.submit(new Generation(prompt, RequestOptions.of(answer), false, time.now(), new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                if (length[0] < said.length) {
                    said[length[0]++] = token;
                }
                if (last) {
                    answered.with(Arrays.copyOf(said, length[0]), cachedTokens);
                }
            }

            @Override
            public void failed(String message) {
                failed++;
            }
        }));
    }
}
