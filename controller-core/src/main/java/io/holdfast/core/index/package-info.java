/**
 * The block index: what one engine's cache holds now, what it held and lost, as its events tell.
 *
 * <p>Lives here: the event port, the tree of blocks, what was learned about the blocks of one engine, ghosts. Must not:
 * decisions (those are the planner's), decoding (that is the codec's), anything that allocates or boxes per block.
 */
@NullMarked
package io.holdfast.core.index;

import org.jspecify.annotations.NullMarked;
