package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.MetricsPage;
import io.holdfast.emulator.api.Resources;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.sglang.SglangStats;
import io.holdfast.rules.sglang.SglangWork;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Report of an SGLang server about itself: its arguments, its model, its load. */
final class SglangInfo {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern(
                    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    /** Parts of a load that can be asked for, and the fields that they are. */
    private static final Map<String, String> SECTIONS =
            Map.of("memory", "memory", "disagg", "disaggregation", "queues", "queues");

    private final SglangSettings settings;
    private final ApiSettings server;
    private final JsonObject rest = new JsonObject(Resources.text(SglangInfo.class, "sglang_server_info.json"));

    SglangInfo(SglangSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    static String version(Variant variant) {
        return switch (variant) {
            case STOCK -> "0.5.23";
            case PIN_GPU, PIN_HOST -> "0.5.8.post1";
        };
    }

    JsonObject models(double now) {
        JsonObject model = SglangResponse.SHAPES
                .of("model")
                .put("id", server.model())
                .put("created", (long) now)
                .put("root", server.model())
                .put("max_model_len", settings.contextTokens());
        return new JsonObject().put("object", "list").put("data", JsonArray.of(model));
    }

    JsonObject model() {
        return new JsonObject(Resources.text(SglangInfo.class, "sglang_model_info.json"))
                .put("model_path", server.model())
                .put("served_model_name", server.model())
                .put("tokenizer_path", server.model());
    }

    JsonObject server(int port, SglangStats stats) {
        JsonObject arguments = arguments(port);
        JsonObject info = arguments.copy();
        info.put("launch_command", "holdfast emulate --family sglang")
                .put("status", "ready")
                .put("max_total_num_tokens", stats.capacityTokens())
                .put("max_req_input_len", settings.maxPromptTokens())
                .put("startup_time", rest.getJsonObject("startup"))
                .put(
                        "hicache_object_layout",
                        rest.getJsonObject("layout").copy().put("page_size", settings.pageTokens()))
                .put("kv_events", events())
                .put("internal_states", JsonArray.of(internal(arguments, stats)))
                .put("version", version(settings.variant()))
                .put("frontend", "python");
        return info;
    }

    private JsonObject arguments(int port) {
        JsonObject arguments = rest.getJsonObject("args").copy();
        Map<String, Object> own = Map.ofEntries(
                Map.entry("model_path", server.model()),
                Map.entry("tokenizer_path", server.model()),
                Map.entry("served_model_name", server.model()),
                Map.entry("max_total_tokens", settings.capacityTokens()),
                Map.entry("context_length", settings.contextTokens()),
                Map.entry("page_size", settings.pageTokens()),
                Map.entry("c128_page_size", settings.pageTokens()),
                Map.entry("max_running_requests", settings.maxRunning()),
                Map.entry("chunked_prefill_size", settings.chunkedPrefillTokens()),
                Map.entry("radix_eviction_policy", settings.eviction().name().toLowerCase(Locale.ROOT)),
                Map.entry("enable_session_radix_cache", settings.sessions()),
                Map.entry("enable_streaming_session", settings.streaming()),
                Map.entry("enable_hierarchical_cache", settings.hostRatio() > 0),
                Map.entry("hicache_ratio", settings.hostRatio() > 0 ? settings.hostRatio() : 2.0),
                Map.entry("random_seed", server.seed()),
                Map.entry("port", port),
                Map.entry("kv_events_config", eventsConfig()));
        own.forEach(arguments::put);
        return arguments;
    }

    private String eventsConfig() {
        JsonObject config = new JsonObject().put("publisher", "zmq").put("endpoint", "tcp://*:" + server.eventsPort());
        server.replayPort().ifPresent(port -> config.put("replay_endpoint", "tcp://*:" + port));
        return config.put("topic", "").encode();
    }

    private JsonObject events() {
        JsonObject events = new JsonObject()
                .put("publisher", "zmq")
                .put("endpoint_host", "*")
                .put("endpoint_port_base", server.eventsPort())
                .put("topic", "")
                .put("block_size", settings.pageTokens())
                .put("dp_size", server.ranks());
        server.replayPort().ifPresent(port -> events.put("replay_endpoint_port_base", port));
        return events;
    }

    private JsonObject internal(JsonObject arguments, SglangStats stats) {
        JsonObject state = arguments.copy();
        rest.getJsonArray("internalWithout").forEach(name -> state.remove(String.valueOf(name)));
        state.mergeIn(rest.getJsonObject("internal"));
        state.put("effective_max_running_requests_per_dp", settings.maxRunning());
        state.getJsonObject("memory_usage").put("token_capacity", stats.capacityTokens());
        return state;
    }

    /**
     * @param ranks the numbers of each data-parallel rank
     * @param sections that are wanted; all of them where it is empty
     */
    JsonObject loads(List<SglangStats> ranks, double now, Set<String> sections) {
        JsonArray loads = new JsonArray();
        ranks.forEach(stats -> loads.add(load(loads.size(), stats, now, sections)));
        return new JsonObject()
                .put("timestamp", TIME.format(Instant.ofEpochMilli(Math.round(now * 1e3))))
                .put("version", version(settings.variant()))
                .putNull("accelerator")
                .put("num_accelerators", ranks.size())
                .put("loads", loads);
    }

    private JsonObject load(int rank, SglangStats stats, double now, Set<String> sections) {
        int used = stats.usedTokens();
        JsonObject load = SglangResponse.SHAPES
                .of("load")
                .put("timestamp", now)
                .put("dp_rank", rank)
                .put("num_running_reqs", stats.running())
                .put("num_waiting_reqs", stats.waiting())
                .put("num_waiting_uncached_tokens", stats.waitingUncachedTokens())
                .put("num_used_tokens", used)
                .put("num_total_tokens", stats.totalTokens())
                .put("num_active_tokens", stats.totalTokens())
                .put("max_total_num_tokens", stats.capacityTokens())
                .put("max_running_requests", settings.maxRunning())
                .put("token_usage", Math.round(1e4 * used / stats.capacityTokens()) / 1e4)
                .put("gen_throughput", Math.round(1e2 * stats.work().genThroughput()) / 1e2)
                .put("cache_hit_rate", Math.round(1e4 * stats.cacheHitRate()) / 1e4)
                .put("total_prefill_uncached_tokens", stats.work().computedTokens())
                .put("total_prefill_busy_us", stats.work().prefillBusyMicros())
                .put("decode_moments", moments(stats.work().decodes()));
        load.getJsonObject("memory").put("token_capacity", stats.capacityTokens());
        load.getJsonObject("queues")
                .put("waiting", stats.waiting())
                .put("retracted", stats.work().recentlyRetracted());
        SECTIONS.forEach((section, field) -> {
            if (!sections.isEmpty() && !sections.contains("all") && !sections.contains(section)) {
                load.remove(field);
            }
        });
        return load;
    }

    /** Nothing before the first decode step that followed another one. */
    private static @Nullable JsonArray moments(SglangWork.DecodeMoments sums) {
        return sums.steps() == 0
                ? null
                : JsonArray.of(
                        sums.steps(),
                        sums.requests(),
                        sums.micros(),
                        sums.requestsSquared(),
                        sums.requestMicros(),
                        sums.tokens());
    }

    /** Writes the same load in Prometheus' text form: one gauge for each number. */
    static String prometheus(JsonObject loads) {
        StringBuilder text = new StringBuilder();
        for (Object one : loads.getJsonArray("loads")) {
            JsonObject load = (JsonObject) one;
            String rank = "{dp_rank=\"" + load.getInteger("dp_rank") + "\"} ";
            load.forEach(field -> {
                if (field.getValue() instanceof JsonObject section) {
                    String name = field.getKey().equals("disaggregation") ? "disagg" : field.getKey();
                    section.forEach(inner -> gauge(text, name + "_" + inner.getKey(), rank, inner.getValue()));
                } else if (!field.getKey().equals("dp_rank")) {
                    gauge(text, field.getKey(), rank, field.getValue());
                }
            });
        }
        return text.toString();
    }

    private static void gauge(StringBuilder text, String name, String labels, Object value) {
        if (value instanceof Number) {
            text.append("# TYPE sglang_" + name + " gauge\nsglang_" + name + labels
                    + (value instanceof Double real ? MetricsPage.number(real) : value) + "\n");
        }
    }
}
