/**
 * Process around the engines: the threads that they run on, one for each data-parallel rank, and the one way in which a
 * server says that it cannot start.
 *
 * <p>Must not: know an engine's rules, HTTP or sockets.
 */
@NullMarked
package io.holdfast.emulator.process;

import org.jspecify.annotations.NullMarked;
