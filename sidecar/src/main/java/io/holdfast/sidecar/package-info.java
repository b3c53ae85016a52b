/**
 * The process beside the engine: configuration, wiring, HTTP API, metrics.
 */
@NullMarked
package io.holdfast.sidecar;

import org.jspecify.annotations.NullMarked;
