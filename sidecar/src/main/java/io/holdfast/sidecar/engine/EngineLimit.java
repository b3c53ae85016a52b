package io.holdfast.sidecar.engine;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.kvcached.EngineLoad;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.config.EngineConfig;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;

/** The kvcached limit of one engine as others in the sidecar see it: read at any time, changed through {@link Limits}. */
public final class EngineLimit {
    public static final String NO_EVENTS =
            "under kvcached an engine publishes no KV events, so it is followed by its segment, its readings and cached"
                    + " tokens alone, and nothing is held automatically";

    /** What kvcached takes for KVCACHED_MAX_CACHED_TOKENS unless it is told otherwise. */
    private static final int CACHED_TOKENS = 16_000;

    private final EngineConfig config;
    private final Path file;
    private final Limits limits;
    /** How many caches the engine told of; 0 before it did. */
    private volatile int caches;

    private volatile EngineLoad load = EngineLoad.unknown();
    private volatile LimitView view = LimitView.unseen();
    private volatile Optional<String> excess = Optional.empty();

    EngineLimit(EngineConfig config, Path file, Limits limits) {
        this.config = config;
        this.file = file;
        this.limits = limits;
    }

    EngineConfig config() {
        return config;
    }

    public Path file() {
        return file;
    }

    public LimitView view() {
        return view;
    }

    EngineLoad load() {
        return load;
    }

    /** What was seen at the last look. */
    void seen(LimitView now, Optional<String> tooMuch) {
        view = now;
        excess = tooMuch;
    }

    /** What an operator should know, a clause each. */
    Optional<String> note() {
        return switch (view.state()) {
            case UNKNOWN, OBSERVE_ONLY, STOPPED -> Optional.of("its limit is not moved: " + clause(view.sentence()));
            case REQUESTED, IN_FORCE -> excess;
        };
    }

    private static String clause(String sentence) {
        return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
    }

    public CompletionStage<LimitView> request(long bytes) {
        return limits.request(this, bytes);
    }

    public CompletionStage<LimitView> restore() {
        return limits.restore(this);
    }

    public CompletionStage<Boolean> resume() {
        return limits.resume(this);
    }

    /** Hears how many caches the engine says it has; the most counts, since one that does not answer tells of one. */
    void hearCaches(int said) {
        caches = Math.max(caches, said);
    }

    /**
     * Hears the engine's own numbers, and answers what they are worth under kvcached: the limit bounds the cache, and the
     * share of it that vLLM calls used counts what its neighbours take.
     */
    EngineReadings hear(EngineReadings said) {
        load = new EngineLoad(
                caches > 0 && said.runningRequests().number().isPresent(),
                said.runningRequests().number(),
                said.waitingRequests().number(),
                said.ttftSumSeconds().number(),
                said.ttftCount().number(),
                said.preemptions().number(),
                said.capacityTokens().number(),
                largest(said),
                Math.max(caches, said.ranks().size()));
        return said.withCache(
                cached(capacity(said.capacityTokens())),
                Reading.unknown("Under kvcached the engine's own gauge counts what its neighbours take; the segment "
                        + file + " tells what is used, in bytes."));
    }

    private OptionalDouble largest(EngineReadings said) {
        return config.requestSizes()
                .filter(sizes -> sizes.largestPromptTokens().isPresent())
                .map(sizes ->
                        OptionalDouble.of((double) sizes.largestPromptTokens().getAsInt() + sizes.maxOutputTokens()))
                .orElse(said.contextTokens().number());
    }

    /** What kvcached keeps of finished requests is bounded apart from the limit. */
    private Reading cached(Reading capacity) {
        int most = config.kvcachedCachedTokens().orElse(CACHED_TOKENS);
        return capacity instanceof Reading.Known known && most >= 0 && most < known.value()
                ? Reading.known(
                        most,
                        "KVCACHED_MAX_CACHED_TOKENS"
                                + (config.kvcachedCachedTokens().isPresent()
                                        ? ""
                                        : " unless kvcachedCachedTokens says otherwise"),
                        known.atNanos())
                : capacity;
    }

    private Reading capacity(Reading said) {
        LimitView now = view;
        if (!(said instanceof Reading.Known known)) {
            return said;
        }
        Optional<Segment> segment = now.segment();
        if (segment.isEmpty() || now.startupBytes().isEmpty()) {
            return Reading.unknown("The limit of its kvcached segment is not known: " + now.sentence());
        }
        double share = Math.min(
                1, segment.get().limitBytes() / (double) now.startupBytes().getAsLong());
        return share == 1
                ? known
                : Reading.known(
                        Math.floor(known.value() * share),
                        known.source() + " x limit of " + file + " / limit at its start",
                        known.atNanos());
    }
}
