/**
 * Decisions of one tick: what it pins and unpins.
 *
 * <p>Lives here: the planner, a pure function, with what goes in and what comes out. Must not: state, time of its own,
 * acting on a plan.
 *
 * <p>An embedder reads {@code Plan}; the planner can be called with a made-up tree, budget and clock.
 */
@NullMarked
package io.holdfast.core.plan;

import org.jspecify.annotations.NullMarked;
