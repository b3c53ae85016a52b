package io.holdfast.app;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.FloodShape;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/**
 * The demo with scenes that a test has time for: few requests, and each so slow that the noise of a busy machine is small
 * beside it. The engine only waits, so several of these run side by side.
 */
final class SmallDemo {
    /** Requests of a leg with one cycle: the prime, the flood, the probe. */
    static final int REQUESTS_OF_A_LEG = 4;

    private static final int CAPACITY = 1_536;
    private static final FloodShape SHAPE = FloodShape.of(256, 32, 2, 896, 1).withOutputTokens(1, 1);

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
        String[] args = Stream.concat(Stream.of("demo", "--cycles", "1"), Stream.of(options))
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
        EmulatorSettings engine = Demo.emulated(capacity).withFirstTokenMicros(60_000);
        return new Scene(letter, name, "a small " + name, engine, SHAPE, expected);
    }
}
