/**
 * vLLM's HTTP: its routes, request bodies, answers, errors and metrics.
 *
 * <p>Must not: decide anything about the cache; what touches it is asked of the engine's thread.
 */
@NullMarked
package io.holdfast.emulator.api.vllm;

import org.jspecify.annotations.NullMarked;
