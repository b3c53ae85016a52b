package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the engine itself costs, in virtual time: 64 requests at a time, and as many waiting as told, over 100,000 blocks of 16
 * tokens, which evict all the time. Arguments: tokens of a prompt, tokens of an answer, waiting requests, passes to measure.
 */
final class SglangCost {
    private static final int STREAMS = 64;

    private SglangCost() {}

    public static void main(String[] arguments) {
        int promptTokens = Integer.parseInt(arguments[0]);
        int answerTokens = Integer.parseInt(arguments[1]);
        int waiting = Integer.parseInt(arguments[2]);
        int passes = Integer.parseInt(arguments[3]);
        VirtualClock clock = new VirtualClock();
        Faults faults = Faults.none();
        AtomicLong events = new AtomicLong();
        SglangEngine engine = new SglangEngine(
                SglangSettings.defaults().withSizes(1_600_000, 16, 32_768).withMaxRunning(STREAMS),
                faults,
                clock,
                new Gpu(new Speed(1, 1, 3_200, 1), faults, clock, () -> false),
                Model.seeded(1, 150_000),
                frame -> events.addAndGet(frame.size()),
                ElasticPool.OWN);
        Random random = new Random(1);
        while (engine.stats().evictedTokens() == 0) {
            step(engine, random, promptTokens, answerTokens, waiting);
        }
        for (int round = 0; round < 3; round++) {
            SglangStats before = engine.stats();
            events.set(0);
            long begin = System.nanoTime();
            for (int pass = 0; pass < passes; pass++) {
                step(engine, random, promptTokens, answerTokens, waiting);
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            SglangStats after = engine.stats();
            long said = after.work().decodedTokens()
                    - before.work().decodedTokens()
                    + after.answered().requests()
                    - before.answered().requests();
            long prompts = after.work().computedTokens() - before.work().computedTokens();
            System.out.printf(
                    "%d tokens said, %d of prompts, %d evicted, %d events in %.3f s: %.0f passes a second, %.2f us a"
                            + " token said, so 20,000 a second take %.1f %% of a core%n",
                    said,
                    prompts,
                    after.evictedTokens() - before.evictedTokens(),
                    events.get(),
                    seconds,
                    passes / seconds,
                    1e6 * seconds / said,
                    100 * 20_000 * seconds / said);
        }
    }

    private static void step(SglangEngine engine, Random random, int promptTokens, int answerTokens, int waiting) {
        SglangStats stats = engine.stats();
        for (int i = stats.running() + stats.waiting(); i < STREAMS + waiting; i++) {
            int[] prompt = random.ints(promptTokens, 0, 150_000).toArray();
            engine.submit(new Generation(prompt, RequestOptions.of(answerTokens), true, 0, new Heard()));
        }
        engine.step();
    }
}
