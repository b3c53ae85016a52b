/**
 * SGLang's HTTP: its routes, request bodies, answers, errors and metrics, and the routes of its branches that pin.
 *
 * <p>Must not: decide anything about the cache; what touches it is asked of the engine's thread.
 */
@NullMarked
package io.holdfast.emulator.api.sglang;

import org.jspecify.annotations.NullMarked;
