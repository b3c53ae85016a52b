package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Settings for requests to an engine behind HTTP.
 *
 * @param route its completion route
 * @param model its name for the OpenAI route; vLLM insists on it
 * @param headers sent to the engine with every request, such as an authorization; never written to the journal
 * @param flushPath the engine's route that empties its cache
 * @param requestTimeout the most that one request may take
 * @param flushTimeout the most that a busy engine may take to flush
 * @param readyTimeout the most that a server life may take to begin
 * @param ignoresEnd whether answers go on to their last token after the model has ended them, so that all are as long
 * @param ca who the server's certificate has to be from; absent for those that Java trusts
 * @param bare the most that a warm-up may take where bodies have no field beyond those of the pin benchmark, whose
 *     warm-ups come whole; absent where bodies have what a load test asks for
 */
public record HttpSettings(
        CompletionRoute route,
        Optional<String> model,
        Map<String, String> headers,
        String flushPath,
        Duration requestTimeout,
        Duration flushTimeout,
        Duration readyTimeout,
        boolean ignoresEnd,
        Optional<TrustedCa> ca,
        Optional<Duration> bare) {
    public HttpSettings {
        headers = Map.copyOf(headers);
        atLeastAMillisecond("request time-out", requestTimeout);
        atLeastAMillisecond("flush time-out", flushTimeout);
        atLeastAMillisecond("ready time-out", readyTimeout);
        if (!flushPath.startsWith("/")) {
            throw new LoadTestException(
                    "The flush path is " + flushPath + "; it starts with a slash, as /flush_cache.");
        }
    }

    private static void atLeastAMillisecond(String what, Duration value) {
        if (value.toMillis() < 1) {
            throw new LoadTestException(
                    "The " + what + " must be at least one millisecond, not " + value.toMillis() + " ms.");
        }
    }

    /** SGLang's own route, and patience for a large engine. */
    public static HttpSettings defaults() {
        return new HttpSettings(
                CompletionRoute.SGLANG_GENERATE,
                Optional.empty(),
                Map.of(),
                "/flush_cache",
                Duration.ofMinutes(2),
                Duration.ofSeconds(30),
                Duration.ofMinutes(10),
                true,
                Optional.empty(),
                Optional.empty());
    }

    public HttpSettings withRoute(CompletionRoute value) {
        return new HttpSettings(
                value, model, headers, flushPath, requestTimeout, flushTimeout, readyTimeout, ignoresEnd, ca, bare);
    }

    public HttpSettings withModel(String value) {
        return new HttpSettings(
                route,
                Optional.of(value),
                headers,
                flushPath,
                requestTimeout,
                flushTimeout,
                readyTimeout,
                ignoresEnd,
                ca,
                bare);
    }

    public HttpSettings withHeaders(Map<String, String> value) {
        return new HttpSettings(
                route, model, value, flushPath, requestTimeout, flushTimeout, readyTimeout, ignoresEnd, ca, bare);
    }

    public HttpSettings withFlushPath(String value) {
        return new HttpSettings(
                route, model, headers, value, requestTimeout, flushTimeout, readyTimeout, ignoresEnd, ca, bare);
    }

    public HttpSettings withRequestTimeout(Duration value) {
        return new HttpSettings(
                route, model, headers, flushPath, value, flushTimeout, readyTimeout, ignoresEnd, ca, bare);
    }

    public HttpSettings withFlushTimeout(Duration value) {
        return new HttpSettings(
                route, model, headers, flushPath, requestTimeout, value, readyTimeout, ignoresEnd, ca, bare);
    }

    public HttpSettings withReadyTimeout(Duration value) {
        return new HttpSettings(
                route, model, headers, flushPath, requestTimeout, flushTimeout, value, ignoresEnd, ca, bare);
    }

    /** Returns settings with answers that end where the model ends them. */
    public HttpSettings endingWithTheModel() {
        return new HttpSettings(
                route, model, headers, flushPath, requestTimeout, flushTimeout, readyTimeout, false, ca, bare);
    }

    /** Returns settings that trust those certificates and no others. */
    public HttpSettings withCa(TrustedCa value) {
        return new HttpSettings(
                route,
                model,
                headers,
                flushPath,
                requestTimeout,
                flushTimeout,
                readyTimeout,
                ignoresEnd,
                Optional.of(value),
                bare);
    }

    /**
     * Leaves bodies no more than the fields {@code model}, {@code messages}, {@code max_tokens} and {@code
     * temperature}, and {@code stream} where the answer is one. So nobody tells how many tokens were cached.
     *
     * @param warmUps the most that a warm-up may take
     */
    public HttpSettings bare(Duration warmUps) {
        return new HttpSettings(
                route,
                model,
                headers,
                flushPath,
                requestTimeout,
                flushTimeout,
                readyTimeout,
                false,
                ca,
                Optional.of(warmUps));
    }

    /** Returns true if the answer to a request is wanted as a whole, though others are streams. */
    boolean isWhole(LoadRequest request) {
        return bare.isPresent() && request.role() == Role.PRIME;
    }

    /** The most that a request may take. */
    public Duration limit(LoadRequest request) {
        return isWhole(request) ? bare.orElse(requestTimeout) : requestTimeout;
    }

    /**
     * Names of the headers sent beside the key: an answer may depend on them, but their values are told to nobody else.
     */
    String headerNames() {
        return headers.keySet().stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .filter(name -> !"authorization".equals(name))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    public byte[] body(LoadRequest request) {
        return body(request, true);
    }

    /** @param streams whether the answer is wanted token by token */
    byte[] body(LoadRequest request, boolean streams) {
        if (bare.isPresent()) {
            return route.bareBody(model, request, streams && !isWhole(request));
        }
        return streams ? route.body(model, request, ignoresEnd) : route.wholeBody(model, request, ignoresEnd);
    }
}
