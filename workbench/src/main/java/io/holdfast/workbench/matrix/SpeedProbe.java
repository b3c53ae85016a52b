package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.OptionalDouble;
import java.util.SplittableRandom;

/** Asks for a few tokens after a short text that nobody asked for before, and counts them against the time. */
final class SpeedProbe implements CoolDown.Probe {
    private static final int PROMPT = 32;
    private static final int ANSWER = 32;
    private static final int FIRST_TOKEN = 1_000;
    private static final int TOKENS = 29_000;

    /** No load is drawn from it. */
    private final SplittableRandom random = new SplittableRandom(0x5eed_c001L);

    @Override
    public OptionalDouble tokensPerSecond(EngineUnderTest engine) {
        int[] text = random.ints(PROMPT, FIRST_TOKEN, FIRST_TOKEN + TOKENS).toArray();
        EngineUnderTest.Load load = engine.prepare(List.of(new LoadRequest(Role.WARM_UP, 0, text, ANSWER)));
        load.connect(1);
        RequestRecord record = load.send(1, 1).getFirst();
        OptionalDouble millis = record.endToEndMillis();
        return millis.isPresent()
                ? OptionalDouble.of(1e3 * record.completionTokens().orElse(ANSWER) / millis.getAsDouble())
                : OptionalDouble.empty();
    }
}
