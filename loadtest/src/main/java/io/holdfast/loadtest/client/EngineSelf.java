package io.holdfast.loadtest.client;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineJson;
import io.holdfast.http.ListedModel;
import io.holdfast.http.MetricsText;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.run.LifeSign;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.sglang.EventEndpoints;
import io.holdfast.sglang.ServerInfo;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.vllm.TensorRtReadings;
import io.holdfast.vllm.VllmReadings;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Reports of an engine about itself, each requested when it is asked for. The adapters of its family read the answers;
 * an engine of another family is known by nothing.
 */
final class EngineSelf {
    private static final String METRICS = "/metrics";
    private static final int NOT_FOUND = 404;

    /** Arguments of an engine, and labels of a vLLM's cache, without which a number cannot be compared with another. */
    private static final List<String> FLAGS = List.of(
            "attention_backend",
            "block_size",
            "cache_dtype",
            "chunked_prefill_size",
            "disable_cuda_graph",
            "disable_overlap_schedule",
            "disable_radix_cache",
            "dp_size",
            "dtype",
            "enable_cache_report",
            "enable_hierarchical_cache",
            "enable_prefix_caching",
            "gpu_memory_utilization",
            "enable_chunked_prefill",
            "kv_cache_dtype",
            "max_num_batched_tokens",
            "max_num_seqs",
            "max_running_requests",
            "mem_fraction_static",
            "page_size",
            "prefix_caching_hash_algo",
            "quantization",
            "radix_eviction_policy",
            "random_seed",
            "schedule_policy",
            "speculative_algorithm",
            "tp_size");

    private final URI engine;
    private final ControlHttp http;
    private final RunClock clock;
    /** Route of the page of metrics; absent until it is known whether the engine is a TensorRT-LLM. */
    private volatile Optional<String> metricsRoute = Optional.empty();

    EngineSelf(URI engine, ControlHttp http, RunClock clock) {
        this.engine = engine;
        this.http = http;
        this.clock = clock;
    }

    /** Forgets of which family the engine is, since another one may be started in its place. */
    void forget() {
        metricsRoute = Optional.empty();
    }

    EngineFacts facts() {
        Optional<ServerInfo> sglang = info().filter(ServerInfo::isSglang);
        if (sglang.isPresent()) {
            EngineReadings sizes = SglangReadings.of(sglang.get(), clock.nanos());
            return facts(
                    Family.SGLANG,
                    count(sizes.blockTokens().number()),
                    count(sizes.capacityTokens().number()),
                    count(sizes.largestAcceptedTokens().number()),
                    sglang.get().text("version"));
        }
        MetricsText metrics = page();
        if (metricsRoute.filter(TensorRtReadings.PATH::equals).isPresent()) {
            EngineReadings sizes = TensorRtReadings.of(metrics, clock.nanos());
            return facts(
                    Family.TENSORRT_LLM,
                    count(sizes.blockTokens().number()),
                    count(sizes.capacityTokens().number()),
                    OptionalLong.empty(),
                    version());
        }
        return VllmReadings.isOf(metrics) ? vllm(metrics) : EngineFacts.unknown();
    }

    /**
     * Returns the route of the page of metrics; absent where the engine may be a TensorRT-LLM, whose {@code /metrics}
     * takes from whoever else wants it what it gives.
     */
    private Optional<String> metricsRoute() {
        if (metricsRoute.isEmpty()) {
            metricsRoute = asked(ListedModel.PATH)
                    .filter(models -> models.isOk() || models.status() == NOT_FOUND)
                    .map(models ->
                            TensorRtReadings.isOf(ListedModel.first(models.text())) ? TensorRtReadings.PATH : METRICS)
                    .or(() -> info().filter(info ->
                                    info.isSglang() || info.value("vllm_config").isPresent())
                            .map(info -> METRICS));
        }
        return metricsRoute;
    }

    private String version() {
        return EngineJson.read(text("/version")).path("version").asText("");
    }

    /**
     * A load test counts the block that stands for none as well, and takes the length that prompt and answer share for
     * that of the longest prompt.
     */
    private EngineFacts vllm(MetricsText metrics) {
        OptionalLong page = count(VllmReadings.size("block_size", metrics));
        OptionalLong blocks = count(VllmReadings.size("num_gpu_blocks", metrics));
        return facts(
                Family.VLLM,
                page,
                page.isPresent() && blocks.isPresent()
                        ? OptionalLong.of(page.getAsLong() * blocks.getAsLong())
                        : OptionalLong.empty(),
                count(ListedModel.first(text(ListedModel.PATH)).contextTokens()),
                version());
    }

    private static EngineFacts facts(
            Family family, OptionalLong page, OptionalLong capacity, OptionalLong longestPrompt, String version) {
        return new EngineFacts(
                family,
                page.isPresent() ? OptionalInt.of((int) page.getAsLong()) : OptionalInt.empty(),
                capacity,
                longestPrompt,
                Optional.of(version).filter(text -> !text.isEmpty()));
    }

    private static OptionalLong count(OptionalDouble number) {
        return number.orElse(0) > 0 ? OptionalLong.of((long) number.getAsDouble()) : OptionalLong.empty();
    }

    /**
     * Returns where the engine reports that it publishes what happens to its cache; absent where it does not, as a vLLM
     * never does.
     */
    Optional<EventSource> events() {
        try {
            return info().map(info -> info.events(engine))
                    .filter(EventEndpoints.Known.class::isInstance)
                    .map(EventEndpoints.Known.class::cast)
                    .map(known -> EventSource.of(known.endpoints().getFirst(), known.topic())
                            .withRanks(known.endpoints().size()));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** Returns those of {@link #FLAGS} that the engine reports. */
    Map<String, String> flags() {
        Optional<ServerInfo> info = info();
        // The labels are a vLLM's; an SGLang needs no second question.
        MetricsText metrics = info.filter(ServerInfo::isSglang).isPresent() ? MetricsText.parse("") : page();
        String text = info.map(each -> each.text("vllm_config")).orElse("");
        Map<String, String> flags = new TreeMap<>();
        for (String name : FLAGS) {
            info.flatMap(each -> each.value(name))
                    .or(() -> VllmReadings.argument(name, metrics, text))
                    .ifPresent(value -> flags.put(name, value));
        }
        return flags;
    }

    /** Returns the page of metrics; empty where the engine has none, or does not yet tell of which family it is. */
    String metrics() {
        return metricsRoute().map(this::text).orElse("");
    }

    /** Returns signs of the process that answers now; all families count the tokens of their prompts. */
    LifeSign lifeSign() {
        Optional<String> began = info().flatMap(ServerInfo::life);
        MetricsText metrics = page();
        Optional<EngineReadings> counted = SglangReadings.isOf(metrics)
                ? Optional.of(SglangReadings.of(metrics, clock.nanos()))
                : VllmReadings.isOf(metrics)
                        ? Optional.of(VllmReadings.of(metrics, clock.nanos()))
                        : TensorRtReadings.isOf(metrics)
                                ? Optional.of(TensorRtReadings.of(metrics, clock.nanos()))
                                : Optional.empty();
        return new LifeSign(
                began,
                counter(counted.map(EngineReadings::promptTokens)),
                counter(counted.map(EngineReadings::cachedTokens)));
    }

    /** A counter that has counted nothing yet is not on the page. */
    private static OptionalDouble counter(Optional<Reading> reading) {
        return reading.isPresent() ? OptionalDouble.of(reading.get().number().orElse(0)) : OptionalDouble.empty();
    }

    private Optional<ServerInfo> info() {
        return ServerInfo.parse(text(ServerInfo.PATH));
    }

    private MetricsText page() {
        return MetricsText.parse(metrics());
    }

    /** Returns the body of an answer; empty where the engine does not give one. */
    private String text(String path) {
        return asked(path).filter(Answer::isOk).map(Answer::text).orElse("");
    }

    private Optional<Answer> asked(String path) {
        try {
            return Optional.of(http.get(path));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
