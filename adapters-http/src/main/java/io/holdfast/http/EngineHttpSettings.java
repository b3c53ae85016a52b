package io.holdfast.http;

import java.net.URI;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * Rules for speaking to one engine, and limits of what to bear from it.
 *
 * @param base where the engine serves, such as {@code http://127.0.0.1:30000}
 * @param headers sent with every request; keys of engines go here
 * @param connectLimit how long to wait for a connection
 * @param timeLimit how long one request may take, its body included
 * @param concurrentCalls how many requests may be under way at once; more are turned away
 * @param callsPerSecond how many requests may start in one second; more are turned away
 * @param retries of a GET
 * @param breaker that turns calls away from an engine that fails
 * @param trust whose certificates are believed; absent: those that the JDK trusts
 */
public record EngineHttpSettings(
        URI base,
        Map<String, String> headers,
        Optional<SSLContext> trust,
        Duration connectLimit,
        Duration timeLimit,
        int concurrentCalls,
        int callsPerSecond,
        Retries retries,
        Breaker breaker) {

    /**
     * Retries of a GET.
     *
     * @param attempts number of tries in all
     * @param pause between two attempts
     */
    public record Retries(int attempts, Duration pause) {
        public Retries {
            requirePositive("retryPause", pause);
            require(attempts > 0, "attempts is " + attempts + "; at least 1 must be made.");
        }
    }

    /**
     * A breaker that opens when half of the calls fail.
     *
     * @param calls over which failures are counted
     * @param pause for which an open breaker turns calls away before it lets one try
     */
    public record Breaker(int calls, Duration pause) {
        public Breaker {
            requirePositive("breakerPause", pause);
            require(calls > 0, "breakerCalls is " + calls + "; at least 1 call must be counted.");
        }
    }

    public EngineHttpSettings {
        headers = Map.copyOf(headers);
        String scheme = String.valueOf(base.getScheme()).toLowerCase(Locale.ROOT);
        require(
                base.getHost() != null && (scheme.equals("http") || scheme.equals("https")),
                "The engine's address \"" + base + "\" is not of the form http://host:port.");
        requirePositive("connectLimit", connectLimit);
        requirePositive("timeLimit", timeLimit);
        require(concurrentCalls > 0, "concurrentCalls is " + concurrentCalls + "; at least 1 call must be allowed.");
        require(callsPerSecond > 0, "callsPerSecond is " + callsPerSecond + "; at least 1 call must be allowed.");
    }

    public static EngineHttpSettings of(URI base) {
        return new EngineHttpSettings(
                base,
                Map.of(),
                Optional.empty(),
                Duration.ofSeconds(2),
                Duration.ofSeconds(5),
                32,
                200,
                new Retries(3, Duration.ofMillis(100)),
                new Breaker(10, Duration.ofSeconds(5)));
    }

    public EngineHttpSettings withHeaders(Map<String, String> value) {
        return new EngineHttpSettings(
                base, value, trust, connectLimit, timeLimit, concurrentCalls, callsPerSecond, retries, breaker);
    }

    public EngineHttpSettings withTrust(SSLContext value) {
        return new EngineHttpSettings(
                base,
                headers,
                Optional.of(value),
                connectLimit,
                timeLimit,
                concurrentCalls,
                callsPerSecond,
                retries,
                breaker);
    }

    public EngineHttpSettings withTimeLimit(Duration value) {
        return new EngineHttpSettings(
                base, headers, trust, connectLimit, value, concurrentCalls, callsPerSecond, retries, breaker);
    }

    public EngineHttpSettings withLimits(int concurrent, int perSecond) {
        return new EngineHttpSettings(
                base, headers, trust, connectLimit, timeLimit, concurrent, perSecond, retries, breaker);
    }

    private static void requirePositive(String what, Duration value) {
        require(value.isPositive(), what + " is " + value + "; it must be longer than nothing.");
    }

    private static void require(boolean holds, String sentence) {
        if (!holds) {
            throw new IllegalArgumentException(sentence);
        }
    }
}
