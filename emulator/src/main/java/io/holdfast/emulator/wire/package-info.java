/**
 * The emulated servers' event sockets: publishing and replay, in each engine's form, and what can go wrong on the way.
 *
 * <p>Must not: know a cache; it is handed events.
 */
@NullMarked
package io.holdfast.emulator.wire;

import org.jspecify.annotations.NullMarked;
