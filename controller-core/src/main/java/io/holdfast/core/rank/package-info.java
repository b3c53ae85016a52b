/**
 * Ranking of a cache's blocks: which are worth keeping, learned from its traffic, and whether keeping them pays at all.
 *
 * <p>Lives here: what is remembered of blocks, how soon blocks of a kind are used again, the two shadows that license
 * pins, and the choice that follows. Must not: clocks, threads, engines; what cannot be told from requests and
 * removals.
 *
 * <p>In the models a pin costs nothing, so the whole budget is filled with whatever has any rate of use. An engine is
 * called for each hold. Therefore a hold also needs a chance of a use within its lease that its own class has shown:
 * without that rule the first version held 75 one-time prompts of a flood for some seconds each.
 */
@NullMarked
package io.holdfast.core.rank;

import org.jspecify.annotations.NullMarked;
