/**
 * The emulated servers' HTTP: routes, request bodies, answers and their streams, in each engine's own words.
 *
 * <p>Must not: decide anything about the cache; what touches it is asked of the engine's thread.
 */
@NullMarked
package io.holdfast.emulator.api;

import org.jspecify.annotations.NullMarked;
