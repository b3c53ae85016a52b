package io.holdfast.loadtest;

import io.vertx.core.Vertx;
import java.util.function.LongSupplier;

/**
 * What a load test works with and does not own.
 *
 * @param vertx runs the client
 * @param nanos a monotonic clock, as {@code System::nanoTime}
 */
public record TestBench(Vertx vertx, LongSupplier nanos, ServerUnit unit, Holder holder) {}
