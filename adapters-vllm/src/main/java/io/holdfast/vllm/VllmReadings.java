package io.holdfast.vllm;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.ListedModel;
import io.holdfast.http.MetricsText;
import io.holdfast.http.MetricsText.Sample;
import io.holdfast.http.Reply;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Reads a vLLM engine: its size and load from {@code /metrics}, the longest prompt from {@code /v1/models}.
 *
 * <p>{@code /v1/models} is asked again every five seconds, and what is taken from it bears the time at which it was
 * asked. Where one server has several engine cores, each a cache of its own, numbers are sums over all of them.
 */
public final class VllmReadings {
    private static final String METRICS = "/metrics";
    private static final String MODELS = ListedModel.PATH;
    private static final long MODELS_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final String CONFIG = "vllm:cache_config_info";
    private static final List<String> USAGE = List.of("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc");
    private static final List<String> HITS =
            List.of("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total");

    private final EngineHttp http;
    private volatile Optional<Reading.Known> lastContext = Optional.empty();

    public VllmReadings(EngineHttp http) {
        this.http = http;
    }

    /** Reads what the engine reports now; whatever it does not report is unknown, with the reason. */
    public CompletionStage<EngineReadings> read(long nowNanos) {
        CompletionStage<Reading> context = context(nowNanos);
        return http.get(METRICS).thenCombine(context, (reply, length) -> switch (reply) {
            case Reply.NoAnswer lost -> {
                lastContext = Optional.empty();
                yield EngineReadings.unknown(lost.why());
            }
            case Reply.Answer answer when answer.wantsKey() -> EngineReadings.unknown(answer.wantedKey(METRICS));
            case Reply.Answer answer
            when answer.status() != 200 ->
                EngineReadings.unknown("The engine answered " + METRICS + " with HTTP " + answer.status()
                        + (answer.status() == 404 ? ": is it vLLM, started without --disable-log-stats?" : "."));
            case Reply.Answer answer -> readings(MetricsText.parse(answer.body()), length, nowNanos);
        });
    }

    /** Number of the server's engine cores, each a cache of its own; 1 where it does not tell. */
    public CompletionStage<Integer> caches() {
        return http.get(METRICS)
                .thenApply(reply -> reply instanceof Reply.Answer answer && answer.status() == 200
                        ? Math.max(
                                1, (int) MetricsText.parse(answer.body()).samples("vllm:num_requests_running").stream()
                                        .map(sample -> sample.label("engine"))
                                        .distinct()
                                        .count())
                        : 1);
    }

    /** Returns true if the page is a vLLM's. */
    public static boolean isOf(MetricsText metrics) {
        return metrics.has("vllm:");
    }

    /** Returns the readings that a page of metrics has: all but the longest prompt. */
    public static EngineReadings of(MetricsText metrics, long nowNanos) {
        return readings(metrics, Reading.unknown("The engine was not asked for its models."), nowNanos);
    }

    /** Returns a number that the engine's first cache has as a label, such as {@code block_size}. */
    public static OptionalDouble size(String name, MetricsText metrics) {
        return metrics.samples(CONFIG).stream()
                .findFirst()
                .map(cache -> number(cache, name))
                .orElse(OptionalDouble.empty());
    }

    /**
     * Returns an argument that the engine was started with, which it reports as a label of its cache, or in the long
     * text of its development mode; absent where it reports it in neither.
     *
     * @param text {@code vllm_config} at {@code /server_info}, such as {@code VllmConfig(max_num_seqs=8, ...)}; empty
     *     where there is none
     */
    public static Optional<String> argument(String name, MetricsText metrics, String text) {
        Optional<String> label =
                metrics.samples(CONFIG).stream().findFirst().map(Sample::labels).map(labels -> labels.get(name));
        return label.or(() -> Pattern.compile("\\b" + Pattern.quote(name) + "=[\"']?([^\"', ]*)")
                .matcher(text)
                .results()
                .map(found -> found.group(1))
                .findFirst());
    }

    private static EngineReadings readings(MetricsText metrics, Reading context, long now) {
        List<Sample> caches = metrics.samples(CONFIG);
        return EngineReadings.unknownBut("vLLM does not report it")
                .capacityTokens(capacity(caches, now))
                .blockTokens(blockTokens(caches, now))
                .contextTokens(context)
                .largestAcceptedTokens(longestPrompt(context))
                .runningRequests(sum(metrics, "vllm:num_requests_running", now))
                .waitingRequests(sum(metrics, "vllm:num_requests_waiting", now))
                .usedTokens(used(metrics, caches, now))
                .ttftSumSeconds(sum(metrics, "vllm:time_to_first_token_seconds_sum", now))
                .ttftCount(sum(metrics, "vllm:time_to_first_token_seconds_count", now))
                .promptTokens(sum(metrics, "vllm:prompt_tokens_total", now))
                .cachedTokens(cached(metrics, now))
                .preemptions(sum(metrics, "vllm:num_preemptions_total", now))
                .itlSumSeconds(sum(metrics, "vllm:inter_token_latency_seconds_sum", now))
                .itlCount(sum(metrics, "vllm:inter_token_latency_seconds_count", now))
                .build();
    }

    private static Reading sum(MetricsText metrics, String name, long now) {
        OptionalDouble value = metrics.sum(name);
        return value.isPresent()
                ? Reading.known(value.getAsDouble(), METRICS + " " + name, now)
                : Reading.unknown(METRICS + " has no " + name + ": is it vLLM, started without --disable-log-stats?");
    }

    private static Reading capacity(List<Sample> caches, long now) {
        double tokens = 0;
        for (Sample cache : caches) {
            OptionalDouble capacity = tokens(cache);
            if (capacity.isEmpty()) {
                return Reading.unknown(
                        "The engine has not reported num_gpu_blocks and block_size in " + CONFIG + " yet.");
            }
            tokens += capacity.getAsDouble();
        }
        return caches.isEmpty()
                ? Reading.unknown(METRICS + " has no " + CONFIG + ", which shows the size of the cache.")
                : Reading.known(tokens, METRICS + " " + CONFIG + " (num_gpu_blocks - 1) x block_size", now);
    }

    /** One block stands for "none" and never holds a token. */
    private static OptionalDouble tokens(Sample cache) {
        OptionalDouble blocks = number(cache, "num_gpu_blocks");
        OptionalDouble size = number(cache, "block_size");
        return blocks.isPresent() && size.isPresent() && blocks.getAsDouble() > 1
                ? OptionalDouble.of((blocks.getAsDouble() - 1) * size.getAsDouble())
                : OptionalDouble.empty();
    }

    private static Reading blockTokens(List<Sample> caches, long now) {
        OptionalDouble size = caches.isEmpty() ? OptionalDouble.empty() : number(caches.getFirst(), "block_size");
        return size.isPresent()
                ? Reading.known(size.getAsDouble(), METRICS + " " + CONFIG + " block_size", now)
                : Reading.unknown(METRICS + " has no block_size in " + CONFIG + ".");
    }

    /**
     * Cached blocks that no request uses count as free there, so what is left are the tokens that cannot be evicted.
     */
    private static Reading used(MetricsText metrics, List<Sample> caches, long now) {
        for (String name : USAGE) {
            List<Sample> usages = metrics.samples(name);
            if (usages.isEmpty()) {
                continue;
            }
            double tokens = 0;
            for (Sample usage : usages) {
                OptionalDouble capacity = caches.stream()
                        .filter(cache -> cache.label("engine").equals(usage.label("engine")))
                        .map(VllmReadings::tokens)
                        .findFirst()
                        .orElse(OptionalDouble.empty());
                if (capacity.isEmpty()) {
                    return Reading.unknown(
                            "The used share of the cache is known, its size is not: " + CONFIG + " does not tell it.");
                }
                tokens += usage.value() * capacity.getAsDouble();
            }
            return Reading.known(tokens, METRICS + " " + name + " x capacity", now);
        }
        return Reading.unknown(METRICS + " has no " + USAGE.getFirst() + ".");
    }

    private static Reading cached(MetricsText metrics, long now) {
        for (String name : HITS) {
            OptionalDouble hits = metrics.sum(name);
            if (hits.isPresent()) {
                return Reading.known(hits.getAsDouble(), METRICS + " " + name, now);
            }
        }
        return Reading.unknown(METRICS + " has no " + HITS.getFirst()
                + ": it is there when the engine runs with prefix caching (--enable-prefix-caching).");
    }

    private CompletionStage<Reading> context(long now) {
        Optional<Reading.Known> before = lastContext;
        if (before.isPresent() && now - before.get().atNanos() < MODELS_NANOS) {
            return CompletableFuture.completedStage(before.get());
        }
        return http.get(MODELS).thenApply(reply -> {
            Reading length = context(reply, now);
            lastContext = length instanceof Reading.Known known ? Optional.of(known) : Optional.empty();
            return length;
        });
    }

    private static Reading context(Reply reply, long now) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Reading.unknown(lost.why());
            case Reply.Answer answer when answer.wantsKey() -> Reading.unknown(answer.wantedKey(MODELS));
            case Reply.Answer answer -> {
                OptionalDouble length = ListedModel.first(answer.body()).contextTokens();
                yield length.isPresent()
                        ? Reading.known(length.getAsDouble(), MODELS + " max_model_len", now)
                        : Reading.unknown("The engine's " + MODELS + " has no max_model_len.");
            }
        };
    }

    /** At least one token of the context must be left for the answer. */
    private static Reading longestPrompt(Reading context) {
        return switch (context) {
            case Reading.Known known -> Reading.known(known.value() - 1, known.source() + " - 1", known.atNanos());
            case Reading.Unknown unknown -> unknown;
        };
    }

    private static OptionalDouble number(Sample sample, String label) {
        try {
            return OptionalDouble.of((double) Long.parseLong(sample.label(label)));
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }
}
