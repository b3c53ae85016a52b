package io.holdfast.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.RankLoad;
import io.holdfast.core.reading.Reading;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.MetricsText;
import io.holdfast.http.Reply;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Reads an SGLang engine: its size from {@code /server_info}, its load from {@code /metrics}.
 *
 * <p>{@code /server_info} asks the scheduler, so its answer is kept for five seconds, or until the engine fails to
 * answer and may have begun another life; what is taken from it bears the time at which it was requested. Without
 * {@code --enable-metrics} the load, but nothing else, comes from {@code /v1/loads}.
 */
public final class SglangReadings {
    private static final long INFO_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int PROMPT_BELOW_CONTEXT = 6;
    private static final String METRICS = "/metrics";
    private static final String LOADS = "/v1/loads";
    private static final String RUNNING = "sglang:num_running_reqs";
    private static final String WAITING = "sglang:num_queue_reqs";
    private static final String USED = "sglang:num_used_tokens";
    private static final String NEVER_REPORTED = "SGLang does not report it";
    private static final String NO_METRICS = "/metrics is not served: start the engine with --enable-metrics.";

    /** Answer of {@code /server_info}, and the time at which it was read. */
    private record Dated(ServerInfo.Read read, long atNanos) {}

    private final EngineHttp http;
    private volatile Optional<Dated> kept = Optional.empty();

    public SglangReadings(EngineHttp http) {
        this.http = http;
    }

    /** Reads what the engine reports now; whatever it does not report is unknown, with the reason. */
    public CompletionStage<EngineReadings> read(long nowNanos) {
        CompletionStage<Dated> info = info(nowNanos);
        return http.get(METRICS).thenCompose(reply -> load(reply, nowNanos)).thenCombine(info, SglangReadings::combine);
    }

    /** Returns true if the page is an SGLang's. */
    public static boolean isOf(MetricsText metrics) {
        return metrics.has("sglang:");
    }

    /** Returns the readings that a report of the engine about itself has: its sizes. */
    public static EngineReadings of(ServerInfo info, long nowNanos) {
        return combine(unknown(NO_METRICS), new Dated(new ServerInfo.Read.Done(info), nowNanos));
    }

    /** Returns the readings that a page of metrics has: its load and what it has counted. */
    public static EngineReadings of(MetricsText metrics, long nowNanos) {
        return fromMetrics(metrics, nowNanos);
    }

    /** Reads where the engine publishes its events. */
    public CompletionStage<EventEndpoints> events() {
        return http.get(ServerInfo.PATH).thenApply(reply -> switch (ServerInfo.read(reply)) {
            case ServerInfo.Read.Done done -> done.info().events(http.base());
            case ServerInfo.Read.Failed failed -> new EventEndpoints.Unknown(failed.why());
        });
    }

    /** Number of caches of the engine, one for each data-parallel rank; 1 where it does not tell. */
    public CompletionStage<Integer> caches() {
        return http.get(ServerInfo.PATH)
                .thenApply(reply -> ServerInfo.read(reply) instanceof ServerInfo.Read.Done done
                        ? done.info().caches()
                        : 1);
    }

    private CompletionStage<Dated> info(long nowNanos) {
        Optional<Dated> before = kept;
        if (before.isPresent() && nowNanos - before.get().atNanos() < INFO_NANOS) {
            return CompletableFuture.completedStage(before.get());
        }
        return http.get(ServerInfo.PATH).thenApply(reply -> {
            Dated asked = new Dated(ServerInfo.read(reply), nowNanos);
            kept = Optional.of(asked).filter(each -> each.read() instanceof ServerInfo.Read.Done);
            return asked;
        });
    }

    private CompletionStage<EngineReadings> load(Reply reply, long nowNanos) {
        return switch (reply) {
            case Reply.NoAnswer lost -> {
                kept = Optional.empty();
                yield CompletableFuture.completedStage(unknown(lost.why()));
            }
            case Reply.Answer answer
            when answer.status() == 200 ->
                CompletableFuture.completedStage(fromMetrics(MetricsText.parse(answer.body()), nowNanos));
            case Reply.Answer answer
            when answer.status() == 404 -> http.get(LOADS).thenApply(loads -> fromLoads(loads, nowNanos));
            case Reply.Answer answer
            when answer.wantsKey() -> CompletableFuture.completedStage(unknown(answer.wantedKey(METRICS)));
            case Reply.Answer answer ->
                CompletableFuture.completedStage(
                        unknown("The engine answered " + METRICS + " with HTTP " + answer.status() + "."));
        };
    }

    private static EngineReadings unknown(String why) {
        return EngineReadings.unknown(why)
                .but()
                .preemptions(Reading.unknown(NEVER_REPORTED))
                .build();
    }

    private static EngineReadings fromMetrics(MetricsText metrics, long now) {
        String cached = "sglang:cached_tokens_total";
        OptionalDouble total = metrics.sum(cached, "cache_source", "total");
        return EngineReadings.unknownBut(NEVER_REPORTED)
                .runningRequests(gauge(metrics, RUNNING, now))
                .waitingRequests(gauge(metrics, WAITING, now))
                .usedTokens(gauge(metrics, USED, now))
                .ttftSumSeconds(counter(metrics, "sglang:time_to_first_token_seconds_sum", now))
                .ttftCount(counter(metrics, "sglang:time_to_first_token_seconds_count", now))
                .promptTokens(counter(metrics, "sglang:prompt_tokens_total", now))
                .cachedTokens(metric(total.isPresent() ? total : metrics.sum(cached), cached, now))
                .ranks(ranks(metrics, now))
                .itlSumSeconds(counter(metrics, "sglang:inter_token_latency_seconds_sum", now))
                .itlCount(counter(metrics, "sglang:inter_token_latency_seconds_count", now))
                .build();
    }

    /** Loads of each rank by the metrics; empty where they tell of one cache. */
    private static List<RankLoad> ranks(MetricsText metrics, long now) {
        Map<String, Double> running = byCache(metrics, RUNNING);
        if (running.size() < 2) {
            return List.of();
        }
        Map<String, Double> waiting = byCache(metrics, WAITING);
        Map<String, Double> used = byCache(metrics, USED);
        return IntStream.range(0, running.size())
                .mapToObj(Integer::toString)
                .map(rank -> new RankLoad(
                        ofRank(running, RUNNING, rank, now),
                        ofRank(waiting, WAITING, rank, now),
                        ofRank(used, USED, rank, now)))
                .toList();
    }

    private static Reading ofRank(Map<String, Double> byCache, String name, String rank, long now) {
        Double value = byCache.get(rank);
        return metric(
                value == null ? OptionalDouble.empty() : OptionalDouble.of(value),
                name + "{dp_rank=\"" + rank + "\"}",
                now);
    }

    /** Every rank that shares a cache repeats its numbers; ranks of data parallelism have caches of their own. */
    private static Reading gauge(MetricsText metrics, String name, long now) {
        Map<String, Double> byCache = byCache(metrics, name);
        return metric(
                byCache.isEmpty()
                        ? OptionalDouble.empty()
                        : OptionalDouble.of(byCache.values().stream()
                                .mapToDouble(Double::doubleValue)
                                .sum()),
                name,
                now);
    }

    private static Map<String, Double> byCache(MetricsText metrics, String name) {
        Map<String, Double> byCache = new HashMap<>();
        metrics.samples(name).forEach(sample -> byCache.merge(sample.label("dp_rank"), sample.value(), Math::max));
        return byCache;
    }

    private static Reading counter(MetricsText metrics, String name, long now) {
        return metric(metrics.sum(name), name, now);
    }

    private static Reading metric(OptionalDouble value, String name, long now) {
        return value.isPresent()
                ? Reading.known(value.getAsDouble(), METRICS + " " + name, now)
                : Reading.unknown(
                        METRICS + " has no " + name + " yet: it appears with the first request that it counts.");
    }

    private static EngineReadings fromLoads(Reply reply, long now) {
        EngineReadings unknown = unknown(NO_METRICS);
        if (!(reply instanceof Reply.Answer answer) || answer.status() != 200) {
            return unknown;
        }
        JsonNode ranks = answer.json().path("loads");
        return unknown.but()
                .runningRequests(loads(ranks, "num_running_reqs", now))
                .waitingRequests(loads(ranks, "num_waiting_reqs", now))
                .usedTokens(loads(ranks, "num_used_tokens", now))
                .ranks(ranks(ranks, now))
                .build();
    }

    private static Reading loads(JsonNode ranks, String field, long now) {
        double sum = 0;
        for (JsonNode rank : ranks) {
            if (!rank.path(field).isNumber()) {
                return Reading.unknown(NO_METRICS);
            }
            sum += rank.path(field).doubleValue();
        }
        return ranks.isEmpty() ? Reading.unknown(NO_METRICS) : Reading.known(sum, LOADS + " " + field, now);
    }

    private static List<RankLoad> ranks(JsonNode loads, long now) {
        if (loads.size() < 2) {
            return List.of();
        }
        Map<Integer, JsonNode> byRank = new HashMap<>();
        loads.forEach(load -> byRank.put(load.path("dp_rank").asInt(-1), load));
        return IntStream.range(0, loads.size())
                .mapToObj(rank -> byRank.getOrDefault(rank, JsonNodeFactory.instance.objectNode()))
                .map(load -> new RankLoad(
                        load(load, "num_running_reqs", now),
                        load(load, "num_waiting_reqs", now),
                        load(load, "num_used_tokens", now)))
                .toList();
    }

    private static Reading load(JsonNode load, String field, long now) {
        return load.path(field).isNumber()
                ? Reading.known(load.path(field).doubleValue(), LOADS + " " + field, now)
                : Reading.unknown("The engine's " + LOADS + " has no " + field + " of each data-parallel rank.");
    }

    private static EngineReadings combine(EngineReadings load, Dated info) {
        return load.but()
                .capacityTokens(size(info, "max_total_num_tokens"))
                .blockTokens(size(info, "page_size"))
                .contextTokens(context(info))
                .largestAcceptedTokens(size(info, "max_req_input_len"))
                .build();
    }

    /**
     * The engine repeats the context that it was started with, and none where the model decides. What it makes of
     * either is in the longest prompt that it takes: six tokens less than the smaller of context and cache.
     */
    private static Reading context(Dated info) {
        Reading written = size(info, "context_length");
        return written instanceof Reading.Known
                ? written
                : switch (size(info, "max_req_input_len")) {
                    case Reading.Known longest ->
                        Reading.known(
                                longest.value() + PROMPT_BELOW_CONTEXT, longest.source() + " + 6", longest.atNanos());
                    case Reading.Unknown unknown -> unknown;
                };
    }

    private static Reading size(Dated info, String field) {
        return switch (info.read()) {
            case ServerInfo.Read.Failed failed -> Reading.unknown(failed.why());
            case ServerInfo.Read.Done done -> {
                OptionalDouble number = done.info().number(field);
                yield number.isPresent()
                        ? Reading.known(number.getAsDouble(), ServerInfo.PATH + " " + field, info.atNanos())
                        : Reading.unknown("The engine's " + ServerInfo.PATH + " has no " + field + ".");
            }
        };
    }
}
