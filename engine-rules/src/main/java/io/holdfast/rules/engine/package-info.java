/**
 * Common parts of emulated engines: requests, events, clocks and the GPU in front of which a scheduler runs.
 *
 * <p>Must not: anything of one engine's rules, of HTTP or of sockets.
 */
@NullMarked
package io.holdfast.rules.engine;

import org.jspecify.annotations.NullMarked;
