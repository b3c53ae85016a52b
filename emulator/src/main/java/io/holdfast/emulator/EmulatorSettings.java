package io.holdfast.emulator;

import io.holdfast.events.KvEventEncoder;
import java.util.List;

/**
 * What kind of server to emulate.
 *
 * @param httpPort 0: a free one
 * @param eventsPort 0: a free one
 * @param capacityTokens size of the KV cache, whole pages
 * @param pageTokens tokens in a block
 * @param contextTokens the model's context length
 * @param prefillMicrosPerToken prefill time of each token that the cache does not have
 * @param firstTokenMicros the part of the time to the first token that does not depend on the prompt
 * @param decodeMillis time of one decode step, whatever the number of running requests
 * @param maxRunning requests that decode together
 * @param seed of the emulated model: the same prompt gets the same answer
 * @param eventDialect the form of the events on the wire
 */
public record EmulatorSettings(
        int httpPort,
        int eventsPort,
        int capacityTokens,
        int pageTokens,
        int contextTokens,
        long prefillMicrosPerToken,
        long firstTokenMicros,
        long decodeMillis,
        int maxRunning,
        Variant variant,
        List<Fault> faults,
        long seed,
        KvEventEncoder.Dialect eventDialect) {

    /** Which engine's rules. */
    public enum Variant {
        /** SGLang as released: no pin routes. */
        STOCK,
        /** The branch whose pins lock blocks on the GPU, with its traps. */
        PIN_GPU
    }

    public EmulatorSettings {
        faults = List.copyOf(faults);
        checkPort("httpPort", httpPort);
        checkPort("eventsPort", eventsPort);
        check(pageTokens >= 1, "pageTokens must be at least 1, not " + pageTokens + ".");
        check(
                capacityTokens >= 16 && capacityTokens % pageTokens == 0,
                "capacityTokens must be at least 16 and whole pages of " + pageTokens + " tokens, not " + capacityTokens
                        + ".");
        check(contextTokens >= 16, "contextTokens must be at least 16, not " + contextTokens + ".");
        check(
                prefillMicrosPerToken >= 0 && firstTokenMicros >= 0 && decodeMillis >= 0,
                "prefillMicrosPerToken, firstTokenMicros and decodeMillis must not be negative.");
        check(maxRunning >= 1, "maxRunning must be at least 1, not " + maxRunning + ".");
    }

    /** A small fast server on free ports: 4096 tokens in blocks of 16, 100 us a token, no faults, no pins. */
    public static EmulatorSettings defaults() {
        return new EmulatorSettings(
                0,
                0,
                4096,
                16,
                8192,
                100,
                5_000,
                5,
                32,
                Variant.STOCK,
                List.of(),
                1,
                KvEventEncoder.Dialect.SGLANG_MAPS);
    }

    /** The longest prompt that is served. */
    int maxPromptTokens() {
        return maxRequestTokens() - 5;
    }

    /** The most tokens that a prompt and its answer may have together, and one. */
    int maxRequestTokens() {
        return Math.min(contextTokens, capacityTokens) - 1;
    }

    public EmulatorSettings withHttpPort(int port) {
        return with(port, eventsPort, variant, faults, seed, eventDialect);
    }

    public EmulatorSettings withEventsPort(int port) {
        return with(httpPort, port, variant, faults, seed, eventDialect);
    }

    public EmulatorSettings withVariant(Variant value) {
        return with(httpPort, eventsPort, value, faults, seed, eventDialect);
    }

    public EmulatorSettings withFaults(List<Fault> value) {
        return with(httpPort, eventsPort, variant, value, seed, eventDialect);
    }

    public EmulatorSettings withSeed(long value) {
        return with(httpPort, eventsPort, variant, faults, value, eventDialect);
    }

    public EmulatorSettings withEventDialect(KvEventEncoder.Dialect value) {
        return with(httpPort, eventsPort, variant, faults, seed, value);
    }

    public EmulatorSettings withCapacityTokens(int value) {
        return sized(value, pageTokens, contextTokens, maxRunning);
    }

    public EmulatorSettings withSizes(int capacity, int page, int context) {
        return sized(capacity, page, context, maxRunning);
    }

    /** Give the capacity first where the old one is not a whole number of new pages. */
    public EmulatorSettings withPageTokens(int value) {
        return sized(capacityTokens, value, contextTokens, maxRunning);
    }

    public EmulatorSettings withContextTokens(int value) {
        return sized(capacityTokens, pageTokens, value, maxRunning);
    }

    public EmulatorSettings withMaxRunning(int value) {
        return sized(capacityTokens, pageTokens, contextTokens, value);
    }

    public EmulatorSettings withPrefillMicrosPerToken(long value) {
        return timed(value, firstTokenMicros, decodeMillis);
    }

    public EmulatorSettings withFirstTokenMicros(long value) {
        return timed(prefillMicrosPerToken, value, decodeMillis);
    }

    public EmulatorSettings withDecodeMillis(long value) {
        return timed(prefillMicrosPerToken, firstTokenMicros, value);
    }

    private EmulatorSettings with(
            int http, int events, Variant kind, List<Fault> wrongs, long start, KvEventEncoder.Dialect dialect) {
        return new EmulatorSettings(
                http,
                events,
                capacityTokens,
                pageTokens,
                contextTokens,
                prefillMicrosPerToken,
                firstTokenMicros,
                decodeMillis,
                maxRunning,
                kind,
                wrongs,
                start,
                dialect);
    }

    private EmulatorSettings sized(int capacity, int page, int context, int running) {
        return new EmulatorSettings(
                httpPort,
                eventsPort,
                capacity,
                page,
                context,
                prefillMicrosPerToken,
                firstTokenMicros,
                decodeMillis,
                running,
                variant,
                faults,
                seed,
                eventDialect);
    }

    private EmulatorSettings timed(long perToken, long fixed, long decode) {
        return new EmulatorSettings(
                httpPort,
                eventsPort,
                capacityTokens,
                pageTokens,
                contextTokens,
                perToken,
                fixed,
                decode,
                maxRunning,
                variant,
                faults,
                seed,
                eventDialect);
    }

    private static void checkPort(String name, int port) {
        check(port >= 0 && port <= 65_535, name + " must be 0 (a free one) to 65535, not " + port + ".");
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
