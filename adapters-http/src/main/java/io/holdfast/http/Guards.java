package io.holdfast.http;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * Guards between us and one engine: breaker, bulkhead and rate limit for every call of a kind, retry for those that
 * ask.
 */
final class Guards {
    private final String engine;
    private final LongSupplier nanoClock;
    private final CircuitBreaker breaker;
    private final Bulkhead bulkhead;
    private final RateLimiter rate;
    private final Retry retry;
    private final GuardState.Calls calls;
    private final LongAdder byBreaker = new LongAdder();
    private final LongAdder byBulkhead = new LongAdder();
    private final LongAdder byRate = new LongAdder();
    private final LongAdder timedOut = new LongAdder();
    private volatile String lastFailure = "no call has ended yet.";

    Guards(GuardState.Calls calls, EngineHttpSettings settings, LongSupplier nanoClock) {
        this.calls = calls;
        this.engine = settings.base().toString();
        this.nanoClock = nanoClock;
        breaker = CircuitBreaker.of(
                engine,
                CircuitBreakerConfig.custom()
                        .slidingWindowType(SlidingWindowType.COUNT_BASED)
                        .slidingWindowSize(settings.breaker().calls())
                        .minimumNumberOfCalls(settings.breaker().calls())
                        .failureRateThreshold(50)
                        .permittedNumberOfCallsInHalfOpenState(1)
                        .waitDurationInOpenState(settings.breaker().pause())
                        .recordResult(result -> result instanceof Attempt attempt && attempt.failed())
                        .clock(new MonotonicClock(nanoClock))
                        .currentTimestampFunction(clock -> nanoClock.getAsLong(), TimeUnit.NANOSECONDS)
                        .build());
        bulkhead = Bulkhead.of(
                engine,
                BulkheadConfig.custom()
                        .maxConcurrentCalls(settings.concurrentCalls())
                        .maxWaitDuration(Duration.ZERO)
                        .build());
        rate = new AtomicRateLimiter(
                engine,
                RateLimiterConfig.custom()
                        .limitForPeriod(settings.callsPerSecond())
                        .limitRefreshPeriod(Duration.ofSeconds(1))
                        .timeoutDuration(Duration.ZERO)
                        .build(),
                nanoClock::getAsLong);
        retry = Retry.of(
                engine,
                RetryConfig.<Attempt>custom()
                        .maxAttempts(settings.retries().attempts())
                        .waitDuration(settings.retries().pause())
                        .retryOnResult(Attempt::again)
                        .failAfterMaxAttempts(false)
                        .build());
    }

    /** One sentence why the call must not be made; empty when it may, and then {@link #leave} must follow. */
    Optional<String> enter() {
        if (!breaker.tryAcquirePermission()) {
            byBreaker.increment();
            return Optional.of("Calls to " + engine
                    + " are suspended because too many have failed lately, the last one so: " + lastFailure);
        }
        if (!bulkhead.tryAcquirePermission()) {
            breaker.releasePermission();
            byBulkhead.increment();
            return Optional.of("Too many calls to " + engine + " are under way.");
        }
        if (!rate.acquirePermission()) {
            bulkhead.releasePermission();
            breaker.releasePermission();
            byRate.increment();
            return Optional.of("Too many calls to " + engine + " were made within the last second.");
        }
        return Optional.empty();
    }

    void timedOut() {
        timedOut.increment();
    }

    GuardState state() {
        int most = bulkhead.getMetrics().getMaxAllowedConcurrentCalls();
        return new GuardState(
                calls,
                switch (breaker.getState()) {
                    case CLOSED, DISABLED, METRICS_ONLY -> GuardState.Breaker.CLOSED;
                    case HALF_OPEN -> GuardState.Breaker.HALF_OPEN;
                    case OPEN, FORCED_OPEN -> GuardState.Breaker.OPEN;
                },
                most - bulkhead.getMetrics().getAvailableConcurrentCalls(),
                most,
                byBreaker.sum(),
                byBulkhead.sum(),
                byRate.sum(),
                timedOut.sum());
    }

    long now() {
        return nanoClock.getAsLong();
    }

    void leave(long enteredNanos, Attempt attempt) {
        if (attempt.failed()) {
            lastFailure = switch (attempt.reply()) {
                case Reply.NoAnswer lost -> lost.why();
                case Reply.Answer answer -> "it answered with HTTP " + answer.status() + ".";
            };
        }
        bulkhead.onComplete();
        breaker.onResult(nanoClock.getAsLong() - enteredNanos, TimeUnit.NANOSECONDS, attempt);
    }

    Retry.AsyncContext<Attempt> attempts() {
        return retry.asyncContext();
    }

    /**
     * One try of a call.
     *
     * @param sent whether it left this machine; else it was turned away here
     * @param failed whether the engine is to blame
     * @param again whether another try may fare better at once
     */
    record Attempt(Reply reply, boolean sent, boolean failed, boolean again) {}

    /** The breaker wants a wall clock for what is a duration; a monotonic one cannot be set back. */
    private static final class MonotonicClock extends Clock {
        private final LongSupplier nanoClock;

        MonotonicClock(LongSupplier nanoClock) {
            this.nanoClock = nanoClock;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return Instant.EPOCH.plusNanos(nanoClock.getAsLong());
        }
    }
}
