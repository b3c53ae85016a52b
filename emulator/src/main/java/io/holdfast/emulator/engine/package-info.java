/**
 * What emulated engines have in common: requests, events, the thread and the GPU in front of which a scheduler runs.
 *
 * <p>Must not: anything of one engine's rules, of HTTP or of sockets.
 */
@NullMarked
package io.holdfast.emulator.engine;

import org.jspecify.annotations.NullMarked;
