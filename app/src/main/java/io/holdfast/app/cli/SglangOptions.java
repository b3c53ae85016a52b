package io.holdfast.app.cli;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Option;

/** What {@code emulate} takes for SGLang alone. */
public final class SglangOptions {
    @Option(
            names = "--variant",
            paramLabel = "NAME",
            defaultValue = "stock",
            description = "stock, or a branch with pin routes: pin-gpu or pin-host" + " (default: ${DEFAULT-VALUE}).")
    private String variant = "stock";

    @Option(
            names = "--capacity-tokens",
            paramLabel = "N",
            defaultValue = "24576",
            description = "Tokens that the cache holds (default: ${DEFAULT-VALUE}).")
    private int capacityTokens;

    @Option(
            names = "--eviction",
            paramLabel = "NAME",
            defaultValue = "lru",
            description = "lru, lfu, slru or priority (default: ${DEFAULT-VALUE}).")
    private String eviction = "lru";

    @Option(names = "--sessions", description = "Requests with a session_id protect their prefix until /close_session.")
    private boolean sessions;

    @Option(
            names = "--streaming-session",
            description = "/open_session with streaming: a session locks what its request found, for its timeout.")
    private boolean streaming;

    @Option(
            names = "--hicache",
            paramLabel = "RATIO",
            arity = "0..1",
            defaultValue = "0",
            fallbackValue = "2",
            description = "A host tier of RATIO times the capacity (default: none; without RATIO: 2).")
    private double hostRatio;

    @Option(
            names = "--chunked-prefill-size",
            paramLabel = "N",
            defaultValue = "2048",
            description = "Prompt tokens that one pass prefills at most (default: ${DEFAULT-VALUE}).")
    private int chunk;

    @Option(
            names = "--schedule-policy",
            paramLabel = "NAME",
            defaultValue = "fcfs",
            description = "fcfs, or lpm: the longest known prefix goes first (default: ${DEFAULT-VALUE}).")
    private String policy = "fcfs";

    public SglangOptions() {}

    public EmulatorSettings.Kind kind(
            int pageTokens, Optional<Integer> contextTokens, int maxRunning, boolean arrayEvents) {
        return new EmulatorSettings.Kind.Sglang(
                new SglangSettings(
                        new SglangSettings.Sizes(
                                capacityTokens, pageTokens, contextTokens.orElseGet(() -> quarter(capacityTokens))),
                        maxRunning,
                        chunk,
                        choice("--variant", variant, Variant.values()),
                        choice("--eviction", eviction, Eviction.values()),
                        sessions,
                        streaming,
                        hostRatio,
                        choice("--schedule-policy", policy, SglangSettings.Policy.values())),
                arrayEvents);
    }

    /** A quarter of a cache: a context that leaves room for pins beside it, and no less than any engine takes. */
    public static int quarter(int capacityTokens) {
        return Math.max(SglangSettings.LEAST_CONTEXT, capacityTokens / 4);
    }

    /** The constant that the text names, with hyphens for underscores. */
    public static <E extends Enum<E>> E choice(String option, String text, E[] values) {
        for (E value : values) {
            if (name(value).equals(text)) {
                return value;
            }
        }
        throw new CommandException(option + " is '" + text + "'; there are "
                + Arrays.stream(values).map(SglangOptions::name).collect(Collectors.joining(", ")) + ".");
    }

    public static String name(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
