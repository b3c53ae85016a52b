/**
 * Ranking of a cache's blocks: which are worth keeping, learned from its traffic, and whether keeping them pays at all.
 *
 * <p>Lives here: what is remembered of blocks, how soon blocks of a kind are used again, the two shadows that license
 * pins, and the choice that follows. Must not: clocks, threads, engines; what cannot be told from requests and
 * removals.
 */
@NullMarked
package io.holdfast.core.rank;

import org.jspecify.annotations.NullMarked;
