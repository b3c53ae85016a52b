/**
 * Hashes of tokens, and the names of blocks that a fleet of engines shares because nothing but tokens goes into them.
 *
 * <p>Must not: state, allocation per block, the names that an engine gives to its own blocks (those are its codec's).
 */
@NullMarked
package io.holdfast.core.hash;

import org.jspecify.annotations.NullMarked;
