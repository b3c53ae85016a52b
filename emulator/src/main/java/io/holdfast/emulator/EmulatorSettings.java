package io.holdfast.emulator;

import io.holdfast.emulator.engine.Speed;
import io.holdfast.emulator.fault.Fault;
import io.holdfast.emulator.sglang.SglangSettings;
import io.holdfast.emulator.vllm.VllmSettings;
import io.holdfast.events.KvEventEncoder;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;

/**
 * What kind of server to emulate, and where.
 *
 * @param httpPort 0: a free one
 * @param eventsPort 0: a free one
 * @param replayPort where batches are asked for again, 0 a free one; without it nowhere
 * @param kind whose rules
 * @param seed of the emulated model: the same prompt gets the same answer
 * @param eventDialect the form of the events on the wire
 */
public record EmulatorSettings(
        int httpPort,
        int eventsPort,
        OptionalInt replayPort,
        Kind kind,
        Speed speed,
        List<Fault> faults,
        long seed,
        KvEventEncoder.Dialect eventDialect) {

    /** Which engine. */
    public sealed interface Kind {
        record Sglang(SglangSettings settings) implements Kind {}

        record Vllm(VllmSettings settings) implements Kind {}
    }

    public EmulatorSettings {
        faults = List.copyOf(faults);
        checkPort("httpPort", httpPort);
        checkPort("eventsPort", eventsPort);
        replayPort.ifPresent(port -> checkPort("replayPort", port));
    }

    /** A small fast SGLang on free ports: 4096 tokens in blocks of 16, 100 us a token, no faults, no pins. */
    public static EmulatorSettings defaults() {
        return new EmulatorSettings(
                0,
                0,
                OptionalInt.empty(),
                new Kind.Sglang(SglangSettings.defaults()),
                new Speed(100, 5_000, 5_000, 1),
                List.of(),
                1,
                KvEventEncoder.Dialect.SGLANG_MAPS);
    }

    public EmulatorSettings withHttpPort(int port) {
        return new EmulatorSettings(port, eventsPort, replayPort, kind, speed, faults, seed, eventDialect);
    }

    public EmulatorSettings withEventsPort(int port) {
        return new EmulatorSettings(httpPort, port, replayPort, kind, speed, faults, seed, eventDialect);
    }

    public EmulatorSettings withReplayPort(int port) {
        return new EmulatorSettings(
                httpPort, eventsPort, OptionalInt.of(port), kind, speed, faults, seed, eventDialect);
    }

    public EmulatorSettings withKind(Kind value) {
        return new EmulatorSettings(httpPort, eventsPort, replayPort, value, speed, faults, seed, eventDialect);
    }

    public EmulatorSettings withSpeed(Speed value) {
        return new EmulatorSettings(httpPort, eventsPort, replayPort, kind, value, faults, seed, eventDialect);
    }

    public EmulatorSettings withFaults(List<Fault> value) {
        return new EmulatorSettings(httpPort, eventsPort, replayPort, kind, speed, value, seed, eventDialect);
    }

    public EmulatorSettings withSeed(long value) {
        return new EmulatorSettings(httpPort, eventsPort, replayPort, kind, speed, faults, value, eventDialect);
    }

    public EmulatorSettings withEventDialect(KvEventEncoder.Dialect value) {
        return new EmulatorSettings(httpPort, eventsPort, replayPort, kind, speed, faults, seed, value);
    }

    /** The same with other settings of its SGLang. */
    public EmulatorSettings withSglang(UnaryOperator<SglangSettings> change) {
        return withKind(new Kind.Sglang(change.apply(sglang())));
    }

    public EmulatorSettings withVariant(SglangSettings.Variant value) {
        return withSglang(sglang -> sglang.withVariant(value));
    }

    public EmulatorSettings withCapacityTokens(int value) {
        return withSglang(sglang -> sglang.withSizes(value, sglang.pageTokens(), sglang.contextTokens()));
    }

    /** Give the capacity first where the old one is not a whole number of new pages. */
    public EmulatorSettings withPageTokens(int value) {
        return withSglang(sglang -> sglang.withSizes(sglang.capacityTokens(), value, sglang.contextTokens()));
    }

    public EmulatorSettings withContextTokens(int value) {
        return withSglang(sglang -> sglang.withSizes(sglang.capacityTokens(), sglang.pageTokens(), value));
    }

    public EmulatorSettings withSizes(int capacity, int page, int context) {
        return withSglang(sglang -> sglang.withSizes(capacity, page, context));
    }

    public EmulatorSettings withMaxRunning(int value) {
        return withSglang(sglang -> sglang.withMaxRunning(value));
    }

    public EmulatorSettings withPrefillMicrosPerToken(double value) {
        return withSpeed(new Speed(value, speed.firstTokenMicros(), speed.decodeMicros(), speed.scale()));
    }

    public EmulatorSettings withFirstTokenMicros(double value) {
        return withSpeed(new Speed(speed.prefillMicrosPerToken(), value, speed.decodeMicros(), speed.scale()));
    }

    public EmulatorSettings withDecodeMillis(double value) {
        return withSpeed(
                new Speed(speed.prefillMicrosPerToken(), speed.firstTokenMicros(), value * 1e3, speed.scale()));
    }

    public SglangSettings sglang() {
        if (kind instanceof Kind.Sglang sglang) {
            return sglang.settings();
        }
        throw new IllegalStateException("These are the settings of another engine: " + kind + ".");
    }

    private static void checkPort(String name, int port) {
        if (port < 0 || port > 65_535) {
            throw new IllegalArgumentException(name + " must be 0 (a free one) to 65535, not " + port + ".");
        }
    }
}
