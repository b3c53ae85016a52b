package io.holdfast.emulator;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.ChatTemplate;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Settings of the server to emulate, with its addresses.
 *
 * @param kind whose rules
 * @param model the name that it serves its model under
 * @param tokenizer cuts text
 * @param template makes one text of a conversation
 * @param faults from the start on
 * @param script what happens while it serves
 * @param seed of the emulated model: the same prompt gets the same answer
 * @param kvcached the memory that its cache shares with others, where kvcached is to be emulated: then it publishes no
 *     events
 * @param stamps the file for its stamps of each streamed answer, where they are wanted
 */
public record EmulatorSettings(
        Endpoints endpoints,
        Kind kind,
        String model,
        Tokenizer tokenizer,
        ChatTemplate template,
        Speed speed,
        List<Fault> faults,
        Script script,
        long seed,
        Optional<KvcachedSettings> kvcached,
        Optional<Path> stamps) {
    public static final String MODEL = ApiSettings.DEFAULT_MODEL;

    /** Kind of engine. */
    public sealed interface Kind {
        /** The form of its events on the wire. */
        Dialect dialect();

        /**
         * SGLang.
         *
         * @param arrayEvents whether events are arrays, as before September 2026
         */
        record Sglang(SglangSettings settings, boolean arrayEvents) implements Kind {
            @Override
            public Dialect dialect() {
                return arrayEvents ? Dialect.SGLANG_ARRAYS : Dialect.SGLANG_MAPS;
            }
        }

        /** vLLM V1, or a server of an optimisation log in its place; its release says which form its events have. */
        record Vllm(VllmSettings settings) implements Kind {
            @Override
            public Dialect dialect() {
                return switch (settings.release()) {
                    case V0_32 -> Dialect.VLLM_MAPS;
                    case V0_22 -> Dialect.VLLM_ARRAYS;
                };
            }
        }
    }

    public EmulatorSettings {
        faults = List.copyOf(faults);
        kvcached.ifPresent(memory -> checkMemory(kind, memory));
        if (model.isBlank()) {
            throw new IllegalArgumentException("The model's name must not be blank.");
        }
    }

    /** A small fast SGLang on free ports: 4096 tokens in blocks of 16, 100 us a token, no faults, no pins. */
    public static EmulatorSettings defaults() {
        return new EmulatorSettings(
                Endpoints.FREE,
                new Kind.Sglang(SglangSettings.defaults(), false),
                MODEL,
                Tokenizer.named("pieces"),
                ChatTemplate.CHATML,
                new Speed(100, 5_000, 5_000, 1),
                List.of(),
                Script.NONE,
                1,
                Optional.empty(),
                Optional.empty());
    }

    public EmulatorSettings withEndpoints(Endpoints value) {
        return new EmulatorSettings(
                value, kind, model, tokenizer, template, speed, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withHttpPort(int port) {
        return withEndpoints(endpoints.withHttp(port));
    }

    public EmulatorSettings withEventsPort(int port) {
        return withEndpoints(endpoints.withEvents(port));
    }

    public EmulatorSettings withReplayPort(int port) {
        return withEndpoints(endpoints.withReplay(port));
    }

    public EmulatorSettings withKind(Kind value) {
        return new EmulatorSettings(
                endpoints, value, model, tokenizer, template, speed, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withModel(String value) {
        return new EmulatorSettings(
                endpoints, kind, value, tokenizer, template, speed, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withTokenizer(Tokenizer value) {
        return new EmulatorSettings(
                endpoints, kind, model, value, template, speed, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withTemplate(ChatTemplate value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, value, speed, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withSpeed(Speed value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, template, value, faults, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withFaults(List<Fault> value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, template, speed, value, script, seed, kvcached, stamps);
    }

    public EmulatorSettings withScript(Script value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, template, speed, faults, value, seed, kvcached, stamps);
    }

    public EmulatorSettings withSeed(long value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, template, speed, faults, script, value, kvcached, stamps);
    }

    /** Returns these settings with the cache in memory under kvcached. */
    public EmulatorSettings withKvcached(KvcachedSettings value) {
        return new EmulatorSettings(
                endpoints, kind, model, tokenizer, template, speed, faults, script, seed, Optional.of(value), stamps);
    }

    /** Returns these settings with other settings of the SGLang. */
    public EmulatorSettings withSglang(UnaryOperator<SglangSettings> change) {
        Kind.Sglang now = sglangKind();
        return withKind(new Kind.Sglang(change.apply(now.settings()), now.arrayEvents()));
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

    /** The settings of its SGLang; to be asked only where it is one. */
    public SglangSettings sglang() {
        return sglangKind().settings();
    }

    private Kind.Sglang sglangKind() {
        if (kind instanceof Kind.Sglang sglang) {
            return sglang;
        }
        throw new IllegalStateException("These are the settings of another engine: " + kind + ".");
    }

    private static void checkMemory(Kind kind, KvcachedSettings memory) {
        switch (kind) {
            case Kind.Sglang(SglangSettings settings, boolean _) -> {
                checkMemory(memory, EngineTag.SGLANG, settings.pageTokens());
                if (settings.hostRatio() > 0) {
                    throw new IllegalArgumentException("kvcached does not work with a host tier; give hostRatio 0.");
                }
            }
            case Kind.Vllm(VllmSettings settings) -> {
                checkMemory(memory, EngineTag.VLLM, settings.blockTokens());
                if (settings.stage().isPresent()) {
                    throw new IllegalArgumentException(
                            "kvcached is emulated for SGLang and vLLM only; leave it out for a profile.");
                }
                if (settings.connector().isPresent() || settings.nixlLease().isPresent()) {
                    throw new IllegalArgumentException(
                            "kvcached replaces the blocks that a connector holds; leave one of them out.");
                }
            }
        }
    }

    private static void checkMemory(KvcachedSettings memory, EngineTag engine, int blockTokens) {
        if (memory.engine() != engine || memory.blockTokens() != blockTokens) {
            throw new IllegalArgumentException("kvcached has to be set up for the engine that it serves, " + engine
                    + " with blocks of " + blockTokens + " tokens, and not for " + memory.engine() + " with blocks of "
                    + memory.blockTokens() + " tokens.");
        }
    }
}
