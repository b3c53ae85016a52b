package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.List;

/** An engine in virtual time, and what it published. */
final class VllmBench {
    final List<List<CacheEvent>> frames = new ArrayList<>();
    final VirtualClock clock = new VirtualClock();
    final Faults faults = Faults.none();
    final VllmEngine engine;

    VllmBench(VllmSettings settings) {
        engine = new VllmEngine(
                settings,
                faults,
                clock,
                new Gpu(new Speed(100, 5_000, 5_000, 1), faults, clock, () -> false),
                Model.seeded(1, 32_000),
                frames::add,
                ElasticPool.OWN);
    }

    /** Serves one request, alone if no other is there. */
    Heard serve(int[] prompt, RequestOptions terms) {
        Heard heard = new Heard();
        submit(prompt, terms, heard);
        run();
        return heard;
    }

    Generation submit(int[] prompt, RequestOptions terms, Heard heard) {
        Generation request = new Generation(prompt, terms, false, clock.nanos(), heard);
        engine.submit(request);
        return request;
    }

    /** Runs until there is nothing to be done. */
    void run() {
        boolean worked = true;
        while (worked) {
            worked = engine.step();
        }
    }
}
