/**
 * Decides what to keep in an engine's cache, and why.
 *
 * <p>Lives here: holds, budget, planner, ledger, the controller that one thread drives. Must not: sockets, files, HTTP,
 * threads, clocks or random sources taken from the air, Vert.x, JeroMQ, msgpack.
 */
@NullMarked
package io.holdfast.core;

import org.jspecify.annotations.NullMarked;
