package io.holdfast.app;

import io.holdfast.app.demo.Demo;
import io.holdfast.app.demo.DemoCommand;
import io.holdfast.app.demo.DemoScenario;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.workload.FloodShape;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/**
 * The demo with scenarios that a test has time for, and with patience enough for a busy machine: what comes out is asked for
 * its shape and its cached tokens, not for its times.
 */
public final class SmallDemo {
    private static final int CAPACITY = 1_584;
    private static final Duration HOLD_SLOT = Duration.ofSeconds(1);
    private static final Duration SLOT_TOLERANCE = Duration.ofMinutes(1);
    private static final FloodShape SHAPE =
            FloodShape.of(256, 32, 4, Demo.CHUNK_TOKENS, 1).withOutputTokens(1, 1);

    private SmallDemo() {}

    /** Runs {@code holdfast demo} with both scenarios. */
    public static CommandRun run(String... options) {
        List<DemoScenario> scenarios = List.of(
                scenario("a", "idle-prefix-under-flood", CAPACITY, Finding.REAL),
                scenario("b", "ample-memory", 8 * CAPACITY, Finding.NO_EXPOSURE));
        String[] args = Stream.concat(Stream.of("demo"), Stream.of(options)).toArray(String[]::new);
        CommandLine.IFactory usual = CommandLine.defaultFactory();
        return CommandRun.by(
                new CommandLine.IFactory() {
                    @Override
                    public <K> K create(Class<K> type) throws Exception {
                        return type == DemoCommand.class
                                ? type.cast(
                                        new DemoCommand(cycles -> scenarios, new JumpingClock(Thread.currentThread())))
                                : usual.create(type);
                    }
                },
                args);
    }

    private static DemoScenario scenario(String letter, String name, int capacity, Finding expected) {
        return new DemoScenario(
                letter, name, "a small " + name, Demo.emulated(capacity), SHAPE, HOLD_SLOT, SLOT_TOLERANCE, expected);
    }
}
