/**
 * Decides what to keep in an engine's cache, and why: the controller that one thread drives, and the rooms it is made
 * of.
 *
 * <p>Lives here: what puts the rooms together: the controller with its settings and its view, what listens to the
 * events, the way from other threads to its own. Must not: a rule of a subject that has a room, and nowhere in this
 * module: sockets, files, HTTP, threads, clocks or random sources taken from the air, Vert.x, JeroMQ, msgpack.
 *
 * <p>An embedder uses {@code Controller}, {@code ControllerSettings} and {@code EngineView}, and of the rooms the types
 * that each names; what else is public there is public because packages are rooms. The rooms, each knows only those
 * before it: {@code hash}, {@code index}, {@code requests}, {@code head}, {@code reading}, {@code prefix}, {@code
 * reuse}, {@code cost}, {@code hold}, {@code example}, {@code backend}, {@code budget}, {@code pin}, {@code rank},
 * {@code plan}, {@code effect}.
 */
@NullMarked
package io.holdfast.core;

import org.jspecify.annotations.NullMarked;
