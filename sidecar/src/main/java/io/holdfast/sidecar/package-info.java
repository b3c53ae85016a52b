/**
 * The process beside the engine: configuration, wiring, HTTP API, metrics.
 *
 * <p>Must not: deciding what to hold, which is the core's; what differs between engines, which is an {@code EngineFamily}'s
 * and its adapter's.
 */
@NullMarked
package io.holdfast.sidecar;

import org.jspecify.annotations.NullMarked;
