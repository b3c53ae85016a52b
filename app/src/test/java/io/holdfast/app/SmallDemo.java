package io.holdfast.app;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.FloodShape;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/**
 * The demo with scenes that a test has time for: few requests, each slow enough that the noise of a busy machine is small
 * beside it. The engine mostly waits, so several of these run side by side.
 */
final class SmallDemo {
    /** Requests of a leg: the prime, then a flood of two and a probe in each cycle. */
    static final int REQUESTS_OF_A_LEG = 10;

    /** A leg's median stands one probe that came late. */
    private static final int CYCLES = 3;

    private static final int CAPACITY = 1_536;
    private static final Duration HOLD_SLOT = Duration.ofMillis(400);
    private static final FloodShape SHAPE =
            FloodShape.of(256, 32, 2, 896, CYCLES).withOutputTokens(1, 1);

    private SmallDemo() {}

    /** Runs {@code holdfast demo} with scene (a) alone. */
    static Told pressure(String... options) {
        return play(List.of(scene("a", "idle-prefix-under-flood", CAPACITY, Finding.REAL)), options);
    }

    /** Runs {@code holdfast demo} with both scenes. */
    static Told whole(String... options) {
        return play(
                List.of(
                        scene("a", "idle-prefix-under-flood", CAPACITY, Finding.REAL),
                        scene("b", "ample-memory", 8 * CAPACITY, Finding.NO_EXPOSURE)),
                options);
    }

    private static Told play(List<Scene> scenes, String... options) {
        String[] args = Stream.concat(Stream.of("demo", "--cycles", Integer.toString(CYCLES)), Stream.of(options))
                .toArray(String[]::new);
        CommandLine.IFactory usual = CommandLine.defaultFactory();
        return Told.by(
                new CommandLine.IFactory() {
                    @Override
                    public <K> K create(Class<K> type) throws Exception {
                        return type == DemoCommand.class
                                ? type.cast(new DemoCommand(cycles -> scenes))
                                : usual.create(type);
                    }
                },
                args);
    }

    private static Scene scene(String letter, String name, int capacity, Finding expected) {
        EmulatorSettings engine =
                Demo.emulated(capacity).withFirstTokenMicros(40_000).withPrefillMicrosPerToken(100);
        return new Scene(letter, name, "a small " + name, engine, SHAPE, HOLD_SLOT, expected);
    }
}
