/**
 * kvcached: what its shared memory segment says, and moving the limit in it safely.
 *
 * <p>Must not: making or deleting a segment, which are the engine's; anything about blocks and prefixes.
 */
@NullMarked
package io.holdfast.kvcached;

import org.jspecify.annotations.NullMarked;
